"""An agent's own text, without the echo of its task, and the readiness line in it.

Text of the prompt never counts as the agent's own (contract.md §4): an agent that repeats its instructions, readiness line
included, has declared nothing, whatever became of their blanks and line breaks on the way. Leaving out an echo may take
readiness away and never gives it: the last readiness line holds, echo or not, if it says anything but ready.

`UnreportedText` keeps printed text that no message has covered yet: the partial text of an agent that is cut off. Printed text
and messages come through two pipes, and either may be read first.
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

_FENCED: Final = re.compile(r"^```\w*[ \t]*\n((?:(?!```).*\n)*)```\Z", re.MULTILINE)
_MARKER: Final = re.compile(r"^[^\S\n]*checkpoint_status:[ \t]*(\S+)\s*$", re.MULTILINE)
_LOOSE: Final = re.compile(
    r"^[ \t>*_`#+-]*checkpoint_status[ \t*_`]*:[ \t*_`]*"
    r"(checkpoint_ready|partial|failed|needs_orchestrator)\b.*$|" + _MARKER.pattern,
    re.MULTILINE,
)
"""A readiness line, also with marks around it or words after it: such a one says all but ready."""
_READY: Final = "checkpoint_ready"
_BEGINNING: Final = re.compile("checkpoint_status:")
MESSAGE_BYTES: Final = 128 * 1024
"""Bytes at the end of printed output that are the message of an agent which only prints."""
MARKERS_LIMIT: Final = 10_000
"""Maximum number of markers that are compared."""
ANY_MARKER: Final = "*"
"""Marker that stands for all: an agent that was shown more than `MARKERS_LIMIT` of them declares nothing by any."""
_LONGEST: Final = 80
"""Characters of a marker that are compared; the four statuses are far shorter."""


def own_words(text: str, work: Work, shown: frozenset[str] = frozenset()) -> str:
    """Return `text` without the lines of the agent's prompt, and without readiness that the prompt or `shown` held already.

    The last readiness line stays if it says anything but ready. `shown`: `markers` of all other texts the agent was shown.
    """
    if not isinstance(work, AgentWork):
        return text
    # In the prompt, what others said is quoted: a line of theirs that an agent ends with as well is its own.
    prompt = f"{work.task}\n{work.prompt}" if work.runner == "scripted" else work.prompt
    echoed = {line.strip() for line in prompt.splitlines() if line.strip()}
    known = sorted(shown | markers(prompt))
    lines = text.splitlines()
    statuses = {
        number: match[1] or match[2]
        for number, line in enumerate(lines)
        if (match := _LOOSE.match(line))
    }
    last = max(statuses, default=-1)
    return "\n".join(
        line
        for number, line in enumerate(lines)
        if (number == last and not _is_ready(statuses[number]))
        or (line.strip() not in echoed and not (number in statuses and _is_known(line, known)))
    )


def extract_message(
    message: str | None, printed: Printed, work: Work, shown: frozenset[str]
) -> tuple[Printed, str]:
    """Return an agent's text and its final message, in its own words. `message`: None where it only printed.

    Where it only printed, and a lot, the message is the end of that, and the text all of it, as it was printed. Blocking.
    """
    if message is None and printed.size > MESSAGE_BYTES:
        last = printed.ending(MESSAGE_BYTES)
        return printed, own_words(last.partition("\n")[2] or last, work, shown)
    text = own_words(printed.ending(MESSAGE_BYTES) if message is None else message, work, shown)
    return Printed.words(without_declaration(text)), text


def declared_text(text: str) -> str:
    """Return the part of an agent's final message that is its declared output: without readiness line; of a message that
    ends in a fenced block, what is in the fence.
    """
    bare = _MARKER.sub("", text).strip()
    fenced = _FENCED.search(bare)
    return bare if fenced is None else fenced[1].strip()


def without_declaration(text: str) -> str:
    """Return an agent's text without its readiness line, and those right above it: they are no part of its result."""
    declared = [*_MARKER.finditer(text)]
    if not declared:
        return text
    first = last = declared.pop()
    while declared and not text[declared[-1].end() : first.start()].strip():
        first = declared.pop()
    return (text[: first.start()] + "\n" + text[last.end() :]).strip("\n")


def markers(text: str) -> frozenset[str]:
    """Return the text after each `checkpoint_status:` of a text, wherever in its lines, without blanks, line breaks and marks.

    An agent that was shown such a text and repeats it has declared nothing.
    """
    bare = squeeze(text)
    return frozenset(
        bare[match.start() : match.start() + _LONGEST] for match in _BEGINNING.finditer(bare)
    )


def with_markers(shown: frozenset[str], text: str) -> frozenset[str]:
    """Return `shown`, and the markers of one text more."""
    more = shown | markers(text)
    return more if len(more) <= MARKERS_LIMIT else frozenset({ANY_MARKER})


def _is_ready(word: str) -> bool:
    """Return whether a word of a readiness line says ready, whatever marks stand around it."""
    return re.sub(r"\W", "", word) == _READY


def _is_known(line: str, known: Sequence[str]) -> bool:
    """Return whether a line begins with one of the markers. `known`: sorted."""
    if known and known[0] == ANY_MARKER:
        return True
    bare = squeeze(line)[:_LONGEST]
    at = bisect_left(known, bare)
    return at < len(known) and known[at].startswith(bare)


def declared_by(report: JsonObject | None, text: str) -> JsonObject | None:
    """Return what an agent declares: what it reported, unless the end of its message takes back that it is ready."""
    last = marker_of(text)
    if report is None:
        return last
    is_ready = report.get("checkpoint_status") == _READY
    is_taken_back = last is not None and last["checkpoint_status"] != _READY
    return last if is_ready and is_taken_back else report


def marker_of(text: str) -> JsonObject | None:
    """Return the last `checkpoint_status:` line, as a report; None where there is none. Only a line of its own says ready."""
    declared = [*_LOOSE.finditer(text)]
    if not declared:
        return None
    strict = _MARKER.match(declared[-1][0])
    status = strict[1] if strict else declared[-1][1]
    if strict is None and _is_ready(status):
        return None
    text = _FENCED.sub("", _MARKER.sub("", text).strip()).strip() or declared_text(text)
    return {"checkpoint_status": status, "summary": text[text.rfind("\n") + 1 :].strip()}


LIMIT: Final = 128 * 1024
"""Maximum number of characters kept: the last ones."""


class UnreportedText:
    """Printed text that no message has covered yet. Belongs to one thread."""

    def __init__(self) -> None:
        self.text = ""
        self._late = ""
        """Text of the last message that has not been printed yet, as far as is known."""

    def on_output(self, printed: str) -> None:
        """Add printed text."""
        if self._late:
            length = min(len(self._late), len(printed))
            if printed[:length] == self._late[:length]:
                self._late, printed = self._late[length:], printed[length:]
            else:
                self._late = ""  # it was told and never printed
        self.text = (self.text + printed)[-LIMIT:]

    def on_message(self, message: str) -> None:
        """Remove the text of a message, whole or partial."""
        heard = self.text.lstrip("\n")
        self._late = message[len(heard) :] if message.startswith(heard) else ""
        # More may have been printed before the message was read.
        is_first = bool(message) and heard.startswith(message)
        self.text = heard[len(message) :].lstrip("\n") if is_first else ""
