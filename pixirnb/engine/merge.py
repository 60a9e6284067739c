"""Changes brought into the user's files: by a `merge` step, or because a person asks. One way for both.

    merged or taken back    `merge_applied`, and the seams that this resolves
    not possible            `merge_conflicted`, and a seam

A finished merge is kept next to the files until the log has it (`Files.recorded`). Source: contract.md §8.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from pixirnb.engine.isolation import (
    changes_of,
    conflict_facts,
    conflict_message,
    files_of,
    order_of,
)
from pixirnb.engine.run_context import Attempt, RunContext
from pixirnb.history.event_draft import EventDraft, warning
from pixirnb.history.events import Event
from pixirnb.history.file_events import (
    CONFLICT,
    LEADS_OUT,
    METHOD,
    MergeApplied,
    MergeConflicted,
    WorkspaceCaptured,
    list_paths,
)
from pixirnb.history.run_state import RunState, fold
from pixirnb.history.step_state import StepState
from pixirnb.ids import attempt_name
from pixirnb.machine import merge_requests, seams
from pixirnb.machine.conflict_sides import Sides
from pixirnb.machine.merge_requests import ConflictResolution, MergeRequest
from pixirnb.planning.plan import Plan
from pixirnb.planning.roots import Roots
from pixirnb.protocols.ports import Blobs
from pixirnb.protocols.trees import Files, MergeConflict, MergeInput, Merging, Rollback
from pixirnb.protocols.work import Ended
from pixirnb.runners.output.mask import mask_here


class _Stopped(Exception):
    """The attempt of a merge step is to end before it has touched anything."""


class Merger(Struct, frozen=True):
    """Merges of one run."""

    plan: Plan
    run: RunState
    roots: Roots
    files: Files
    blobs: Blobs

    def of_step(self, attempt: Attempt, state: StepState) -> tuple[list[EventDraft], Ended]:
        """Do the merge of a merge step. Blocking. Raises Cannot, LogWriteFailed."""
        step = attempt.step
        captured = merge_requests.captures_to_merge(self.plan, self.run, step.index)
        steps = [event["step"] for event in captured]
        if not captured:
            return [], Ended("completed", message="everything is already merged")
        order = order_of(
            self.run,
            attempt_name(step.id, attempt.number),
            _roots_of(captured),
            captured,
            merge_requests.resolution_for(self.run, state),
        )

        def describe(merging: Merging) -> MergeApplied:
            if attempt.stop.reason is not None:
                raise _Stopped  # the last moment at which nothing has been touched
            return self._data(merging, order.name, captured, step=step.id, by=f"step {step.id}")

        try:
            done = self.files.merge(order, describe)
        except _Stopped:
            return [], Ended(attempt.stop.reason or "cancelled")
        if isinstance(done, MergeConflict):
            drafts = conflict_facts(
                done,
                self.plan,
                self.run,
                self.roots,
                self.blobs,
                step=step.id,
                attempt=attempt.number,
                steps=steps,
            )
            return _masked(drafts), Ended("failed", CONFLICT, conflict_message(done, self.roots))
        back = rollback_warnings(self.files, self.run.run_id)
        return _masked([*back, *_applied(self.run, done[0])]), Ended("completed")

    def of_request(self, request: MergeRequest) -> list[EventDraft]:
        """Do a person's merge; return no events where there is nothing to do. Blocking. Raises Cannot, LogWriteFailed."""
        return _masked(self._of_request(request))

    def _of_request(self, request: MergeRequest) -> list[EventDraft]:
        if request.undoes is not None:
            return self._undone(request, request.undoes)
        captured = self._captured(request)
        if not captured:
            return []
        name = self._next_name()
        order = order_of(
            self.run,
            name,
            _roots_of(captured),
            captured,
            ConflictResolution(self._clash(), request.sides),
        )

        def describe(merging: Merging) -> MergeApplied:
            return self._data(
                merging, name, captured, step=None, by=request.by, request_id=request.request_id
            )

        done = self.files.merge(order, describe)
        result = (
            self._conflict(done, request)
            if isinstance(done, MergeConflict)
            else _applied(self.run, done[0], request.sides)
        )
        return [*rollback_warnings(self.files, self.run.run_id), *result]

    def preview(self, request: MergeRequest) -> Merging | MergeConflict | None:
        """Return the result that a person's merge would have; None where there is nothing to do. Blocking. Raises Cannot."""
        if request.undoes is not None:
            order, merge = self._backwards("preview", request.undoes)
            return self.files.preview_undo(order, merge)
        captured = self._captured(request)
        if not captured:
            return None
        roots = _roots_of(captured)
        return self.files.preview(
            order_of(
                self.run,
                "preview",
                roots,
                captured,
                ConflictResolution(self._clash(), request.sides),
            )
        )

    def _undone(self, request: MergeRequest, undoes: str) -> list[EventDraft]:
        name = self._next_name()
        order, merge = self._backwards(name, undoes)

        def describe(merging: Merging) -> MergeApplied:
            return {
                **self._data(
                    merging, name, [], step=None, by=request.by, request_id=request.request_id
                ),
                "steps": list(merge["steps"]),
                "attempts": dict(merge["attempts"]),
                "undoes": undoes,
            }

        done = self.files.undo(order, merge, describe)
        if isinstance(done, MergeConflict):
            # No seam: the files stay as they are, and no two steps have to be made to fit.
            return self._conflict(done, request)[:1]
        return [EventDraft("merge_applied", done[0]), *_led_out(done[0])]

    def _backwards(self, name: str, undoes: str) -> tuple[MergeInput, MergeApplied]:
        """Return the input of an undo, and the merge that it takes back."""
        merge = next(m for m in self.run.merges if m["merge"] == undoes)
        roots = [entry["root"] for entry in merge["roots"]]
        return order_of(self.run, name, roots, [], ConflictResolution(self._clash(undoes))), merge

    def _clash(self, undoes: str | None = None) -> MergeConflicted | None:
        """Return the conflict a person has met already: files edited since are solved for a request like that, and no other."""
        clash = self.run.clash
        return clash if clash is not None and clash.get("undoes") == undoes else None

    def _captured(self, request: MergeRequest) -> list[WorkspaceCaptured]:
        indices = {self.plan.index[name] for name in request.steps}
        return merge_requests.captures(self.plan, self.run, indices)

    def _next_name(self) -> str:
        return f"m{len(self.run.merges) + 1}"

    def _conflict(self, clash: MergeConflict, request: MergeRequest) -> list[EventDraft]:
        return conflict_facts(
            clash,
            self.plan,
            self.run,
            self.roots,
            self.blobs,
            steps=request.steps,
            request_id=request.request_id,
            undoes=request.undoes,
        )

    def _data(
        self,
        merging: Merging,
        name: str,
        captured: Sequence[WorkspaceCaptured],
        *,
        step: str | None,
        by: str,
        request_id: str | None = None,
    ) -> MergeApplied:
        return {
            "merge": name,
            "step": step,
            "by": by,
            "steps": [event["step"] for event in captured],
            "attempts": {event["step"]: event["attempt"] for event in captured},
            "roots": [
                {
                    "root": root,
                    "folder": self.roots.named(root).folder,
                    "method": METHOD,
                    "before": merging.before[root],
                    "after": merging.after[root],
                }
                for root in merging.before
            ],
            "changes": changes_of(merging.taken, self.roots, self.blobs),
            "undoes": None,
            "solved": list(merging.solved),
            "request_id": request_id,
        }


