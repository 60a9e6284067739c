"""Special to a cluster's runner: claims of one attempt, and what is left on workers."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from pixirnb.protocols.work import Ended, ShellWork
from pixirnb.testing.contracts.runner import Rehearsal
from tests.runners.cluster.workers import client_of_workers, new_run_id, runner_of


@pytest.fixture(autouse=True)
def _workers() -> None:
    client_of_workers()


@pytest.mark.parametrize("has_plugin", [True, False])
def test_of_two_drivers_one_begins_an_attempt(tmp_path: Path, *, has_plugin: bool) -> None:
    run = new_run_id()

    async def story() -> list[Ended]:
        ended: list[Ended] = []

        async def drive() -> None:
            runner = runner_of(has_plugin=has_plugin)
            work = ShellWork("echo begun >> effects.txt; sleep 1")
            ended.append(await runner.perform(Rehearsal(work, tmp_path, run_id=run).job()))
            runner.close()

        async with anyio.create_task_group() as group:
            group.start_soon(drive)
            group.start_soon(drive)
        return ended

    ended = anyio.run(story)
    assert (tmp_path / "effects.txt").read_text() == "begun\n"
    assert "completed" in {each.status for each in ended}


def test_what_is_left_on_workers_is_ended_by_its_tag(tmp_path: Path) -> None:
    run = new_run_id()

    async def story() -> Ended:
        runner = runner_of()
        rehearsal = Rehearsal(ShellWork("echo ready; sleep 7314"), tmp_path, run_id=run)

        async def end() -> None:
            await rehearsal.wait_for(lambda told: "ready" in told.text())
            other = runner_of()
            await anyio.to_thread.run_sync(other.end_left, run, {("step", 1): None})

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(end)
                ended = await runner.perform(rehearsal.job())
        return ended

    assert anyio.run(story).status == "failed"
