"""A reader of shell scripts that finds where a quoted variable is one word; it knows just enough of `sh`.

It tells quotes, comments, heredocs, substitutions and arithmetic apart; it does not understand
commands. Where shells disagree it takes the reading in which less is allowed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Sequence


def first_misplaced(text: str, spans: Sequence[tuple[int, int]]) -> tuple[int, str] | None:
    """Return the first of `spans` (start, end; ascending, disjoint) that is not a free position in `text`.

    Returns its index and its surroundings, e.g. `inside double quotes`; None when all are free.
    """
    reader = _Reader(text, spans)
    try:
        reader.read()
    except _Misplaced as found:
        return reader.next, found.surroundings
    return None


class _Misplaced(Exception):
    def __init__(self, surroundings: str) -> None:
        super().__init__(surroundings)
        self.surroundings = surroundings


_RUN: Final = re.compile(r"[^\s\\'\"`$#(){};&|<>]+")
_DELIMITER: Final = re.compile(r"""(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s;&|<>()'"\\])+""")
_OPENS_COMMAND: Final = frozenset(
    ["if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"]
)


class _Frame(Struct):
    """An open construct: `list` of commands, `double` quotes, `brace` of `${`, `sum` (arithmetic)."""

    kind: Literal["list", "double", "brace", "sum"]
    quoted: bool
    """True if a reference in here is not a word of its own."""
    close: str = ""
    depth: int = 0
    cases: int = 0
    """Open `case … esac`, whose patterns end with a `)` that closes nothing."""
    word: str | None = None
    """The word being read; None between words, where `#` opens a comment."""
    is_command: bool = True
    """The next word is a command, so that `case` is a keyword."""


class _Reader(Struct):
    """Reader that walks the text once, with a stack of open constructs."""

    text: str
    spans: Sequence[tuple[int, int]]
    at: int = 0
    next: int = 0
    stack: list[_Frame] = field(default_factory=lambda: [_Frame("list", quoted=False)])
    heredocs: list[tuple[str, bool]] = field(default_factory=list)

    def read(self) -> None:
        """Read the script. Raises _Misplaced at the first span that is not at a free position."""
        while self.at < len(self.text) and self.next < len(self.spans):
            frame = self.stack[-1]
            if self.at == self.spans[self.next][0]:
                if frame.quoted:
                    raise _Misplaced(_SURROUNDINGS[frame.kind])
                frame.word = (frame.word or "") + "\0"
                self.at = self.spans[self.next][1]
                self.next += 1
            elif frame.kind == "list":
                self.read_list(frame)
            else:
                self.read_quoted(frame)

    def read_list(self, frame: _Frame) -> None:
        """Read one token of a list of commands."""
        char = self.text[self.at]
        if run := _RUN.match(self.text, self.at):
            frame.word = (frame.word or "") + run.group()
            self.at = run.end()
        elif char == "#" and frame.word is None:
            self.skip(self.find("\n", self.at), "in a comment")
        elif char == "#" or char in "{}":
            frame.word = (frame.word or "") + char
            self.at += 1
        elif char == "\\":
            self.read_escape(frame)
        elif char == "'":
            frame.word = (frame.word or "") + "\0"
            self.skip(self.find("'", self.at + 1) + 1, "inside single quotes")
        elif char in '"$`':
            frame.word = (frame.word or "") + "\0"
            self.read_expansion(frame)
        else:
            self.end_word(frame)
            self.read_operator(frame, char)

    def read_operator(self, frame: _Frame, char: str) -> None:
        """Read blanks, newlines, redirections, parentheses, `; & |`."""
        if self.text.startswith("<<", self.at) and not self.text.startswith("<<<", self.at):
            self.read_heredoc_start()
            return
        if self.text.startswith("<<<", self.at):
            self.at += 3
            return
        if self.text.startswith("((", self.at):
            self.open(_Frame("sum", quoted=True, close=")", depth=2), 2)
            return
        self.at += 1
        if char == "\n":
            self.read_heredocs()
        if char == "(":
            self.open(_Frame("list", quoted=frame.quoted), 0)
        elif char == ")" and not frame.cases and len(self.stack) > 1:
            self.stack.pop()
            self.stack[-1].is_command = True
            return
        if char in "\n;&|()":
            frame.is_command = True

    def end_word(self, frame: _Frame) -> None:
        """Recognise `case`, `in` and `esac` as keywords."""
        word, frame.word = frame.word, None
        if word is None:
            return
        if frame.is_command:
            frame.cases += (word == "case") - (word == "esac" and frame.cases > 0)
            frame.is_command = word in _OPENS_COMMAND
        elif word == "in" and frame.cases:
            frame.is_command = True

    def read_quoted(self, frame: _Frame) -> None:
        """Read one token inside double quotes, `${ }` or arithmetic."""
        char = self.text[self.at]
        if char == "\\":
            self.read_escape(frame)
        elif char == '"' and frame.kind == "double":
            self.at += 1
            self.stack.pop()
        elif char == "'" and frame.kind != "double" and not self.is_inside_double():
            self.skip(self.find("'", self.at + 1) + 1, "inside single quotes")
        elif char in '"$`':
            self.read_expansion(frame)
        else:
            self.at += 1
            if frame.kind == "sum" and char in "([" and (char == "(") == (frame.close == ")"):
                frame.depth += 1
            elif char == frame.close:
                frame.depth -= 1
                if frame.depth <= 0:
                    self.stack.pop()

    def read_expansion(self, frame: _Frame) -> None:
        r"""Read a construct that begins with `"`, a backtick or `$`."""
        rest = self.text[self.at : self.at + 3]
        if rest[0] == '"':
            self.open(_Frame("double", quoted=True), 1)
        elif rest[0] == "`":
            self.skip(self.escaped_end("`", self.at + 1), "inside backticks")
        elif self.next_starts_at(self.at + 1):
            raise _Misplaced("right after a `$`")
        elif rest == "$((":
            self.open(_Frame("sum", quoted=True, close=")", depth=2), 3)
        elif rest[1:2] == "(":
            self.open(_Frame("list", quoted=frame.quoted), 2)
        elif rest[1:2] == "{":
            self.open(_Frame("brace", quoted=True, close="}", depth=1), 2)
        elif rest[1:2] == "[":
            self.open(_Frame("sum", quoted=True, close="]", depth=1), 2)
        elif rest[1:2] == "'" and frame.kind == "list":
            # bash ends $'…' at the first quote not escaped, other shells at the first quote:
            # where they differ, nothing after it can be said to stand outside.
            plain, escaped = self.find("'", self.at + 2) + 1, self.escaped_end("'", self.at + 2)
            self.skip(plain if plain == escaped else len(self.text), "in or after $'…'")
        else:
            self.at += 2 if rest[1:2] and rest[1] in "#?$!@*-0123456789" else 1

    def read_escape(self, frame: _Frame) -> None:
        """Read a backslash: the next character loses its meaning; before a newline both vanish."""
        if self.next_starts_at(self.at + 1):
            raise _Misplaced("right after a backslash")
        if frame.kind == "list" and not self.text.startswith("\n", self.at + 1):
            frame.word = (frame.word or "") + "\0"
        self.at += 2

    def read_heredoc_start(self) -> None:
        """Read `<<WORD`: its body begins on the next line."""
        self.at += 2
        strips = self.text.startswith("-", self.at)
        start = self.at + strips
        while self.text.startswith((" ", "\t"), start):
            start += 1
        word = _DELIMITER.match(self.text, start)
        end = word.end() if word else start
        self.skip(end, "in the end mark of a heredoc")
        self.heredocs.append((re.sub(r"[\\'\"]", "", self.text[start:end]), strips))

    def read_heredocs(self) -> None:
        """Skip the bodies that begin on this line."""
        for mark, strips in self.heredocs:
            end = self.at
            while end < len(self.text):
                stop = self.find("\n", end)
                line = self.text[end:stop]
                end = stop + 1
                if (line.lstrip("\t") if strips else line) == mark:
                    break
            self.skip(end, "in a heredoc")
        self.heredocs.clear()

    def open(self, frame: _Frame, width: int) -> None:
        """Enter a construct after `width` characters; inside a quoted construct it is quoted too."""
        self.stack.append(frame)
        self.at += width

    def is_inside_double(self) -> bool:
        """Return whether the open `${` is in double quotes, where a single quote is a character."""
        return len(self.stack) > 1 and self.stack[-2].kind == "double"

    def next_starts_at(self, position: int) -> bool:
        return self.spans[self.next][0] == position

    def find(self, mark: str, start: int) -> int:
        position = self.text.find(mark, start)
        return position if position >= 0 else len(self.text)

    def escaped_end(self, mark: str, start: int) -> int:
        """Return the position after the first `mark` without a backslash before it."""
        while start < len(self.text) and self.text[start] != mark:
            start += 2 if self.text[start] == "\\" else 1
        return start + 1

    def skip(self, end: int, surroundings: str) -> None:
        """Move to `end`; refuse a reference on the way."""
        if self.spans[self.next][0] < end:
            raise _Misplaced(surroundings)
        self.at = end


_SURROUNDINGS: Final = {
    "list": "in a command inside double quotes",
    "double": "inside double quotes",
    "brace": "inside ${ }",
    "sum": "inside arithmetic",
}
