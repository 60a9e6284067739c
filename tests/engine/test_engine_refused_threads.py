"""A system without room for another thread: what needs one fails by name, and the run comes to its end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pixirnb.engine.engine import Engine
from pixirnb.engine.folders import roots_of, shared_folders
from pixirnb.engine.prepared_run import PreparedRun
from pixirnb.errors import ThreadRefused
from pixirnb.history.run_state import fold
from pixirnb.store.file_store import FileStore
from tests.engine.bench import RUN, Bench, opening, plan_of, play, shell
from tests.full_table import no_threads

T = TypeVar("T")


async def refused(call: Callable[..., T], *arguments: Any) -> T:
    """As the system does."""
    raise ThreadRefused("the system refused a new thread: can't start new thread")


def test_a_step_that_needs_a_thread_fails_by_name_and_the_loop_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the files that are read
    plan = plan_of(
        shell("b", reuse="reads", read_set=["*"]),
        {"id": "a", "task": "Do.", "agent": "w", "workspace": "shared"},
        agents={"w": {}},
    )

    async def story(bench: Bench) -> None:
        for step in ("b", "a"):
            await bench.runner.wait_started(step)
            bench.runner.end(step)

    bench = play(plan, story, offload=refused)
    step = bench.outcome().step("a")
    assert step.error is not None
    assert step.error["kind"] == "spawn_failed"
    assert "refused a new thread" in step.error["message"]
    assert bench.outcome().step("b").checkpoint_status == "checkpoint_ready"
    assert bench.events[-1].kind == "run_finished"
    [told] = [event.data for event in bench.events if event.kind == "subagent_event"]
    assert (told["event"], told["session_id"]) == ("failed", "a.1")


def test_a_run_whose_engine_gets_no_thread_is_refused_and_not_held(tmp_path: Path) -> None:
    store, plan, run = FileStore(tmp_path / "state"), plan_of(shell("a")), fold([])
    folders = shared_folders(run, roots_of(run))
    prepared = PreparedRun(plan, store.create(RUN), run, (opening(plan),), folders)
    with no_threads(), pytest.raises(ThreadRefused):
        Engine().launch(prepared)
    assert store.owner(RUN) is None
