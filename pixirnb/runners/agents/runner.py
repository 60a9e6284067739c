"""The runner of agents, by the kind in the spec. All agents are processes below a reaper; none runs in the kernel."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import anyio.to_thread

from pixirnb.errors import Cannot, InternalError
from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import Job
from pixirnb.protocols.work import AgentWork, Ended, RunnerEvent, ScriptedWork
from pixirnb.runners.agents import presets
from pixirnb.runners.agents.exit_reasons import LastWords
from pixirnb.runners.agents.scripted import ScriptedRunner
from pixirnb.runners.output.mask import secret_values
from pixirnb.runners.processes import attempt_process
from pixirnb.runners.processes.supervisor import Supervisor, own_path


class AgentRunner:
    """Performs `AgentWork`."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._scripted = ScriptedRunner(supervisor)

    async def perform(self, job: Job) -> Ended:
        """Run the agent's program to its end. See `protocols.ports.Runner`."""
        work = job.work
        if not isinstance(work, AgentWork):
            raise InternalError(f"the agent runner got {type(work).__name__}")
        if work.runner == "scripted":
            mode = str(work.session["permission_mode"])
            script = ScriptedWork(work.task, work.actions, mode, work.granted)
            return await self._scripted.perform(replace(job, work=script))
        try:
            command = await _command(job, work)
        except Cannot as refused:
            message = refused.one_line()
            return Ended("failed", error_kind=refused.code, message=message)
        header = {
            "kind": "agent",
            "program": work.runner,
            "sys_path": own_path(),
            "workspace": str(job.workspace),
        }
        order = attempt_process.SpawnRequest(
            header, tail=_program_input(job, work, command), result=_result
        )
        if command is None:
            return await attempt_process.perform(self._supervisor, job, order)
        words = LastWords()

        def emit(event: RunnerEvent) -> None:
            words.hear(event)
            job.emit(event)

        ended = await attempt_process.perform(self._supervisor, replace(job, emit=emit), order)
        return words.explained(ended)


async def _command(job: Job, work: AgentWork) -> JsonObject | None:
    """Return the command of a coding agent; None for a model. Raises Cannot. Runs where the user's own table is readable."""
    if work.runner not in presets.RUNNERS:
        return None
    command, path = work.session["command"], job.env.get("PATH")
    preset = await anyio.to_thread.run_sync(presets.resolve, work.runner, command, path)
    return preset.document()


def _program_input(job: Job, work: AgentWork, command: JsonObject | None) -> bytes:
    """Return the input of the program, as JSON."""
    data = {
        "prompt": work.prompt,
        "task": work.task,
        "session": work.session,
        "history": work.history,
        "granted": work.granted,
        "workspace": str(job.workspace),
        "cwd": str(job.cwd),
        "additional_paths": [str(path) for path in work.additional_paths],
        "roots": work.roots,
        "surface": list(work.surface),
        "command": command,
        "grace_s": job.grace_s,
        "state": None if job.state is None else str(job.state),
    }
    if work.runner == "llm":
        data["output"] = work.output
        # what it sends a model is what the log will hold
        data["secrets"] = [*secret_values(os.environ), *secret_values(job.env)]
    return json.dumps(data).encode()


def _result(frame: JsonObject, _: object) -> Ended:
    if frame["frame"] == "value":
        return Ended("completed")
    return Ended(
        "failed", error_kind=frame["kind"], message=frame["message"], details=frame["details"]
    )
