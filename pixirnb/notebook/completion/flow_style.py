"""Flow style, half-written: `[a, {b: c` and all that may stand between brackets, over several lines;
and the tokens of both styles: the cursor's mark, paths, quoted text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, Literal

from msgspec import Struct

MARK: Final = "\ue000"
"""Stands for the cursor; of a range in which no character has a meaning."""
NodePath = tuple[str | int, ...]
"""A path into a body: keys and positions."""

_CLOSED: Final = {
    '"': re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL),
    "'": re.compile(r"'(?:[^']|'')*'"),
}
_LINES: Final = re.compile(r"\n( *)(?=[^ \n])")


class Quote(Struct, frozen=True):
    """A quoted text, closed or not."""

    text: str
    end: int
    """Position of the text after the quote."""

    @classmethod
    def read(cls, whole: str, start: int, indent: int) -> Quote:
        """Read the quote that begins at `start` in a node indented further than `indent`.

        One that is not closed before the indentation falls back ends with its line.
        """
        match = _CLOSED[whole[start]].match(whole, start)
        if match is not None and all(len(line[1]) > indent for line in _LINES.finditer(match[0])):
            return cls(unquote(match[0]), match.end())
        end = whole.find("\n", start)
        end = len(whole) if end < 0 else end
        return cls(whole[start + 1 : end], end)


def unquote(text: str) -> str:
    """Take the quotes off a scalar as written; escapes stay, for names have none."""
    return text[1:-1] if text[:1] in {'"', "'"} and len(text) > 1 else text


_TOKEN: Final = re.compile(
    r"""[ \t]*(?:
        (?P<comma>,)
      | (?P<colon>:(?=[\s,\[\]{}]|$))
      | (?P<quote>["'])
      | (?P<open>[\[{])
      | (?P<close>[\]}])
      | (?P<line>(?:(?<!\S)\#[^\n]*)?\n(?P<indent>[ ]*))
      | (?P<remark>(?<!\S)\#[^\n]*)
      | (?P<plain>[^\s,\[\]{}"'](?:[^,\[\]{}\n:\#]|:(?![\s,\[\]{}]|$)|(?<![ \t])\#)*)
      | (?P<end>$))""",
    re.VERBOSE,
)
_COLON: Final = re.compile(r"[ \t]*:")


class InBrackets(Struct, frozen=True):
    """The token that bears the mark."""

    role: Literal["key", "node"]
    path: NodePath
    """Path of the mapping with this key, or of the node."""
    token: str
    is_keyed: bool = False
    """True if a colon follows."""
    is_quoted: bool = False


@lru_cache(maxsize=8192)
def closed_on_line(line: str) -> Any:
    """Return the bracketed node a line begins with; None where it is not closed there.

    Who types changes a line at a time: all others are read once.
    """
    brackets = Brackets(line, 0, 0, ())
    value = brackets.read()
    return None if brackets.stack else value


class _Open:
    """A bracket that is not closed yet."""

    __slots__ = ("box", "is_pair", "is_valued", "key")

    def __init__(self, box: Any, *, is_pair: bool = False) -> None:
        self.box = box
        self.key: Any = 0 if isinstance(box, list) else None
        self.is_valued = False
        """In a mapping: whether the colon of its current key is passed."""
        self.is_pair = is_pair
        """`[key: value]`: a mapping without braces, which ends with its pair."""


class Brackets:
    """A reader of one bracketed node. After `read`, `at` is where it ended and `spot` where the cursor stands in it."""

    def __init__(self, text: str, at: int, indent: int, path: NodePath) -> None:
        """The node begins at `at` and is indented further than `indent`; `path` is its path."""
        self.text, self.at, self.indent, self.node_path = text, at, indent, path
        self.stack: list[_Open] = []
        self.spot: InBrackets | None = None

    def read(self) -> Any:
        """Read the value, as far as it is written."""
        root: Any = [] if self.text[self.at] == "[" else {}
        self.stack.append(_Open(root))
        self.at += 1
        while self.stack and (token := _TOKEN.match(self.text, self.at)):
            kind = token.lastgroup
            if kind == "end" or (kind == "line" and self.is_over(token)):
                break
            self.at = token.end()
            if kind == "plain":
                self.scalar(token["plain"].rstrip(" \t"))
            elif kind == "colon":
                self.colon()
            elif kind == "comma":
                self.comma()
            elif kind == "quote":
                quote = Quote.read(self.text, self.at - 1, self.indent)
                self.at = quote.end
                self.scalar(quote.text, is_quoted=True)
            elif kind == "open":
                self.open(token["open"])
            elif kind == "close":
                self.close()
        return root

    def is_over(self, line: re.Match[str]) -> bool:
        """Return whether the indentation has fallen back: the bracket is not closed, or not yet."""
        following = self.text[line.end() : line.end() + 1]
        return following not in {"", "\n", "]", "}", "#"} and len(line["indent"]) <= self.indent

    def path(self) -> NodePath:
        return (*self.node_path, *(each.key for each in self.stack))

    def put(self, value: Any) -> None:
        """Put a node where one may stand."""
        top = self.stack[-1]
        if isinstance(top.box, list):
            top.key = len(top.box)
            top.box.append(value)
        elif top.is_valued:
            top.box[top.key] = value

    def open(self, bracket: str) -> None:
        box: Any = [] if bracket == "[" else {}
        self.put(box)
        self.stack.append(_Open(box))

    def close(self) -> None:
        while self.stack.pop().is_pair and self.stack:
            pass

    def comma(self) -> None:
        while self.stack[-1].is_pair:
            self.stack.pop()
        top = self.stack[-1]
        top.is_valued = False
        top.key = len(top.box) if isinstance(top.box, list) else None

    def colon(self) -> None:
        top = self.stack[-1]
        if isinstance(top.box, dict):
            top.is_valued = top.key is not None
        elif top.box and isinstance(top.box[-1], str):
            name, top.key = top.box[-1], len(top.box) - 1
            top.box[-1] = {name: None}
            pair = _Open(top.box[-1], is_pair=True)
            pair.key, pair.is_valued = name, True
            self.stack.append(pair)

    def scalar(self, text: str, *, is_quoted: bool = False) -> None:
        top = self.stack[-1]
        if isinstance(top.box, dict) and not top.is_valued:
            if MARK in text:
                is_keyed = _COLON.match(self.text, self.at) is not None
                self.spot = InBrackets("key", self.path()[:-1], text, is_keyed, is_quoted)
            top.key = text
            top.box[text] = None
            return
        self.put(text)
        if MARK in text:
            self.spot = InBrackets("node", self.path(), text, is_quoted=is_quoted)
