"""Output of the command line: answers on stdout, everything else on stderr under `--json`.

Blocks for a person at a terminal have tables that fit its width, and the colours of the statuses. A pipe gets plain text."""

from __future__ import annotations

import io
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TextIO

from pydantic_core import to_json

from pixirnb.cli.interrupts import ignore_interrupts
from pixirnb.json_types import SCHEMA_VERSION
from pixirnb.verbs.reach import Reach, states_named
from pixirnb.views.basics.sanitize import escape_json, group_digits, plain
from pixirnb.views.blocks.model import (
    Block,
    Code,
    Counts,
    Graphic,
    Heading,
    Marked,
    Paragraph,
    Part,
    Phrase,
    Problems,
    Section,
    Status,
    Table,
    Word,
)
from pixirnb.views.blocks.text_renderer import draw_text, phrase_text, text_lines
from pixirnb.views.run.problem_list import error_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.text import Text

    from pixirnb.errors import ErrorDocument
    from pixirnb.verbs.answers import Answer


_COLOURS: Final = {
    "good": "green",
    "ready": "green",
    "bad": "red",
    "late": "red",
    "half": "yellow",
    "ask": "magenta",
    "live": "blue",
    "idle": "dim",
    "mute": "dim",
}
"""Tones as styles of a terminal; they follow its own palette."""
_NARROWEST: Final = 20
"""Columns of a terminal that prose has at least, or a table is not drawn as one."""


def draw_terminal(blocks: Sequence[Block], out: TextIO) -> Iterator[str]:
    """Yield lines, with escape sequences of ours alone, as wide as the terminal behind `out`."""
    from rich.console import Console

    width = Console(file=out).width
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=width,
        force_terminal=True,
        highlight=False,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )
    _print(console, blocks, "")
    yield from (line.rstrip() for line in buffer.getvalue().removesuffix("\n").split("\n"))


def _print(console: Console, blocks: Sequence[Block], indent: str) -> None:
    from rich.text import Text

    for block in blocks:
        match block:
            case Table() if block.rows:
                if any(block.heads):
                    console.print()
                _table(console, block, indent)
            case Section(title, inner) if title:
                console.print()
                console.print(Text(indent + phrase_text(title), style="bold"))
                _print(console, inner, indent + "  ")
            case Section(_, inner) | Graphic(_, inner):
                _print(console, inner, indent + "  ")
            case _:
                lines = "\n".join(text_lines([block], indent, is_painted=True))
                if lines:
                    styled = Text.from_ansi(lines)
                    styled.stylize(_tone(block))
                    console.print(styled, soft_wrap=True)
        if isinstance(block, Heading):
            indent += "  "


def _tone(block: Block) -> str:
    match block:
        case Heading(mark):
            return f"bold {_COLOURS.get(mark.tone, '')}".strip()
        case Problems(mark=mark):
            return _COLOURS.get(mark.tone, "")
        case Paragraph(_, tone):
            return _COLOURS.get(tone, "")
        case _:
            return ""


def _table(console: Console, block: Table, indent: str) -> None:
    from rich.padding import Padding
    from rich.table import Table as Grid
    from rich.text import Text

    rows = [[_cell(cell) for cell in row] for row in block.rows[: block.limit]]
    # Commands and ids are copied: no line breaks within one.
    whole = [
        column in block.numeric
        or all(
            isinstance(row[column], Code | Marked | Status) or not row[column] for row in block.rows
        )
        for column in range(len(block.heads))
    ]
    sizes = [
        max(len(head.strip()), *(row[column].cell_len for row in rows))
        for column, head in enumerate(block.heads)
    ]
    needed = sum(
        size if is_whole else min(size, _NARROWEST)
        for size, is_whole in zip(sizes, whole, strict=True)
    )
    if needed + 2 * len(sizes) + len(indent) > console.width:
        for row in rows:
            _stack(console, block.heads, row, indent)
    else:
        grid = Grid(
            box=None,
            show_header=any(block.heads),
            header_style="bold",
            pad_edge=False,
            padding=(0, 2, 0, 0),
        )
        for column, head in enumerate(block.heads):
            justify: Literal["left", "right"] = "right" if column in block.numeric else "left"
            grid.add_column(head.strip(), justify=justify, no_wrap=whole[column])
        for row in rows:
            grid.add_row(*row)
        console.print(Padding(grid, (0, 0, 0, len(indent))))
    if (left := max(block.count, len(block.rows)) - block.limit) > 0:
        console.print(Text(f"{indent}and {left:,} more rows", style="dim"))


def _stack(console: Console, heads: Sequence[str], row: Sequence[Text], indent: str) -> None:
    """Print a row of a table that is too wide: what has no room on its first line is below it, with its head."""
    from rich.padding import Padding
    from rich.text import Text

    first, *rest = row
    below: list[Text] = []
    line = Text.assemble(indent, first)
    for head, cell in zip(heads[1:], rest, strict=True):
        if not below and line.cell_len + 2 + cell.cell_len <= console.width:
            line = Text.assemble(line, "  " if cell else "", cell)
        elif cell:
            below.append(Text.assemble((f"{head.strip()}: ", "dim") if head else "", cell))
    console.print(line, soft_wrap=True)
    for cell in below:
        console.print(Padding(cell, (0, 0, 0, len(indent) + 4)))


