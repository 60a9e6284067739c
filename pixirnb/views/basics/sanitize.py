"""Text from a run, made safe to show: no escape sequences, no invisible or direction-changing characters, bounded.

What a command printed, what an agent said and what stood in someone else's run folder can all be hostile. A terminal obeys
control sequences and a browser obeys bidi marks, so views show neither. Escaping for HTML is a second, separate step.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from pixirnb.wording import cut, join_names

_SEEN: Final = 64_000
"""Characters looked at: what lies beyond is cut before any pattern runs, so that cleaning is linear."""

# A body ends at the next opener: ten thousand openers that never end would each be looked at again otherwise.
_BODY: Final = r"[^\x07\x1b\x90\x98\x9c-\x9f]{0,4096}"
_SEQUENCES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    rf"|(?:\x1b\]|\x9d){_BODY}(?:\x07|\x1b\\|\x9c)"  # OSC: titles, links, clipboards
    rf"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f]){_BODY}(?:\x07|\x1b\\|\x9c)"  # DCS SOS PM APC
    r"|\x1b[ -/]*[0-~]"  # any other escape, and the openers of sequences that never end
)
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_UNSEEN: Final = re.compile(f"[\n\u2028\u2029]|{_INVISIBLE.pattern}|{_SURROGATES.pattern}")
_HIDDEN: Final = re.compile(f"[\u2028\u2029]|{_INVISIBLE.pattern}")
_BREAKS: Final = re.compile("\r\n|[\r\u0085\u2028\u2029\x0b\x0c]")


def plain(text: object, limit: int = 2_000) -> str:
    """Return `text` without control, bidi and invisible characters, at most `limit` characters; newlines stay."""
    shown = str(text)
    is_cut = len(shown) > _SEEN
    shown = shown[:_SEEN]
    if not (shown.isascii() and shown.isprintable()):  # else there is nothing to take out
        shown = visible(_SEQUENCES.sub("", _BREAKS.sub("\n", shown)))
    if len(shown) > limit or is_cut:
        return shown[: max(0, limit - 1)].rstrip() + "…"
    return shown


def plain_lines(text: str, limit: int) -> list[str]:
    """Return each line of a long text as `plain` shows it; the beginning, of at most `limit` characters in all, and `…`."""
    lines = [row for each in text[:limit].split("\n") for row in plain(each, limit).split("\n")]
    return [*lines, "…"] if len(text) > limit else lines


def visible(text: str) -> str:
    """Return `text` without control, bidi and invisible characters, tabs as blanks; newlines and sequences are the caller's."""
    return _SURROGATES.sub("\ufffd", _INVISIBLE.sub("", text)).replace("\t", "    ")


def spell_out(text: str, limit: int = 500) -> str:
    """Return one line of a file, or a path: what `visible` leaves out is named, `<U+202E>`, since it may be the change."""
    shown = text[:limit].replace("\t", "    ")
    shown = _UNSEEN.sub(lambda match: f"<U+{ord(match[0]):04X}>", shown)
    return shown + "…" if len(text) > limit else shown


def escape_json(text: str) -> str:
    """Return JSON text with what a terminal obeys or hides as `\\uXXXX`; it parses to the same document."""
    return _HIDDEN.sub(lambda match: json.dumps(match[0])[1:-1], text)


def line(text: object, limit: int = 200) -> str:
    """Return `plain(text)` on one line: runs of blanks and newlines become one blank."""
    shown = " ".join(plain(text, _SEEN).split())
    return cut(shown, limit)


def quote_name(value: object, limit: int = 64) -> str:
    """Return a text as a name in a sentence, like `line`: `` `make` ``."""
    return f"`{line(value, limit)}`"


def quote_names(names: Sequence[object], limit: int = 6) -> str:
    """Return names for a sentence: `` `a`, `b` and 3 more ``."""
    return join_names(names, limit, quote_name, group=",")


def group_digits(count: object) -> str:
    """Return `1,200`; of what is no number its beginning."""
    return f"{count:,}" if isinstance(count, int) else line(count, 12)


def plural(count: int, noun: str) -> str:
    """Return `1 step`, `3 steps`, `1,200 steps`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
