"""The class `RunRequests`: what a person can ask of a run: cancel, decide, approve, deny, merge, checkpoint.

These work from any process: see `operations.request_delivery`. `operations.run.Run` can also be watched and resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Self

from pixirnb.engine.prepared_run import Watchers
from pixirnb.errors import Cannot, HeldByAnother, InvalidArguments
from pixirnb.machine.conflict_sides import Sides
from pixirnb.machine.items import step_named
from pixirnb.machine.merge_requests import MergeReport
from pixirnb.machine.requests import Request, grant
from pixirnb.machine.resume import Selection
from pixirnb.operations import launch, merge_reports, prepare
from pixirnb.operations.request_delivery import (
    deliver,
    raise_refusal,
    request,
    require_sender,
)
from pixirnb.operations.run_watch import RunWatch
from pixirnb.protocols.ports import Lease


class RunRequests(RunWatch, eq=False):
    """A run, with the requests that a person can make of it."""

    def cancel(
        self, step: str | None = None, *, drain: bool = False, take_over: bool = False
    ) -> None:
        """End the run, or give up one step. Returns at once.

        Works from any process: the owner of the run is asked to do it. A run whose owner died is ended here: its
        remaining processes are ended, and its log records that it was given up.

        Args:
            step: give up only this step.
            drain: let running steps finish and start nothing more.
            take_over: end a run of another host that is known to be dead.

        Raises:
            InvalidArguments: `step` and `drain` together.
            Cannot: the run is at rest (`not_live`), or its owner does not answer (`owner_silent`).
        """
        if step is not None:
            step = self.require_step(step)
            if drain:
                raise InvalidArguments(
                    "cannot drain one step: draining is for the whole run",
                    fix=f"omit `{step}` to let all running steps finish, or omit `drain` to stop it now",
                )
        pending = self._request("cancel", step=step, how="drain" if drain else "cancel")

        def end_here() -> None:
            owner = self._reading().owner
            if owner is not None and not take_over:
                raise self._held(owner)
            if step is not None or self.state.finished is not None:
                raise self._not_live("cancel")
            self.live = launch.launch_resume(
                self.store, self.id, stop="cancel", take_over=take_over
            )
            self.wait()

        self._ask(pending, end_here)

    def interrupt(self) -> None:
        """End the run like an operator's interrupt. Only in the process that drives it: else raises Cannot, HeldByAnother.

        Raises Cannot (`cancel_by_step`) in a step of the run, as `cancel`.
        """
        require_sender(self.id, "interrupt")
        if (live := self.live_here()) is not None:
            live.stop("interrupt")
            return
        owner = self._reading().owner
        if owner is None:
            raise self._not_live("interrupt")
        raise self._held(owner)

    def checkpoint(self, name: str, note: str = "", *, take_over: bool = False) -> None:
        """Save a named checkpoint of the run in its current state, from any process.

        Args:
            name: the name of the checkpoint.
            note: the reason, for the record.
            take_over: take the run over from an owner that is known to be gone.

        Raises:
            InvalidArguments: the name is not valid.
            Cannot: the owner of the run does not answer (`owner_silent`).
        """
        pending = self._request("checkpoint", name=name, note=note)
        self._ask(
            pending,
            lambda: prepare.record(self.store, self.id, pending, take_over=take_over),
        )

    def decide(
        self,
        step: str,
        verdict: str,
        value: Any = None,
        note: str | None = None,
        *,
        resume: bool = True,
        take_over: bool = False,
        attended: bool = False,
        by: str | None = None,
    ) -> Self:
        """Record a decision on a step, and (unless `resume=False`) continue.

        Works from any process: while the run is live its owner records it and continues.

        Args:
            step: the step to decide, or a seam to resolve.
            verdict: `accept` or `reject`.
            value: the answer.
            note: the reason, for the record.
            resume: continue the run.
            take_over: take the run over from an owner that is known to be gone.
            attended: a person can be asked for permissions.
            by: the author of the decision, instead of this user.

        Raises:
            InvalidArguments: the step needs no decision, or the value is none of the choices.
            Cannot: the decision cannot be recorded now.
        """
        if step not in self.state.seams:
            step = self.require_step(step)
        arguments = {"step": step, "verdict": verdict, "value": value, "note": note or ""}
        pending = self._request("decide", by=by, **arguments)
        return self._say(pending, resume=resume, take_over=take_over, attended=attended)

    def accept(self, step: str, value: Any = None, note: str | None = None) -> Self:
        """Accept a step that waits for a decision, and continue.

        Args:
            step: the step to accept, or a seam to resolve.
            value: the answer, for a question with choices one of them.
            note: the reason, for the record.

        Raises:
            InvalidArguments, Cannot: as for `decide`.

        Example:
            >>> run = pixirnb.start({"name": "demo", "steps": [{"id": "ship", "ask": {"question": "Ship it?"}}]})
            >>> run.wait().status
            'needs_orchestrator'
            >>> run.accept("ship", "tomorrow").wait().status, run["ship"].value
            ('completed', 'tomorrow')
        """
        return self.decide(step, "accept", value, note)

    def reject(self, step: str, note: str | None = None) -> Self:
        """Reject a step that waits for a decision: it fails, and the run continues.

        Args:
            step: the step to reject, or a seam.
            note: the reason, for the record.

        Raises:
            InvalidArguments, Cannot: as for `decide`.

        Example:
            >>> run = pixirnb.start({"name": "demo", "steps": [{"id": "ship", "ask": {"question": "Ship it?"}}]})
            >>> _ = run.wait()
            >>> run.reject("ship", note="too early").wait().status
            'failed'
        """
        return self.decide(step, "reject", note=note)

    def approve(
        self,
        request_id: str,
        note: str = "",
        *,
        resume: bool = True,
        take_over: bool = False,
        attended: bool = False,
    ) -> Self:
        """Allow one exact call that an agent requested. A waiting attempt goes on; a parked step runs again.

        Works from any process except a step's own.

        Args:
            request_id: the id of the request, `RUN/STEP.ATTEMPT.NUMBER`.
            note: the reason, for the record and the agent.
            resume: continue the run.
            take_over: take the run over from an owner that is known to be gone.
            attended: a person can be asked for permissions.

        Raises:
            InvalidArguments: `unknown_request`, `answered_already`, `request_outdated`.
            Cannot: `approval_by_agent`, `owner_silent`.
        """
        pending = self._request("approve", request_id=request_id, note=note)
        return self._say(pending, resume=resume, take_over=take_over, attended=attended)

    def deny(
        self,
        request_id: str,
        note: str = "",
        *,
        resume: bool = True,
        take_over: bool = False,
        attended: bool = False,
    ) -> Self:
        """Deny a call that an agent requested. A waiting attempt gets the answer and goes on; a parked step fails.

        Args:
            request_id: the id of the request. All other arguments as for `approve`.

        Raises:
            InvalidArguments, Cannot: as for `approve`.
        """
        pending = self._request("deny", request_id=request_id, note=note)
        return self._say(pending, resume=resume, take_over=take_over, attended=attended)

    def merge(
        self,
        *steps: str | Sequence[str],
        preview: bool = False,
        undo: bool = False,
        sides: Sides = None,
        take_over: bool = False,
    ) -> MergeReport:
        """Merge the changes of isolated steps into the user's files, three-way, completely or not at all.

        Merged changes are left out. Neither a preview nor an undo goes beyond a merge that a dead process left
        incomplete (`merge_unfinished`): a resume rolls that back. Works from any process except a step's own.

        Args:
            steps: ids, one by one or as a list; by default all ready steps.
            preview: change nothing.
            undo: undo the last merge.
            sides: the side that counts for conflicting files, for all or by path: `workspace`, a step, or one by hunk.
            take_over: take the run over from an owner that is known to be gone.

        Raises:
            InvalidArguments: an argument is wrong.
            Cannot: `merge_disturbed`, `merge_refused`, `merge_busy` …
        """
        chosen = dict(sides) if isinstance(sides, Mapping) else sides
        named = [step_named(self.state, step) for step in _ids(steps)]
        pending = self._request("merge", steps=named, undo=undo, sides=chosen)
        if preview or undo:
            merge_reports.refuse_unfinished(self)
        merge_request = grant(pending, self.compiled(), self.state).merge
        if preview:
            return merge_reports.preview_merge(self, merge_request)
        if merge_request is None or (merge_request.undoes is None and not merge_request.steps):
            merge_reports.refuse_unfinished(self)
            return MergeReport(self.id, "nothing", [])
        self._ask(
            pending,
            lambda: prepare.merge(self.store, self.id, pending, take_over=take_over),
        )
        return merge_reports.report_merge(self, pending.id, chosen)

    def _request(self, verb: str, *, by: str | None = None, **arguments: Any) -> Request:
        """Return a request to this run. Raises Cannot if a step makes it that must not."""
        return request(self.id, verb, by=by, **arguments)

    def _say(self, pending: Request, *, resume: bool, take_over: bool, attended: bool) -> Self:
        """Deliver a person's answer, and continue a run without an owner."""
        if not self.is_live_here:
            grant(
                pending, self.compiled(), self.state
            )  # what is plainly wrong is said before anyone is asked

        def say_here() -> None:
            if resume:
                self.live = launch.launch_resume(
                    self.store,
                    self.id,
                    selection=Selection(is_decision=True),
                    request=pending,
                    take_over=take_over,
                    watchers=Watchers(is_attended=attended),
                )
            else:
                prepare.record(self.store, self.id, pending, take_over=take_over)

        self._ask(pending, say_here)
        return self

    def _ask(self, pending: Request, carry_out: Callable[[], None]) -> None:
        """Deliver a request: to the loop of this process, to this process itself, or to the owner elsewhere."""
        if (live := self.live_here()) is not None:
            reply = live.request(pending)
            if reply is not None:
                raise_refusal(reply)
                return
        deliver(self.store, self.id, pending, carry_out)

    def _held(self, owner: Lease) -> HeldByAnother:
        return HeldByAnother(
            f"{self.id} is run by process {owner.pid} on {owner.host}",
            fix=f"cancel it with `pixirnb cancel {self.id}`",
            details={"host": owner.host, "pid": owner.pid, "since": owner.since},
        )

    def _not_live(self, verb: str) -> Cannot:
        return Cannot(
            f"{self.id} {_ENDED.get(self.outcome.status, 'is not running')}; nothing to {verb}",
            fix=f"see its status with `pixirnb show {self.id}`",
            code="not_live",
        )


_ENDED: Final = {
    "completed": "already completed",
    "failed": "already failed",
    "timed_out": "already timed out",
    "interrupted": "is already stopped",
    "needs_orchestrator": "is paused for a decision",
    "partial": "already ended as partial",
}
"""Status of a run that no process drives, to the words for it."""


def _ids(named: Sequence[str | Sequence[str]]) -> list[str]:
    """Return step ids, given one by one, or in lists. Raises InvalidArguments."""
    named_ids: list[object] = []
    for each in named:
        named_ids += list(each) if isinstance(each, list | tuple | set | frozenset) else [each]
    ids = [each for each in named_ids if isinstance(each, str)]
    if len(ids) < len(named_ids):
        raise InvalidArguments(
            "steps must be ids, as text",
            fix="call run.merge('a', 'b') or run.merge(['a', 'b'])",
        )
    return ids
