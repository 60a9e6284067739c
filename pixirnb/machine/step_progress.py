"""Progress of a run from a start or resume to the next rest: which steps wait, could start, run, or have ended.

`apply(event, now)` folds one event into the run's state and keeps these counts next to it, so that a step costs what its own
edges cost. Rebuilt from a folded state it is the same; nothing in it needs saving. Times are monotonic seconds of this
process and live only here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from pixirnb.history.agent_events import PERMISSION_REQUIRED
from pixirnb.history.events import (
    AttemptEnded,
    CheckpointDecided,
    DecisionRequested,
    Event,
    RetryPlanned,
    StepScheduled,
)
from pixirnb.history.file_events import CONFLICT
from pixirnb.history.run_state import RunState
from pixirnb.machine.expansion import with_items
from pixirnb.machine.ready_steps import ReadySteps
from pixirnb.machine.step_claims import StepClaims
from pixirnb.planning.claims import Claim, ClaimIndex
from pixirnb.planning.plan import Plan, PlannedStep


class Running(Struct, frozen=True):
    """An attempt that is under way."""

    attempt: int
    started: float
    deadline: float | None


class StepProgress(ReadySteps):
    """The steps of a run from a start or resume to the next rest. Not thread-safe: it belongs to the run's loop."""

    def __init__(self, plan: Plan, run: RunState, now: float) -> None:
        super().__init__(plan, run)
        self.detached: dict[int, int] = {}
        """Step to attempt of python threads that outlived their step; they keep their claims."""
        self.threads: dict[str, int] = {}
        """Detached threads of items whose list is not known yet: step to attempt."""
        self.unseamed: set[int] = set()
        """Steps that have settled, and whose seams have not been determined yet."""
        self.reads: dict[int, object] = {}
        """Steps with `reuse: reads` that are about to start: each with the digest of the files it reads (a text), or with a
        mark of the one under way. Nothing that may change these files starts before the step."""
        self._claims = StepClaims()
        self._rebuild(now)

    @property
    def left_threads(self) -> dict[str, int]:
        """Return the attempts whose threads go on, by step: also of items whose list is not known again yet."""
        known = {self.plan.steps[index].id: attempt for index, attempt in self.detached.items()}
        return {**self.threads, **known}

    def claim(self, index: int) -> Claim | None:
        """Return the step's claims on files; None where it has none. Steps with equal claims share one object."""
        return self._claims.of(self.plan, index)

    def apply(self, event: Event, now: float) -> None:
        """Fold one more event; `now` is its time on this process's clock."""
        if not self.run.apply(event):
            return
        if event.kind in {"run_started", "run_resumed"}:
            self._rebuild(now)
            return
        data: Any = event.data
        if event.kind == "checkpoint_saved" and data.get("reason") == "phase":
            self.phases.saved(data["name"])
        if event.kind == "merge_applied" and data.get("undoes") is not None:
            self._take_back()
            return
        index = self.plan.index.get(data.get("step", ""))
        if index is None:
            return
        match event.kind:
            case "step_expanded":
                self._on_expanded(index, now)
            case "step_scheduled":
                self._on_scheduled(index, data, now)
            case "attempt_ended":
                self._on_ended(index, data)
            case "retry_planned":
                self._on_retry(index, data, now)
            case "checkpoint_decided":
                self._on_decided(index, data)
            case "step_held":
                self._leave_idle(index)
                self._settle_item(index, is_final=True)
            case "decision_requested":
                self._on_request(index, data, now)
            case "decision_recorded":
                self._on_decision(index)
            case "subagent_event":
                self._on_permission(index)
            case _:
                pass

    def _rebuild(self, now: float) -> None:
        self._claims.forget_items(self._written)
        left = self.left_threads
        plan = self.plan = with_items(self._written, self.run)
        self.detached = {plan.index[name]: left[name] for name in left if name in plan.index}
        self.threads = {name: left[name] for name in left if name not in plan.index}
        self._clear()
        self.driven_since = now
        self.deadline = None if plan.timeout_ms is None else now + plan.timeout_ms / 1000
        self.running: dict[int, Running] = {}
        self.retrying: dict[int, float] = {}
        self.asking: dict[int, float | None] = {}
        self.ended: list[int] = []
        self.to_decide: list[int] = []
        self.permitted: set[int] = set()
        """Steps that came to rest for want of a permission and have it now."""
        self.has_failed = False
        """True if a step settled in this course as anything but ready: `on_failure: stop` looks here."""
        self.claims = ClaimIndex()
        for index in self.detached:
            claim = self.claim(index)
            if claim is not None:
                self.claims.add(index, claim)
        self.unseamed.clear()
        self._enter(plan.steps, now)
        for index in plan.items:
            self._watch_items(index)
        for step in plan.steps:
            if self._is_waiting[step.index] and self._may_begin(step):
                self._list(step.index)
        self.phases.drop_saved(self.run)

    def _enter(self, steps: Sequence[PlannedStep], now: float) -> None:
        """Take new steps of the plan as the history left them."""
        known = self.run.steps
        settled: list[int] = []
        for step in steps:
            index, state = step.index, known.get(step.id)
            if step.template is None:
                self._unready[index] = len(step.depends_on)
            else:
                self._unready[index] = sum(each != step.leader for each in self._gates(step))
            if state is None or state.stage in {"idle", "scheduled", "running", "retrying"}:
                # Whatever was under way belongs to a course that is over.
                self._is_waiting[index] = 1
                self.idle += 1
                continue
            if state.has_open_decision and state.checkpoint_status != "held":
                self.to_decide.append(index)
            if state.stage == "ended":
                self.ended.append(index)
            elif state.stage == "asking":
                self.asking[index] = after(now, state.timeout_ms)
            elif state.checkpoint_status == "checkpoint_ready":
                settled.append(index)
            self._look_for_seams(index)
        for index in settled:
            self._mark_ready(index, lists=False)

    def _on_expanded(self, index: int, now: float) -> None:
        """Take the items of a list as steps, and read the lists of the steps that share it."""
        before, first = self.plan.items, len(self.plan.steps)
        self._leave_list(index)
        self.plan = plan = with_items(self.plan, self.run)
        added = plan.steps[first:]
        for array in (self._is_waiting, self._is_ready):
            array.extend(bytes(len(added)))
        self._unready += [0] * len(added)
        self._enter(added, now)
        # Steps that a resume left out, or that stay failed, still have the list they share.
        known = plan.items.keys() - before.keys()
        for each in known:
            self._watch_items(each)
        for step in added:
            for earlier in step.depends_on:
                if earlier < first:  # what was added ready was counted as it was entered
                    self._unready[step.index] -= self._is_ready[earlier]
            if step.id in self.threads:
                self.detached[step.index] = self.threads.pop(step.id)
                if (claim := self.claim(step.index)) is not None:
                    self.claims.add(step.index, claim)
            if self._is_waiting[step.index] and self._may_begin(step):
                self._list(step.index)
        if self._is_waiting[index] and self._may_begin(plan.steps[index]):
            self._list(index)
        for each in known:
            for follower in plan.steps[each].dependents:
                is_unread = self._is_waiting[follower] and follower not in plan.items
                if plan.steps[follower].leader == each and is_unread:
                    self._list(follower)

    def _leave_idle(self, index: int, *, starts: bool = False) -> None:
        self.reads.pop(index, None)  # another attempt begins from other files
        self.fingerprints.pop(index, None)
        self.blocked.pop(index, None)
        if index in self.retrying:
            del self.retrying[index]
            return
        if not self._is_waiting[index]:
            return
        self._is_waiting[index] = 0
        self.idle -= 1
        self._leave_list(index)
        if not starts:
            self._vacate(index)

    def _on_scheduled(self, index: int, data: StepScheduled, now: float) -> None:
        self._leave_idle(index, starts=True)
        if self.plan.steps[index].parent is not None:
            self.items.occupy(self.plan, index)
        self.running[index] = Running(data["attempt"], now, after(now, data["timeout_ms"]))
        claim = self.claim(index)
        if claim is not None:
            self.claims.add(index, claim)

    def _on_ended(self, index: int, data: AttemptEnded) -> None:
        if self.running.pop(index, None) is not None and self.claim(index) is not None:
            if data["status"] == "detached":
                self.detached[index] = data["attempt"]
            else:
                self.claims.remove(index)
        elif data["status"] == "detached":
            self.detached[index] = data["attempt"]
        self.asking.pop(index, None)
        self._vacate(index)
        if index not in self.ended:
            self.ended.append(index)

    def _on_retry(self, index: int, data: RetryPlanned, now: float) -> None:
        if data["retry_class"] == PERMISSION_REQUIRED:  # it had settled
            self.permitted.discard(index)
        elif data["retry_class"] == CONFLICT:  # so it had, and a person has spoken
            self._leave_idle(index)
            if index in self.to_decide:
                self.to_decide.remove(index)
        else:
            self.ended.remove(index)
        parent = self.plan.steps[index].parent
        if parent is not None:
            self.items.reopen(parent, index)
            self._leave_list(parent)
            self.fingerprints.pop(parent, None)
        self.retrying[index] = now + data["delay_ms"] / 1000

    def _on_decision(self, index: int) -> None:
        state = self.state(index)
        if state.has_open_decision and index not in self.to_decide:
            self.to_decide.append(index)

    def _on_permission(self, index: int) -> None:
        if self.state(index).is_permitted:
            self.permitted.add(index)

    def _on_decided(self, index: int, data: CheckpointDecided) -> None:
        if index in self.ended:
            self.ended.remove(index)
        else:
            self._leave_idle(index)
        if index in self.to_decide:
            self.to_decide.remove(index)
        self.asking.pop(index, None)
        self._look_for_seams(index)
        if data["status"] == "checkpoint_ready":
            self._mark_ready(index)
        elif is_failure(self.plan, self.plan.steps[index], data):
            self.has_failed = True
        self._settle_item(index, is_final=data["status"] == "failed")

    def _look_for_seams(self, index: int) -> None:
        step, state = self.plan.steps[index], self.state(index)
        is_reported = state.ended is not None and bool(state.ended.get("report"))
        if step.spec.seams or state.captured or is_reported:
            self.unseamed.add(index)

    def _on_request(self, index: int, data: DecisionRequested, now: float) -> None:
        if data["reason"] in {"ask", "in_flight"}:
            self._leave_idle(index)
            self.asking[index] = after(now, data["timeout_ms"])


def after(now: float, span_ms: int | None) -> float | None:
    return None if span_ms is None else now + span_ms / 1000


def is_failure(plan: Plan, step: PlannedStep, verdict: Mapping[str, Any]) -> bool:
    """Return whether a `checkpoint_decided` stops the run under `on_failure: stop`: of an item only if all are required."""
    each = None if step.parent is None else plan.steps[step.parent].spec.for_each
    is_fine = verdict["status"] in {"checkpoint_ready", "needs_orchestrator"}
    is_needed = each is None or each.require == "all"
    return not is_fine and is_needed and not verdict.get("reused")
