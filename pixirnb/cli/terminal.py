"""Blocks for a person at a terminal: tables that fit its width, and the colours of the statuses. A pipe gets plain text."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal, TextIO

from pixirnb.views.basics.sanitize import group_digits
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
from pixirnb.views.blocks.text_renderer import phrase_text, text_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

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
        or all(isinstance(row[column], Code | Marked | Status) for row in block.rows)
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
