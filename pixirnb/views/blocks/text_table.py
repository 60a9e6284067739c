"""Fixed-width tables for terminals and pipes: no escape sequences, no colour, columns that line up."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from pixirnb.views.basics.sanitize import line


def width(words: str) -> int:
    """Terminal columns that `words` takes: wide letters take two, combining ones none."""
    if words.isascii():
        return len(words)
    return sum(
        0
        if unicodedata.combining(letter)
        else 2
        if unicodedata.east_asian_width(letter) in "WF"
        else 1
        for letter in words
    )


def pad(words: str, columns: int, *, right: bool = False) -> str:
    """`words` filled with blanks to `columns`."""
    blanks = " " * max(0, columns - width(words))
    return blanks + words if right else words + blanks


def fill_lines(words: Sequence[str], columns: int) -> list[str]:
    """`words` with commas between, in lines of at most `columns` where a single word is not longer; at least one line."""
    lines = [""]
    for index, word in enumerate(words):
        text = word if index == len(words) - 1 else f"{word},"
        if lines[-1] and width(lines[-1]) + 1 + width(text) > columns:
            lines.append(text)
        else:
            lines[-1] = f"{lines[-1]} {text}".lstrip()
    return lines


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numeric: frozenset[int] = frozenset(),
    indent: str = "  ",
    widest: int = 40,
) -> list[str]:
    """Return the lines of a table. The last column is as wide as it is; the others at most `widest`."""
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
            pad(cell, sizes[column] if column < last else 0, right=column in numeric)
            for column, cell in enumerate(row)
        )
        for row in lined
    ]
    return [entry.rstrip() for entry in lines]
