"""The runner of agents, by the kind in the spec. All agents are processes below a reaper; none runs in the kernel.
Scripted agents, for tests, dry runs and teaching, have every attempt written in the workflow.

An agent that gives up gives the reason on standard error, or in its last line. That line goes into the error, and a
missing login is not retried. Well-known phrases decide; in doubt the kind stays unchanged.
"""

from __future__ import annotations

import json
import os
import re
from typing import Final

from msgspec.structs import replace

from pixirnb.errors import Cannot, InternalError
from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import Job
from pixirnb.protocols.work import AgentWork, Ended, Output, RunnerEvent, ScriptedWork
from pixirnb.runners.agents import presets
from pixirnb.runners.output.mask import secret_values
from pixirnb.runners.output.unseen import plain
from pixirnb.runners.processes import attempt_process
from pixirnb.runners.processes.supervisor import Supervisor, own_path
from pixirnb.runners.processes.worker_threads import in_worker_or_here
from pixirnb.sessions.permissions import TOOLS, digest_of
from pixirnb.spec.durations import parse_duration

_KEPT: Final = 8 * 1024
"""Number of bytes kept of a stream's end. A line that begins before them is not shown: masks need a whole secret."""
_LINES: Final = 30
_UNEXPLAINED: Final = frozenset({"exit", "crash", "agent_silent", "protocol_error"})
"""Kinds of end without a reason of their own."""
_TELLING: Final = re.compile(
    r"\b(errors?|fatal|fail(ed|ure)|denied|invalid|unauthori[sz]ed|required|cannot|unable|refused|limit)\b"
    r"|\bnot (found|logged in|set)\b|\b(log|sign) ?in\b|Error:",
    re.IGNORECASE,
)
_AUTH: Final = re.compile(
    r"unauthori[sz]ed|not (logged|signed) in|\bplease (run\W{0,3}\S*\W{0,2})?(/?log ?in|sign ?in|authenticate)\b"
    r"|\b(run|use)\W{1,3}([\w-]+ )*/?(auth )?login\b"
    r"|\bauthenticat(ion|e)\b.{0,40}\b(required|failed|missing|error|expired|invalid)"
    r"|\b(missing|no|invalid|required?)\b.{0,30}\bauth(entication|orization)?\b( \w+)?"
    r"( (method|type|information|found|header|is selected))"
    r"|set an auth method|\b(invalid|incorrect|missing|expired|no)\b.{0,20}\bapi[ _-]?key\b|\binvalid x-api-key\b"
    r"|\bapi[ _-]?key\b.{0,40}\b(not set|missing|invalid|required|must be set|not found|not valid)\b"
    r"|\b[A-Z]+_(API_KEY|TOKEN)\b.{0,40}\b(not set|missing|required|must be set)\b"
    r"|\b(oauth )?token\b.{0,20}\b(expired|revoked)\b|\bno provider configured\b"
    r"|\b(status|http|error|code)\b\W{0,3}(code\W{0,2})?401\b",
    re.IGNORECASE,
)
_BUSY: Final = re.compile(
    r"\b(status|http|error|code)\b\W{0,3}(code\W{0,2})?(408|425|429|500|502|503|504|529)\b"
    r"|\brate.?limit|\btoo many requests\b|\boverloaded\b|\bservice unavailable\b|\bbad gateway\b"
    r"|\bgateway time-?out\b|\brequest time-?out\b|\bfetch failed\b|\bconnection (refused|reset|closed|error)\b"
    r"|\bstream (disconnected|closed)\b|\bE(CONNRESET|CONNREFUSED|TIMEDOUT|NOTFOUND|AI_AGAIN|PIPE)\b",
    re.IGNORECASE,
)


def kind_of_message(text: str) -> str | None:
    """Return the error kind of an agent's message: `auth_required`, `provider_transient`; None for any other."""
    if _AUTH.search(text):
        return "auth_required"
    return "provider_transient" if _BUSY.search(text) else None


class LastWords:
    """Output of a coding agent's process, collected to find its last message."""

    def __init__(self) -> None:
        self._tails = {"stderr": bytearray(), "stdout": bytearray()}

    def on_event(self, event: RunnerEvent) -> None:
        """Add an event of the work."""
        if isinstance(event, Output):
            tail = self._tails[event.stream]
            tail += event.chunk[-_KEPT - 1 :]
            del tail[: -_KEPT - 1]

    def explained(self, ended: Ended) -> Ended:
        """Return the end with its reason, if the agent exited by itself and gave one."""
        if ended.status != "failed" or ended.error_kind not in _UNEXPLAINED | {"agent_failed"}:
            return ended
        last_message = str(ended.details.get("said") or "")
        if not last_message and ended.error_kind in _UNEXPLAINED:
            last_message = self._last()
            if last_message:
                message = (
                    f"{ended.message.rstrip().removesuffix('.')}; its last message: {last_message}"
                )
                ended = replace(
                    ended, message=message, details={**ended.details, "said": last_message}
                )
        can_say = ended.error_kind in {"exit", "agent_failed"} or ended.details.get("exit_code")
        kind = kind_of_message(last_message) if can_say else None
        return ended if kind is None else replace(ended, error_kind=kind)

    def _last(self) -> str:
        """Return the last line with content, of standard error before standard output."""
        for tail in self._tails.values():
            text = tail.decode("utf-8", errors="replace")
            if len(tail) > _KEPT:
                text = text.partition("\n")[2]
            lines = [line for line in map(str.strip, plain(text).splitlines()) if line]
            lines = [line for line in lines[-_LINES:] if not line.startswith("[acp] ")]
            if lines:
                return next(filter(_TELLING.search, reversed(lines)), lines[-1])
        return ""


class ScriptedRunner:
    """Runner of `ScriptedWork` in a forked child, so that stops, crashes and hangs are real."""

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
            self._supervisor, job, attempt_process.SpawnRequest(header, result=_scripted_result)
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


def _scripted_result(frame: JsonObject, _: object) -> Ended:
    if frame["frame"] == "value":
        return Ended("completed")
    return Ended(
        "failed", error_kind=frame["kind"], message=frame["message"], details=frame["details"]
    )


class AgentRunner:
    """Runner of `AgentWork`."""

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
            words.on_event(event)
            job.emit(event)

        ended = await attempt_process.perform(self._supervisor, replace(job, emit=emit), order)
        return words.explained(ended)


async def _command(job: Job, work: AgentWork) -> JsonObject | None:
    """Return the command of a coding agent; None for a model. Raises Cannot. Runs where the user's own table is readable."""
    if work.runner not in presets.RUNNERS:
        return None
    command, path = work.session["command"], job.env.get("PATH")
    preset = await in_worker_or_here(presets.resolve, work.runner, command, path)
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
