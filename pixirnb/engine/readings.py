"""What an agent said of itself in its own words: its text without the echo of its task, and the readiness line in it.

Text that was in the prompt never counts as the agent's word (contract.md §4): an agent that repeats its instructions,
readiness line included, has declared nothing.
"""

from __future__ import annotations

import re
from typing import Any, Final

from pixirnb.work import AgentWork, Work

_MARKER: Final = re.compile(r"^\s*checkpoint_status:[ \t]*(\S+)\s*$", re.MULTILINE)


def own_words(text: str, work: Work) -> str:
    """`text` without the lines that stood in the agent's prompt."""
    if not isinstance(work, AgentWork):
        return text
    told = f"{work.task}\n{work.prompt}"
    echoed = {line.strip() for line in told.splitlines() if line.strip()}
    return "\n".join(line for line in text.splitlines() if line.strip() not in echoed)


def marker_of(text: str) -> dict[str, Any] | None:
    """The last `checkpoint_status:` line, as a report; None where there is none."""
    found = _MARKER.findall(text)
    if not found:
        return None
    said = [line for line in text.splitlines() if line.strip() and not _MARKER.match(line)]
    return {"checkpoint_status": found[-1], "summary": said[-1].strip() if said else ""}
