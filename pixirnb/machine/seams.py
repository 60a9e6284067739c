"""Seams: obligations to confirm that the work of several steps fits together. When they open, and what resolves them.

    after_settling   a step has settled: what it declares, what its agent reports, whose changes its own meet, what it resolves
    after_merge      changes were brought back: what met in them is one thing now
    clash            a merge conflicts

No run is `completed` over an open seam. Source: contract.md §8; docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal, NotRequired, TypedDict, cast

from pixirnb.history.conflict_hunks import HunkChoice
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.file_events import SeamOpened, SeamResolved
from pixirnb.history.file_state import Seam, open_seams, paths_of
from pixirnb.history.run_state import RunState
from pixirnb.machine.board import Board
from pixirnb.machine.instructions import Snapshot
from pixirnb.machine.outcome_reasons import seams_of
from pixirnb.planning.plan import Plan, ancestors
from pixirnb.wording import join_names

SHOWN: Final = 50
"""Number of paths that a seam names."""
_NOTE_LIMIT: Final = 2000
_USABLE: Final = frozenset({"checkpoint_ready", "partial", "needs_orchestrator"})
"""Statuses of a settled step that has work which may be built on, or be accepted."""


class _UnnamedSeam(TypedDict):
    """A seam before it has a name."""

    reason: Literal["declared", "reported", "met", "conflict"]
    between: list[str]
    note: str
    paths: list[str]
    count: NotRequired[int]
    step: NotRequired[str | None]


def after_settling(snapshot: Snapshot, index: int) -> list[EventDraft]:
    """Return the seams that a settled step opens and resolves, as far as they are not known already."""
    plan, run = snapshot.plan, snapshot.board.run
    step = plan.steps[index]
    status = run.step(step.id).checkpoint_status
    if run.step(step.id).stage != "settled":
        return []  # it is asked about, and has left nothing yet
    if status not in _USABLE:
        return []
    before = ancestors(plan, index)
    is_ready = status == "checkpoint_ready"
    drafts = _resolved_by_step(plan, run, index, before) if is_ready else []
    known = list(seams_of(plan, run).values())
    seams: list[_UnnamedSeam] = []
    for note, reason in _notes(snapshot, index):
        others = _declaring(plan, run, index, note)
        if not any(seam["note"] == note and step.id in seam["between"] for seam in known):
            is_answer = any(before >= {plan.index[o]} for o in others) and is_ready
            if not is_answer:
                between = [*(o for o in others if plan.index[o] not in before), step.id]
                seams.append({"reason": reason, "between": between, "note": note, "paths": []})
    for other, paths in _meetings(snapshot, index, before):
        between = sorted((other, step.id), key=lambda name: run.step(name).settled_seq)
        # That one of them could not begin from the other is of a workflow in which it was after it.
        covering = [seam for seam in known if seam.get("step") not in between]
        if not any(_is_between(seam, between) for seam in covering):
            seams.append({"reason": "met", "between": between, "note": "", "paths": paths})
    return [*drafts, *_opened(plan, run, seams)]


def after_merge(
    run: RunState,
    merge: str,
    steps: Iterable[str],
    *,
    step: str | None,
    by: str,
    chosen: Mapping[str, str | HunkChoice] | None = None,
) -> list[EventDraft]:
    """Return the seams that a merge resolves: of common or conflicting changes to files, once all sides are brought back.

    `chosen`: by file, the one version that a person chose there.
    """
    brought = {name for name, state in run.steps.items() if state.merged_by} | set(steps)
    by_whom = "merge" if step is None else "step"
    return [
        _resolved(seam, by_whom, step, merge, f"{_how(seam, chosen or {})} in {merge}, by {by}")
        for seam in open_seams(run.seams)
        if seam["reason"] in {"met", "conflict"}
        and set(seam["between"]) - {"workspace", step, seam.get("step")} <= brought
    ]


def _how(seam: Seam, chosen: Mapping[str, str | HunkChoice]) -> str:
    """Return how the two sides of a seam became one: where one was dropped, they were not merged."""
    versions = [chosen[path] for path in seam["paths"] if path in chosen]
    names = list(dict.fromkeys(each for each in versions if isinstance(each, str)))
    if names:
        return f"resolved with the version of {join_names(names, 4)}"
    return "resolved hunk by hunk" if versions else "merged together"


def _resolved(seam: Seam, by: str, step: str | None, merge: str | None, note: str) -> EventDraft:
    data: SeamResolved = {"id": seam["id"], "by": by, "step": step, "merge": merge, "note": note}
    return EventDraft("seam_resolved", data)


def after_building(run: RunState, step: str) -> list[EventDraft]:
    """Return the seams of conflicts that held a step, once its files could be merged after all."""
    return [
        _resolved(seam, "step", step, None, f"resolved: {step} began from both")
        for seam in open_seams(run.seams)
        if seam["reason"] == "conflict" and seam.get("step") == step
    ]


def clash(
    plan: Plan, run: RunState, sides: list[str], paths: list[str], count: int, *, step: str | None
) -> list[EventDraft]:
    """Return the seam of a merge that conflicts, unless it is open already; `step`: the step that could not go on."""
    between = sides if step is None else list(dict.fromkeys((*sides, step)))
    if any(set(seam["between"]) >= set(between) for seam in open_seams(seams_of(plan, run))):
        return []
    seam: _UnnamedSeam = {
        "reason": "conflict",
        "between": between,
        "note": "",
        "paths": paths,
        "count": count,
        "step": step,
    }
    return _opened(plan, run, [seam])


def number_seam(plan: Plan, run: RunState, draft: EventDraft) -> EventDraft:
    """Return the event as it is recorded: two attempts that meet a conflict at once both name the next seam."""
    if draft.kind != "seam_opened" or draft.data["id"] not in run.seams:
        return draft
    return _opened(plan, run, [cast("_UnnamedSeam", draft.data)])[0]


def _opened(plan: Plan, run: RunState, seams: Iterable[_UnnamedSeam]) -> list[EventDraft]:
    number = run.seams_opened
    drafts: list[EventDraft] = []
    for seam in seams:
        number += 1
        while f"s{number}" in plan.index or f"s{number}" in run.seams:
            number += 1
        paths = seam["paths"]
        data: SeamOpened = {
            "id": f"s{number}",
            "reason": seam["reason"],
            "between": seam["between"],
            "paths": paths[:SHOWN],
            "count": seam.get("count", len(paths)),
            "note": seam["note"],
        }
        if seam.get("step") is not None:
            data["step"] = seam["step"]
        drafts.append(EventDraft("seam_opened", data))
    return drafts


def _resolved_by_step(plan: Plan, run: RunState, index: int, before: set[int]) -> list[EventDraft]:
    """Return the seams of steps before it that a ready step resolves: it names the seam too, or had both sides in its files."""
    step, state = plan.steps[index], run.step(plan.steps[index].id)
    built_on = set(state.built_on)
    drafts: list[EventDraft] = []
    for seam in open_seams(seams_of(plan, run)):
        sides = [name for name in seam["between"] if name != "workspace"]
        if not sides or not all(plan.index[name] in before for name in sides):
            continue
        names_it = bool(seam["note"]) and seam["note"] in step.spec.seams
        if names_it or (seam["reason"] == "met" and built_on >= set(sides)):
            why = "names it" if names_it else "had both versions in its files"
            note = f"{step.id} {why} and is ready"
            drafts.append(_resolved(seam, "step", step.id, None, note))
    return drafts


def _notes(snapshot: Snapshot, index: int) -> list[tuple[str, Literal["declared", "reported"]]]:
    """Return the seams that a step declares, and the seams that its agent reports."""
    step, state = snapshot.plan.steps[index], snapshot.board.state(index)
    notes: list[tuple[str, Literal["declared", "reported"]]] = [
        (note, "declared") for note in step.spec.seams
    ]
    report = None if state.ended is None else state.ended.get("report")
    reported = None if report is None else report.get("seams")
    if isinstance(reported, list):
        notes += [(str(note)[:_NOTE_LIMIT], "reported") for note in reported[:SHOWN] if note]
    return list({note: (note, reason) for note, reason in reversed(notes)}.values())[::-1]


def _declaring(plan: Plan, run: RunState, index: int, note: str) -> list[str]:
    """Return the other steps that have settled and name the seam."""
    return [
        step.id
        for step in plan.steps
        if step.index != index
        and note in step.spec.seams
        and run.steps.get(step.id) is not None
        and run.steps[step.id].checkpoint_status in _USABLE
    ]


def _meetings(snapshot: Snapshot, index: int, before: set[int]) -> list[tuple[str, list[str]]]:
    """Return the steps that are not ordered with this one and changed files that it changed too."""
    plan, board = snapshot.plan, snapshot.board
    ours = _touched(board, plan.steps[index].id)
    if not ours:
        return []
    meetings = []
    for other in plan.steps:
        state = board.run.steps.get(other.id)
        if state is None or state.captured is None or other.index in before or other.index == index:
            continue
        if state.checkpoint_status not in _USABLE or index in ancestors(plan, other.index):
            continue
        paths = sorted(ours & _touched(board, other.id))
        if paths:
            meetings.append((other.id, paths))
    return meetings


def _touched(board: Board, step: str) -> frozenset[str]:
    known = board.touched.get(step)
    return paths_of(board.run.step(step).captured) if known is None else known


def _is_between(seam: Seam, steps: Collection[str]) -> bool:
    return seam["reason"] in {"met", "conflict"} and set(seam["between"]) >= set(steps)
