"""Seams in words: whose work meets where, why somebody has to say that it fits, and what can be said.

seam_phrase(seam)       one line, for logs and lists
seam_documents(run, …)  for a live view: open ones first, each with its wish
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict, TypeVar

from pixirnb.history.file_events import SeamOpened
from pixirnb.history.file_state import Obligation, Seam
from pixirnb.views.basics.sanitize import line, plain, spell_out
from pixirnb.views.files.conflicts import side_name
from pixirnb.wording import join_names

LISTED: Final = 40
_PATHS: Final = 4
_SIDES: Final = 8
_NOTE: Final = 2_000

_STAYS: Final = "A note only confirms that the changes are compatible; the merge conflict stays until it is resolved."
_REASONS: Final[Mapping[str, str]] = {
    "declared": "declared in the workflow",
    "reported": "reported by an agent",
    "met": "both changed the same files",
    "conflict": "merge conflict",
}


SomeSeam = Seam | SeamOpened | Obligation
_Known = TypeVar("_Known", Seam, Obligation)


class ShownSeam(TypedDict):
    """A seam as a live view shows it."""

    seam: str
    is_open: bool
    reason: str
    between: list[str]
    paths: list[str]
    paths_count: int
    note: str
    aside: str
    by: str
    resolution: str
    wish: dict[str, str] | None


def seam_phrase(seam: SomeSeam) -> str:
    """Return `types and api: both changed the same files, src/a.py`, of a `seam_opened`, a folded seam or an obligation."""
    between = _joined([side_name(side) for side in _list(seam.get("between"))[:_SIDES]])
    reason = seam["reason"]
    why = _REASONS.get(reason, "")
    paths = _list(seam.get("paths"))
    count = _count(seam, paths) if paths else 0
    files = join_names(
        paths, _PATHS, lambda path: spell_out(str(path), 120), count=count, group=","
    )
    note = line(seam.get("note") or "", 300)
    reason = ", ".join(part for part in (why, files) if part)
    return ": ".join(part for part in (between, reason or note) if part) + (
        f": {note}" if reason and note else ""
    )


def _joined(names: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def open_first(seams: Sequence[_Known]) -> list[_Known]:
    """Return the seams of a step, or all, open ones first."""
    return sorted(seams, key=lambda seam: seam.get("state") != "open")


def seam_documents(
    seams: Sequence[Seam], *, step: str | None = None, can_resolve: bool
) -> list[ShownSeam]:
    """Return folded seams for a live view, of one step if it is named."""
    selected = [seam for seam in seams if step is None or step in _list(seam.get("between"))]
    return [_document(seam, can_resolve=can_resolve) for seam in open_first(selected)[:LISTED]]


def _document(seam: Seam, *, can_resolve: bool) -> ShownSeam:
    is_open = seam.get("state") == "open"
    paths = _list(seam.get("paths"))
    reason = seam["reason"]
    request = {"do": "decide", "step": seam.get("id"), "verdict": "accept"}
    return {
        "seam": line(seam.get("id"), 40),
        "is_open": is_open,
        "reason": _REASONS.get(reason, line(reason, 40)),
        "between": [line(side, 80) for side in _list(seam.get("between"))[:LISTED]],
        "paths": [spell_out(str(path), 300) for path in paths[:LISTED]],
        "paths_count": _count(seam, paths),
        "note": plain(seam.get("note") or "", _NOTE),
        "aside": _STAYS if is_open and reason == "conflict" else "",
        "by": line(seam.get("resolved_by") or "", 80),
        "resolution": plain(seam.get("resolution") or "", _NOTE),
        "wish": request if is_open and can_resolve else None,
    }


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _count(seam: SomeSeam, paths: Sequence[Any]) -> int:
    count = seam.get("count")
    return max(count, len(paths)) if isinstance(count, int) else len(paths)
