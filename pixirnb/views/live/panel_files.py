"""Files in the panel of a step: its changes and whether they are merged, a conflict that holds it up, its seams.

    files_document     the step's changes, with the wishes that merge them and take a merge back
    clash_document     the conflict it waits for, with the words that solve it
    patch_document     its patch, read: asked for when somebody opens it

The keys stand in docs/internals/live-view.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pixirnb.history.bundles import changes
from pixirnb.history.file_events import FileChange, PathList
from pixirnb.history.file_state import last_merge
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.json_types import PageObject
from pixirnb.machine.next_actions import mergeable
from pixirnb.planning.plan import Plan
from pixirnb.views.basics.sanitize import line, plural, spell_out
from pixirnb.views.files.changes import changes_phrase, count_of, mode_phrase
from pixirnb.views.files.conflicts import (
    MINE,
    clash_sentence,
    conflict_document,
    is_clashing,
    side_name,
)
from pixirnb.views.files.diff import hunk_words
from pixirnb.views.files.patch_parser import Patch

FILES: Final = 200
PATHS: Final = 100
_PATH: Final = 300
_CLASHES: Final = 50


def files_document(plan: Plan, run: RunState, step_id: str, *, can_act: bool) -> PageObject | None:
    """Return the changes of an isolated step, or those it brought into the user's files; None without any."""
    state = run.steps.get(step_id) or StepState()
    if state.captured is None and state.brought is None:
        return None
    changed, captured = changes(state), state.captured
    merge = state.brought["merge"] if state.brought is not None else state.merged_by
    last = last_merge(run.merges)
    is_last = last is not None and last["merge"] == merge
    ready = mergeable(plan, run) if can_act else []
    # What it was given is part of what it left: both come back together, or neither.
    together = [name for name in ready if name in (*state.built_on, step_id)]
    return {
        "phrase": changes_phrase(changed),
        "count": count_of(changed),
        "files": [_file(file) for file in changed["files"][:FILES]],
        "has_patch": changed["patch"] is not None,
        "sentence": _standing(state, merge, is_mergeable=step_id in ready),
        "merge": None if merge is None else line(merge, 40),
        "built_on": [line(name, 80) for name in state.built_on[:PATHS]],
        "outside": _paths(None if captured is None else captured.get("outside")),
        "left_behind": _paths(None if captured is None else captured.get("left_behind")),
        "wishes": {
            "merge": {"do": "merge", "steps": together} if step_id in together else None,
            "undo": {"do": "merge", "undo": True} if can_act and is_last else None,
        },
    }


def clash_document(state: StepState, *, step_id: str, can_act: bool) -> PageObject | None:
    """Return the conflict that holds a step up; None where none does."""
    clash = state.clash
    if clash is None or not is_clashing(state):
        return None
    is_open = state.awaits_human and can_act
    names = list(dict.fromkeys([MINE, *clash.get("between", ()), *clash.get("steps", ())]))
    request = {"do": "decide", "step": step_id}
    return {
        "sentence": clash_sentence(clash["between"], clash["files"], clash["count"]),
        "between": [side_name(side) for side in clash["between"]],
        "files": [conflict_document(file, None) for file in clash["files"][:_CLASHES]],
        "count": clash["count"],
        "sides": [{"name": line(name, 80), "words": side_name(name)} for name in names],
        "is_open": is_open,
        "wishes": {
            "accept": {**request, "verdict": "accept"} if is_open else None,
            "reject": {**request, "verdict": "reject"} if is_open else None,
        },
    }


def patch_document(patch: Patch, left_out: int, blob: str | None = None) -> PageObject:
    """Return a patch for the browser: `{files: [{path, sign, note, hunks: [{head, lines: [[kind, text], …]}]}], sentence}`."""
    cut = [plural(patch.cut, "line")] if patch.cut else []
    cut += [plural(patch.files_cut, "file")] if patch.files_cut else []
    cut += [f"{left_out:,} bytes"] if left_out else ["the rest"] if patch.is_cut else []
    where = f" The complete patch is blob {line(blob, 80)} of the run." if blob else ""
    return {
        "files": [
            {
                "path": spell_out(file.path, _PATH),
                "sign": {"added": "A", "deleted": "D"}.get(file.change, "M"),
                "note": "not text" if file.is_binary else mode_phrase(file.modes),
                "added": None if file.is_binary else file.added,
                "deleted": None if file.is_binary else file.deleted,
                "hunks": [
                    {
                        "head": hunk_words(hunk),
                        "lines": [[each.kind, spell_out(each.text)] for each in hunk.lines],
                    }
                    for hunk in file.hunks
                ],
            }
            for file in patch.files
        ],
        "sentence": f"Not shown: {', '.join(cut)}.{where}" if cut else "",
    }


def _standing(state: StepState, merge: str | None, *, is_mergeable: bool) -> str:
    if state.brought is not None:
        return f"Merged into your files as {line(merge, 40)}."
    if merge is not None:
        return f"In your files since merge {line(merge, 40)}."
    if is_mergeable:
        return "Not in your files until you merge the step."
    if state.checkpoint_status == "checkpoint_ready":
        return ""
    return "Not in your files; only ready steps can be merged."


def _file(file: FileChange) -> PageObject:
    return {
        "path": spell_out(str(file.get("path")), _PATH),
        "change": line(file.get("change"), 20),
        "added": file.get("added"),
        "deleted": file.get("deleted"),
        "mode": mode_phrase(file.get("mode")),
    }


def _paths(listed: PathList | None) -> PageObject | None:
    if not listed:
        return None
    paths: Sequence[Any] = listed.get("paths") or []
    return {
        "paths": [spell_out(str(path), _PATH) for path in paths[:PATHS]],
        "count": max(int(listed.get("count") or 0), len(paths)),
    }
