"""On the workers of a cluster, works keep the promises that they keep at home."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pixirnb.protocols.ports import Job, Runner
from pixirnb.protocols.work import Ended
from pixirnb.runners.processes.supervisor import Supervisor
from tests.runners.cluster.workers import client_of_workers, new_run_id, runner_of
from tests.runners.test_contract import TestCliAgent as AtHomeAsAnAgent
from tests.runners.test_contract import TestPythonProcess as AtHomeInAProcess
from tests.runners.test_contract import TestPythonThread as AtHomeInAThread
from tests.runners.test_contract import TestShellLine as AtHomeInAShell


@pytest.fixture(autouse=True)
def _workers() -> None:
    """Workers start before the limit of a test begins."""
    client_of_workers()
    client_of_workers(4)


class FreshRuns:
    """A cluster's runner for the contract, whose tests all name one attempt: a cluster begins none twice."""

    def __init__(self, workers: int = 2, *, has_plugin: bool = True) -> None:
        self._runner = runner_of(workers, has_plugin=has_plugin)
        self._run = new_run_id()

    async def perform(self, job: Job) -> Ended:
        return await self._runner.perform(replace(job, run_id=self._run))


class TestShellOnAWorker(AtHomeInAShell):
    def runner(self, supervisor: Supervisor) -> Runner:
        return FreshRuns()


class TestThreadOnAWorker(AtHomeInAThread):
    def runner(self, supervisor: Supervisor) -> Runner:
        return FreshRuns(4)  # a thread that was stopped and goes on keeps its worker


class TestProcessOnAWorker(AtHomeInAProcess):
    def runner(self, supervisor: Supervisor) -> Runner:
        return FreshRuns(has_plugin=False)


class TestCliAgentOnAWorker(AtHomeAsAnAgent):
    def runner(self, supervisor: Supervisor) -> Runner:
        return FreshRuns()


del (
    AtHomeAsAnAgent,
    AtHomeInAProcess,
    AtHomeInAThread,
    AtHomeInAShell,
)  # pytest would collect them here, too
