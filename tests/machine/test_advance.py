"""What starts when, in what order, and beside what: `advance` told event by event."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.machine.instructions import StartAttempt, StopAttempt
from pixirnb.machine.resume import Selection
from pixirnb.planning.environment import Environment, PathFact
from pixirnb.planning.report import compile_plan
from pixirnb.spec.loader import load_mapping
from pixirnb.testing.generators.histories import Rehearsal, plan_of


def begun(*steps: dict[str, Any], **keys: Any) -> Rehearsal:
    """A run of these steps, `run: x` where they do not say what they do, just started."""
    kinds = {"run", "call", "task", "ask", "merge"}
    whole = [step if kinds & set(step) else {**step, "run": "x"} for step in steps]
    return Rehearsal(plan_of({"name": "t", "steps": whole, **keys})).begin()


def test_ready_steps_start_in_spec_order_and_nothing_else_does() -> None:
    play = begun({"id": "b"}, {"id": "a"}, {"id": "c", "depends_on": ["a"]})
    assert play.kinds() == ["run_started", "step_scheduled", "step_scheduled"]
    assert play.starts == [StartAttempt("b", 1, 1_800_000), StartAttempt("a", 1, 1_800_000)]


def test_a_clean_end_is_decided_and_unlocks_in_the_same_turn() -> None:
    play = begun({"id": "a"}, {"id": "b", "depends_on": ["a"]})
    play.end("a")
    assert play.kinds() == ["attempt_ended", "checkpoint_decided", "step_scheduled"]
    decided = play.data_of("checkpoint_decided")[0]
    assert (decided["status"], decided["error"], decided["subagent_status"]) == (
        "checkpoint_ready",
        None,
        "completed",
    )
    assert decided["digest"].startswith("b2:")


def test_no_barrier_stands_between_waves() -> None:
    play = begun({"id": "slow"}, {"id": "fast"}, {"id": "next", "depends_on": ["fast"]})
    play.end("fast")
    assert play.running == ["slow", "next"]


def test_max_concurrency_is_kept_and_each_end_lets_one_in() -> None:
    play = begun(*({"id": n} for n in "abcd"), max_concurrency=2)
    assert (play.running, play.ready) == (["a", "b"], ["c", "d"])
    play.end("b")
    assert play.running == ["a", "c"]


def test_steps_that_conflict_run_one_after_the_other_and_others_pass_them() -> None:
    play = begun(
        {"id": "a", "write_set": ["src/**"]},
        {"id": "b", "write_set": ["src/x"]},
        {"id": "c", "write_set": ["doc/**"]},
    )
    assert play.running == ["a", "c"]
    play.end("a")
    assert play.running == ["c", "b"]


def test_an_earlier_ready_step_is_not_overtaken_by_what_it_conflicts_with() -> None:
    play = begun(
        {"id": "a", "write_set": ["one/**"]},
        {"id": "both", "write_set": ["one/**", "two/**"]},
        {"id": "c", "write_set": ["two/**"]},
    )
    assert play.running == ["a"]
    play.end("a")
    assert play.running == ["both"]
    play.end("both")
    assert play.running == ["c"]


def test_what_may_meet_a_merge_that_a_person_asked_for_waits_until_it_is_recorded() -> None:
    play = begun(
        {"id": "a", "workspace": "isolated", "write_set": ["src/**"]},
        {"id": "land", "merge": ["a"], "depends_on": ["a"]},
        {"id": "same", "write_set": ["src/x"]},
        {"id": "other", "write_set": ["doc/**"]},
        max_concurrency=1,
    )
    play.board.begin_merge([play.plan.index["a"]])
    play.end("a")
    assert play.running == ["other"]
    play.end("other")
    assert play.running == []
    assert play.data_of("run_finished") == []
    play.board.end_merge()
    play.record()
    assert play.running == ["land"]
    play.end("land")
    assert play.running == ["same"]


def test_what_a_persons_merge_may_touch_is_claimed_where_no_merge_step_waits_for_it() -> None:
    play = begun(
        {"id": "a", "workspace": "isolated", "write_set": ["src/**"]},
        {"id": "same", "write_set": ["src/x"], "depends_on": ["a"]},
        {"id": "other", "write_set": ["doc/**"], "depends_on": ["a"]},
    )
    play.board.begin_merge([play.plan.index["a"]])
    play.end("a")
    assert play.running == ["other"]
    play.board.end_merge()
    play.record()
    assert sorted(play.running) == ["other", "same"]


def test_no_merge_step_starts_beside_a_merge_that_a_person_asked_for() -> None:
    play = begun(
        {"id": "a", "workspace": "isolated", "write_set": ["a"]},
        {"id": "b", "workspace": "isolated", "write_set": ["b"]},
        {"id": "land", "merge": ["a"], "depends_on": ["a"]},
    )
    play.end("b")
    play.board.begin_merge([play.plan.index["b"]])
    play.end("a")
    assert play.running == []
    play.board.end_merge()
    play.record()
    assert play.running == ["land"]


def test_a_waiting_retry_holds_neither_slot_nor_claim() -> None:
    play = begun(
        {"id": "a", "write_set": ["x"], "retry": {"max_attempts": 2, "jitter": 0.0}},
        {"id": "b", "write_set": ["x"]},
        max_concurrency=1,
    )
    play.end("a", "failed", error="exit")
    assert play.kinds() == ["attempt_ended", "retry_planned", "step_scheduled"]
    planned = play.data_of("retry_planned")[0]
    assert (planned["attempt"], planned["delay_ms"], planned["retry_class"]) == (2, 10_000, "exit")
    assert play.running == ["b"]
    play.turn(11)
    assert play.running == ["b"]
    play.end("b")
    assert play.starts[-1] == StartAttempt("a", 2, 1_800_000)


def test_a_retry_starts_when_its_delay_is_over_and_not_before() -> None:
    play = begun({"id": "a", "retry": {"max_attempts": 2, "delay": "3s", "jitter": 0.0}})
    play.end("a", "failed", error="crash")
    assert play.wake_at == play.now + 3
    play.turn(2.9)
    assert play.running == []
    play.turn(0.2)
    assert play.running == ["a"]
    play.end("a", "failed", error="crash")
    assert play.data_of("checkpoint_decided")[0]["attempt"] == 2
    assert play.outcome().status == "failed"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("failed", "provider_permanent"),
        ("failed", "function_missing"),
        ("failed", "internal_error"),
        ("cancelled", None),
        ("interrupted", None),
        ("detached", None),
    ],
)
def test_what_a_retry_cannot_mend_is_not_tried_again(status: str, error: str | None) -> None:
    play = begun({"id": "a", "retry": {"max_attempts": 3}}).end("a", status, error=error)
    assert play.kinds("a") == ["attempt_ended", "checkpoint_decided"]
    assert play.statuses() == {"a": "failed"}


def test_time_out_is_asked_to_stop_once_due_and_settles_as_timed_out() -> None:
    play = begun({"id": "a", "timeout": "5s"})
    assert play.wake_at == play.now + 5
    play.turn(4.9)
    assert play.stops == []
    play.turn(0.1)
    assert play.stops == [StopAttempt("a", 1, "timed_out")]
    assert play.running == ["a"]
    play.end("a", "timed_out")
    told = play.outcome()
    assert (told.status, told.reasons) == ("timed_out", [{"code": "step_timed_out", "step": "a"}])
    assert told.step("a").error == {"kind": "timeout", "message": "timeout", "details": {}}


def test_queueing_is_not_counted_against_a_time_out() -> None:
    play = begun({"id": "a"}, {"id": "b", "timeout": "5s"}, max_concurrency=1)
    play.turn(60)
    play.end("a")
    assert play.wake_at == play.now + 5


def test_the_time_out_of_the_run_stops_what_runs_and_holds_the_rest() -> None:
    play = begun(
        {"id": "a"}, {"id": "b", "depends_on": ["a"]}, {"id": "c"}, max_concurrency=1, timeout="9s"
    )
    play.turn(9)
    assert play.stops == [StopAttempt("a", 1, "timed_out")]
    play.end("a", "timed_out")
    told = play.outcome()
    assert told.status == "timed_out"
    assert told.reasons[0] == {"code": "run_timed_out", "step": None}
    assert told.step("b").held_by == {"kind": "dependency", "step": "a"}
    assert told.step("c").held_by == {"kind": "run_timeout", "step": None}


def test_on_failure_stop_starts_nothing_new_but_lets_retries_and_runners_finish() -> None:
    play = begun(
        {"id": "a", "retry": {"max_attempts": 2, "delay": "1s"}},
        {"id": "b"},
        {"id": "c"},
        max_concurrency=2,
        on_failure="stop",
    )
    play.record(
        *play.ending("a", "failed", error="exit"), *play.ending("b", "failed", error="lost")
    )
    assert play.running == []
    play.turn(2)
    assert play.running == ["a"]
    play.end("a")
    assert play.outcome().step("c").held_by == {"kind": "run_stopped", "step": None}
    assert play.statuses() == {"a": "checkpoint_ready", "b": "failed", "c": "held"}


def test_on_failure_stop_asks_nothing_once_a_condition_could_not_be_read() -> None:
    play = begun(
        {"id": "a"},
        {"id": "b", "depends_on": ["a"], "when": "{{ steps.a.output.n }} == 1"},
        {"id": "c", "depends_on": ["a"], "ask": {"question": "Go on?"}},
        on_failure="stop",
    )
    play.end("a")
    assert play.statuses() == {"a": "checkpoint_ready", "b": "failed", "c": "held"}
    assert play.outcome().step("c").held_by == {"kind": "run_stopped", "step": None}


@pytest.mark.parametrize(
    ("how", "reason", "code"),
    [("cancel", "cancelled", "cancelled"), ("interrupt", "interrupted", "interrupted")],
)
def test_a_stopped_run_ends_what_runs_and_is_interrupted(how: Any, reason: str, code: str) -> None:
    play = begun({"id": "a"}, {"id": "b"}, max_concurrency=1)
    play.stop(how)
    assert [(s.step, s.reason) for s in play.stops] == [("a", reason)]
    play.end("a", reason)
    told = play.outcome()
    assert (told.status, told.reasons[0]["code"]) == ("interrupted", code)
    assert told.step("a").subagent_status == reason
    word = {"cancelled": "canceled"}.get(reason, reason)
    assert told.summary == f"0 of 2 steps ready, 1 {word}, 1 held."
    assert told.step("b").held_by == {
        "kind": "cancelled" if how == "cancel" else "run_stopped",
        "step": None,
    }


def test_drain_lets_what_runs_finish_and_settles_waiting_retries() -> None:
    play = begun(
        {"id": "a", "retry": {"max_attempts": 2}}, {"id": "b"}, {"id": "c"}, max_concurrency=1
    )
    play.end("a", "failed", error="exit")
    play.stop("drain")
    assert (play.stops, play.running) == ([], ["b"])
    assert play.statuses()["a"] == "failed"
    play.end("b")
    told = play.outcome()
    assert (told.status, told.reasons[0]["code"]) == ("interrupted", "drained")
    assert play.statuses() == {"a": "failed", "b": "checkpoint_ready", "c": "held"}


def test_a_run_that_was_done_when_it_was_cancelled_is_completed() -> None:
    play = begun({"id": "a"}).stop("drain").end("a")
    assert play.outcome().status == "completed"


def test_cancelling_one_step_before_it_starts_holds_it_and_what_needs_it() -> None:
    play = begun({"id": "a"}, {"id": "b"}, {"id": "c", "depends_on": ["b"]}, max_concurrency=1)
    play.cancel_step("b")
    assert play.data_of("step_held") == [
        {"step": "b", "held_by": {"kind": "cancelled", "step": None}}
    ]
    play.end("a")
    told = play.outcome()
    assert told.step("b").subagent_status == "cancelled"
    assert told.step("c").held_by == {"kind": "dependency", "step": "b"}
    assert (told.status, told.reasons) == ("partial", [{"code": "step_cancelled", "step": "b"}])


def test_cancelling_a_step_under_way_ends_it_without_a_retry() -> None:
    play = begun({"id": "a", "retry": {"max_attempts": 5, "classes": ["cancelled", "exit"]}})
    play.cancel_step("a")
    assert play.stops == [StopAttempt("a", 1, "cancelled")]
    play.end("a", "cancelled")
    assert play.statuses() == {"a": "failed"}


@pytest.mark.parametrize(
    ("report", "left"), [(None, "failed"), ({"checkpoint_status": "partial"}, "partial")]
)
def test_cancelling_a_waiting_retry_settles_it_at_once(report: Any, left: str) -> None:
    play = begun({"id": "a", "retry": {"max_attempts": 2}})
    play.end("a", "failed", error="exit", report=report)
    play.cancel_step("a")
    decided = play.data_of("checkpoint_decided")[0]
    assert (decided["status"], decided["subagent_status"], decided["error"]["kind"]) == (
        left,
        "cancelled",
        "cancelled",
    )


def test_cancelling_a_question_answers_it_with_no() -> None:
    play = begun({"id": "q", "ask": {"question": "?"}, "timeout": "60s"})
    play.cancel_step("q")
    assert play.statuses() == {"q": "failed"}
    assert play.outcome().step("q").subagent_status == "cancelled"


def test_a_detached_thread_gives_up_its_slot_and_keeps_its_claim() -> None:
    play = begun(
        {
            "id": "a",
            "call": "m:f",
            "write_set": ["x"],
            "process": False,
            "retry": {"max_attempts": 3},
        },
        {"id": "b", "write_set": ["x"]},
        {"id": "c"},
        max_concurrency=1,
    )
    play.end("a", "detached")
    assert play.statuses()["a"] == "failed"
    assert play.running == ["c"]
    play.end("c")
    assert not play.is_over
    assert (play.running, play.ready) == ([], ["b"])
    play.release("a")
    assert play.running == ["b"]


def test_a_phase_is_saved_once_it_is_ready_and_the_run_at_its_end() -> None:
    play = begun(
        {"id": "a", "phase": "one"}, {"id": "b", "phase": "one"}, {"id": "c", "depends_on": ["a"]}
    )
    play.end("a")
    assert play.data_of("checkpoint_saved") == []
    play.end("b")
    assert play.data_of("checkpoint_saved") == [
        {"name": "one", "reason": "phase", "ready": ["a", "b"], "note": ""}
    ]
    play.end("c")
    assert [(c["name"], c["reason"]) for c in play.data_of("checkpoint_saved")] == [
        ("rest", "phase"),
        ("end", "end"),
    ]
    assert play.data_of("run_finished")[0]["counts"] == {"checkpoint_ready": 3}


def test_a_phase_is_saved_again_only_when_a_step_of_it_settled_anew() -> None:
    play = begun({"id": "a", "phase": "one"}, {"id": "b", "phase": "two", "depends_on": ["a"]})
    play.end("a").end("b", "failed", error="exit")
    again = play.resume().end("b")
    assert [c["name"] for c in again.data_of("checkpoint_saved")] == ["two", "end"]
    anew = again.resume(Selection(only="b")).end("b")
    assert [c["name"] for c in anew.data_of("checkpoint_saved")] == ["two", "end"]
    places = [event.seq for event in anew.events if event.data.get("name") == "two"]
    torn = anew.resume(upto=places[-1] - 1)
    assert [c["name"] for c in torn.data_of("checkpoint_saved")] == ["two", "end"]
    kept = anew.resume(upto=places[-1])
    assert [c["name"] for c in kept.data_of("checkpoint_saved")] == ["end"]


def test_a_false_when_holds_its_step_and_excuses_what_it_alone_holds() -> None:
    play = Rehearsal(
        plan_of(
            {
                "name": "t",
                "inputs": {"n": {"type": "integer"}},
                "steps": [
                    {"id": "a", "run": "x", "when": "{{ inputs.n }} > 1"},
                    {"id": "b", "run": "x", "depends_on": ["a"]},
                    {"id": "c", "run": "x"},
                ],
            }
        )
    ).begin({"n": 1})
    play.end("c")
    told = play.outcome()
    assert told.step("a").held_by == {"kind": "when", "step": None, "seen": "1 > 1"}
    assert told.step("b").held_by == {"kind": "dependency", "step": "a"}
    assert (told.status, told.ok, told.reasons) == ("completed", True, [])
    assert told.held_dependents == {"a": ["b"]}


def test_two_names_for_one_file_never_run_side_by_side() -> None:
    def folder(resolved: str) -> PathFact:
        return PathFact(exists=True, is_directory=True, is_writable=True, is_git=True,
                        is_inside=True, resolved=resolved)  # fmt: skip

    steps = [
        {"id": "a", "run": "x", "write_set": ["repos.cloud:src/**"]},
        {"id": "b", "run": "x", "write_set": ["libs/*/src/a.py"]},
        {"id": "c", "run": "x", "write_set": ["libs/*/docs/**"]},
    ]
    spec = {"name": "t", "repos": {"cloud": "libs/cloud"}, "steps": steps}
    facts = Environment("/w", {".": folder("/w")}, {}, {"cloud": folder("/w/libs/cloud")}, "/w")
    play = Rehearsal(compile_plan(load_mapping(spec).require(), facts, {})).begin()
    assert play.running == ["a", "c"]
    play.end("a")
    assert play.running == ["c", "b"]
