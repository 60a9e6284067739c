"""An attempt in folders of its own: given before it starts, captured when it has ended, and the events of both.

    merged files could not be made    `merge_conflicted`, a seam, and the attempt ends before it starts
    else                              `workspace_captured`, whatever became of the attempt

Source: contract.md §4, §8; docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from pixirnb.engine.run_context import Attempt, RunContext
from pixirnb.errors import Cannot
from pixirnb.history.event_draft import EventDraft, warning
from pixirnb.history.file_events import (
    CONFLICT,
    METHOD,
    Changes,
    ConflictedFile,
    FileChange,
    MergeConflicted,
    PathList,
    SolvedFile,
    WorkspaceCaptured,
)
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.ids import attempt_name
from pixirnb.machine import merge_requests, seams
from pixirnb.machine.merge_requests import ConflictResolution
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.planning.roots import Roots
from pixirnb.protocols.ports import Blobs
from pixirnb.protocols.trees import (
    Checkout,
    CheckoutResult,
    FileConflict,
    Files,
    MergeConflict,
    MergeInput,
    TreeEntry,
    facts_of,
    layers_of,
)
from pixirnb.protocols.work import Ended
from pixirnb.runners.output.mask import mask_here
from pixirnb.wording import join_names
from pixirnb.workspace.errors import shown

FILES_SHOWN: Final = 200
PATHS_SHOWN: Final = 100
CONFLICTS_SHOWN: Final = 50
MARKED_LIMIT: Final = 256 * 1024


def files_of(context: RunContext) -> Files:
    """Return the store of the run's files. Raises Cannot where the run has none."""
    if context.files is None:
        raise Cannot(
            "isolated steps and merges require a state folder, and this run has none",
            fix="run it in a writable workspace",
            code="no_state_folder",
        )
    return context.files


def give(
    attempt: Attempt, state: StepState, context: RunContext
) -> Checkout | tuple[list[EventDraft], Ended]:
    """Return folders for an attempt, with the changes it builds on merged in; where these conflict, the events and the end.

    Blocking. Raises Cannot.
    """
    given = files_of(context).give(_order(attempt.step, state, context))
    return _clashed(given, attempt, context) if isinstance(given, MergeConflict) else given


ChangedPaths = Mapping[str, Sequence[str]]
"""By root: the paths in it that an attempt changed."""


def take(
    given: Checkout, attempt: Attempt, context: RunContext
) -> tuple[list[EventDraft], ChangedPaths]:
    """Return the `workspace_captured` of an attempt, and what it changed.

    Blocking; its blobs are stored. Raises Cannot, LogWriteFailed.
    """
    files = files_of(context)
    try:
        return _captured(given, files, attempt, context)
    except Cannot as error:
        aside = files.set_aside(given)
        message, fix = _why_not_taken(error, given)
        raise dataclasses.replace(
            error, message=f"{message} (its files are kept in {aside})", fix=fix
        ) from error


def _why_not_taken(error: Cannot, given: Checkout) -> tuple[str, str]:
    """Return why an attempt's files could not be captured, and a fix: its folder does not exist for a next attempt."""
    path, why = str(error.details.get("path")), error.details.get("why")
    if error.code != "snapshot_unreadable" or why is None:
        return error.message.removesuffix("."), error.fix
    for folder in given.folders.values():
        path = path.removeprefix(f"{folder}/")
    return (
        f"cannot read {shown(path)}, which the step wrote: {why}",
        "make the files readable in the step (`chmod -R u+rwX`), or exclude them with `never_copy` or .gitignore",
    )


def drop(given: Checkout, step: str, context: RunContext) -> list[EventDraft]:
    """Delete the folders of an attempt; return a warning where they could not be deleted. Blocking."""
    try:
        files_of(context).drop(given)
    except Cannot as error:
        return [copy_left(error, step)]
    return []


def copy_left(refused: Cannot, step: str | None) -> EventDraft:
    """Return the warning of a copy that could not be deleted, which has no other effect."""
    return warning("copy_left", refused.one_line(), step)