def _cell(phrase: Phrase) -> Text:
    from rich.text import Text

    parts = phrase if isinstance(phrase, tuple) else (phrase,)
    return Text(" ").join(filter(None, map(_part, parts)))


def _part(part: Part) -> Text:
    from rich.text import Text

    text = phrase_text(part)
    match part:
        case Status(mark) | Word(mark):
            return Text(text, style=_COLOURS.get(mark.tone, ""))
        case Marked(mark):
            styled = Text(text)
            styled.stylize(_COLOURS.get(mark.tone, ""), 0, len(mark.symbol))
            return styled
        case Counts(counts):
            colours = [
                (f"{group_digits(n)} {mark.word}", _COLOURS.get(mark.tone, ""))
                for mark, n in counts
            ]
            return Text(", ").join(Text(words, style=colour) for words, colour in colours)
        case _:
            return Text(text)


_ASCII: Final = str.maketrans(
    dict(zip("✓✗◆◇◐◍■▸▶▷◌○◷⊖⊘‖»↻↺", "+x?!%%#>>>..~~/=~~~", strict=True))
    | {"→": "->", "↔": "<->", "…": "...", "·": "-", "│": "|", "⚑": "*", "×": "x"}
)
"""Marks for a terminal or a file whose encoding has no others."""


class Unheard(Exception):
    """Raised when output could not be written: the reader is gone, or the disk is full."""


class Screen:
    """Standard output and error, as one command uses them."""

    def __init__(
        self,
        *,
        is_json: bool,
        words: Sequence[str] = (),
        out: TextIO | None = None,
        err: TextIO | None = None,
    ) -> None:
        self.is_json = is_json
        self.reach = Reach(partial(states_named, words))
        self.out = out or sys.stdout or io.StringIO()  # closed before we began: None
        self.say: Callable[[str], None] | None = None
        """Prints lines of progress while something live is on the terminal; None: directly."""
        self.ask: Callable[[str], None] | None = None
        """Prints questions to a person meanwhile, which stay on stderr."""
        self.err = err or sys.stderr or io.StringIO()

    def is_attended(self) -> bool:
        """Return whether a person is at the terminal: one can run `pixirnb approve` in another."""
        return sys.stdin is not None and sys.stdin.isatty()

    @property
    def is_terminal(self) -> bool:
        """Return whether a person watches stderr."""
        return self.err.isatty()

    def answer(self, answer: Answer) -> None:
        """Print the answer: the document itself under `--json`, else as text."""
        if answer.kind == "schema":
            self._document(to_json(answer.document, indent=2).decode())
        elif self.is_json or answer.is_json or answer.kind == "acp":
            self._document(_json(self.reach.document(answer.document)))
        elif answer.kind == "rendering":
            self._write(self.out, str(answer.document["text"]))
        else:
            from pixirnb.verbs.answer_blocks import SHELL, answer_blocks

            for line in self.drawn(self.reach.blocks(answer_blocks(answer, command=SHELL))):
                self._write(self.out, line)

    def drawn(self, blocks: Sequence[Block]) -> Iterable[str]:
        """Return blocks as lines for the reader of stdout: as wide as a terminal, and in colors unless NO_COLOR is set."""
        return draw_terminal(blocks, self.out) if self.out.isatty() else [draw_text(blocks)]

    def error(self, document: ErrorDocument) -> None:
        """Print an error, in one or two lines; the document on stdout under `--json`."""
        document = self.reach.document(document)
        if self.is_json:
            self._document(_json(document))
        else:
            self._write(self.err, draw_text(error_blocks(document)))

    def note(self, sentence: str) -> None:
        """Print a remark."""
        self._write(self.err, plain(self.reach.text(sentence)))

    def progress_line(self, line: str) -> None:
        """Print a line of a run's progress or output."""
        if self.say is not None and not self.is_json:
            self.say(line)
        else:
            self._write(self.err if self.is_json else self.out, line)

    def question(self, line: str) -> None:
        """Print a line that needs an answer."""
        line = self.reach.text(line)
        if self.ask is not None:
            self.ask(line)
        else:
            self._write(self.err, line)

    def line(self, text: str) -> None:
        """Print one line of what is followed."""
        self._write(self.out, text)

    def _document(self, text: str) -> None:
        ignore_interrupts()  # it would be cut, and another printed after it
        self._write(self.out, text)

    def _write(self, stream: TextIO, line: str) -> None:
        encoding = stream.encoding or "utf-8"
        try:
            safe = line.encode(encoding).decode(encoding)
        except UnicodeEncodeError:
            safe = line.translate(_ASCII).encode(encoding, errors="replace").decode(encoding)
        try:
            stream.write(safe + "\n")
            stream.flush()
        except OSError as error:
            raise Unheard(str(error)) from error


def _json(document: Mapping[str, object]) -> str:
    """Return a document as it is printed, by the fast encoder that indents: Python's own takes five times as long."""
    versioned = {"schema_version": SCHEMA_VERSION, **document}
    return escape_json(to_json(versioned, indent=2, inf_nan_mode="constants").decode())
