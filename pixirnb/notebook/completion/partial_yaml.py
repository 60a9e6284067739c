"""A half-written YAML body, read for what it seems to mean and for where the cursor stands in it.

    text, offset ──sketch──▶ Sketch(value, spot)

Unlike the reader of specs this one refuses nothing: an unclosed bracket or quote ends where the indentation falls back, what
makes no sense is passed over. A mark is put in at the cursor, and the token it turns up in is the one being typed. One pass.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

from msgspec import Struct

from pixirnb.json_types import JsonObject
from pixirnb.notebook.completion.flow_style import (
    MARK,
    Brackets,
    InBrackets,
    NodePath,
    Quote,
    closed_on_line,
    unquote,
)

Role = Literal["key", "node"]
Layout = Literal["block", "inline", "flow"]

_INDENT: Final = re.compile(" *")
_BLANKS: Final = re.compile(r"[ \t]*")
_PROPERTIES: Final = re.compile(r"(?:[&!][^\s,\[\]{}]*[ \t]+)+")
_DASH: Final = re.compile(r"-(?=[ \t\n]|$)")
_KEY: Final = re.compile(
    r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*'|[^\s#"'\[\]{},&*!|>%@`:][^:\n]*(?::(?![ \t\n]|$)[^:\n]*)*)[ \t]*:(?=[ \t\n]|$)"""
)
_PLAIN: Final = re.compile(r"(?:[^\n#]|(?<![ \t])#)*")
_SIMPLE: Final = re.compile(
    rf"""( *)(- )?([A-Za-z_][\w-]*):[ ]([^\s"'\[\]{{}}|>&!\#{MARK}][^\n\#{MARK}]*)\n"""
)
"""`key: value`, most lines of most bodies: what the other patterns find in three steps, in one."""
_TEXT_BELOW: Final = re.compile(r"[|>][-+0-9]*[ \t]*(?:#[^\n]*)?$", re.MULTILINE)


class Spot(Struct, frozen=True):
    """Position of the cursor in the body."""

    role: Role
    """A key of the mapping at `path`, or the node at `path` itself (perhaps the first key of a mapping to be)."""
    path: NodePath
    typed: str
    """Text of the key or node before the cursor."""
    layout: Layout
    """On a line or dash of its own, behind `key:`, or within brackets."""
    is_keyed: bool = False
    """True if a colon follows the key already."""
    is_quoted: bool = False


class Sketch(Struct, frozen=True):
    """Approximate content of a body: mappings as dicts, sequences as lists, scalars as text, missing values as None."""

    value: Any
    spot: Spot | None
    """None where nothing of the workflow's language is being typed: text, comments, indentation."""

    def at(self, path: NodePath) -> Any:
        """Return the node at `path`; None where there is none."""
        value = self.value
        for part in path:
            if isinstance(value, dict):
                value = value.get(part)
            elif isinstance(value, list) and isinstance(part, int) and part < len(value):
                value = value[part]
            else:
                return None
        return value


def sketch(text: str, offset: int | None) -> Sketch:
    """Read `text` with the cursor at `offset`, counted in characters; None: nowhere. Never raises."""
    text = text.replace(MARK, " ").replace("\r", " ")
    if offset is None:
        return Sketch(_Reader(text).read(), None)
    offset = min(max(offset, 0), len(text))
    before, after = text[:offset], text[offset:]
    line = before.rpartition("\n")[2]
    if not line.strip() and after[:1].isspace() and after.partition("\n")[0].strip():
        return Sketch(_Reader(text).read(), None)  # in the indentation of something else
    reader = _Reader(f"{before}{MARK}{after}")
    return Sketch(reader.read(), reader.spot)


class _Items(list[Any]):
    """A sequence of dashes: it may go on. One in brackets may not; it is shared by all who read its line."""


