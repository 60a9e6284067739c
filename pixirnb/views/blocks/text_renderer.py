"""Blocks as lines of text, for pipes, `text/plain` and saved logs: Unicode symbols, and no escape sequences but for patches.

Under a heading everything is set in by two blanks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, assert_never

from pixirnb.views.basics.phrases import position_phrase
from pixirnb.views.basics.sanitize import group_digits, line, plain_lines, plural
from pixirnb.views.basics.show_value import shown
from pixirnb.views.basics.step_names import label, width
from pixirnb.views.blocks.model import (
    Block,
    Chart,
    Code,
    Counts,
    Details,
    ErrorLine,
    Graphic,
    Heading,
    Items,
    LineKind,
    Marked,
    Names,
    Paragraph,
    Part,
    PatchLines,
    Phrase,
    Preformatted,
    Problems,
    Quotation,
    Section,
    Status,
    Table,
    Value,
    Word,
)

_LINE: Final = 2_000
_STEP: Final = "  "
_WIDTH: Final = 80
"""Columns that names in the last cell of a row share with the cell before it, until they go on below."""
_PAINT: Final[Mapping[LineKind, str]] = {
    "added": "\x1b[32m",
    "deleted": "\x1b[31m",
    "remark": "\x1b[2m",
    "hunk": "\x1b[36m",
    "head": "\x1b[1m",
}


def draw_text(blocks: Sequence[Block], *, is_painted: bool = False) -> str:
    """Return the blocks as lines. `is_painted`: patches have colours; the only escape sequences are then ours."""
    return "\n".join(text_lines(blocks, is_painted=is_painted))


def text_lines(blocks: Sequence[Block], indent: str = "", *, is_painted: bool = False) -> list[str]:
    """Return the lines of some blocks: no two blank lines in a row, and none at either end."""
    lines: list[str] = []
    for row in _lines(blocks, indent, is_painted=is_painted):
        if row or (lines and lines[-1]):
            lines.append(row)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _lines(blocks: Sequence[Block], indent: str, *, is_painted: bool) -> Iterator[str]:
    for block in blocks:
        yield from _draw(block, indent, is_painted=is_painted)
        if isinstance(block, Heading):
            indent += _STEP


def phrase_text(phrase: Phrase, room: int = 64) -> str:
    """Return a phrase on one line. `room`: the columns of a name with a title."""
    parts = phrase if isinstance(phrase, tuple) else (phrase,)
    return line(" ".join(filter(None, (_part(part, room) for part in parts))), _LINE)


def _part(part: Part, room: int) -> str:
    match part:
        case str():
            return line(part, _LINE)
        case Code(value, limit, title):
            return label(value, title, room) if title else line(value, limit)
        case Status(mark):
            return f"{mark.symbol} {mark.word}"
        case Marked(mark, name, title):
            return f"{mark.symbol} {label(name, title, room - 2)}"
        case Word(mark):
            return mark.word
        case Counts(counts):
            return ", ".join(
                f"{group_digits(count)} {mark.counted(count)}" for mark, count in counts
            )
        case Names():
            return part.separator.join(_words(part, room))
        case _:
            assert_never(part)


def _words(names: Names, room: int = 64) -> list[str]:
    return [
        *(_part(name, room) for name in names.names),
        *[f"and {names.more:,} more"] * (names.more > 0),
    ]


def _draw(block: Block, indent: str, *, is_painted: bool) -> Iterator[str]:
    match block:
        case Heading(mark, name, run_id, aside):
            parts = [f"{mark.symbol} {mark.word}", line(name, 80), line(run_id, 60), line(aside)]
            yield indent + " · ".join(part for part in parts if part)
        case ErrorLine(code, message, position):
            suffix = f" ({position})" if position else ""
            yield f"{indent}{line(message, _LINE)}{suffix} [{line(code, 60)}]"
        case Problems():
            yield from _problems(block, indent)
        case Paragraph(phrase, _, is_apart):
            if is_apart:
                yield ""
            if words := phrase_text(phrase):
                yield indent + words
        case Section(title, blocks):
            if title:
                yield ""
                yield indent + _painted(phrase_text(title), "head", is_painted)
            yield from _lines(blocks, indent + _STEP, is_painted=is_painted)
        case Table():
            if any(block.heads):
                yield ""
            yield from table_lines(block, indent)
        case Items(items, more):
            yield from (indent + phrase_text(item) for item in items)
            if more > 0:
                yield f"{indent}and {more:,} more"
        case Details(summary, blocks, instead):
            if instead is None:
                yield indent + line(summary, _LINE)
                yield from _lines(blocks, indent + _STEP, is_painted=is_painted)
            else:
                yield from _lines(instead, indent, is_painted=is_painted)
        case Value(value):
            yield ""
            yield from (indent + row for row in shown(value, indent=2).split("\n"))
        case Preformatted(text, limit):
            yield from (indent + row for row in plain_lines(text, limit))
        case Quotation():
            yield from (indent + row for row in _quoted(block))
        case PatchLines(lines, is_at_margin):
            begin = "" if is_at_margin else indent
            yield from (begin + _painted(row, kind, is_painted) for kind, row in lines)
        case Graphic(_, instead):
            yield from _lines(instead, indent, is_painted=is_painted)
        case Chart():
            return
        case _:
            assert_never(block)


def table_lines(block: Table, indent: str) -> list[str]:
    """Return the lines of a table. Names in its last column go on below when they get too long."""
    rows: list[list[str]] = []
    cells = [[phrase_text(cell, block.widest) for cell in row] for row in block.rows[: block.limit]]
    room = _WIDTH - max((width(row[-2]) for row in cells if len(row) > 1), default=0)
    for row, texts in zip(block.rows, cells, strict=False):
        last = row[-1] if row else ""
        if isinstance(last, Names):
            first, *rest = fill_lines(_words(last), max(room, _WIDTH // 2))
            rows += [[*texts[:-1], first], *([""] * (len(row) - 1) + [more] for more in rest)]
        else:
            rows.append(texts)
    lines = _table(block.heads, rows, numeric=block.numeric, indent=indent, widest=block.widest)
    if (left := max(block.count, len(block.rows)) - block.limit) > 0:
        lines.append(f"{indent}and {plural(left, 'more row')}")
    return lines


def _problems(block: Problems, indent: str) -> Iterator[str]:
    if block.entries and block.is_apart:
        yield ""
    for entry in block.entries:
        location = position_phrase(entry)
        position = f"{location}: " if location else ""
        fix = f" → {line(entry['fix'], 300)}" if entry.get("fix") else ""
        message, code = line(entry.get("message") or "", _LINE), line(entry.get("code") or "", 60)
        yield f"{indent}{block.mark.symbol} {position}{message}{fix} [{code}]"
    if block.more > 0:
        yield f"{indent}and {block.more:,} more"


def _quoted(quote: Quotation) -> Iterator[str]:
    rows = quote.text.splitlines()
    if not any(row.strip() for row in rows):
        return
    yield from (f"│ {line}" for row in rows[: quote.rows] for line in plain_lines(row, _LINE))
    left = [plural(len(rows) - quote.rows, "more line")] * (len(rows) > quote.rows)
    left += [plural(quote.cut, "more character")] * (quote.cut > 0)
    if left:
        yield f"[{', '.join(left)}]"


def _painted(row: str, kind: LineKind, is_painted: bool) -> str:
    paint = _PAINT.get(kind) if is_painted else None
    return row if paint is None else f"{paint}{row}\x1b[0m"


def _pad(words: str, columns: int, *, right: bool = False) -> str:
    """Return `words` filled with blanks to `columns`."""
    blanks = " " * max(0, columns - width(words))
    return blanks + words if right else words + blanks


def fill_lines(words: Sequence[str], columns: int) -> list[str]:
    """Return `words` with commas between, in lines of at most `columns` if no single word is longer; at least one line."""
    lines = [""]
    for index, word in enumerate(words):
        text = word if index == len(words) - 1 else f"{word},"
        if lines[-1] and width(lines[-1]) + 1 + width(text) > columns:
            lines.append(text)
        else:
            lines[-1] = f"{lines[-1]} {text}".lstrip()
    return lines


def _table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numeric: frozenset[int] = frozenset(),
    indent: str = "  ",
    widest: int = 40,
) -> list[str]:
    """Return the lines of a table whose columns line up. The last column is as wide as it is; the others at most `widest`."""
    last = len(heads) - 1
    shown = [
        [line(cell, 300 if column == last else widest) for column, cell in enumerate(row)]
        for row in rows
    ]
    lined = [list(heads), *shown] if any(heads) else shown
    sizes = [max((width(row[column]) for row in lined), default=0) for column in range(len(heads))]
    lines = [
        indent
        + "  ".join(
            _pad(cell, sizes[column] if column < last else 0, right=column in numeric)
            for column, cell in enumerate(row)
        )
        for row in lined
    ]
    return [entry.rstrip() for entry in lines]
