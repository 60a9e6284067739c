"""The loop decides on what is on disk only, commits in groups, and stops when the disk refuses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from pixirnb.engine.broadcast import STEP_HEARTBEAT, STEP_STALLED
from pixirnb.engine.messages import Message
from pixirnb.engine.services import Settings
from pixirnb.history.events import Event
from pixirnb.machine.requests import Request
from pixirnb.protocols.work import AgentEvent, Ended, Output, Progress, Report, RunnerEvent
from pixirnb.testing.fakes.memory_store import MemoryStore
from tests.engine.bench import RUN, Bench, plan_of, play, shell


def kinds(group: list[Event]) -> list[str]:
    return [event.kind for event in group]


async def nothing(bench: Bench) -> None:
    """A story in which all goes by itself."""


def clean(*steps: str) -> dict[str, list[Ended]]:
    return {step: [Ended("completed", exit_code=0)] for step in steps}


def test_the_end_of_a_step_and_the_start_of_the_next_share_one_group() -> None:
    groups: list[list[Event]] = []
    play(plan_of(shell("a"), shell("b", "a")), nothing, answers=clean("a", "b"), groups=groups)
    assert kinds(groups[0]) == ["run_started", "step_scheduled"]
    turning = next(group for group in groups if "attempt_ended" in kinds(group))
    assert kinds(turning)[-3:] == ["attempt_ended", "checkpoint_decided", "step_scheduled"]


def test_a_chain_pays_one_group_a_step() -> None:
    names = [f"s{n}" for n in range(12)]
    steps = [shell(n, *([names[i - 1]] if i else [])) for i, n in enumerate(names)]
    bench = play(plan_of(*steps), nothing, answers=clean(*names))
    assert bench.outcome().status == "completed"
    assert bench.log.syncs <= len(names) + 1


def test_an_intent_is_durable_before_its_attempt_starts() -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        assert "step_scheduled" in bench.kinds()
        bench.runner.end("a")

    play(plan_of(shell("a")), story)


def test_attempt_started_waits_a_moment_for_a_group_to_ride_with() -> None:
    groups: list[list[Event]] = []

    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        await anyio.sleep(0.02)
        assert "attempt_started" not in bench.kinds(), "it pays no sync of its own at once"
        bench.runner.end("a")

    play(plan_of(shell("a")), story, groups=groups, fleeting_s=0.01)
    [ride] = [kinds(group) for group in groups if "attempt_started" in kinds(group)]
    assert ride[:2] == ["attempt_started", "attempt_ended"]


def test_attempt_started_of_a_long_step_reaches_the_disk_without_company() -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        await bench.until(lambda: "attempt_started" in bench.kinds())
        bench.runner.end("a")

    play(plan_of(shell("a")), story)


def test_ends_that_come_close_together_share_a_group() -> None:
    groups: list[list[Event]] = []
    names = ["a", "b", "c", "d"]

    async def story(bench: Bench) -> None:
        for name in names:
            await bench.runner.wait_started(name)
        await bench.until(lambda: bench.kinds().count("attempt_started") == 4)
        for name in names:
            bench.runner.end(name)
            for _ in range(5):
                await anyio.lowlevel.checkpoint()

    play(plan_of(*(shell(name) for name in names)), story, groups=groups)
    ends = [kinds(group).count("attempt_ended") for group in groups]
    assert max(ends) == 4


def test_no_more_run_at_once_than_the_plan_allows() -> None:
    names = [f"s{n}" for n in range(5)]

    most = 0

    async def story(bench: Bench) -> None:
        nonlocal most
        for name in names:
            await bench.runner.wait_started(name)
            most = max(most, len(bench.runner.running))
            await bench.clock.turn(1)
            most = max(most, len(bench.runner.running))
            bench.runner.end(name)

    bench = play(plan_of(*(shell(name) for name in names), max_concurrency=2), story)
    assert most <= 2
    assert bench.runner.performed == [f"{name}.1" for name in names]


def test_writers_of_one_file_never_run_together() -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        await bench.runner.wait_started("c")
        await bench.until(lambda: bench.kinds().count("attempt_started") == 2)
        assert set(bench.runner.running) == {"a", "c"}
        bench.runner.end("a")
        await bench.runner.wait_started("b")
        bench.runner.end("b")
        bench.runner.end("c")

    steps = [
        shell("a", write_set=["lib/**"]),
        shell("b", write_set=["lib/a.py"]),
        shell("c", write_set=["docs/**"]),
    ]
    assert play(plan_of(*steps), story).outcome().status == "completed"


# --- a disk that refuses ---------------------------------------------------------------------------------------------


def test_a_failed_write_stops_the_run_and_what_runs_and_the_next_resume_treats_it_as_in_flight() -> (
    None
):
    store = MemoryStore()
    plan = plan_of(shell("a"), shell("b"), shell("c", "a"))
    stopped: list[str | None] = []

    async def story(bench: Bench) -> None:
        job = await bench.runner.wait_started("b")
        await bench.runner.wait_started("a")
        await bench.until(lambda: bench.kinds().count("attempt_started") == 2)
        store.fail_after(0, torn=40)
        bench.runner.end("a")
        await bench.until(lambda: "b" not in bench.runner.running)
        stopped.append(job.stop.reason)

    bench = play(plan, story, store=store)
    assert stopped == ["interrupted"]
    assert bench.runner.performed == ["a.1", "b.1"]
    assert bench.scheduler.write_error is not None
    assert bench.kinds().count("attempt_ended") == 0
    store.fail_after(None)
    again = play(plan, nothing, store=store, answers=clean("a", "b", "c"))
    resumed = next(event for event in again.events if event.kind == "run_resumed")
    reasons = {entry["step_id"]: entry["reason"] for entry in resumed.data["steps"]}
    assert reasons == {"a": "in_flight", "b": "in_flight", "c": "held"}
    assert again.runner.performed == ["a.2", "b.2", "c.1"]
    assert again.outcome().status == "completed"


def test_nothing_starts_when_the_very_first_write_is_refused() -> None:
    store = MemoryStore()
    store.fail_after(0)
    bench = play(plan_of(shell("a")), nothing, store=store)
    assert bench.runner.performed == []
    assert bench.events == []


def test_a_refused_end_is_not_told_to_listeners() -> None:
    store = MemoryStore()

    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        await bench.until(lambda: "attempt_started" in bench.kinds())
        store.fail_after(0)
        bench.runner.end("a")

    bench = play(plan_of(shell("a")), story, store=store)
    told = [piece.kind for piece in bench.news if isinstance(piece, Event)]
    assert told == bench.kinds()
    assert "attempt_ended" not in told


# --- time ------------------------------------------------------------------------------------------------------------


def test_a_running_step_gives_a_heartbeat_every_thirty_seconds_with_the_age_of_its_output() -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        await bench.until(lambda: "attempt_started" in bench.kinds())
        await bench.clock.turn(20)
        assert bench.live(STEP_HEARTBEAT) == []
        bench.runner.emit("a", Output("stdout", b"x\n"))
        await bench.clock.turn(72)
        bench.runner.end("a")

    bench = play(plan_of(shell("a")), story)
    ages = [round(beat.data["last_output_age_ms"] / 1000) for beat in bench.live(STEP_HEARTBEAT)]
    assert [abs(age - due) <= 2 for age, due in zip(ages, (10, 40, 70), strict=True)] == [True] * 3


def test_a_silent_step_is_said_to_stall_within_a_minute_once_a_silence() -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        await bench.until(lambda: "attempt_started" in bench.kinds())
        await bench.clock.turn(43)
        assert bench.live(STEP_STALLED) == []
        await bench.clock.turn(4)
        assert len(bench.live(STEP_STALLED)) == 1
        await bench.clock.turn(60)
        assert len(bench.live(STEP_STALLED)) == 1
        bench.runner.emit("a", Output("stderr", b"."))
        await bench.clock.turn(47)
        assert len(bench.live(STEP_STALLED)) == 2
        bench.runner.end("a")

    bench = play(plan_of(shell("a", timeout="20m")), story)
    assert "step:stalled" not in bench.kinds()
    assert bench.outcome().status == "completed"


@pytest.mark.parametrize(
    "sign",
    [
        Progress(0.5, "half"),
        Report("tool", {"name": "read"}),
        Report("checkpoint", {"summary": "nearly"}),
        AgentEvent("tool_call", {"call_id": "c", "name": "read", "args": {}}),
    ],
)
def test_work_that_is_told_is_no_stall_and_the_age_of_the_output_stays_what_it_is(
    sign: RunnerEvent,
) -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        await bench.until(lambda: "attempt_started" in bench.kinds())
        for _ in range(3):
            await bench.clock.turn(40)
            bench.runner.emit("a", sign)
        assert bench.live(STEP_STALLED) == []
        await bench.clock.turn(47)
        assert len(bench.live(STEP_STALLED)) == 1
        bench.runner.emit("a", sign)
        await bench.clock.turn(47)
        assert len(bench.live(STEP_STALLED)) == 2
        bench.runner.end("a")

    bench = play(plan_of(shell("a", timeout="20m")), story)
    stalled = bench.live(STEP_STALLED)[0].data
    assert stalled["idle_ms"] < 60_000
    assert stalled["last_output_age_ms"] > 150_000


def test_what_is_done_for_a_step_after_its_end_counts_against_its_time() -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        bench.runner.end("a")
        await bench.until(lambda: len(bench.runner.jobs) == 2)
        await bench.clock.turn(11)

    bench = play(plan_of(shell("a", timeout="10s", verify=[{"command": "look"}])), story)
    ended = next(event.data for event in bench.events if event.kind == "attempt_ended")
    assert (ended["status"], ended["error"]["kind"]) == ("timed_out", "timeout")


def test_heartbeats_and_stalls_are_never_logged() -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        await bench.until(lambda: "attempt_started" in bench.kinds())
        known = len(bench.events)
        await bench.clock.turn(600)
        assert len(bench.events) == known
        bench.runner.end("a")

    play(plan_of(shell("a")), story)


def test_an_attempt_is_stopped_when_its_time_is_up_and_not_before() -> None:
    async def story(bench: Bench) -> None:
        job = await bench.runner.wait_started("a")
        await bench.until(lambda: "attempt_started" in bench.kinds())
        await bench.clock.turn(58)
        assert job.stop.reason is None
        await bench.clock.turn(3)
        await bench.until(lambda: job.stop.reason == "timed_out")

    bench = play(plan_of(shell("a", timeout="60s")), story)
    assert bench.outcome().status == "timed_out"
    assert bench.outcome().step("a").error is not None


def test_what_ended_while_the_loop_stood_still_is_not_called_late() -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        await bench.runner.wait_started("b")
        await bench.clock.turn(1)
        await bench.until(lambda: bench.kinds().count("attempt_started") == 2)
        await bench.clock.leap(30)
        bench.runner.end("a")
        await bench.clock.turn(6)

    plan = plan_of(shell("a", timeout="10s"), shell("b", timeout="10s"))
    bench = play(plan, story, settings=Settings(catch_up_s=5))
    ends = {e.data["step"]: e.data["status"] for e in bench.events if e.kind == "attempt_ended"}
    assert ends == {"a": "completed", "b": "timed_out"}


def test_queueing_does_not_use_up_a_step_s_time() -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        await bench.until(lambda: "attempt_started" in bench.kinds())
        await bench.clock.turn(90)
        bench.runner.end("a")
        job = await bench.runner.wait_started("b")
        await bench.clock.turn(50)
        assert job.stop.reason is None
        bench.runner.end("b")

    steps = [shell("a", timeout="10m"), shell("b", timeout="60s")]
    assert play(plan_of(*steps, max_concurrency=1), story).outcome().status == "completed"


def test_the_whole_run_has_a_time_out_too() -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        await bench.until(lambda: "attempt_started" in bench.kinds())
        await bench.clock.turn(125)

    bench = play(plan_of(shell("a"), shell("b", "a"), timeout="2m"), story)
    found = bench.outcome()
    assert found.status == "timed_out"
    assert {"code": "run_timed_out", "step": None} in found.reasons
    assert found.step("b").held_by == {"kind": "dependency", "step": "a"}


def test_a_question_expires_only_where_it_has_a_time_out() -> None:
    async def story(bench: Bench) -> None:
        await bench.until(lambda: "decision_requested" in bench.kinds())
        await bench.clock.turn(61)

    bench = play(plan_of({"id": "q", "ask": {"question": "Go?"}, "timeout": "60s"}), story)
    step = bench.outcome().step("q")
    assert (step.subagent_status, step.checkpoint_status) == ("timed_out", "failed")
    parked = play(plan_of({"id": "q", "ask": {"question": "Go?"}}), nothing)
    assert parked.outcome().status == "needs_orchestrator"


def test_retries_wait_their_delay_with_backoff_and_hold_no_slot_meanwhile() -> None:
    retry = {"max_attempts": 3, "delay": "10s", "backoff": 2, "jitter": 0}

    async def story(bench: Bench) -> None:
        await bench.until(lambda: "retry_planned" in bench.kinds())
        await bench.runner.wait_started("b")
        bench.runner.end("b")
        await bench.until(lambda: bench.kinds().count("checkpoint_decided") == 1)
        await bench.clock.turn(8)
        assert bench.runner.performed == ["a.1", "b.1"]
        await bench.clock.turn(3)
        await bench.until(lambda: bench.runner.performed == ["a.1", "b.1", "a.2"])
        await bench.until(lambda: bench.kinds().count("retry_planned") == 2)
        await bench.clock.turn(18)
        assert len(bench.runner.performed) == 3
        await bench.clock.turn(3)
        await bench.until(lambda: len(bench.runner.performed) == 4)

    failed = Ended("failed", "exit", "exit code 2", exit_code=2)
    answers = {"a": [failed, failed, Ended("completed", exit_code=0)]}
    plan = plan_of(shell("a", retry=retry), shell("b"), max_concurrency=1)
    bench = play(plan, story, answers=answers)
    delays = [e.data["delay_ms"] for e in bench.events if e.kind == "retry_planned"]
    assert delays == [10_000, 20_000]
    assert bench.outcome().step("a").attempt == 3
    assert bench.outcome().status == "completed"


def test_a_clock_on_the_wall_that_goes_back_changes_nothing_but_what_people_read() -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        await bench.until(lambda: "attempt_started" in bench.kinds())
        bench.clock.set_wall(datetime(2020, 1, 1, tzinfo=UTC))
        await bench.clock.turn(5)
        bench.runner.end("a")

    bench = play(plan_of(shell("a")), story)
    found = bench.outcome()
    assert found.status == "completed"
    assert found.step("a").elapsed_ms is not None
    assert 5000 <= (found.step("a").elapsed_ms or 0) < 6000
    assert bench.events[-1].at < bench.events[0].at
    assert [event.seq for event in bench.events] == list(range(1, len(bench.events) + 1))


# --- wishes of the operator ------------------------------------------------------------------------------------------


def test_cancel_ends_what_runs_and_holds_the_rest() -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        bench.scheduler.stop("cancel")

    found = play(plan_of(shell("a"), shell("b", "a"), shell("c")), story).outcome()
    assert found.status == "interrupted"
    assert {"code": "cancelled", "step": None} in found.reasons
    assert found.step("a").subagent_status == "cancelled"
    assert found.step("b").checkpoint_status == "held"


def test_drain_lets_what_runs_finish_and_starts_nothing_more() -> None:
    async def story(bench: Bench) -> None:
        job = await bench.runner.wait_started("a")
        bench.scheduler.stop("drain")
        await anyio.sleep(0.02)
        assert job.stop.reason is None
        bench.runner.end("a")

    found = play(plan_of(shell("a"), shell("b", "a")), story).outcome()
    assert found.status == "interrupted"
    assert found.step("a").checkpoint_status == "checkpoint_ready"
    assert found.step("b").held_by == {"kind": "cancelled", "step": None}


def test_a_step_can_be_given_up_alone() -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        await bench.runner.wait_started("c")
        told: list[Any] = []
        bench.scheduler.post(Message(request=asked("cancel", step="a"), reply=told.append))
        await bench.until(lambda: "a" not in bench.runner.running)
        await bench.until(lambda: told == [{"ok": True}])
        bench.runner.end("c")

    found = play(plan_of(shell("a"), shell("b", "a"), shell("c")), story).outcome()
    assert found.status == "partial"
    assert found.step("a").subagent_status == "cancelled"
    assert found.step("b").held_by == {"kind": "dependency", "step": "a"}
    assert found.step("c").checkpoint_status == "checkpoint_ready"


class _Unspeakable(ValueError):
    def __str__(self) -> str:
        raise SystemExit


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("my bug"), "ValueError: my bug"),
        (SystemExit("my exit"), "SystemExit: my exit"),
        (KeyboardInterrupt(), "KeyboardInterrupt: "),
        (_Unspeakable(), "_Unspeakable"),
    ],
)
def test_a_listener_that_raises_is_dropped_and_named_and_the_run_goes_on(
    error: BaseException, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(bench: Bench) -> None:
        def broken(_: object) -> None:
            leave()
            raise error

        def also_broken(_: object) -> None:
            raise error

        leave = bench.scheduler.broadcast.listen(broken)
        bench.scheduler.broadcast.listen(also_broken)

        await bench.runner.wait_started("a")
        bench.runner.end("a")

    bench = play(plan_of(shell("a")), story)
    assert bench.outcome().status == "completed"
    told = f"a listener of a run raised, and is not called again: {text}"
    assert [record.getMessage() for record in caplog.records] == [told, told]


def test_one_run_is_one_log() -> None:
    store = MemoryStore()
    bench = play(plan_of(shell("a")), nothing, store=store, answers=clean("a"))
    assert [event.kind for event in store.read(RUN).events] == bench.kinds()


def asked(verb: str, number: int = 1, **arguments: Any) -> Request:
    return Request(f"{number:016x}", verb, arguments, "ada")


def test_what_a_person_asks_is_answered_once_it_is_on_disk_or_refused() -> None:
    told: list[Any] = []
    known: list[list[str]] = []

    def hear(bench: Bench) -> Any:
        def reply(said: Any) -> None:
            told.append(said)
            known.append(bench.kinds())

        return reply

    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        for request in (
            asked("checkpoint", name="x"),
            asked("decide", 2, step="a", verdict="accept"),
        ):
            bench.scheduler.post(Message(request=request, reply=hear(bench)))
        await bench.until(lambda: len(told) == 2)
        bench.runner.end("a")

    play(plan_of(shell("a")), story)
    assert told[0] == {"ok": True}
    assert "checkpoint_saved" in known[0]
    assert told[1]["error"]["code"] == "nothing_to_decide"


def test_a_request_that_comes_when_the_course_is_over_is_handed_back() -> None:
    bench = play(plan_of(shell("a")), nothing, answers=clean("a"))
    told: list[Any] = []
    bench.scheduler.post(Message(request=asked("checkpoint", name="x"), reply=told.append))
    assert told == [None]
    assert "checkpoint_saved" in bench.kinds()
    assert [e.data["name"] for e in bench.events if e.kind == "checkpoint_saved"] == [
        "bench",
        "end",
    ]
