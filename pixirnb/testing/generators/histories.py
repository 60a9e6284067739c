"""Histories without a run: plans from text, and a driver that rehearses `machine.advance` with scripted ends.

    play = Rehearsal(plan_of(text))
    play.begin()                        # run_started, and all that follows from it at once
    play.end("make")                    # its attempt ended cleanly
    play.end("test", "failed", error="exit")
    play.turn(10)                       # seconds pass; what is due happens
    play.outcome().status

No loop, no threads, no disk: every fact is stamped here, so that a test builds events and reads exact drafts and instructions.
Every turn is checked against what no history may break (`Rehearsal.faults`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event, ResumeReason, ResumeStep, RunStarted
from pixirnb.history.run_state import RunState, fold
from pixirnb.history.step_state import StepState
from pixirnb.machine.admission import digest_of_reads
from pixirnb.machine.advance import advance
from pixirnb.machine.board import Board, RunStop
from pixirnb.machine.expansion import with_items, without_items
from pixirnb.machine.instructions import DigestReads, StartAttempt, StopAttempt
from pixirnb.machine.outcome import RunOutcome, outcome
from pixirnb.machine.resume import Selection, plan_resume
from pixirnb.machine.settlement import missing_verdicts
from pixirnb.operations.start_options import StartOptions
from pixirnb.planning.claims import conflict_between
from pixirnb.planning.digest import spec_digest
from pixirnb.planning.environment import Environment
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import compile_plan, require
from pixirnb.spec.inputs import resolve_inputs
from pixirnb.spec.loader import load
from pixirnb.testing.generators.collected_items import collected

RUN_ID: Final = "r-20261121T220344-rehearsal"
AT: Final = "2026-11-21T22:03:44.000000Z"
MOST_TURNS: Final = 100_000
"""More answers of `advance` to one question than any history needs: beyond, it would never come to rest."""

_MISSING: Final = object()


def plan_of(source: str | Mapping[str, Any], sources: Mapping[str, str] | None = None) -> Plan:
    """Return the Plan of a workflow as text or mapping. Raises InvalidSpec."""
    return compile_plan(require(load(source)), Environment(), dict(sources or {}))


def events_of(drafts: Iterable[EventDraft], *, after: int = 0) -> list[Event]:
    """Stamp drafts: numbered from `after` on, all at one time."""
    return [Event(after + n, AT, d.kind, d.data) for n, d in enumerate(drafts, start=1)]


def verdicts_torn_off(plan: Plan, events: Sequence[Event]) -> list[EventDraft]:
    """Return what a resume records first: the verdicts on ends that the history has without one."""
    run = fold(events)
    return missing_verdicts(with_items(without_items(plan), run), run)


def run_started(
    plan: Plan, inputs: Mapping[str, Any] | None = None, options: StartOptions | None = None
) -> EventDraft:
    """Return the first fact of a run of `plan`. Raises InvalidArguments for inputs the workflow does not take."""
    begun: RunStarted = {
        "run_id": RUN_ID,
        "workflow": plan.workflow.name,
        "spec": plan.workflow.canonical(),
        "spec_digest": spec_digest(plan.workflow),
        "inputs": resolve_inputs(plan.workflow, dict(inputs or {})),
        "workspace": "/somewhere",
        "source": None,
        "sources": dict(plan.sources),
        "owner": {"host": "here", "pid": 1, "instance": "i"},
        "pixirnb": "0",
    }
    (options or StartOptions()).record(begun, plan.workflow)
    return EventDraft("run_started", begun)


def run_resumed(
    plan: Plan, run: RunState, entries: list[ResumeStep], selection: Selection, inputs: Any = None
) -> EventDraft:
    """Return the fact of a resume by `entries`."""
    data: Any = {
        "owner": {"host": "here", "pid": 2, "instance": "j"},
        "flags": selection.flags(),
        "steps": entries,
        "spec_digest": spec_digest(plan.workflow),
        "inputs": dict(run.inputs) if inputs is None else dict(inputs),
        "sources": dict(plan.sources),
    }
    if data["spec_digest"] != run.spec_digest:
        data["spec"] = plan.workflow.canonical()
    return EventDraft("run_resumed", data)


class Rehearsal:
    """One course after another of one run, driven by hand. Times are seconds of a clock that only `turn` moves."""

    def __init__(self, plan: Plan, events: Sequence[Event] = (), *, now: float = 1000.0) -> None:
        """`events`: the history so far, of which nothing is under way any more."""
        self.events: list[Event] = list(events)
        self.now = now
        self.board = Board(plan, fold(self.events), now)
        self.wake_at: float | None = None
        self.starts: list[StartAttempt] = []
        """Every attempt started in this course, in order."""
        self.digest_of: str | None = "unchanged"
        """Digest of all files that are read, at once; None: `digested` gives it."""
        self.stops: list[StopAttempt] = []
        """Attempts to stop since the last `answer`, each once."""
        self.news: list[Event] = []
        """Events recorded since the last question, its own facts included."""
        self.faults: list[str] = []
        """Rules of every history that this one broke; empty for a sound machine."""

    # --- courses ------------------------------------------------------------------------------------------------

    def begin(
        self, inputs: Mapping[str, Any] | None = None, options: StartOptions | None = None
    ) -> Rehearsal:
        """Start the run."""
        return self.record(run_started(self.plan, inputs, options))

    def resume(
        self,
        selection: Selection | None = None,
        *,
        plan: Plan | None = None,
        upto: int | None = None,
        inputs: Mapping[str, Any] | None = None,
        facts: Sequence[EventDraft] = (),
        unusable: Mapping[str, ResumeReason] | None = None,
    ) -> Rehearsal:
        """Let a later process continue the run after its first `upto` events (all): the new course, already going.

        `facts` (a decision) are recorded before the resume, as `decide` does. The clock goes on where this one stands, and
        files are as it has them.
        """
        events = self.events[:upto]
        chosen, going = selection or Selection(), plan or self.plan
        events += events_of(facts, after=len(events))
        events += events_of(verdicts_torn_off(self.plan, events), after=len(events))
        run = fold(events)
        reading = [step.id for step in going.written if step.spec.reuse == "reads"]
        reads = None if self.digest_of is None else dict.fromkeys(reading, self.digest_of)
        known = with_items(without_items(going), run)
        entries = plan_resume(known, run, chosen, inputs=inputs, unusable=unusable, reads=reads)
        later = Rehearsal(going, events, now=self.now)
        later.digest_of = self.digest_of
        return later.record(run_resumed(going, run, entries, chosen, inputs))

    def entries(
        self, selection: Selection | None = None, *, plan: Plan | None = None, **options: Any
    ) -> dict[str, tuple[str, str]]:
        """Return the forecast of a resume: step to action and reason."""
        run = fold(self.events)
        going = with_items(without_items(plan or self.plan), run)
        planned = plan_resume(going, run, selection or Selection(), **options)
        return {entry["step_id"]: (entry["action"], entry["reason"]) for entry in planned}

    # --- what happens -------------------------------------------------------------------------------------------

    def record(self, *drafts: EventDraft) -> Rehearsal:
        """Record facts in one turn, and all that follows from them."""
        self._fresh()
        for draft in drafts:
            self._apply(draft)
        return self._settle()

    def end(
        self,
        step: str,
        status: str = "completed",
        *,
        error: str | None = None,
        value: Any = _MISSING,
        checks: Sequence[bool] | None = None,
        **data: Any,
    ) -> Rehearsal:
        """End the step's attempt; `checks` says which of its checks passed, `data` adds to `attempt_ended`."""
        return self.record(
            *self.ending(step, status, error=error, value=value, checks=checks, **data)
        )

    def ending(
        self,
        step: str,
        status: str = "completed",
        *,
        error: str | None = None,
        value: Any = _MISSING,
        checks: Sequence[bool] | None = None,
        **data: Any,
    ) -> list[EventDraft]:
        """Return the facts of such an end, to be recorded with others. What has a list collects what its items left."""
        attempt = self.state(step).attempt
        facts: list[EventDraft] = []
        if checks is not None:
            seen = [{"check": {"n": n}, "passed": p, "evidence": {}} for n, p in enumerate(checks)]
            record: Any = {"step": step, "attempt": attempt, "checks": seen}
            facts.append(EventDraft("verification_recorded", record))
        kind = error or {"timed_out": "timeout", "completed": None}.get(status, status)
        ended: Any = {
            "step": step,
            "attempt": attempt,
            "status": status,
            "error": None if kind is None else {"kind": kind, "message": kind, "details": {}},
            "elapsed_ms": 5,
            "summary": f"{step} {status}",
            **data,
        }
        if self._collects(step) and status not in {"cancelled", "interrupted", "timed_out"}:
            ended = {"step": step, "attempt": attempt, "elapsed_ms": 5}
            ended |= collected(self.board, step)
            return [EventDraft("attempt_ended", ended)]
        if value is not _MISSING:
            ended["output"] = {"format": "json", "value": value}
        return [*facts, EventDraft("attempt_ended", ended)]

    def _collects(self, step: str) -> bool:
        return self.plan.steps[self.plan.index[step]].kind == "for_each"

    def decide(self, step: str, verdict: str = "accept", value: Any = None) -> Rehearsal:
        """Let a person decide while the run is live."""
        return self.record(self.decision(step, verdict, value))

    def decision(self, step: str, verdict: str = "accept", value: Any = None) -> EventDraft:
        """Return the fact of such a word, for `resume`."""
        data: Any = {
            "step": step,
            "attempt": self.state(step).attempt,
            "verdict": verdict,
            "value": value,
            "note": "",
            "by": "ada",
            "request_id": "q",
        }
        return EventDraft("decision_recorded", data)

    def digested(self, step: str, digest: str) -> Rehearsal:
        """Note the digest of the files that a step reads."""
        self._fresh()
        self.board.reads[self.plan.index[step]] = digest
        return self._settle()

    def stop(self, how: RunStop) -> Rehearsal:
        """Let the operator end the run."""
        self.board.stop = how
        return self.record()

    def cancel_step(self, step: str) -> Rehearsal:
        """Let the operator cancel a step."""
        self.board.cancelled.add(self.plan.index[step])
        return self.record()

    def release(self, step: str) -> Rehearsal:
        """Let a detached thread return."""
        self.board.release(step)
        return self.record()

    def turn(self, seconds: float) -> Rehearsal:
        """Let time pass; the machine is asked whenever it wished to be."""
        target = self.now + seconds
        self._fresh()
        while self.wake_at is not None and self.wake_at <= target:
            self.now = max(self.now, self.wake_at)
            self._settle()
        self.now = target
        return self._settle()

    # --- what can be read ---------------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        """Return the plan, with the items of the lists that are known."""
        return self.board.plan

    @property
    def running(self) -> list[str]:
        """Steps with an attempt under way, in the order of their starts."""
        return [self.plan.steps[index].id for index in self.board.running]

    @property
    def ready(self) -> list[str]:
        """Steps that could start and wait for a slot or a claim, in spec order."""
        return [self.plan.steps[index].id for index in self.board.ready]

    @property
    def is_over(self) -> bool:
        """True if the course came to rest."""
        return self.board.run.finished is not None

    def state(self, step: str) -> StepState:
        """Return the state of a step."""
        return self.board.run.step(step)

    def statuses(self) -> dict[str, str | None]:
        """Map step to checkpoint status, in spec order."""
        return {step.id: self.state(step.id).checkpoint_status for step in self.plan.steps}

    def kinds(self, step: str | None = None) -> list[str]:
        """Return the kinds of the news, of one step if named."""
        return [e.kind for e in self.news if step is None or e.data.get("step") == step]

    def data_of(self, kind: str) -> list[dict[str, Any]]:
        """Return data of the news of one kind."""
        return [event.data for event in self.news if event.kind == kind]

    def started(self) -> list[str]:
        """Return steps whose attempts were started in this course, in order."""
        return [start.step for start in self.starts]

    def outcome(self, *, is_live: bool = False) -> RunOutcome:
        """Return how the run stands, from its log alone."""
        run = fold(self.events)
        return outcome(with_items(without_items(self.plan), run), run, is_live=is_live)

    # --- inside -------------------------------------------------------------------------------------------------

    def _fresh(self) -> None:
        self.news = []
        self.stops = []

    def _apply(self, draft: EventDraft) -> None:
        event = Event(len(self.events) + 1, AT, draft.kind, draft.data)
        self.events.append(event)
        self.news.append(event)
        if draft.kind == "step_scheduled":
            self._check_start(draft.data)
        self.board.apply(event, self.now)

    def _settle(self) -> Rehearsal:
        for _ in range(MOST_TURNS):
            self.board.unread = set(self._unread())
            answer = advance(self.plan, self.board, self.now)
            has_digested = False
            for instruction in answer.instructions:
                if isinstance(instruction, StartAttempt):
                    self.starts.append(instruction)
                elif isinstance(instruction, DigestReads):
                    self.board.reads[self.plan.index[instruction.step]] = self.digest_of
                    has_digested = self.digest_of is not None
                elif instruction not in self.stops:
                    self.stops.append(instruction)
            if not answer.events and not has_digested:
                self.wake_at = answer.wake_at
                return self
            for draft in answer.events:
                self._apply(draft)
        raise AssertionError(f"No rest after {MOST_TURNS:,} answers: {self.news[-3:]}")

    def _unread(self) -> Iterator[int]:
        """Yield steps that cannot be decided on before their files are digested; questions are digested here."""
        for step in self.plan.written:
            is_due = step.spec.reuse == "reads" and step.index in self.board.ready
            if not is_due or digest_of_reads(self.board, step.index) is not None:
                continue
            if step.kind == "decision" and self.digest_of is not None:
                self.board.reads[step.index] = self.digest_of
            elif step.kind == "decision" or self.board.state(step.index).kept is not None:
                yield step.index

    def _check_start(self, data: dict[str, Any]) -> None:
        """Check the rules of a start, computed by other means than the machine's own."""
        index = self.plan.index[data["step"]]
        step, name = self.plan.steps[index], data["step"]
        if index in self.board.running:
            self.faults.append(f"{name} started while it runs")
        if len(self.board.running) >= self.plan.max_concurrency:
            self.faults.append(f"{name} started beyond max_concurrency")
        for dependency in step.depends_on:
            state = self.state(self.plan.steps[dependency].id)
            # What collects waits until its items have settled, however that was.
            is_over = step.template is not None and state.stage == "settled"
            is_over = is_over or dependency == step.leader
            if state.checkpoint_status != "checkpoint_ready" and not is_over:
                self.faults.append(f"{name} started before {self.plan.steps[dependency].id}")
        mine = self.board.claim(index)
        for other in {*self.board.running, *self.board.detached}:
            theirs = self.board.claim(other)
            if mine and theirs and conflict_between(mine, theirs):
                self.faults.append(f"{name} started beside {self.plan.steps[other].id}")
