"""Facts about files for invented histories: captures, merges, conflicts and seams, with little to write.

captured("types", files=[change("src/a.py")])          what an isolated attempt left
merged("m1", ["types"])                                its changes were brought back
conflicted(["api"], files=["src/a.py"])                they could not be
seam("s1", ["types", "api"])                           somebody has to say that it fits
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pixirnb.history.event_draft import EventDraft

NO_BLOB = "b2:" + "0" * 64
"""Names a blob that no store has."""


def change(path: str, kind: str = "modified", added: int | None = 1, deleted: int | None = 0, *,
           mode: Sequence[str | None] | None = None) -> dict[str, Any]:  # fmt: skip
    """Return a FileChange."""
    entry: dict[str, Any] = {"path": path, "change": kind, "added": added, "deleted": deleted}
    return entry if mode is None else {**entry, "mode": list(mode)}


_CHANGED: Final = change("a.txt")


def changes(files: Sequence[Mapping[str, Any]], *, patch: str | None = NO_BLOB) -> dict[str, Any]:
    """Return a Changes; the patch is missing where nothing changed."""
    return {
        "patch": patch if files else None,
        "files": [dict(file) for file in files],
        "count": len(files),
        "more": None,
    }


def paths(*named: str) -> dict[str, Any]:
    """Return a PathList."""
    return {"paths": list(named), "count": len(named)}


def captured(
    step: str,
    attempt: int = 1,
    *,
    files: Sequence[Mapping[str, Any]] = (),
    patch: str | None = NO_BLOB,
    built_on: Sequence[str] = (),
    outside: Sequence[str] = (),
    left_behind: Sequence[str] = (),
    roots: Sequence[str] = (".",),
) -> EventDraft:
    """Return the event of the files that an isolated attempt began from and left."""
    data: Any = {
        "step": step,
        "attempt": attempt,
        "roots": [
            {"root": root, "folder": f"/somewhere/{root}", "method": "git", "seen": "t0",
             "base": "t0", "left": f"t-{step}"}
            for root in roots
        ],
        "built_on": list(built_on),
        "changes": changes(files, patch=patch),
    }  # fmt: skip
    for key, named in (("outside", outside), ("left_behind", left_behind)):
        if named:
            data[key] = paths(*named)
    return EventDraft("workspace_captured", data)


def merged(
    merge: str,
    steps: Sequence[str],
    *,
    step: str | None = None,
    by: str = "ada",
    files: Sequence[Mapping[str, Any]] = (_CHANGED,),
    patch: str | None = NO_BLOB,
    attempts: Mapping[str, int] | None = None,
    undoes: str | None = None,
    solved: Sequence[str] = (),
) -> EventDraft:
    """Return a merge of changes, or (`undoes`) its undoing."""
    data: Any = {
        "merge": merge,
        "step": step,
        "by": by,
        "steps": list(steps),
        "attempts": dict.fromkeys(steps, 1) if attempts is None else dict(attempts),
        "roots": [
            {"root": ".", "folder": "/somewhere", "method": "git", "before": "t0", "after": "t1"}
        ],
        "changes": changes(files, patch=patch),
        "undoes": undoes,
        "request_id": None,
    }
    if solved:
        data["solved"] = list(solved)
    return EventDraft("merge_applied", data)


def conflict(
    path: str,
    kind: str = "content",
    between: Sequence[str] = ("workspace", "types"),
    *,
    marked: str | None = None,
) -> dict[str, Any]:
    """Return a ConflictedFile."""
    sides = [{"name": name, "mode": "100644", "bytes": 12} for name in between]
    return {"path": path, "kind": kind, "sides": sides, "marked": marked}


def conflicted(
    steps: Sequence[str],
    files: Sequence[Mapping[str, Any]],
    *,
    step: str | None = None,
    attempt: int | None = None,
    between: Sequence[str] = ("workspace", "types"),
) -> EventDraft:
    """Return a merge that was not done."""
    data: Any = {
        "step": step,
        "attempt": attempt,
        "steps": list(steps),
        "between": list(between),
        "files": [dict(file) for file in files],
        "count": len(files),
        "roots": [{"root": ".", "seen": "t0"}],
        "request_id": None,
    }
    return EventDraft("merge_conflicted", data)


def seam(
    name: str,
    between: Sequence[str],
    *,
    reason: str = "met",
    files: Sequence[str] = (),
    note: str = "",
) -> EventDraft:
    """Return a seam that opens."""
    data: Any = {
        "id": name,
        "reason": reason,
        "between": list(between),
        "note": note,
        **paths(*files),
    }
    return EventDraft("seam_opened", data)


def resolved(
    name: str, note: str, *, by: str = "ada", step: str | None = None, merge: str | None = None
) -> EventDraft:
    """Return a seam that is resolved."""
    data: Any = {
        "id": name,
        "by": by,
        "step": step,
        "merge": merge,
        "note": note,
        "request_id": None,
    }
    return EventDraft("seam_resolved", data)