def _captured(
    given: Checkout, files: Files, attempt: Attempt, context: RunContext
) -> tuple[list[EventDraft], ChangedPaths]:
    taken, step = files.take(given), attempt.step
    data: WorkspaceCaptured = {
        "step": step.id,
        "attempt": attempt.number,
        "roots": [
            {
                "root": root,
                "folder": context.roots.named(root).folder,
                "method": METHOD,
                "seen": given.seen[root],
                "base": given.base[root],
                "left": taken.trees[root],
            }
            for root in given.folders
        ],
        "built_on": list(dict.fromkeys(layer.step for layer in given.order.layers)),
        "changes": changes_of(taken, context.roots, context.log.blobs),
    }
    outside = _outside(taken, step, context.roots)
    if outside:
        data["outside"] = path_list(outside)
    if taken.left_behind:
        data["left_behind"] = path_list(taken.left_behind)
    solved = seams.after_building(context.run, step.id)
    drafts = [*solved, *_not_given(given, step.id), EventDraft("workspace_captured", data)]
    return drafts, {root: [each.path for each in made] for root, made in taken.changes.items()}


def _not_given(given: Checkout, step: str) -> list[EventDraft]:
    """Return a warning where the user's files hold some that cannot be copied."""
    if not given.missing:
        return []
    names = join_names(given.missing, 5, shown)
    message = f"not copied: {names} (pipes, sockets and devices)"
    return [warning("not_copied", message, step)]


def _clashed(
    clash: MergeConflict, attempt: Attempt, context: RunContext
) -> tuple[list[EventDraft], Ended]:
    """Return the events of a conflict, and the end of the attempt before it starts. Blocking."""
    captured = merge_requests.captures_before(context.plan, context.run, attempt.step.index)
    drafts = conflict_facts(
        clash,
        context.plan,
        context.run,
        context.roots,
        context.log.blobs,
        step=attempt.step.id,
        attempt=attempt.number,
        steps=[event["step"] for event in captured],
    )
    return drafts, Ended("failed", CONFLICT, conflict_message(clash, context.roots))


def merged_in(step: PlannedStep, run: RunState) -> str | None:
    """Return the last merge that stands and brought the changes of an isolated step's attempt into the user's files."""
    standing = (m for m in reversed(run.merges) if not m["undone"] and m.get("undoes") is None)
    is_own = step.workspace == "isolated"
    return next((m["merge"] for m in standing if is_own and step.id in m["attempts"]), None)


def conflict_message(clash: MergeConflict, roots: Roots) -> str:
    """Return the conflict in one line."""
    paths = [roots.shown(clash.root, conflict.path) for conflict in clash.conflicts]
    ours, theirs = clash.between
    mine = "your files" if ours == "workspace" else f"`{ours}`"
    return f"{mine} and `{theirs}` changed {join_names(paths, 5)} in different ways; nothing was changed"


def conflict_facts(
    clash: MergeConflict,
    plan: Plan,
    run: RunState,
    roots: Roots,
    blobs: Blobs,
    *,
    step: str | None = None,
    attempt: int | None = None,
    steps: Sequence[str] = (),
    request_id: str | None = None,
    undoes: str | None = None,
) -> list[EventDraft]:
    """Return `merge_conflicted`, and the seam it opens. Texts with both sides are stored."""
    shown = [roots.shown(clash.root, conflict.path) for conflict in clash.conflicts]
    data: MergeConflicted = {
        "step": step,
        "attempt": attempt,
        "steps": list(steps),
        "between": list(clash.between),
        "files": [
            _conflicted(conflict, path, clash, blobs)
            for conflict, path in zip(clash.conflicts, shown, strict=True)
        ][:CONFLICTS_SHOWN],
        "count": len(shown),
        "roots": [
            {"root": root, "seen": tree}
            for root, tree in {clash.root: clash.seen, **clash.looked_at}.items()
        ],
        "solved": [
            {
                "path": path,
                "chosen": _pair(chosen),
                "was": _pair(was),
                "of": of,
            }
            for (path, of), (chosen, was) in clash.solved.items()
        ],
        "request_id": request_id,
    }
    if undoes is not None:
        data["undoes"] = undoes
    return [
        EventDraft("merge_conflicted", data),
        *seams.clash(plan, run, list(clash.between), shown[: seams.SHOWN], len(shown), step=step),
    ]


