"""Shell steps: a command line for `sh -c`, or an argv list, in its own process tree."""

from __future__ import annotations

from pixirnb.errors import InternalError
from pixirnb.protocols.ports import Job
from pixirnb.protocols.work import Ended, ShellWork
from pixirnb.runners.processes import attempt_process
from pixirnb.runners.processes.supervisor import Supervisor


class ShellRunner:
    """Runner of `ShellWork`. stdin is `/dev/null`; the step has its own session; exit 0 is `completed`."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    async def perform(self, job: Job) -> Ended:
        """Run the command to the end of its whole tree. See `protocols.ports.Runner`."""
        if not isinstance(job.work, ShellWork):
            raise InternalError(f"the shell runner got {type(job.work).__name__}")
        run = job.work.run
        argv = ["sh", "-c", run] if isinstance(run, str) else run
        if not argv:
            return Ended(
                "failed", error_kind="spawn_failed", message="the command is an empty list"
            )
        return await attempt_process.perform(
            self._supervisor, job, attempt_process.SpawnRequest({"kind": "exec", "argv": argv})
        )
