"""Printed text without a terminal's sequences: what the lines of a terminal show in the end."""

from __future__ import annotations

import re
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
