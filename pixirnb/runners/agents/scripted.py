"""Scripted agents: every attempt of the agent is written in the workflow. For tests, dry runs and teaching."""

from __future__ import annotations

from pixirnb.errors import InternalError
from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import Job
from pixirnb.protocols.work import Ended, ScriptedWork
from pixirnb.runners.processes import attempt_process
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.sessions.permissions import TOOLS, digest_of
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
            actions = [_judged(_timed(action), job.work) for action in job.work.actions]
        except ValueError as error:
            return Ended("failed", error_kind="exception", message=str(error))
        header = {
            "kind": "script",
            "task": job.work.task,
            "actions": actions,
            "granted": job.work.granted,
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


def _judged(action: JsonObject, work: ScriptedWork) -> JsonObject:
    """Return an action with what its permission mode asks of it: `permit`, the request to a person, or `refused`."""
    match action:
        case {"write": path, **rest}:
            tool, args = "write", {"path": path, "content": rest.get("text", "")}
            why = f"write `{path}` ({len(args['content'].encode(errors='replace')):,} bytes)"
        case {"delete": path}:
            tool, args, why = "delete", {"path": path}, f"delete `{path}`"
        case {"tool": tool, **rest} if tool in TOOLS and TOOLS[tool].mutates:
            args, why = rest.get("args", {}), f"use `{tool}`"
        case _:
            return action
    if work.permission_mode == "read_only":
        return {**action, "refused": f"the agent is read-only and must not {why}"}
    if work.permission_mode == "auto":
        return action
    call = {"tool": tool, "args": args, "digest": digest_of(tool, args), "why": why}
    return {**action, "permit": call}


def _result(frame: JsonObject, _: object) -> Ended:
    if frame["frame"] == "value":
        return Ended("completed")
    return Ended(
        "failed", error_kind=frame["kind"], message=frame["message"], details=frame["details"]
    )
