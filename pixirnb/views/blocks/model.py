"""The blocks that every view is made of, and the parts of a line. A view builds a list of them; a back end draws it.

    outcome_blocks(document) ──▶ [Heading, Paragraph, Table, …] ──▶ draw_text | draw_html | cli.terminal

Values are run data as they come: each back end cleans, bounds and escapes what it draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from pixirnb.views.basics.status_marks import Mark

ROWS: Final = 200
"""Rows that a table shows; the others are counted."""

# --- parts of a line --------------------------------------------------------------------------------------------------


class Code(Struct, frozen=True):
    """An id, a path or a command."""

    value: object
    limit: int = 80
    title: str = ""
    """Name of a step for people; it stands before its id."""


class Status(Struct, frozen=True):
    """A status: symbol or icon, and word."""

    mark: Mark


class Marked(Struct, frozen=True):
    """A name next to the word of its status: text puts the symbol before the name, HTML the icon before the word."""

    mark: Mark
    name: object
    title: str = ""


class Word(Struct, frozen=True):
    """The word of a status, in a row that begins with `Marked`."""

    mark: Mark


class Counts(Struct, frozen=True):
    """Number of steps of each status: `3 ready, 1 failed`."""

    counts: Sequence[tuple[Mark, int]]


class Names(Struct, frozen=True):
    """Names with commas between them, and how many are left out. No line breaks within one."""

    names: Sequence[Part]
    more: int = 0
    separator: str = ", "


Part = str | Code | Status | Marked | Word | Counts | Names
"""A `str` is prose: HTML sets what stands between backticks as code."""
Phrase = Part | tuple[Part, ...]
"""One line; the parts of a tuple have blanks between them."""
Tone = str
"""Empty, `mute`, or the tone of a mark."""

# --- blocks -----------------------------------------------------------------------------------------------------------


class Heading(Struct, frozen=True):
    """The first line of a view: a status, what it is about, and an aside."""

    mark: Mark
    name: object = ""
    run_id: object = ""
    aside: str = ""


class ErrorLine(Struct, frozen=True):
    """The first lines of an error: what did not happen, and where."""

    code: object
    message: object
    position: str = ""


class Problems(Struct, frozen=True):
    """Mistakes or warnings: `line path step message fix code` of each, as far as it has them."""

    title: str
    entries: Sequence[Mapping[str, object]]
    mark: Mark
    more: int = 0
    is_apart: bool = True
    """True if text leaves a blank line before them; it has no title."""


class Paragraph(Struct, frozen=True):
    """A line of prose."""

    phrase: Phrase
    tone: Tone = ""
    is_apart: bool = False
    """True if text leaves a blank line before it."""


class Section(Struct, frozen=True):
    """Blocks with a title."""

    title: Phrase
    blocks: Sequence[Block]


class Table(Struct, frozen=True):
    """Rows of cells. Empty heads: no line of heads."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Phrase]]
    numeric: frozenset[int] = frozenset()
    count: int = 0
    """How many rows there are, where `rows` are only the first."""
    widest: int = 66
    """Columns of a terminal that a cell takes at most, but the last of a row."""
    limit: int = ROWS
    """Rows that text shows; a page shows at most `ROWS`."""
    is_next: bool = False
    """True for commands and what each does. A page, which is read and not typed into, has the purpose first."""


class Items(Struct, frozen=True):
    """A list, an item a line."""

    items: Sequence[Phrase]
    more: int = 0
    """Items that are left out."""


class Chart(Struct, frozen=True):
    """Number of each status, as a bar with its legend. Text has none: the sentence next to it says as much."""

    counts: Sequence[tuple[Mark, int]]
    has_legend: bool = True


class Graphic(Struct, frozen=True):
    """A drawing in our own markup; text shows `instead` in its place."""

    draw: Callable[[], str]
    """Makes it: text never pays for it."""
    instead: Sequence[Block] = ()


class Details(Struct, frozen=True):
    """Blocks that a page opens on a click. Text shows them below the summary, or `instead` in place of both."""

    summary: str
    blocks: Sequence[Block]
    instead: Sequence[Block] | None = None


class Value(Struct, frozen=True):
    """A value made of JSON: a table where it is one, else its text."""

    value: object


class Preformatted(Struct, frozen=True):
    """Lines as they stand."""

    text: str
    limit: int = 60_000


class Quotation(Struct, frozen=True):
    """Text of an agent or a program. Text marks every line, so that none can pass for one of ours."""

    text: str
    cut: int = 0
    """Characters that are left out already."""
    rows: int = 40
    """Lines that text shows; a page shows more."""


LineKind = Literal["both", "added", "deleted", "remark", "hunk", "head"]


class PatchLines(Struct, frozen=True):
    """Lines of a patch, or of a text in conflict, each cleaned by `spell_out` already."""

    lines: Sequence[tuple[LineKind, str]]
    is_at_margin: bool = False
    """True if text does not set them in: a patch can be copied."""


def next_blocks(
    actions: Sequence[tuple[Code, Phrase]], count: int = 0, limit: int = ROWS
) -> list[Block]:
    """Return commands that can be called next, each with what it does, as a section; nothing for none."""
    if not actions:
        return []
    table = Table(("", ""), actions, count=count, widest=200, limit=limit, is_next=True)
    return [Section("next", [table])]


Block = (
    Heading
    | ErrorLine
    | Problems
    | Paragraph
    | Section
    | Table
    | Items
    | Chart
    | Graphic
    | Details
    | Value
    | Preformatted
    | Quotation
    | PatchLines
)
