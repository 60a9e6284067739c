"""Doctored logs, sections 5 and 6 and the operator: each breaks the promise of one rule, and no other."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from msgspec.structs import replace

from pixirnb.machine.resume import Selection
from pixirnb.testing.generators.histories import Rehearsal
from tests.harness.auditor.doctoring import Exhibit, at, made, of
from tests.harness.auditor.taped_runs import Tape, begun
from tests.harness.auditor.verdict_trials import Trial
from tests.harness.auditor.workflows_on_trial import (
    asked,
    edited,
    failing,
    lost,
    mended,
    needing,
    pair,
    partial,
    play,
    retried,
    shell,
    spec,
    task,
)

_FINISHED = at("run_finished")


def _timed_out() -> Tape:
    tape = begun(spec(shell("a", timeout="20s")))
    tape.turn(20)
    tape.end("a", "timed_out", elapsed_ms=20_000)
    return tape


def _slow() -> Tape:
    tape = begun(spec(shell("a", timeout="10m")))
    tape.turn(300)
    return play(tape, "a")


def _thread_over_courses() -> Tape:
    tape = begun(spec({"id": "a", "call": "m:f", "process": False}))
    tape.end("a", "detached")
    return play(tape.resume(), "a")


def _question(name: str = "a") -> dict[str, object]:
    return {
        "step": name, "attempt": 1, "verdict": "accept", "value": None, "note": "", "by": "ada",
        "request_id": "r",
    }  # fmt: skip


def _half() -> Tape:
    tape = begun(spec(task("a")))
    tape.end("a")
    return tape


def _parked() -> Tape:
    return begun(spec({"id": "gate", "ask": {"question": "Ship?"}}))


def _phased() -> Tape:
    return play(begun(spec(shell("a", phase="one"), shell("b", "a", phase="two"))), "a", "b")


def _given() -> Tape:
    steps = (shell("a"), shell("b", "a", run="echo {{ inputs.n }}"), shell("c"))
    tape = begun(spec(*steps, inputs={"n": {"type": "integer", "default": 1}}))
    return play(play(tape, "a", "b", "c!").resume(), "c")


def _until() -> Tape:
    """The resume stops after c, which failed; a, ready and unchanged, is reused though nothing before c needs it."""
    return play(
        play(begun(spec(shell("a"), shell("c"))), "a", "c!").resume(Selection(until="c")), "c"
    )


def _hold_the_finished(exhibit: Exhibit) -> None:
    exhibit.reentry("a", action="hold", reason="not_selected")
    place = exhibit.place(at("run_resumed")) + 1
    kept = exhibit.events[exhibit.place(at("checkpoint_decided", "a"))]
    exhibit.insert(place, replace(kept, data={**kept.data, "reused": True}))


def _again(exhibit: Exhibit) -> None:
    """`a` begins once more right after it became ready."""
    place = exhibit.place(at("checkpoint_decided", "a"))
    again = [e for e in exhibit.events[: place + 1] if e.data.get("step") == "a"]
    exhibit.insert(place + 1, *[replace(e, data={**e.data, "attempt": 2}) for e in again])


def _not_kept(exhibit: Exhibit) -> None:
    """`b` begins again where it was kept."""
    place = exhibit.place(at("checkpoint_decided", "b", reused=True))
    first = [e for e in exhibit.events[:place] if e.data.get("step") == "b"]
    del exhibit.events[place]
    exhibit.insert(place, *[replace(e, data={**e.data, "attempt": 2}) for e in first])


def _resume_for_nothing(exhibit: Exhibit) -> None:
    tape = pair()
    later = Rehearsal.resume(tape)
    exhibit.events += [
        replace(e, at=exhibit.events[-1].at) for e in later.events[len(tape.events) :]
    ]


def _forked() -> Exhibit:
    tape = _phased()
    place = next(n for n, e in enumerate(tape.events) if e.data.get("name") == "one")
    fork = made("run_forked", {"run_id": "r-other", "checkpoint": "one", "seq": place + 1})
    events = [*tape.events[: place + 1], replace(fork, seq=place + 2, at=tape.events[place].at)]
    later = play(Tape(tape.plan, events).resume(), "b")
    return Exhibit.of(later)


def _impatient(exhibit: Exhibit) -> None:
    planned = exhibit.events[exhibit.place(at("retry_planned"))]
    planned.data["delay_ms"] = 7500


def _overdue(exhibit: Exhibit) -> None:
    exhibit.restep("a", timeout="10s")
    exhibit.change(at("step_scheduled"), timeout_ms=10_000)


def _asks_nothing(exhibit: Exhibit) -> None:
    exhibit.drop(at("decision_requested"))


def _drained() -> Tape:
    tape = begun(spec(shell("a"), shell("b", "a")))
    tape.stop("drain")
    return play(tape, "a!")


def _work_on(exhibit: Exhibit) -> None:
    """It was a cancel, and `a` went on for a minute."""
    reasons = exhibit.events[exhibit.place(at("run_finished"))].data["reasons"]
    reasons[0]["code"] = "cancelled"
    for n, seen in enumerate(exhibit.sightings):
        if seen.what == "wished":
            exhibit.sightings[n] = dataclasses.replace(seen, detail="cancel")
        elif seen.what == "ended":
            exhibit.sightings[n] = dataclasses.replace(seen, at=seen.at + 60)


def _answered() -> Tape:
    tape = begun(spec({"id": "gate", "ask": {"question": "Ship?"}}, shell("a")))
    tape.decide("gate")
    return play(tape, "a")


def _undie(exhibit: Exhibit) -> None:
    exhibit.sightings = [seen for seen in exhibit.sightings if seen.what != "died"]


def _unwish(exhibit: Exhibit) -> None:
    exhibit.sightings = [seen for seen in exhibit.sightings if seen.what != "wished"]


def _policy(**said: object) -> Callable[[Exhibit], object]:
    """Another retry policy for `a`."""
    return lambda x: x.events[0].data["spec"]["steps"][0]["retry"].update(said)


TRIALS: list[Trial] = [
    ("timeout_source", "not the step's own", of(retried), lambda x: x.restep("z", timeout="20s")),
    (
        "timeout_source",
        "a question with a time-out nobody wrote",
        of(_parked),
        lambda x: x.change(at("decision_requested"), timeout_ms=5),
    ),
    ("timeout_scaled", "not grown", of(retried), _policy(timeout_scale=2.0)),
    (
        "timeouts_real",
        "timed out at once",
        of(_timed_out),
        lambda x: x.change(at("attempt_ended"), elapsed_ms=5),
    ),
    (
        "timeouts_real",
        "timed out too early by the clock",
        of(_timed_out, wall=True),
        lambda x: (x.restep("a", timeout="40s"), x.change(at("step_scheduled"), timeout_ms=40_000)),
    ),
    ("timeouts_enforced", "under way for ever", of(_slow, wall=True), _overdue),
    (
        "timeouts_enforced",
        "a run that goes on for ever",
        of(_slow, wall=True),
        lambda x: x.respec(timeout="30s"),
    ),
    (
        "detached_not_retried",
        "begun beside its own thread",
        of(_thread_over_courses, seen=True),
        _undie,
    ),
    ("retry_budget", "one attempt more than it has", of(retried), _policy(max_attempts=1)),
    ("retry_class", "a failure that no policy names", of(retried), _policy(classes=["timeout"])),
    (
        "retry_taken",
        "given up with an attempt left",
        of(failing, seen=True),
        lambda x: x.restep("a", retry={"max_attempts": 2}),
    ),
    ("retry_delay", "not the delay of its policy", of(retried), _policy(delay="60s")),
    ("retry_waits", "sooner than planned", of(retried, wall=True), _impatient),
    (
        "decision_by_word",
        "ready with nobody's word",
        of(_answered),
        lambda x: x.drop(at("decision_recorded")),
    ),
    (
        "first_word_stands",
        "rejected, and ready",
        of(asked),
        lambda x: x.change(at("decision_recorded"), verdict="reject"),
    ),
    (
        "first_word_stands",
        "accepted, and nothing says by whom",
        of(partial),
        lambda x: x.change(
            at("checkpoint_decided", "a", status="checkpoint_ready"), limitations=[]
        ),
    ),
    (
        "word_is_a_choice",
        "an answer that was no choice",
        of(lambda: asked(choices=["now", "later"])),
        lambda x: x.change(at("decision_requested"), choices=["never"]),
    ),
    (
        "word_acted_on",
        "a word that nothing was made of",
        of(_half),
        lambda x: x.insert(
            x.place(at("checkpoint_saved", reason="end")), made("decision_recorded", _question())
        ),
    ),
    ("asked_in_words", "needs a word, and asks for none", of(needing), _asks_nothing),
    (
        "parks",
        "nothing goes on, and it stays",
        of(_parked),
        lambda x: x.later(at("checkpoint_saved", reason="end"), 0, "2026-11-22T09:00:00.000000Z"),
    ),
    (
        "decision_goes_on",
        "a decision that tries failures again",
        of(mended),
        lambda x: x.change(at("run_resumed"), flags={"decided": True}),
    ),
    (
        "phases_checkpointed",
        "a phase without its checkpoint",
        of(_phased),
        lambda x: x.drop(at("checkpoint_saved", reason="phase", name="one")),
    ),
    (
        "end_checkpointed",
        "no checkpoint at the end",
        of(_phased),
        lambda x: x.drop(at("checkpoint_saved", reason="end")),
    ),
    (
        "checkpoint_lists_ready",
        "a step that was not ready",
        of(_phased),
        lambda x: x.change(at("checkpoint_saved", name="one"), ready=["a", "b"]),
    ),
    (
        "plan_whole",
        "a step that no one planned",
        of(mended),
        lambda x: x.events[x.place(at("run_resumed"))].data["steps"].pop(1),
    ),
    (
        "plan_whole",
        "a reason that goes with another action",
        of(mended),
        lambda x: x.reentry("c", reason="not_selected"),
    ),
    (
        "reason_true",
        "ready told as decided",
        of(mended),
        lambda x: x.reentry("b", reason="decided"),
    ),
    (
        "change_true",
        "an edit that nobody made",
        of(mended),
        lambda x: x.reentry("c", reason="spec_changed"),
    ),
    (
        "change_true",
        "never reused, against its spec",
        of(mended),
        lambda x: x.reentry("c", reason="never"),
    ),
    (
        "spec_pinned",
        "another digest of the same workflow",
        of(mended),
        lambda x: x.change(at("run_resumed"), spec_digest="b2:0"),
    ),
    ("finished_not_repeated", "finished work is left out", of(_until), _hold_the_finished),
    (
        "stale_not_reused",
        "reused with another input",
        of(_given),
        lambda x: x.change(at("run_resumed"), inputs={"n": 5}),
    ),
    (
        "reuse_keeps",
        "kept with another digest",
        of(edited),
        lambda x: x.change(at("checkpoint_decided", "b", reused=True), digest="b2:0"),
    ),
    ("begun_once", "begun again when it was ready", of(pair), _again),
    (
        "entry_obeyed",
        "begun though it was to be held",
        of(mended),
        lambda x: x.reentry("c", action="hold"),
    ),
    ("equal_digest_stops", "done again for nothing", of(edited), _not_kept),
    (
        "digest_of_result",
        "two digests of one result",
        of(retried),
        lambda x: x.change(at("checkpoint_decided", "z"), digest="b2:0"),
    ),
    (
        "in_flight_reruns",
        "in flight told as failed",
        of(lost),
        lambda x: x.reentry("a", reason="failed"),
    ),
    (
        "in_flight_warned",
        "in flight, and no warning",
        of(lost),
        lambda x: x.drop(at("warning_raised")),
    ),
    (
        "asks_before_rerun",
        "run again without a question",
        of(lost),
        lambda x: x.restep("a", rerun="ask"),
    ),
    (
        "selection_kept",
        "more than was selected",
        of(mended),
        lambda x: x.change(at("run_resumed"), flags={"until": "b"}),
    ),
    ("no_op_is_silent", "resumed for nothing", of(pair), _resume_for_nothing),
    (
        "fork_from_checkpoint",
        "of a checkpoint that is not there",
        _forked,
        lambda x: x.change(at("run_forked"), checkpoint="two"),
    ),
    (
        "fork_from_checkpoint",
        "of another place than it says",
        _forked,
        lambda x: x.change(at("run_forked"), seq=2),
    ),
    (
        "stop_is_stop",
        "begun after the operator's wish",
        of(pair, seen=True),
        lambda x: x.see("wished", 1, detail="cancel"),
    ),
    ("stop_ends_work", "cancelled, and worked on", of(_drained, seen=True), _work_on),
    (
        "stop_is_said",
        "stopped, and its end does not say so",
        of(lambda: play(begun(spec(shell("a"))), "a!"), seen=True),
        lambda x: x.see("wished", 1, detail="drain"),
    ),
    ("stop_is_said", "nobody stopped it", of(_drained, seen=True), _unwish),
]