def changes_of(taken: CheckoutResult, roots: Roots, blobs: Blobs) -> Changes:
    """Return changes as the log and a bundle hold them; patch and long lists are stored."""
    files: list[FileChange] = [
        {**fact, "path": roots.shown(root, fact["path"])}
        for root, changes in taken.changes.items()
        for fact in facts_of(changes)
    ]
    record: Changes = {
        "patch": blobs.put(taken.patch) if taken.patch else None,
        "files": files[:FILES_SHOWN],
        "count": len(files),
        "more": None,
    }
    if len(files) > FILES_SHOWN:
        record["more"] = blobs.put(json.dumps(files).encode("utf-8", errors="surrogateescape"))
        record["added"] = sum(file["added"] or 0 for file in files)
        record["deleted"] = sum(file["deleted"] or 0 for file in files)
    if taken.leading_out:
        links = [f"{path} -> {target}" for path, target in taken.leading_out.items()]
        record["leads_out"] = path_list(links)
    return record


def path_list(paths: Sequence[str]) -> PathList:
    """Return a bounded list for the log."""
    return {"paths": list(paths[:PATHS_SHOWN]), "count": len(paths)}


def order_of(
    run: RunState,
    name: str,
    roots: Sequence[str],
    captured: Sequence[WorkspaceCaptured],
    resolution: ConflictResolution,
) -> MergeInput:
    """Return the input of a merge: the captures as layers, and a person's resolution of the conflict."""
    clash = resolution.clash
    return MergeInput(
        run.run_id,
        name,
        tuple(roots),
        tuple(layer for event in captured for layer in layers_of(event["step"], event)),
        sides=resolution.sides or None,
        decided_on=resolution.decided_on,
        held=resolution.held,
        seen={} if clash is None else {root["root"]: root["seen"] for root in clash["roots"]},
        solved={} if clash is None else _solved(clash.get("solved") or ()),
        spell=mask_here({}).text,
    )


def _solved(
    files: Sequence[SolvedFile],
) -> dict[tuple[str, str], tuple[TreeEntry | None, TreeEntry | None]]:
    return {
        (file["path"], file.get("of", "")): (_entry(file["chosen"]), _entry(file["was"]))
        for file in files
    }


def _pair(entry: TreeEntry | None) -> list[str] | None:
    return None if entry is None else [entry.mode, entry.digest]


def _entry(pair: Sequence[str] | None) -> TreeEntry | None:
    return None if pair is None else TreeEntry(pair[0], pair[1])


def _order(step: PlannedStep, state: StepState, context: RunContext) -> MergeInput:
    captured = merge_requests.captures_before(context.plan, context.run, step.index)
    known = {root["root"] for event in captured for root in event["roots"]}
    order = order_of(
        context.run,
        attempt_name(step.id, state.attempt),
        step.roots,
        [event for event in captured if known & set(step.roots)],
        merge_requests.resolution_for(context.run, state),
    )
    claimed, carry = tuple(step.spec.write_set or ()), tuple(step.spec.carry)
    return replace(order, claimed=claimed, carry=carry)


def _outside(taken: CheckoutResult, step: PlannedStep, roots: Roots) -> list[str]:
    """Return the changed files that the step had not claimed; none for a step that declares nothing."""
    if step.posture == "undeclared" and not step.write_set:
        return []
    claims = roots.claims(step.write_set)
    return sorted(
        roots.shown(root, change.path)
        for root, changes in taken.changes.items()
        for change in changes
        if not claims(root, change.path)
    )


def _conflicted(
    conflict: FileConflict, path: str, clash: MergeConflict, blobs: Blobs
) -> ConflictedFile:
    sides: list[tuple[str, TreeEntry | None]] = [
        (clash.between[0], conflict.ours),
        (clash.between[1], conflict.theirs),
    ]
    marked = conflict.marked
    return {
        "path": path,
        "kind": conflict.kind,
        "sides": [
            {"name": name, "mode": None, "bytes": None}
            if entry is None
            else {"name": name, "mode": entry.mode, "bytes": clash.sizes.get(entry.digest)}
            for name, entry in sides
        ],
        "marked": None if marked is None else blobs.put(marked[:MARKED_LIMIT]),
    }
