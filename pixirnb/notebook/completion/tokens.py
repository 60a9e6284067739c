"""Tokens of block style and brackets: the cursor's mark, paths, quoted text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MARK: Final = "\ue000"
"""Stands for the cursor; of a range in which no character has a meaning."""
NodePath = tuple[str | int, ...]
"""A path into a body: keys and positions."""

_CLOSED: Final = {
    '"': re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL),
    "'": re.compile(r"'(?:[^']|'')*'"),
}
_LINES: Final = re.compile(r"\n( *)(?=[^ \n])")


@dataclass(frozen=True, slots=True)
class Quote:
    """A quoted text, closed or not."""

    text: str
    end: int
    """Position of the text after the quote."""

    @classmethod
    def read(cls, whole: str, start: int, indent: int) -> Quote:
        """The quote that begins at `start` in a node indented further than `indent`.

        One that is not closed before the indentation falls back ends with its line.
        """
        match = _CLOSED[whole[start]].match(whole, start)
        if match is not None and all(len(line[1]) > indent for line in _LINES.finditer(match[0])):
            return cls(unquote(match[0]), match.end())
        end = whole.find("\n", start)
        end = len(whole) if end < 0 else end
        return cls(whole[start + 1 : end], end)


def unquote(text: str) -> str:
    """A scalar as written, its quotes taken off; escapes stay, for names have none."""
    return text[1:-1] if text[:1] in {'"', "'"} and len(text) > 1 else text
