"""Scripted agents: every attempt of the agent is written in the workflow. For tests, dry runs and teaching."""

from __future__ import annotations

from pixirnb.errors import InternalError
from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import Job
from pixirnb.protocols.work import Ended, ScriptedWork
from pixirnb.runners.processes import attempt_process
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.spec.durations import parse_duration


class ScriptedRunner:
    """Performs `ScriptedWork` in a forked child, so that stops, crashes and hangs are real."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    async def perform(self, job: Job) -> Ended:
        """Perform the actions in order. See `protocols.ports.Runner`."""
        if not isinstance(job.work, ScriptedWork):
            raise InternalError(f"the scripted runner got {type(job.work).__name__}")
        try:
            actions = [_timed(action) for action in job.work.actions]
        except ValueError as error:
            return Ended("failed", error_kind="exception", message=str(error))
        header = {
            "kind": "script",
            "task": job.work.task,
            "actions": actions,
        }
        return await attempt_process.perform(
            self._supervisor, job, attempt_process.SpawnRequest(header, result=_result)
        )


def _timed(action: JsonObject) -> JsonObject:
    return (
        {**action, "sleep": parse_duration(action["sleep"], allow_zero=True)}
        if "sleep" in action
        else action
    )


def _result(frame: JsonObject, _: object) -> Ended:
    if frame["frame"] == "value":
        return Ended("completed")
    return Ended(
        "failed", error_kind=frame["kind"], message=frame["message"], details=frame["details"]
    )
