"""Printed output of a step, as a terminal would show it: lines with overwrites done and colours named, and nothing else obeyed.

    render_ansi(text) ──▶ Painted(segments, cut)        [(style, text), …]

Of all escape sequences only SGR (colours and weights) says something here; carriage returns, backspaces and "erase line" do
what they do to a line, so that a progress bar shows its last state. Everything else is dropped, bidi and invisible characters
too. Takes time linear in the text.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct, field

from pixirnb.views.basics.sanitize import visible

LIMIT: Final = 64 * 1024
"""Characters looked at: the last ones, where there are more."""

_NAMES: Final = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
COLOURS: Final = (*_NAMES, *(f"bright-{name}" for name in _NAMES))
WORDS: Final = frozenset(
    {"b", "d", "i", "u", "s", "r", *COLOURS, *(f"bg-{name}" for name in COLOURS)}
)
"""Every word that a style may be made of."""

Segment = tuple[str, str]
"""(style, text): the style is empty, or words of `WORDS` with a blank between."""

_RGB: Final = (
    *((0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0)),
    *((0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229)),
    *((127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0)),
    *((92, 92, 255), (255, 0, 255), (0, 255, 255), (255, 255, 255)),
)
_CUBE: Final = (0, 95, 135, 175, 215, 255)
_WEIGHTS: Final = {1: "b", 2: "d", 3: "i", 4: "u", 7: "r", 9: "s"}
_ENDS: Final = {21: "b", 22: "bd", 23: "i", 24: "u", 27: "r", 29: "s"}

# Bodies stop at every opener, so that a thousand of them in a row are each looked at once.
_BODY: Final = r"[^\x07\x1b\x90\x98\x9c-\x9f]*"
_TOKENS: Final = re.compile(
    r"(?:\x1b\[|\x9b)(?P<sgr>[0-9;:]*)m"
    r"|(?:\x1b\[|\x9b)(?P<erase>[0-2]?)K"
    r"|(?P<other>(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    rf"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])(?:{_BODY}(?:\x07|\x1b\\|\x9c))?"
    r"|\x1b[ -/]*[0-~]?)"
    r"|(?P<newline>\r?\n|[\x0b\x0c\x85\u2028\u2029])"
    r"|(?P<return>\r)"
    r"|(?P<back>\x08)"
    r"|(?P<text>[^\x1b\x9b\x90\x98\x9d-\x9f\r\n\x0b\x0c\x85\u2028\u2029\x08]+)"
)


class Painted(Struct, frozen=True):
    """The part of a text that can be shown."""

    segments: tuple[Segment, ...]
    cut: int
    """Characters before those, not looked at."""

    @property
    def text(self) -> str:
        """Return the text of all segments, without styles."""
        return "".join(text for _, text in self.segments)


class _Line(Struct):
    """A terminal line being written: a style a column, and where the next character goes."""

    letters: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)
    column: int = 0

    def write(self, text: str, style: str) -> None:
        end = self.column + len(text)
        self.letters[self.column : end] = text
        self.styles[self.column : end] = [style] * len(text)
        self.column = end

    def erase(self, how: str) -> None:
        if how in {"", "0"}:
            del self.letters[self.column :], self.styles[self.column :]
        elif how == "2":  # nobody erases a whole line but to write it anew from its beginning
            self.letters.clear()
            self.styles.clear()
            self.column = 0


class _Pen(Struct):
    weights: str = ""
    front: str = ""
    back: str = ""

    def style(self) -> str:
        back = f"bg-{self.back}" if self.back else ""
        return " ".join(word for word in (*self.weights, self.front, back) if word)

    def turn(self, written: str) -> None:
        """Obey the parameters of one SGR sequence; those that mean nothing here are passed over."""
        codes = [int(code[:4] or 0) for code in re.split("[;:]", written[:200])]
        index = 0
        while index < len(codes):
            code = codes[index]
            index += 1
            if code in {38, 48}:
                colour, taken = _extended(codes[index : index + 5])
                index += taken
                self._colour(colour, is_back=code == 48)
            else:
                self._obey(code)

    def _obey(self, code: int) -> None:
        if code == 0:
            self.weights = self.front = self.back = ""
        elif code in _WEIGHTS:
            kept = set(self.weights) | {_WEIGHTS[code]}
            self.weights = "".join(each for each in "bdiusr" if each in kept)
        elif code in _ENDS:
            self.weights = "".join(each for each in self.weights if each not in _ENDS[code])
        elif 30 <= code <= 37 or 40 <= code <= 47:
            self._colour(COLOURS[code % 10], is_back=code >= 40)
        elif 90 <= code <= 97 or 100 <= code <= 107:
            self._colour(COLOURS[8 + code % 10], is_back=code >= 100)
        elif code in {39, 49}:
            self._colour("", is_back=code == 49)

    def _colour(self, name: str, *, is_back: bool) -> None:
        if is_back:
            self.back = name
        else:
            self.front = name


def render_ansi(text: str, limit: int = LIMIT) -> Painted:
    """Return the last `limit` characters of `text`, as a terminal would show them. Never raises."""
    cut = max(0, len(text) - limit)
    if cut:
        # From a whole line on, where one begins soon: half an escape sequence would be read as text.
        begin = text.find("\n", cut, cut + 4096) + 1
        cut = begin or cut
    pen, line = _Pen(), _Line()
    segments: list[tuple[str, list[str]]] = []
    style = ""
    for token in _TOKENS.finditer(text, cut):
        match token.lastgroup:
            case "text":
                line.write(visible(token[0]), style)
            case "sgr":
                pen.turn(token["sgr"])
                style = pen.style()
            case "newline":
                _finish(segments, line)
                _add(segments, "", "\n")
                line = _Line()
            case "return":
                line.column = 0
            case "back":
                line.column = max(0, line.column - 1)
            case "erase":
                line.erase(token["erase"])
            case _:
                pass  # a sequence that says nothing here
    _finish(segments, line)
    return Painted(tuple((style, "".join(texts)) for style, texts in segments), cut)


def _finish(segments: list[tuple[str, list[str]]], line: _Line) -> None:
    """Add the line as written, a segment wherever the style changes."""
    letters, styles = line.letters, line.styles
    start = 0
    for index in range(1, len(styles) + 1):
        if index == len(styles) or styles[index] != styles[start]:
            _add(segments, styles[start], "".join(letters[start:index]))
            start = index


def _add(segments: list[tuple[str, list[str]]], style: str, text: str) -> None:
    # A line break has no colour: it goes with what stands before it.
    if segments and (segments[-1][0] == style or text == "\n"):
        segments[-1][1].append(text)
    else:
        segments.append((style, [text]))


def _extended(codes: list[int]) -> tuple[str, int]:
    """Return the colour of what follows 38 or 48, and how many parameters it took."""
    if codes[:1] == [5] and len(codes) > 1:
        number = codes[1]
        if number < 16:
            return COLOURS[number], 2
        if number > 255:
            return "", 2
        if number >= 232:
            grey = 8 + 10 * (number - 232)
            return _nearest(grey, grey, grey), 2
        number -= 16
        return _nearest(_CUBE[number // 36], _CUBE[number // 6 % 6], _CUBE[number % 6]), 2
    if codes[:1] == [2] and len(codes) > 3:
        return _nearest(*codes[1:4]), 4
    return "", len(codes)


def _nearest(red: int, green: int, blue: int) -> str:
    def distance(index: int) -> int:
        r, g, b = _RGB[index]
        return (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2

    return COLOURS[min(range(16), key=distance)]
