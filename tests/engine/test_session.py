"""A disk that does not take what an agent says: its attempt ends and says so, and the run goes on."""

from __future__ import annotations

from collections.abc import Sequence

from pixirnb.errors import LogWriteFailed
from pixirnb.history.events import Event
from pixirnb.protocols.work import AgentEvent
from pixirnb.testing.fakes.memory_store import MemorySession, MemoryStore
from tests.engine.bench import RUN, Bench, plan_of, play, shell

PLAN = plan_of(
    {"id": "a", "task": "Do.", "agent": "w", "workspace": "shared"}, shell("b"), agents={"w": {}}
)


class Full(MemorySession):
    """The log of a session that takes its first group and no other."""

    taken = 0

    def append(self, events: Sequence[Event]) -> None:
        """As the log does, once."""
        self.taken += 1
        if self.taken > 1:
            raise LogWriteFailed("no space left on the device")
        super().append(events)


def test_an_attempt_whose_session_cannot_be_kept_ends_and_the_run_goes_on() -> None:
    store = MemoryStore(session_type=Full)

    async def story(bench: Bench) -> None:
        job = await bench.runner.wait_started("a")
        await bench.until(lambda: store.runs[RUN].sessions)
        bench.runner.emit(
            "a", AgentEvent("assistant_message", {"text": "x", "partial": False, "final": True})
        )
        assert job.ask is not None
        answer = await job.ask("commit", {})
        assert answer["error"]["code"] == "log_write_failed"
        await bench.clock.turn(
            1
        )  # what nobody asked about is tried again, and then the attempt is ended
        await bench.until(lambda: "a" not in bench.runner.running)
        bench.runner.end("b")

    bench = play(PLAN, story, store=store)
    step = bench.outcome().step("a")
    assert (step.checkpoint_status, (step.error and step.error["kind"])) == (
        "failed",
        "output_not_kept",
    )
    assert bench.outcome().step("b").checkpoint_status == "checkpoint_ready"
    assert bench.scheduler.write_error is None
    [told] = [event.data for event in bench.events if event.kind == "subagent_event"]
    assert (told["event"], told["session_id"]) == ("failed", "a.1")
