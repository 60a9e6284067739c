"""Output of the command line: answers on stdout, everything else on stderr under `--json`."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, TextIO

from pydantic_core import to_json

from pixirnb.cli.terminal import draw_terminal
from pixirnb.errors import ErrorDocument
from pixirnb.json_types import SCHEMA_VERSION
from pixirnb.verbs.answer_blocks import SHELL, answer_blocks
from pixirnb.verbs.answers import Answer
from pixirnb.verbs.reach import Reach, states_named
from pixirnb.views.basics.sanitize import escape_json, plain
from pixirnb.views.blocks.model import Block
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.problem_list import error_blocks

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

    @property
    def is_terminal(self) -> bool:
        """Return whether a person watches stderr."""
        return self.err.isatty()

    def answer(self, answer: Answer) -> None:
        """Print the answer: the document itself under `--json`, else as text."""
        if answer.kind == "schema":
            self._write(self.out, to_json(answer.document, indent=2).decode())
        elif self.is_json or answer.is_json or answer.kind == "acp":
            self._write(self.out, _json(self.reach.document(answer.document)))
        elif answer.kind == "rendering":
            self._write(self.out, str(answer.document["text"]))
        else:
            for line in self.drawn(self.reach.blocks(answer_blocks(answer, command=SHELL))):
                self._write(self.out, line)

    def drawn(self, blocks: Sequence[Block]) -> Iterable[str]:
        """Return blocks as lines for the reader of stdout: as wide as a terminal, and in colors unless NO_COLOR is set."""
        return draw_terminal(blocks, self.out) if self.out.isatty() else [draw_text(blocks)]

    def error(self, document: ErrorDocument) -> None:
        """Print an error, in one or two lines; the document on stdout under `--json`."""
        document = self.reach.document(document)
        if self.is_json:
            self._write(self.out, _json(document))
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
