"""The plan joined with the history: steps that are ready or running, their claims, and the operator's stops.

`Board.apply(event, now)` folds one event into the run's state and keeps these counts next to it, so that a step costs what its
own edges cost. Rebuilt from a folded state it is the same board; nothing in it needs saving. Times are monotonic seconds of
this process and live only here.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

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
from pixirnb.history.step_state import StepState
from pixirnb.json_types import JsonObject
from pixirnb.machine.reference_values import value_of
from pixirnb.planning.claims import Claim, ClaimIndex
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.planning.roots import Roots
from pixirnb.spec.expressions.references import Reference

RunStop = Literal["cancel", "drain", "interrupt"]
_MERGE: Final = -1
"""Key of the claim of a merge that a person asked for; a step's is its index in the plan."""


class Running(Struct, frozen=True):
    """An attempt that is under way."""

    attempt: int
    started: float
    deadline: float | None


class Board:
    """One run as the machine sees it. Not thread-safe: it belongs to the run's loop."""

    def __init__(self, plan: Plan, run: RunState, now: float) -> None:
        self.plan = plan
        self.run = run
        self.stop: RunStop | None = None
        """The operator's stop of the whole run."""
        self.cancelled: set[int] = set()
        """Steps the operator cancelled one by one."""
        self.detached: dict[int, int] = {}
        """Step to attempt of python threads that outlived their step; they keep their claims."""
        self.values: JsonObject = {}
        """Outputs too large for the log that a `when` or a question refers to, loaded by the engine: step to value."""
        self.paths: JsonObject = {}
        """Files of outputs that these refer to by `output_path`, from the engine: step to path."""
        self.phases_done: list[int] = []
        """Phases that became complete and have no checkpoint yet."""
        self.unseamed: set[int] = set()
        """Steps that have settled, and whose seams have not been determined yet."""
        self.touched: dict[str, frozenset[str]] = {}
        """Files that steps changed, where their list is too long for the log, loaded by the engine."""
        self.reads: dict[int, object] = {}
        """Steps with `reuse: reads` that are about to start: each with the digest of the files it reads (a text), or with a
        mark of the one under way. Nothing that may change these files starts before the step."""
        self.unread: set[int] = set()
        """Steps that wait for values or digests which the engine is about to load."""
        self._shared_claims: dict[tuple[object, ...], Claim | None] = {}
        self._claims: list[Claim | Literal["unknown"] | None] = ["unknown"] * len(plan.steps)
        self._rebuild(now)

    # --- what advance reads -------------------------------------------------------------------------------------

    def state(self, index: int) -> StepState:
        """Return the state of a step."""
        return self.run.step(self.plan.steps[index].id)

    def claim(self, index: int) -> Claim | None:
        """Return the step's claims on files; None where it has none. Steps with equal claims share one object."""
        claim = self._claims[index]
        if claim == "unknown":
            step = self.plan.steps[index]
            key = (step.read_set, step.write_set, step.workspace)
            if key not in self._shared_claims:
                self._shared_claims[key] = claim_of(step, self.plan.roots)
            claim = self._claims[index] = self._shared_claims[key]
        return claim

    def is_ready(self, index: int) -> bool:
        """Return whether dependents may start on this step's evidence."""
        return bool(self._is_ready[index])

    def is_waiting(self, index: int) -> bool:
        """Return whether a step has neither started nor settled in this course."""
        return bool(self._is_waiting[index])

    def waiting(self) -> list[int]:
        """Return every waiting step, in spec order."""
        return [index for index, waits in enumerate(self._is_waiting) if waits]

    def lookup(self, reference: Reference) -> Any:
        """Return the value of a reference. Raises LookupError where there is none, ValueNotLoaded where it was not loaded."""
        return value_of(
            self.run, reference, inputs=self.run.inputs, values=self.values, paths=self.paths
        )

    # --- stimuli that are not events ----------------------------------------------------------------------------

    def begun(self, index: int, now: float) -> None:
        """Start an attempt's time-out: it counts from the handover to its runner, not from the intent."""
        known = self.running[index]
        self.running[index] = Running(known.attempt, now, _after(now, self.state(index).timeout_ms))

    def queued(self, index: int) -> None:
        """Suspend an attempt's time-out while it waits for its turn in the engine."""
        self.running[index] = replace(self.running[index], deadline=None)

    @property
    def is_merging(self) -> bool:
        """Return whether a merge that a person asked for is under way: the run does not come to rest before it is recorded."""
        return _MERGE in self.claims

    def begin_merge(self, steps: Iterable[int]) -> None:
        """Claim the files of a person's merge of these steps: no step that may touch them starts while it is under way."""
        self.reads.clear()
        claims = [claim for index in steps if (claim := self.claim(index)) is not None]
        self.claims.add(_MERGE, Claim(writes=tuple(p for claim in claims for p in claim.writes)))

    def end_merge(self) -> None:
        """Release the claim of a person's merge."""
        self.claims.remove(_MERGE)

    def release(self, index: int) -> None:
        """Release the claims of a detached thread that returned."""
        if self.detached.pop(index, None) is not None and index in self.claims:
            self.claims.remove(index)

    # --- the fold -----------------------------------------------------------------------------------------------

    def apply(self, event: Event, now: float) -> None:
        """Fold one more event; `now` is its time on this process's clock."""
        if not self.run.apply(event):
            return
        if event.kind in {"run_started", "run_resumed"}:
            self._rebuild(now)
            return
        if event.kind == "checkpoint_saved" and event.data.get("reason") == "phase":
            name = event.data["name"]
            self.phases_done = [p for p in self.phases_done if self.plan.phases[p][0] != name]
        if event.kind == "merge_applied" and event.data.get("undoes") is not None:
            self._take_back()
            return
        index = self.plan.index.get(event.data.get("step", ""))
        if index is None:
            return
        data: Any = event.data
        match event.kind:
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
            case "decision_requested":
                self._on_request(index, data, now)
            case "decision_recorded":
                self._on_decision(index)
            case "subagent_event":
                self._on_permission(index)
            case _:
                pass

    def _rebuild(self, now: float) -> None:
        plan = self.plan
        count = len(plan.steps)
        self.driven_since = now
        self.deadline = None if plan.timeout_ms is None else now + plan.timeout_ms / 1000
        self.running: dict[int, Running] = {}
        self.retrying: dict[int, float] = {}
        self.asking: dict[int, float | None] = {}
        self.ended: list[int] = []
        self.to_decide: list[int] = []
        self.permitted: set[int] = set()
        """Steps that came to rest for want of a permission and have it now."""
        self.ready: list[int] = []
        """Steps that could start, in spec order."""
        self.idle = 0
        """Number of steps that have neither started nor settled."""
        self._is_waiting = bytearray(count)
        self.has_failed = False
        """True if a step settled in this course as anything but ready: `on_failure: stop` looks here."""
        self.claims = ClaimIndex()
        for index in self.detached:
            claim = self.claim(index)
            if claim is not None:
                self.claims.add(index, claim)
        self.slotless: set[int] = set()
        """Ready steps that may settle without running: a `when`, a question, a result that may still hold."""
        self.fingerprints: dict[int, dict[str, str]] = {}
        """Fingerprints of ready steps, computed once: the input of a ready step no longer changes."""
        self._is_ready = bytearray(count)
        self._unready = [len(step.depends_on) for step in plan.steps]
        self._phase_of = {i: p for p, (_, members) in enumerate(plan.phases) for i in members}
        self._phase_left = [len(members) for _, members in plan.phases]
        self.phases_done = []
        self.unseamed.clear()
        known = self.run.steps
        settled: list[int] = []
        for step in plan.steps:
            index, state = step.index, known.get(step.id)
            if state is None or state.stage in {"idle", "scheduled", "running", "retrying"}:
                # Whatever was under way belongs to a course that is over.
                self._is_waiting[index] = 1
                self.idle += 1
                continue
            if state.decision is not None and not state.decided:
                self.to_decide.append(index)
            if state.stage == "ended":
                self.ended.append(index)
            elif state.stage == "asking":
                self.asking[index] = _after(now, state.timeout_ms)
            elif state.checkpoint_status == "checkpoint_ready":
                settled.append(index)
            self._look_for_seams(index)
        for index in settled:
            self._mark_ready(index)
        for step in plan.steps:
            if not step.depends_on and self._is_waiting[step.index]:
                self._list(step.index)
        self.phases_done = [phase for phase in self.phases_done if not self._is_saved(phase)]

    def _is_saved(self, phase: int) -> bool:
        """Return whether the phase was saved since a step of it last settled."""
        name, members = self.plan.phases[phase]
        phases = [each for each in self.run.checkpoints if each["reason"] == "phase"]
        saved = max((each["seq"] for each in phases if each["name"] == name), default=0)
        return all(self.state(index).settled_seq < saved for index in members)

    def _mark_ready(self, index: int) -> None:
        if self._is_ready[index]:
            return
        self._is_ready[index] = 1
        phase = self._phase_of.get(index)
        if phase is not None:
            self._phase_left[phase] -= 1
            if self._phase_left[phase] == 0:
                self.phases_done.append(phase)
        for dependent in self.plan.steps[index].dependents:
            self._unready[dependent] -= 1
            if self._unready[dependent] == 0 and self._is_waiting[dependent]:
                self._list(dependent)

    def _take_back(self) -> None:
        """Unmark a merge step whose merge was taken back: no step begins on it, and a resume runs it again."""
        for step in self.plan.steps:
            index = step.index
            if not self._is_ready[index] or self.state(index).stage != "idle":
                continue
            self._is_ready[index] = 0
            phase = self._phase_of.get(index)
            if phase is not None:
                self._phase_left[phase] += 1
                self.phases_done = [done for done in self.phases_done if done != phase]
            for dependent in step.dependents:
                self._unready[dependent] += 1
                if self._is_waiting[dependent] and self._is_listed(dependent):
                    del self.ready[bisect_left(self.ready, dependent)]
                    self.slotless.discard(dependent)

    def _list(self, index: int) -> None:
        step = self.plan.steps[index]
        state = self.state(index)
        is_question = step.kind == "decision" or asks_of_death(step, state)
        if step.when is not None or is_question or state.recheck or not state.is_selected:
            self.slotless.add(index)
        insort(self.ready, index)

    def _leave_idle(self, index: int) -> None:
        self.reads.pop(index, None)  # another attempt begins from other files
        self.fingerprints.pop(index, None)
        if index in self.retrying:
            del self.retrying[index]
            return
        if not self._is_waiting[index]:
            return
        self._is_waiting[index] = 0
        self.idle -= 1
        if self._is_listed(index):
            del self.ready[bisect_left(self.ready, index)]
            self.slotless.discard(index)

    def _is_listed(self, index: int) -> bool:
        position = bisect_left(self.ready, index)
        return position < len(self.ready) and self.ready[position] == index

    def _on_scheduled(self, index: int, data: StepScheduled, now: float) -> None:
        self._leave_idle(index)
        self.running[index] = Running(data["attempt"], now, _after(now, data["timeout_ms"]))
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
        self.retrying[index] = now + data["delay_ms"] / 1000

    def _on_decision(self, index: int) -> None:
        state = self.state(index)
        if state.decision is not None and not state.decided and index not in self.to_decide:
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
        elif is_failure(data):
            self.has_failed = True

    def _look_for_seams(self, index: int) -> None:
        step, state = self.plan.steps[index], self.state(index)
        is_reported = state.ended is not None and bool(state.ended.get("report"))
        if step.spec.seams or state.captured or is_reported:
            self.unseamed.add(index)

    def _on_request(self, index: int, data: DecisionRequested, now: float) -> None:
        if data["reason"] in {"ask", "in_flight"}:
            self._leave_idle(index)
            self.asking[index] = _after(now, data["timeout_ms"])


def claim_of(step: PlannedStep, roots: Roots) -> Claim | None:
    """Return a step's claims on files while it runs, whatever names its sets go by; None where it claims nothing."""
    if not step.read_set and not step.write_set:
        return None
    return Claim(
        reads=tuple(roots.pattern(text) for text in step.read_set),
        writes=tuple(roots.pattern(text) for text in step.write_set),
        shared=step.workspace == "shared",
    )


def is_failure(verdict: Mapping[str, Any]) -> bool:
    """Return whether a `checkpoint_decided` stops the run under `on_failure: stop`."""
    is_fine = verdict["status"] in {"checkpoint_ready", "needs_orchestrator"}
    return not is_fine and not verdict.get("reused")


def asks_of_death(step: PlannedStep, state: StepState) -> bool:
    """Return whether a person is asked before the step runs again: it may have run, and was not selected for a rerun."""
    may_have_run = state.doubt is not None or state.reason == "in_flight"
    return may_have_run and step.spec.rerun == "ask" and state.reason != "selected"


def _after(now: float, span_ms: int | None) -> float | None:
    return None if span_ms is None else now + span_ms / 1000
