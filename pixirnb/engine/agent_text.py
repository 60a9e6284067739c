"""What an agent said of itself in its own words: its text without the echo of its task, and the readiness line in it.

Text that was in the prompt never counts as the word of the agent (contract.md §4): an agent that repeats its instructions,
readiness line included, has declared nothing, whatever became of their blanks and line breaks on the way. `LooseText` keeps
what an agent printed and no message has come for: what is left over when it is cut off. What is printed and what is told come
through two pipes, and either may be read first.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from pixirnb.json_types import JsonObject
from pixirnb.planning.prompts.quoting import squeeze
from pixirnb.protocols.work import AgentWork, Work
from pixirnb.runners.output.printed import Printed

_FENCED: Final = re.compile(r"```\w*[ \t]*\n(.*)\n```", re.DOTALL)
_MARKER: Final = re.compile(r"^\s*checkpoint_status:[ \t]*(\S+)\s*$", re.MULTILINE)
_BEGINNING: Final = re.compile("checkpoint_status:")
MESSAGE_BYTES: Final = 128 * 1024
"""Of what an agent only printed, that is its message: the end of it."""
MARKERS_LIMIT: Final = 10_000
"""Markers that are told apart."""
ANY_MARKER: Final = "*"
"""Stands for all there are: an agent that was shown more of them than are told apart declares nothing by any."""
_LONGEST: Final = 80
"""Characters of a marker that are compared; the four words are far shorter."""


def own_words(text: str, work: Work, shown: frozenset[str] = frozenset()) -> str:
    """`text` without the lines that stood in the agent's prompt, and without readiness that it or `shown` held already.

    `shown`: `markers` of what else the agent was shown.
    """
    if not isinstance(work, AgentWork):
        return text
    # In the prompt, what others said is quoted: a line of theirs that an agent ends with as well is its own.
    told = f"{work.task}\n{work.prompt}" if work.runner == "scripted" else work.prompt
    echoed = {line.strip() for line in told.splitlines() if line.strip()}
    known = sorted(shown | markers(told))
    return "\n".join(
        line
        for line in text.splitlines()
        if line.strip() not in echoed and not (_MARKER.match(line) and _is_known(line, known))
    )


def extract_message(
    told: str | None, printed: Printed, work: Work, shown: frozenset[str]
) -> tuple[Printed, str]:
    """What an agent left as text, and its final message, in its own words. `told`: the message, None where it only printed.

    The message of one that printed a lot is the end of that, and its text all of it, as it was printed. Blocking.
    """
    if told is None and printed.size > MESSAGE_BYTES:
        last = printed.ending(MESSAGE_BYTES)
        return printed, own_words(last.partition("\n")[2] or last, work, shown)
    text = own_words(printed.ending(MESSAGE_BYTES) if told is None else told, work, shown)
    return Printed.words(text), text


def declared_text(text: str) -> str:
    """The part of an agent's final message that is its declared output: without readiness line and code fence."""
    said = _MARKER.sub("", text).strip()
    fenced = _FENCED.fullmatch(said)
    return said if fenced is None else fenced[1]


def markers(text: str) -> frozenset[str]:
    """What stands at each `checkpoint_status:` of a text, wherever in its lines, without blanks, line breaks and marks.

    Whoever was shown one and repeats it has declared nothing.
    """
    bare = squeeze(text)
    return frozenset(
        bare[found.start() : found.start() + _LONGEST] for found in _BEGINNING.finditer(bare)
    )


def with_markers(shown: frozenset[str], text: str) -> frozenset[str]:
    """`shown`, and those of one text more."""
    more = shown | markers(text)
    return more if len(more) <= MARKERS_LIMIT else frozenset({ANY_MARKER})


def _is_known(line: str, known: Sequence[str]) -> bool:
    """`known`: sorted."""
    if known and known[0] == ANY_MARKER:
        return True
    said = squeeze(line)[:_LONGEST]
    at = bisect_left(known, said)
    return at < len(known) and known[at].startswith(said)


def marker_of(text: str) -> JsonObject | None:
    """The last `checkpoint_status:` line, as a report; None where there is none."""
    found = _MARKER.findall(text)
    if not found:
        return None
    said = [line for line in text.splitlines() if line.strip() and not _MARKER.match(line)]
    return {"checkpoint_status": found[-1], "summary": said[-1].strip() if said else ""}


LIMIT: Final = 128 * 1024
"""Characters that are kept: the last ones."""


class LooseText:
    """Belongs to one thread."""

    def __init__(self) -> None:
        self.text = ""
        self._late = ""
        """Text of the last message that has not been printed yet, as far as is known."""

    def hear(self, printed: str) -> None:
        """The agent printed something."""
        if self._late:
            length = min(len(self._late), len(printed))
            if printed[:length] == self._late[:length]:
                self._late, printed = self._late[length:], printed[length:]
            else:
                self._late = ""  # it was told and never printed
        self.text = (self.text + printed)[-LIMIT:]

    def told(self, message: str) -> None:
        """A message came, whole or partial."""
        heard = self.text.lstrip("\n")
        self._late = message[len(heard) :] if message.startswith(heard) else ""
        # More may have been printed before the message was read.
        is_first = bool(message) and heard.startswith(message)
        self.text = heard[len(message) :].lstrip("\n") if is_first else ""