class _Frame:
    """A mapping or sequence that is still open."""

    __slots__ = ("box", "indent", "key")

    def __init__(self, indent: int, box: Any, key: Any) -> None:
        self.indent, self.box, self.key = indent, box, key

    @property
    def is_open(self) -> bool:
        """True if its last key or item waits for a value."""
        return self.key is not None and self.box[self.key] is None


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.root: list[Any] = [None]
        self.frames = [_Frame(-1, self.root, 0)]
        self.spot: Spot | None = None

    def read(self) -> Any:
        text, size = self.text, len(self.text)
        while self.at < size:
            begin = self.at
            simple = _SIMPLE.match(text, begin)
            if simple is not None:
                self.simple(simple, begin)
                continue
            indent = _INDENT.match(text, begin)
            assert indent is not None
            start = indent.end()
            if start >= size or text[start] in "\n#" or text.startswith(("---", "..."), begin):
                self.skip_line(start)
            else:
                self.line(begin, start)
        return self.root[0]

    def simple(self, match: re.Match[str], begin: int) -> None:
        """Read like `line`, for a line that holds a key and its plain value."""
        self.at = match.end()
        column = match.end(1) - begin
        dash = match[2] is not None
        self.close(column, is_dash=dash)
        if dash and not self.open_item(column):
            return
        if self.open_mapping(column + 2 * dash):
            self.top.key = match[3]
            self.top.box[match[3]] = match[4].rstrip()

    @property
    def top(self) -> _Frame:
        return self.frames[-1]

    def path(self) -> NodePath:
        """Return the path of the top frame's current key or item."""
        return tuple(frame.key for frame in self.frames[1:])

    def skip_line(self, at: int) -> None:
        end = self.text.find("\n", at)
        self.at = len(self.text) if end < 0 else end + 1

    def line(self, begin: int, start: int) -> None:
        """Read one line of block style, from its first character; dashes may nest several nodes in it."""
        text = self.text
        while True:
            column = start - begin
            dash = _DASH.match(text, start)
            self.close(column, is_dash=dash is not None)
            if dash is None:
                break
            if not self.open_item(column):
                self.skip_line(start)
                return
            blanks = _BLANKS.match(text, dash.end())
            assert blanks is not None
            start = blanks.end()
            if text[start : start + 1] in {"", "\n", "#"}:
                self.skip_line(start)
                return
        key = _KEY.match(text, start)
        top = self.top
        if key is not None:
            if not self.open_mapping(column):
                self.skip_line(start)
                return
            self.key(key)
        elif top.is_open and column > top.indent:
            self.node(start, "block")
        elif isinstance(top.box, dict) and top.indent == column:
            self.bare_key(start)
        else:
            self.skip_line(start)  # the next line of a text, or nothing we know

    def close(self, column: int, *, is_dash: bool) -> None:
        """Leave what the indentation has ended."""
        frames = self.frames
        while frames[-1].indent > column or (
            frames[-1].indent == column and not is_dash and isinstance(frames[-1].box, list)
        ):
            frames.pop()

    def open_item(self, column: int) -> bool:
        """Begin a sequence's next item; false where none can stand."""
        top = self.top
        if not (isinstance(top.box, list) and top.indent == column):
            is_below = column > top.indent or (column == top.indent and isinstance(top.box, dict))
            if top.is_open and is_below:
                top.box[top.key] = _Items()
            box = None if top.key is None else top.box[top.key]
            if not isinstance(box, _Items) or not is_below:
                return False
            self.frames.append(_Frame(column, box, None))
            top = self.top
        top.key = len(top.box)
        top.box.append(None)
        return True

    def open_mapping(self, column: int) -> bool:
        """Be in the mapping of this column; false where none can stand."""
        top = self.top
        if isinstance(top.box, dict) and top.indent == column:
            return True
        if not (top.is_open and column > top.indent):
            return False
        box: JsonObject = {}
        top.box[top.key] = box
        self.frames.append(_Frame(column, box, None))
        return True

    def key(self, match: re.Match[str]) -> None:
        name, top = unquote(match[1]), self.top
        if MARK in name:
            path = self.path()[:-1]
            self.spot = Spot("key", path, _typed(name), "block", is_keyed=True)
        top.key = name
        top.box[name] = None
        blanks = _BLANKS.match(self.text, match.end())
        assert blanks is not None
        self.node(blanks.end(), "inline")

    def bare_key(self, start: int) -> None:
        """Read text where a key belongs, its colon not yet written."""
        match = _PLAIN.match(self.text, start)
        assert match is not None
        if MARK in match[0]:
            self.spot = Spot("key", self.path()[:-1], _typed(match[0]), "block")
        self.skip_line(match.end())

    def node(self, start: int, layout: Layout) -> None:
        """Read the value that begins here into the open place of the top frame."""
        text, top = self.text, self.top
        properties = _PROPERTIES.match(text, start)
        if properties is not None:
            start = properties.end()
        first = text[start : start + 1]
        if first in {"", "\n", "#"}:
            self.skip_line(start)
        elif first in {"|", ">"} and (header := _TEXT_BELOW.match(text, start)):
            self.text_below(header.end())
        elif first in {"[", "{"}:
            end = text.find("\n", start)
            line = text[start:] if end < 0 else text[start:end]
            value = None if MARK in line else closed_on_line(line)
            if value is not None:
                top.box[top.key] = value
                self.skip_line(start + len(line))
                return
            brackets = Brackets(text, start, top.indent, self.path())
            top.box[top.key] = brackets.read()
            if brackets.spot is not None:
                self.spot = _within(brackets.spot)
            self.at = brackets.at
            if text[self.at - 1 : self.at] != "\n":
                self.skip_line(self.at)
        elif first in {'"', "'"}:
            quote = Quote.read(text, start, top.indent)
            self.scalar(quote.text, layout, is_quoted=True)
            self.skip_line(quote.end)
        else:
            match = _PLAIN.match(text, start)
            assert match is not None
            self.scalar(match[0], layout)
            self.skip_line(match.end())

    def scalar(self, text: str, layout: Layout, *, is_quoted: bool = False) -> None:
        if MARK in text:
            self.spot = Spot("node", self.path(), _typed(text), layout, is_quoted=is_quoted)
        if MARK not in text or layout != "block":
            # Else it may become the first key of a mapping whose other keys stand below already.
            self.top.box[self.top.key] = text.strip()

    def text_below(self, at: int) -> None:
        """Read a block scalar: all lines that are indented further than its key."""
        self.skip_line(at)
        begin, indent = self.at, self.top.indent
        while self.at < len(self.text):
            line_indent = _INDENT.match(self.text, self.at)
            assert line_indent is not None
            is_blank = self.text[line_indent.end() : line_indent.end() + 1] in {"", "\n"}
            if not is_blank and line_indent.end() - self.at <= indent:
                break
            self.skip_line(line_indent.end())
        self.top.box[self.top.key] = self.text[begin : self.at]


def _within(brackets: InBrackets) -> Spot:
    return Spot(
        brackets.role,
        brackets.path,
        _typed(brackets.token),
        "flow",
        is_keyed=brackets.is_keyed,
        is_quoted=brackets.is_quoted,
    )


def _typed(text: str) -> str:
    return text.partition(MARK)[0].lstrip()
