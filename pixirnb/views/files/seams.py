"""Seams in words: whose work meets where, why somebody has to say that it fits, and what can be said.

seam_phrase(seam)       one line, for logs and lists
seam_documents(run, …)  for a live view: open ones first, each with its wish
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pixirnb.views.basics.sanitize import line, plain, spell_out
from pixirnb.views.files.conflicts import side_name
from pixirnb.wording import join_names

LISTED: Final = 40
_PATHS: Final = 4
_SIDES: Final = 8
_NOTE: Final = 2_000

_STAYS: Final = "The conflict itself stays until it is solved: a note only says that the work fits."
_REASONS: Final[Mapping[str, str]] = {
    "declared": "declared in the workflow",
    "reported": "reported by an agent",
    "met": "both changed the same files",
    "conflict": "a merge conflicted",
}


def seam_phrase(seam: Mapping[str, Any]) -> str:
    """`types and api: both changed the same files, src/a.py`, of a `seam_opened`, of a folded seam or of an obligation."""
    between = _joined([side_name(side) for side in _list(seam.get("between"))[:_SIDES]])
    reason = seam.get("reason")
    why = _REASONS.get(reason, "") if isinstance(reason, str) else ""
    paths = _list(seam.get("paths"))
    count = _count(seam, paths) if paths else 0
    files = join_names(
        paths, _PATHS, lambda path: spell_out(str(path), 120), count=count, group=","
    )
    note = line(seam.get("note") or "", 300)
    told = ", ".join(part for part in (why, files) if part)
    return ": ".join(part for part in (between, told or note) if part) + (
        f": {note}" if told and note else ""
    )


def _joined(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def open_first(seams: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The same seams, those that are open first."""
    return sorted(seams, key=lambda seam: seam.get("state") != "open")


def seam_documents(
    seams: Sequence[Mapping[str, Any]], *, step: str | None = None, can_resolve: bool
) -> list[dict[str, Any]]:
    """Folded seams for a live view, of one step where it is named: `{seam, is_open, reason, between, paths, …, wish}`."""
    found = [seam for seam in seams if step is None or step in _list(seam.get("between"))]
    return [_document(seam, can_resolve=can_resolve) for seam in open_first(found)[:LISTED]]


def _document(seam: Mapping[str, Any], *, can_resolve: bool) -> dict[str, Any]:
    is_open = seam.get("state") == "open"
    paths = _list(seam.get("paths"))
    reason = seam.get("reason")
    wish = {"do": "decide", "step": seam.get("id"), "verdict": "accept"}
    return {
        "seam": line(seam.get("id"), 40),
        "is_open": is_open,
        "reason": _REASONS.get(reason, line(reason, 40)) if isinstance(reason, str) else "",
        "between": [line(side, 80) for side in _list(seam.get("between"))[:LISTED]],
        "paths": [spell_out(str(path), 300) for path in paths[:LISTED]],
        "paths_count": _count(seam, paths),
        "note": plain(seam.get("note") or "", _NOTE),
        "aside": _STAYS if is_open and reason == "conflict" else "",
        "by": line(seam.get("resolved_by") or "", 80),
        "resolution": plain(seam.get("resolution") or "", _NOTE),
        "wish": wish if is_open and can_resolve else None,
    }


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _count(seam: Mapping[str, Any], paths: Sequence[Any]) -> int:
    count = seam.get("count")
    return max(count, len(paths)) if isinstance(count, int) else len(paths)
