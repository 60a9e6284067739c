"""Doctored logs, sections 1 to 4: each breaks the promise of one rule, and no other."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

from tests.harness.auditor.doctoring import Exhibit, at, made, of
from tests.harness.auditor.taped_runs import Tape, begun
from tests.harness.auditor.workflows_on_trial import (
    beside,
    detached,
    failing,
    pair,
    play,
    retried,
    shell,
    spec,
    task,
)

Trial = tuple[str, str, Callable[[], Exhibit], Callable[[Exhibit], object]]
"""The rule, what was done, the sound exhibit, and the doctor."""

_FINISHED = at("run_finished")
_EXIT = {"kind": "exit", "message": "exit", "details": {}}


def _conditional() -> Tape:
    steps = (shell("a"), shell("b", when="{{ inputs.n }} > 1"))
    return play(begun(spec(*steps, inputs={"n": {"type": "integer", "default": 2}})), "a", "b")


def _overtaken() -> Tape:
    steps = (
        shell("a", write_set=["x/**"]),
        shell("b", write_set=["x/**", "y/**"]),
        shell("c", write_set=["z/**"]),
    )
    return play(begun(spec(*steps, max_concurrency=2)), "c", "a", "b")


def _in_turn() -> Tape:
    steps = (shell("a", write_set=["x/**"]), shell("b", write_set=["x/**"]))
    return play(begun(spec(*steps)), "a", "b")


def _blob() -> Exhibit:
    tape = begun(spec(shell("a")))
    data = b"large"
    tape.end("a", output={"format": "text", "blob": _digest(data), "bytes": len(data)})
    exhibit = Exhibit.of(tape)
    exhibit.blobs = {_digest(data): data}.__getitem__
    return exhibit


def _digest(data: bytes) -> str:
    return "b2:" + blake2b(data, digest_size=32).hexdigest()


def _checked(**said: object) -> Tape:
    tape = begun(spec(shell("a", verify=[{"exit_code": 0}], **said)))
    tape.end("a", checks=[True])
    return tape


def _typed() -> Tape:
    tape = begun(spec(shell("a", output={"type": "object"})))
    payload = {"schema_id": "s", "provenance": "tool_result", "validation": {"passed": True}}
    tape.end("a", value={}, payload=payload)
    return tape


def _reported() -> Tape:
    tape = begun(spec(task("a")))
    tape.end("a", report={"checkpoint_status": "checkpoint_ready"})
    return tape


def _lenient() -> Tape:
    tape = begun(spec(task("a"), readiness="lenient"))
    tape.end("a")
    return tape


def _timed_out() -> Tape:
    tape = begun(spec(shell("a", timeout="20s")))
    tape.turn(20)
    tape.end("a", "timed_out", elapsed_ms=20_000)
    return tape


def _by_hand() -> Tape:
    tape = begun(spec(shell("a"), shell("b", "a")))
    tape.cancel_step("b")
    return play(tape, "a")


def _abandon(exhibit: Exhibit) -> None:
    """The run rests while `a` waits for its second attempt."""
    after = exhibit.place(at("retry_planned"))
    ending = [
        e
        for e in exhibit.events[after:]
        if e.kind == "run_finished" or e.data.get("reason") == "end"
    ]
    exhibit.events[after + 1 :] = ending
    exhibit.change(at("checkpoint_saved", reason="end"), ready=[])
    reasons = [{"code": "step_failed", "step": "z"}]
    exhibit.change(_FINISHED, status="failed", reasons=reasons, counts={"failed": 1, "queued": 1})


def _tear(exhibit: Exhibit) -> None:
    exhibit.tail = b'{"at":"2026'


def _unwish(exhibit: Exhibit) -> None:
    exhibit.sightings = [seen for seen in exhibit.sightings if seen.what != "wished"]


def _early_end(exhibit: Exhibit) -> None:
    place = next(n for n, s in enumerate(exhibit.sightings) if s.what == "ended")
    seen = exhibit.sightings.pop(place)
    exhibit.see("ended", seen.durable + 3, step=seen.step, attempt=seen.attempt)


def _late_intent(exhibit: Exhibit) -> None:
    exhibit.sightings = [s for s in exhibit.sightings if s.what != "began" or s.step != "a"]
    exhibit.see("began", 1, step="a", attempt=1)


TRIALS: list[Trial] = [
    (
        "failure_stops",
        "a failure does not stop the run",
        of(lambda: play(begun(spec(shell("a"), shell("b"), max_concurrency=1)), "a!", "b")),
        lambda x: x.respec(on_failure="stop"),
    ),
    (
        "condition_kept",
        "a false `when` is passed over",
        of(_conditional),
        lambda x: x.change(at("run_started"), inputs={"n": 1}),
    ),
    (
        "conflicts_apart",
        "two that write one folder at once",
        of(beside),
        lambda x: x.restep("b", write_set=["x/**"]),
    ),
    (
        "conflicts_apart",
        "a thread still writes there",
        of(detached, seen=True),
        lambda x: x.restep("c", write_set=["x/**"]),
    ),
    (
        "earlier_first",
        "a later step overtakes",
        of(_overtaken),
        lambda x: x.restep("c", write_set=["y/**"]),
    ),
    ("slots_bounded", "one more than slots", of(beside), lambda x: x.respec(max_concurrency=1)),
    (
        "dependencies_ready",
        "begun before what it needs",
        of(beside),
        lambda x: x.restep("b", depends_on=["a"]),
    ),
    (
        "starts_promptly",
        "a free slot is left empty",
        of(pair),
        lambda x: x.respec(max_concurrency=2),
    ),
    (
        "starts_promptly",
        "a claim that nobody holds is waited for",
        of(_in_turn),
        lambda x: x.restep("b", write_set=["y/**"]),
    ),
    ("chain_holds", "a line that was not finished", of(pair), _tear),
    (
        "data_fits",
        "an event without its data",
        of(pair),
        lambda x: x.insert(2, made("attempt_started", {"step": "a", "attempt": 1})),
    ),
    (
        "data_fits",
        "a step that is not there",
        of(pair),
        lambda x: x.insert(2, made("attempt_started", {"step": "q", "attempt": 1, "pid": 1})),
    ),
    ("blobs_whole", "a blob is gone", _blob, lambda x: setattr(x, "blobs", {}.__getitem__)),
    (
        "blobs_whole",
        "a blob is not what its name says",
        _blob,
        lambda x: setattr(x, "blobs", lambda _: b"other"),
    ),
    ("begins_once", "started twice", of(pair), lambda x: x.insert(3, x.events[0])),
    ("begins_once", "an empty log", of(pair), lambda x: x.events.clear()),
    ("rest_is_quiet", "finished twice", of(pair), lambda x: x.insert(len(x.events), x.events[-1])),
    ("intent_first", "begun before its intent was on disk", of(pair, seen=True), _late_intent),
    (
        "intent_first",
        "started before it was scheduled",
        of(pair),
        lambda x: x.insert(1, made("attempt_started", {"step": "a", "attempt": 1, "pid": 1})),
    ),
    (
        "attempts_count_on",
        "a number is left out",
        of(pair),
        lambda x: x.change_all(lambda e: e.data.get("step") == "a", attempt=2),
    ),
    (
        "ends_once",
        "ended twice",
        of(pair),
        lambda x: x.insert(
            x.place(at("checkpoint_decided", "a")) + 1, x.events[x.place(at("attempt_ended", "a"))]
        ),
    ),
    (
        "one_owner_writes",
        "a robbed owner writes on",
        of(pair, seen=True),
        lambda x: (
            x.see("acquired", 1, detail="p1"),
            x.see("lost", 2, detail="p1"),
            x.see("wrote", 3, detail="p1"),
        ),
    ),
    ("ends_are_real", "ended before its runner let go", of(pair, seen=True), _early_end),
    (
        "ready_is_earned",
        "exit 1 is ready",
        of(pair),
        lambda x: (
            x.change(at("attempt_ended", "a"), status="failed", error=_EXIT),
            x.change(at("checkpoint_decided", "a"), subagent_status="failed"),
        ),
    ),
    (
        "ready_is_earned",
        "a check that failed",
        of(_checked),
        lambda x: x.change(
            at("verification_recorded"), checks=[{"check": {}, "passed": False, "evidence": {}}]
        ),
    ),
    (
        "ready_is_earned",
        "a check that was not made",
        of(_checked),
        lambda x: x.drop(at("verification_recorded")),
    ),
    (
        "ready_is_earned",
        "an output that is not as declared",
        of(_typed),
        lambda x: (
            x.events[x.place(at("attempt_ended"))]
            .data["payload"]
            .update(validation={"passed": False})
        ),
    ),
    (
        "ready_is_earned",
        "an agent that declared nothing",
        of(_reported),
        lambda x: x.change(at("attempt_ended"), report=None),
    ),
    (
        "ready_is_earned",
        "an agent that declared something else",
        of(_reported),
        lambda x: x.change(at("attempt_ended"), report={"checkpoint_status": "done"}),
    ),
    (
        "ready_is_earned",
        "lenience that says nothing",
        of(_lenient),
        lambda x: x.change(at("checkpoint_decided"), limitations=[]),
    ),
    (
        "verdict_fits_cause",
        "a report that was left is passed over",
        of(failing),
        lambda x: x.change(at("attempt_ended", "a"), report={"checkpoint_status": "partial"}),
    ),
    (
        "verdict_fits_cause",
        "another error than the attempt's",
        of(failing),
        lambda x: x.change(at("checkpoint_decided", "a"), error={**_EXIT, "kind": "crash"}),
    ),
    (
        "error_names_cause",
        "a time-out called an exit",
        of(_timed_out),
        lambda x: (
            x.change(at("attempt_ended"), error=_EXIT),
            x.change(at("checkpoint_decided"), error=_EXIT),
        ),
    ),
    (
        "verdict_names_end",
        "a clean end told as a failed one",
        of(pair),
        lambda x: x.change(at("checkpoint_decided", "a"), subagent_status="failed"),
    ),
    (
        "nothing_dropped",
        "begun again with no verdict",
        of(retried),
        lambda x: x.drop(at("retry_planned")),
    ),
    (
        "held_for_cause",
        "held by itself",
        of(failing),
        lambda x: x.change(at("step_held", "b"), held_by={"kind": "dependency", "step": "b"}),
    ),
    (
        "held_for_cause",
        "held by a condition it has not",
        of(failing),
        lambda x: x.change(at("step_held", "b"), held_by={"kind": "when", "step": None}),
    ),
    ("held_for_cause", "given up by nobody", of(_by_hand, seen=True), _unwish),
    ("rest_is_rest", "at rest with a retry to come", of(retried), _abandon),
    (
        "status_is_first",
        "partial told as failed",
        of(failing),
        lambda x: x.change(_FINISHED, status="failed"),
    ),
    (
        "counts_true",
        "one more ready than there are",
        of(failing),
        lambda x: x.change(_FINISHED, counts={"checkpoint_ready": 2, "held": 1}),
    ),
    (
        "reasons_real",
        "a failure that is not named",
        of(lambda: failing("c!", "a!")),
        lambda x: x.change(_FINISHED, reasons=[{"code": "step_failed", "step": "a"}]),
    ),
    (
        "reasons_real",
        "a word nobody knows",
        of(failing),
        lambda x: x.change(
            _FINISHED,
            reasons=[{"code": "step_failed", "step": "a"}, {"code": "bad_luck", "step": None}],
        ),
    ),
    ("success_is_success", "ok, and partial", of(failing, shown=True), lambda x: x.show(ok=True)),
    (
        "outcome_status",
        "partial shown as failed",
        of(failing, shown=True),
        lambda x: x.show(status="failed"),
    ),
    (
        "outcome_steps",
        "an attempt more than there were",
        of(failing, shown=True),
        lambda x: (x.outcome or {})["steps"][0].update(attempt=7),
    ),
    (
        "outcome_lists",
        "a failure left out of its list",
        of(failing, shown=True),
        lambda x: x.show(failed_steps=[]),
    ),
    (
        "outcome_lists",
        "nobody held",
        of(failing, shown=True),
        lambda x: x.show(held_dependents={}),
    ),
    (
        "outcome_proofs",
        "a proof with no evidence",
        of(failing, shown=True),
        lambda x: x.show(
            proof_states=[
                "workflow_validated",
                "steps_scheduled",
                "conflicts_serialized",
                "partial_outcome_ready",
            ]
        ),
    ),
    (
        "outcome_proofs",
        "whole, and partial",
        of(failing, shown=True),
        lambda x: x.show(
            proof_states=["workflow_validated", "steps_scheduled", "completion_ready"]
        ),
    ),
]
