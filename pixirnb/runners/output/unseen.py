"""Patterns for what is not seen of a printed text: a terminal's sequences and controls, characters without a picture.

`plain` and `views/basics/sanitize.py` leave it out. What stood on both sides is together then, so a mask has to look past it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

_TEXT_BODY: Final = r"[^\x07\x1b]{0,4096}"
"""Body of a sequence of text with a terminator; an unterminated one removes no text."""
_TEXT_ESCAPES: Final = re.compile(
    rf"\x1b\]{_TEXT_BODY}(?:\x07|\x1b\\)"  # operating system commands: titles, links
    rf"|\x1b[PX^_]{_TEXT_BODY}\x1b\\"  # device control, privacy messages and their like
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor
    r"|\x1b[ -/]*[0-~]"  # any other escape
    r"|\x1b"
)
_TEXT_CONTROLS: Final = re.compile(r"[\x00-\x07\x0b-\x0c\x0e-\x1f\x7f]")
CHARACTERS: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Pattern over text for a character that is not seen, or begins what is not."""
_BODY_BYTES: Final = 16_384
"""Maximum size of the text of a title or link; more is no sequence, and removes no text."""
LONGEST_END: Final = _BODY_BYTES + 100
"""Maximum size of an unfinished sequence."""
_INVISIBLE: Final = {
    r"\xc2": r"[\x80-\x9f\xad]",  # C1 controls, the soft hyphen
    r"\xd8": r"\x9c",
    r"\xe1": r"(?:\x85[\x9f\xa0]|\xa0\x8e)",
    r"\xe2": r"(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf])",
    r"\xe3": r"\x85\xa4",
    r"\xef": r"(?:\xbb\xbf|\xbf[\xb9-\xbb])",
    r"\xf3": r"\xa0[\x80\x81][\x80-\xbf]",
}
"""Bidi marks, tags, blanks without a width, as UTF-8: the first byte and the others."""
_PART: Final = (
    r"[\xc2\xd8]|\xe1[\x85\xa0]?|\xe2[\x80\x81]?|\xe3\x85?|\xef[\xbb\xbf]?|\xf3(?:\xa0[\x80\x81]?)?"
)


@dataclass(frozen=True, slots=True)
class Unseen:
    """Patterns of what is not seen in one way of writing."""

    first: re.Pattern[bytes]
    """Bytes it may begin with."""
    whole: re.Pattern[bytes]
    unfinished: re.Pattern[bytes]
    """The beginning of it at the end of the bytes."""
    sequence: re.Pattern[bytes]
    """Sequences of a terminal, which stay where a text between them goes."""
    is_overstruck: bool
    """True if a letter before a backspace counts as unseen."""


def _compiled(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode("latin-1"), re.DOTALL)


def _first(by_first: dict[str, str]) -> str:
    return f"[{''.join(by_first)}]"


def _pattern(by_first: dict[str, str]) -> str:
    """Return a pattern of alternatives by their first byte. It begins with all of these bytes, for a quick search."""
    choices = "|".join(f"(?<=[{first}]){rest}" for first, rest in by_first.items())
    return f"{_first(by_first)}(?:{choices})"


def _either(one: dict[str, str], other: dict[str, str]) -> dict[str, str]:
    return one | {
        first: f"(?:{one[first]}|{rest})" if first in one else rest for first, rest in other.items()
    }


@cache
def in_text() -> tuple[Unseen, Unseen]:
    """Return what is unseen as a terminal gets it: with backspaces left out, and with what they strike out left out."""
    body = rf"(?:[^\x07\x1b\xc2]|\xc2[^\x90\x98\x9c-\x9f]){{0,{_BODY_BYTES}}}"
    text, parameters = rf"{body}(?:\x07|\x1b\\|\xc2\x9c)", "[0-?]*[ -/]*[@-~]"
    sequences = {
        r"\x1b": rf"(?:\[{parameters}|[\]PX^_]{text}|[ -/]*[0-~])",
        r"\xc2": rf"(?:\x9b{parameters}|[\x90\x98\x9d-\x9f]{text})",
    }
    controls = {r"\x1b": "", r"\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f": ""}
    whole = _either(_either(sequences, controls), _INVISIBLE)
    unfinished = (
        r"(?:(?:\x1b\[|\xc2\x9b)[0-?]{0,64}[ -/]{0,64}"
        rf"|(?:\x1b[\]PX^_]|\xc2[\x90\x98\x9d-\x9f]){body}[\x1b\xc2]?|\x1b[ -/]{{0,64}}|{_PART})\Z"
    )
    return _pair(whole, sequences, unfinished, r"[ -~]", r"\x08")


