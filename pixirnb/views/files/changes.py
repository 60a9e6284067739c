"""Changes of isolated steps, as documents: for the answer of `diff`, and for a panel.

An entry is one step's, or one merge's: its files, whether they are merged, and its patch as far as it can
be shown. Source: contract.md §8, §9; the keys stand in docs/reference/json.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NotRequired, TypedDict, cast

from pixirnb.history.bundles import BundleChanges
from pixirnb.history.file_events import Changes, FileChange, PathList
from pixirnb.history.file_state import DoneMerge, last_merge
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.machine.merge_requests import PreviewedChanges
from pixirnb.machine.next_actions import mergeable
from pixirnb.planning.plan import Plan
from pixirnb.views.basics.sanitize import line, plural, spell_out

PATCH_ROOM: Final = 256 * 1024
"""Bytes of a patch that a document holds; the blob has the whole."""

MODES: Final[Mapping[str | None, str]] = {
    "100644": "a regular file",
    "100755": "executable",
    "120000": "a link",
    None: "nothing",
}
"""Modes of files, in words."""
_PATH: Final = 200
_LIST_ROOM: Final = 256 * 1024 * 1024
"""Bytes of a whole list of files: more than any tree has."""

Beginning = Callable[[str, int], tuple[bytes, int]]
"""The first bytes of a blob, and how many it has."""
_NONE: Final[Changes] = {"patch": None, "files": [], "count": 0, "more": None}


class ChangeEntry(TypedDict):
    """Changes of one step or merge."""

    step: str | None
    merge: str | None
    attempt: int | None
    checkpoint_status: str | None
    merged_by: str | None
    is_mergeable: bool
    built_on: list[str]
    outside: PathList | None
    left_behind: PathList | None
    changes: Changes
    patch_text: NotRequired[str | None]
    patch_cut: NotRequired[int]
    """Bytes of the patch that are left out."""


class MergeEntry(TypedDict):
    """A merge of the run."""

    merge: str
    step: str | None
    by: str
    steps: list[str]
    undoes: str | None
    undone: bool
    is_last: bool
    files: int
    phrase: str


class DiffDocument(TypedDict):
    """Answer of `diff`."""

    run_id: str
    of: str | None
    changes: list[ChangeEntry]
    merges: list[MergeEntry]
    sentence: str


SomeChanges = Changes | BundleChanges | PreviewedChanges


def diff_document(
    plan: Plan, run: RunState, of: str | None, read: Beginning, *, with_patch: bool = True
) -> DiffDocument:
    """Return the changes of one step or merge (`of`), or of every isolated step. Without patches all files are listed.

    Raises KeyError where `of` is neither a step of the plan nor a merge of the run.
    """
    ready = set(mergeable(plan, run))
    entries: list[ChangeEntry] = []
    for step in plan.steps:
        state = run.steps.get(step.id) or StepState()
        entry = _of_step(step.id, state, is_mergeable=step.id in ready)
        if entry is not None and (of == step.id or (of is None and step.kind != "merge")):
            entries.append(entry)
    entries += [_of_merge(merge) for merge in run.merges if of == merge["merge"]]
    if of is not None and not entries and of not in plan.index:
        raise KeyError(of)
    if of is None:
        entries = [each for each in entries if each["changes"]["count"]]
    for each in entries:
        each["patch_text"], each["patch_cut"] = None, 0
        if with_patch and each["changes"]["patch"] is not None:
            each["patch_text"], each["patch_cut"] = patch_text(each["changes"]["patch"], read)
        if not with_patch and (more := each["changes"]["more"]) is not None:
            each["changes"] = {**each["changes"], "files": _whole_list(more, read)}
    return {
        "run_id": run.run_id,
        "of": of,
        "changes": entries,
        "merges": [each for each in merge_documents(run) if of is None or _is_about(each, of)],
        "sentence": "" if entries else _nothing(plan, of),
    }


def patch_text(blob: str, read: Beginning) -> tuple[str, int]:
    """Return the first whole lines of a patch, and how many bytes are left out. What is no UTF-8 is replaced."""
    data, size = read(blob, PATCH_ROOM)
    if size > len(data):
        data = data[: data.rfind(b"\n") + 1] or data
    return data.decode("utf-8", "replace"), size - len(data)


def _whole_list(blob: str, read: Beginning) -> list[FileChange]:
    changes: list[FileChange] = json.loads(read(blob, _LIST_ROOM)[0])
    return changes


def _is_about(merge: MergeEntry, of: str) -> bool:
    """Return whether a merge document is that merge, took it back, or brought or was done by that step."""
    return of in (merge["merge"], merge["undoes"], merge["step"], *merge["steps"])


def merge_documents(run: RunState) -> list[MergeEntry]:
    """Return every merge of the run, oldest first."""
    last = last_merge(run.merges)
    return [
        {
            "merge": merge["merge"],
            "step": merge["step"],
            "by": merge["by"],
            "steps": list(merge["steps"]),
            "undoes": merge.get("undoes"),
            "undone": merge["undone"],
            "is_last": merge is last,
            "files": count_of(merge["changes"]),
            "phrase": changes_phrase(merge["changes"]),
        }
        for merge in run.merges
    ]


def count_of(changes: SomeChanges) -> int:
    """Return how many files; bundles of old logs have no count."""
    return int(changes.get("count", len(changes.get("files") or ())))


def files_of(changes: SomeChanges) -> list[FileChange]:
    """Return the files that are named."""
    listed: list[Any] = changes.get("files") or []
    return [cast("FileChange", file) for file in listed if isinstance(file, Mapping)]


def lines_of(changes: SomeChanges) -> tuple[int, int]:
    """Return lines added and deleted; of the files that are named, where the log does not say those of all."""
    if _has_totals(changes):
        return changes.get("added", 0), changes.get("deleted", 0)
    files = files_of(changes)
    return sum(_lines(file, "added") for file in files), sum(
        _lines(file, "deleted") for file in files
    )


def changes_phrase(changes: SomeChanges) -> str:
    """Return `3 files, +10 -2`; `and more` in old logs, which do not say the lines of more files than they name."""
    count = count_of(changes)
    if not count:
        return "no files"
    added, deleted = lines_of(changes)
    is_whole = _has_totals(changes) or count <= len(changes.get("files") or ())
    more = "" if is_whole else " and more"
    return f"{plural(count, 'file')}, +{added:,} -{deleted:,}{more}"


def _has_totals(changes: SomeChanges) -> bool:
    return all(isinstance(changes.get(key), int) for key in ("added", "deleted"))


def _lines(file: FileChange, key: str) -> int:
    count = file.get(key)
    return count if isinstance(count, int) else 0


def stat_row(file: FileChange) -> list[str]:
    """Return `[sign, path, lines, mode]` of a FileChange."""
    sign = {"added": "A", "deleted": "D"}.get(str(file.get("change")), "M")
    is_text = file.get("added") is not None or file.get("deleted") is not None
    count = f"+{_lines(file, 'added'):,} -{_lines(file, 'deleted'):,}" if is_text else "binary"
    return [sign, spell_out(str(file.get("path")), _PATH), count, mode_phrase(file.get("mode"))]


def mode_phrase(mode: Any) -> str:
    """Return `executable` for what became so; `a link, was a plain file` for what is another kind of file now."""
    if not isinstance(mode, Sequence) or isinstance(mode, str) or len(mode) != 2:
        return ""
    before, after = (MODES.get(each, line(each, 10)) for each in mode)
    if mode[1] is None or mode[0] == mode[1]:
        return ""
    if mode[0] is None:
        return "" if mode[1] == "100644" else after
    return f"{after}, was {before}"


def _of_step(name: str, state: StepState, *, is_mergeable: bool) -> ChangeEntry | None:
    captured = state.captured
    event = state.brought or captured
    if event is None:
        return None
    return {
        "step": name,
        "merge": None if state.brought is None else state.brought["merge"],
        "attempt": state.attempt,
        "checkpoint_status": state.checkpoint_status,
        "merged_by": state.merged_by,
        "is_mergeable": is_mergeable,
        "built_on": list(state.built_on),
        "outside": None if captured is None else captured.get("outside"),
        "left_behind": None if captured is None else captured.get("left_behind"),
        "changes": {**_NONE, **event["changes"]},
    }


def _of_merge(merge: DoneMerge) -> ChangeEntry:
    return {
        "step": merge["step"],
        "merge": merge["merge"],
        "attempt": None,
        "checkpoint_status": None,
        "merged_by": None,
        "is_mergeable": False,
        "built_on": list(merge["steps"]),
        "outside": None,
        "left_behind": None,
        "changes": {**_NONE, **merge["changes"]},
    }


def _nothing(plan: Plan, of: str | None) -> str:
    if of is None:
        return "No isolated step of this run has changes."
    step = plan.steps[plan.index[of]]
    if step.kind == "merge":
        return f"`{of}` has not merged anything."
    if step.kind == "for_each":
        return f"`{of}` has only the changes of its items; name one: `{of}@0`."
    if step.workspace == "isolated":
        return f"`{of}` has no changes yet."
    return f"`{of}` works in the shared workspace; its changes are not recorded separately."
