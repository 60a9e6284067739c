"""Proofs of a smoke run, read from its logs, never from memory of the process that drove it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from pixirnb.history.events import Event
from pixirnb.json_types import JsonObject
from pixirnb.operations.run import Run
from pixirnb.planning.report import PlanReport
from pixirnb.verbs.smoke.scenarios import Scenario

_HANDED_ON: Final = 200
"""Maximum number of characters of a summary's first line that are searched in the next step's prompt."""


class Proof(Struct, frozen=True):
    """One proof."""

    check: str
    passed: bool
    evidence: Any

    def document(self) -> JsonObject:
        """Return `{check, passed, evidence}`."""
        return {"check": self.check, "passed": self.passed, "evidence": self.evidence}


def prove_plan(scenario: Scenario, plan: PlanReport) -> list[Proof]:
    """Return the proofs by the plan alone."""
    waves = [list(wave) for wave in plan.waves]
    proofs = [Proof("valid", plan.ok, [problem.code for problem in plan.errors])]
    expected = {
        "micro_parallel": [["left", "right"]],
        "dependency": [["gather"], ["conclude"]],
        "writer_controlled": [["first"], ["second"]],
    }
    return [*proofs, Proof("waves", waves == expected[scenario], waves)]


def prove_run(scenario: Scenario, run: Run) -> list[Proof]:
    """Return the proofs by the run's log and its sessions' logs."""
    events = run.store.read(run.id).events
    spans = _spans(events)
    proofs = [
        Proof("every_step_ready", run.status == "completed", run.outcome.summary),
        _sessions_closed(run),
        _proof_states(run),
    ]
    return [*proofs, *_OF[scenario](run, events, spans)]


class _Span(Struct, frozen=True):
    """Positions of the attempts of a step in the log."""

    scheduled: int
    ended: int

    def overlaps(self, other: _Span) -> bool:
        return self.scheduled < other.ended and other.scheduled < self.ended

    def document(self) -> dict[str, int]:
        return {"scheduled_seq": self.scheduled, "ended_seq": self.ended}


Spans = Mapping[str, _Span]


def _parallel(_run: Run, _events: list[Event], spans: Spans) -> Iterator[Proof]:
    evidence = {step: span.document() for step, span in spans.items()}
    both = len(spans) == 2 and spans["left"].overlaps(spans["right"])
    yield Proof("parallel_overlap", both, evidence)


def _dependency(run: Run, events: list[Event], spans: Spans) -> Iterator[Proof]:
    ready = next(
        (
            event.seq
            for event in events
            if event.kind == "checkpoint_decided"
            and event.data.get("step") == "gather"
            and event.data.get("status") == "checkpoint_ready"
        ),
        None,
    )
    later = spans.get("conclude")
    evidence = {"ready_seq": ready, "scheduled_seq": None if later is None else later.scheduled}
    is_after = ready is not None and later is not None and ready < later.scheduled
    yield Proof("started_after_ready", is_after, evidence)
    summary = run.outcome.step("gather").summary.strip()
    first_line = summary.splitlines()[0][:_HANDED_ON] if summary else ""
    prompt = _prompt(run, "conclude")
    yield Proof("summary_handed_on", bool(first_line) and first_line in prompt, first_line)


def _writers(run: Run, _events: list[Event], spans: Spans) -> Iterator[Proof]:
    evidence = {step: span.document() for step, span in spans.items()}
    apart = len(spans) == 2 and not spans["first"].overlaps(spans["second"])
    yield Proof("writers_serialized", apart, evidence)
    states = run.outcome.proof_states
    yield Proof("conflict_recorded", "conflicts_serialized" in states, states)
    folder = Path(run.state.workspace) / "shared"
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    yield Proof("files_written", names == ["first.txt", "second.txt"], names)


_OF: Final[dict[Scenario, Callable[[Run, list[Event], Spans], Iterator[Proof]]]] = {
    "micro_parallel": _parallel,
    "dependency": _dependency,
    "writer_controlled": _writers,
}


def _spans(events: list[Event]) -> dict[str, _Span]:
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for event in events:
        step = str(event.data.get("step"))
        if event.kind == "step_scheduled":
            first.setdefault(step, event.seq)
        elif event.kind == "attempt_ended":
            last[step] = event.seq
    return {step: _Span(first[step], last[step]) for step in first if step in last}


def _sessions_closed(run: Run) -> Proof:
    """Prove that every attempt has a session, and each ended with evidence."""
    ends: dict[str, str] = {}
    for name in run.store.session_ids(run.id):
        kinds = [event.kind for event in run.store.read_session(run.id, name).events]
        spoken = [kind for kind in kinds if kind in {"assistant_message", "turn_failed"}]
        ends[name] = spoken[-1] if spoken else "open"
    closed = bool(ends) and "open" not in ends.values()
    return Proof("sessions_closed", closed, ends)


def _proof_states(run: Run) -> Proof:
    states = run.outcome.proof_states
    required = {"workflow_validated", "steps_scheduled", "summaries_collected", "completion_ready"}
    return Proof("proof_states", required <= set(states), states)


def _prompt(run: Run, step: str) -> str:
    names = [name for name in run.store.session_ids(run.id) if name.rpartition(".")[0] == step]
    for name in names:
        for event in run.store.read_session(run.id, name).events:
            if event.kind == "user_message":
                return str(event.data.get("text", ""))
    return ""