@cache
def in_json() -> tuple[Unseen, Unseen]:
    """Return what is unseen in the strings of a JSON text."""
    escape = r"u001[bB]"
    body = rf'(?:[^"\\\xc2]|\\(?!u0007|{escape}|u009[08c-fC-F]).|\xc2[^\x90\x98\x9c-\x9f]){{0,{_BODY_BYTES}}}'
    text, parameters = rf"{body}(?:\\u0007|\\{escape}\\\\|\xc2\x9c)", r"[0-?]*[ !#-/]*[@-\[\]-~]"
    sequences = {
        r"\\": rf"(?:{escape}(?:\[{parameters}|[\]PX^_]{text}|[ !#-/]*[0-\[\]-~])"
        rf"|u009(?:[bB]{parameters}|[08d-fD-F]{text}))",
        r"\xc2": rf"(?:\x9b{parameters}|[\x90\x98\x9d-\x9f]{text})",
    }
    controls = {
        r"\\": r"(?:[bf]|(?i:u(?:00(?:0[0-8bcef]|1[0-9a-f]|7f|[89][0-9a-f]|ad)|061c|115f|1160"
        r"|180e|200[b-f]|202[a-e]|206[0-9a-f]|3164|feff|fff[9ab])))",
        r"\x7f": "",
    }
    whole = _either(_either(sequences, controls), _INVISIBLE)
    unfinished = (
        rf"(?:(?:\\{escape}\[|\xc2\x9b|\\u009[bB])[0-?]{{0,64}}[ !#-/]{{0,64}}"
        rf"|(?:\\{escape}[\]PX^_]|\xc2[\x90\x98\x9d-\x9f]|\\u009[08d-fD-F]){body}"
        rf"(?:\xc2|\\(?:u[0-9a-fA-F]{{0,3}}|{escape}\\?)?)?"
        rf"|\\{escape}[ !#-/]{{0,64}}|\\(?:u[0-9a-fA-F]{{0,3}})?|{_PART})\Z"
    )
    return _pair(whole, sequences, unfinished, r"[ !#-\[\]-~]", r"\\(?:b|u0008)")


def _pair(
    by_first: dict[str, str],
    sequences: dict[str, str],
    unfinished: str,
    letter: str,
    backspace: str,
) -> tuple[Unseen, Unseen]:
    """Return what is unseen where a backspace is left out, and where it strikes out the letter before it."""
    end, kept, whole = _compiled(unfinished), _compiled(_pattern(sequences)), _pattern(by_first)
    many = _compiled(f"{whole}(?:{whole})*")
    struck = _compiled(rf"(?:{letter}|[\xc2-\xf4][\x80-\xbf]+){backspace}|{whole}")
    return (
        Unseen(_compiled(_first(by_first)), many, end, kept, is_overstruck=False),
        Unseen(_compiled(backspace), struck, end, kept, is_overstruck=True),
    )


def plain(text: str) -> str:
    """Return `text` without escapes, `\r\n` as `\n`, and of a line overwritten with `\r` its last state."""
    bare = _TEXT_ESCAPES.sub("", text).replace("\r\n", "\n")
    return "\n".join(_line(line) for line in bare.split("\n"))


def _line(line: str) -> str:
    written = [part for part in line.split("\r") if part]
    last = written[-1] if written else ""
    if "\b" in last:
        kept: list[str] = []
        for letter in last:
            if letter != "\b":
                kept.append(letter)
            elif kept:
                kept.pop()
        last = "".join(kept)
    return _TEXT_CONTROLS.sub("", last)