def recover_merges(files: Files, events: Sequence[Event]) -> list[EventDraft]:
    """Return the events of merges that were done when their process died, before the log had them; half-done ones are rolled
    back.

    Blocking. Raises Cannot.
    """
    run_id = events[0].data["run_id"]
    drafts: list[EventDraft] = []
    done = files.unrecorded(run_id)
    if done:
        run = fold(events)
        known = {merge["merge"] for merge in run.merges}
        for data in done:
            if data["merge"] in known:
                files.recorded(run_id, data["merge"])
            else:
                drafts += _applied(run, data)
    return _masked([*rollback_warnings(files, run_id), *drafts])


def _applied(run: RunState, data: MergeApplied, sides: Sides = None) -> list[EventDraft]:
    """Return the events of a merge that was done. `sides`: those that a person chose in asking for it."""
    solution = None if data["step"] is None else run.step(data["step"]).solution
    if solution is not None:
        sides = solution["value"]
    if isinstance(sides, str):
        sides = dict.fromkeys(data.get("solved") or (), sides)
    resolved = seams.after_merge(
        run, data["merge"], data["steps"], step=data["step"], by=data["by"], chosen=sides
    )
    return [EventDraft("merge_applied", data), *_led_out(data), *resolved]


def _masked(drafts: Sequence[EventDraft]) -> list[EventDraft]:
    """Return drafts as a log may hold them: names of files are masked like any text."""
    mask = mask_here({})
    return [replace(draft, data=mask.event(draft.data)) for draft in drafts]


def _led_out(data: MergeApplied) -> list[EventDraft]:
    """Return a warning where a merge brought links that lead out: they are brought, as git does."""
    links = data["changes"].get("leads_out")
    if not links:
        return []
    message = f"merge {data['merge']} created links that lead out of your folders: {list_paths(links)}; check their targets"
    return [warning(LEADS_OUT, message, data["step"])]


def rollback_warnings(files: Files, run_id: str) -> list[EventDraft]:
    """Return the warnings of half-done merges of a run that were rolled back since the last call."""
    return [_rollback_warning(rollback, run_id) for rollback in files.rollbacks()]


def _rollback_warning(rollback: Rollback, run_id: str) -> EventDraft:
    whose = "" if rollback["run_id"] == run_id else f" of {rollback['run_id']}"
    count, edited = rollback["files"], rollback["edited"]
    what = f"{count:,} file{'' if count == 1 else 's'} restored" if count else "no file had changed"
    but = f", {len(edited):,} edited since and not restored" if edited else ""
    message = f"merge {rollback['merge']}{whose} was interrupted and has been undone: {what}{but}"
    return warning("merge_taken_back", message, None)


def merger_of(context: RunContext) -> Merger:
    """Return the merges of an attempt's run. Raises Cannot where the run has no store of files."""
    return Merger(context.plan, context.run, context.roots, files_of(context), context.log.blobs)


def _roots_of(captured: Sequence[WorkspaceCaptured]) -> list[str]:
    """Return the roots in which any of the captures changed something, in order."""
    named = [
        root["root"]
        for event in captured
        for root in event["roots"]
        if root["base"] != root["left"]
    ]
    return list(dict.fromkeys(named))
