"""Runners that only pretend: they take the time, print the text and come to the end that the world says.

One actor plays every kind of work, checks included. What it leaves depends on what it was given and on nothing else, so that
the same work gives the same result however often it is done. A thread cannot be stopped: it is left behind and returns later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import anyio

from harness.simulator.files import Disk
from harness.simulator.witness import Witness
from pixirnb import value_codec
from pixirnb.protocols.ports import Job
from pixirnb.protocols.work import (
    AgentEvent,
    AgentWork,
    Ended,
    Output,
    PythonWork,
    Report,
    ShellWork,
    Started,
)
from pixirnb.runners.checks import JSON_PROBLEMS
from pixirnb.runners.output.printed import contains, first_match, json_problems
from pixirnb.runners.processes.eager_tasks import in_task
from pixirnb.runners.python.functions import load_arguments
from pixirnb.spec.schemas import schema_problems

STEP_CALL: Final = "simulated.work:step"
"""What python steps of a world call; every other function is part of a check."""
OUTPUT_MODEL: Final = "simulated.models:Left"
"""What a step with a declared output says that is."""
_FOR_EVER: Final = 10_000_000.0
_BIG: Final = 20_000
_HUGE: Final = 300_000
_CONTEXT: Final = "\n\nData from the previous attempt"
"""Where a task goes on with why it has to be done again: no part of what the step is given."""
_SIGNS: Final = re.compile(r"PIXIRNB_REF_\d+")

Behaviour = Mapping[str, Any]

FAILURES: Final[dict[str, dict[str, Any]]] = {
    "exit": {"error_kind": "exit", "exit_code": 3},
    "exception": {"error_kind": "exception", "details": {"type": "ValueError"}},
    "crash": {"error_kind": "crash", "signal": 9},
    "lost": {"error_kind": "lost"},
    "supervisor_lost": {"error_kind": "supervisor_lost"},
    "spawn_failed": {"error_kind": "spawn_failed"},
    "output_unserialisable": {"error_kind": "output_unserialisable"},
    "function_missing": {"error_kind": "function_missing"},
    "context_overflow": {"error_kind": "context_overflow"},
    "provider_transient": {"error_kind": "provider_transient"},
    "provider_permanent": {"error_kind": "provider_permanent"},
    "turn_limit": {"error_kind": "turn_limit"},
}
"""Ends that are no success, as fields of `Ended`."""


@dataclass(slots=True, eq=False)
class Actor:
    """Implements `protocols.ports.Cluster`, and so `Runner`, for all kinds of work."""

    behaviours: Mapping[str, Sequence[Behaviour]]
    witness: Witness
    leave_behind: Callable[[Coroutine[Any, Any, None]], None]
    """Lets a thread go on beside the loop of the run."""
    disk: Disk
    """Where it writes."""
    began: Callable[[Job], None] = lambda _: None
    over: Callable[[Job], None] = lambda _: None
    is_robbed: Callable[[], bool] = lambda: False
    """Whether another may have swept its folders."""
    worker: str | None = None
    """Where it plays; None: where the run is."""

    async def perform(self, job: Job) -> Ended:
        """Play one attempt, or a part of its checks."""
        await in_task()
        behaviour = self._behaviour(job)
        if _is_check(job.work):
            return await self._check(job, behaviour)
        self.witness.see("began", job.run_id, job.step, job.attempt)
        self.began(job)
        ended = await self._play(job, behaviour)
        self.witness.see("ended", job.run_id, job.step, job.attempt, ended.status)
        self.over(job)
        return ended

    def end_left(self, run_id: str, left: Mapping[tuple[str, int], str | None]) -> None:
        """As of a cluster whose workers ended with the driver: nothing is left."""

    def close(self) -> None:
        """Nothing to close."""

    def _behaviour(self, job: Job) -> Behaviour:
        # An item goes as those of its step do, unless it has a way of its own.
        known = self.behaviours.get(job.step) or self.behaviours.get(job.step.partition("@")[0])
        known = known or [{}]
        return known[min(job.attempt, len(known)) - 1]

    async def _play(self, job: Job, behaviour: Behaviour) -> Ended:
        is_thread = isinstance(job.work, PythonWork) and not job.work.process
        job.emit(Started(None if is_thread else 4000 + job.attempt, self.worker))
        if behaviour.get("chatty"):
            job.emit(Output("stderr", b"under way\n"))
        refused = await self._ask(job, behaviour)
        if refused is not None:
            return refused
        self._write(job, behaviour)
        how = str(behaviour.get("end", "ok"))
        lasts = _FOR_EVER if how == "hang" else float(behaviour.get("lasts", 1.0))
        reason = await _stopped_within(job, lasts)
        if reason is None:
            return self._end(job, behaviour, how)
        if is_thread:
            self.witness.count("detached")
            self.leave_behind(self._return(job, float(behaviour.get("returns", 30.0))))
            return Ended("detached", message="It goes on by itself.", details={"reason": reason})
        self._report(job, behaviour.get("last_words"))
        await anyio.sleep(job.grace_s if behaviour.get("stubborn") else 0.05)
        return Ended(reason)

    def _write(self, job: Job, behaviour: Behaviour) -> None:
        """Files, whatever comes of the attempt: what is in them depends on what it was given, and others may write the same."""
        number = job.step.partition("@")[2]
        for written in behaviour.get("writes") or ():
            path = written.replace("@", number)
            if not self.disk.write(job.workspace, path, f"v{_given(job) % 2}"):
                if self.is_robbed():
                    return
                told = f"It works in {job.workspace}, which is not there."
                self.witness.breach("keeps_apart", told, job.step)
                return

    async def _ask(self, job: Job, behaviour: Behaviour) -> Ended | None:
        """An agent calls a tool, asks to be allowed others, and takes no for an answer; its end, if that is one."""
        if not isinstance(job.work, AgentWork) or job.ask is None:
            return None
        job.emit(AgentEvent("tool_call", {"call_id": "c0", "name": "look", "args": {}}))
        if not behaviour.get("stubborn"):
            job.emit(AgentEvent("tool_result", {"call_id": "c0", "ok": True, "output": "seen"}))
        for number, wish in enumerate(behaviour.get("asks") or (), start=1):
            if wish in job.work.granted:
                continue
            said = {
                "tool": "shell",
                "args": {"command": wish},
                "digest": wish,
                "call_id": f"c{number}",
            }
            answer = await _answered(job, said)
            if answer is None:
                return Ended(job.stop.reason or "interrupted")
            if "error" in answer:
                return Ended("failed", "log_write_failed", "Nothing can be kept.")
            if answer["verdict"] == "unattended":
                return Ended("failed", "permission_required", "A person has to allow it.")
        return None

    async def _return(self, job: Job, after: float) -> None:
        await anyio.sleep(after)
        self.witness.see("returned", job.run_id, job.step, job.attempt)
        job.on_thread_returned()

    def _end(self, job: Job, behaviour: Behaviour, how: str) -> Ended:
        if how in FAILURES:
            self._report(job, behaviour.get("last_words"))
            job.emit(Output("stderr", b"it went wrong\n"))
            return Ended("failed", message=f"It ended as {how}.", **FAILURES[how])
        left = {} if how == "bad_output" else _result(job, str(behaviour.get("value", "given")))
        if isinstance(job.work, PythonWork):
            stored, data = value_codec.encode(left)
            return Ended("completed", value=stored, payload=data)
        if isinstance(job.work, ShellWork):
            job.emit(Output("stdout", _printed(left, behaviour).encode() + b"\n"))
            return Ended("completed", exit_code=0)
        job.emit(Output("stdout", f"I looked at it: {left.get('text')}\n".encode()))
        if behaviour.get("marker"):
            line = f"checkpoint_status: {behaviour['marker']}\n"
            job.emit(Output("stdout", line.encode()))
        self._report(job, behaviour.get("report"), left)
        return Ended("completed", exit_code=0)

    def _report(
        self, job: Job, said: Mapping[str, Any] | None, left: Mapping[str, Any] | None = None
    ) -> None:
        """What an agent says of itself; `with_output` adds what it leaves, `huge` more than a line of a log holds."""
        if not said or not isinstance(job.work, AgentWork):
            return
        report = {key: value for key, value in said.items() if key not in {"with_output", "huge"}}
        if said.get("with_output") and left is not None:
            report["output"] = dict(left)
        if said.get("huge"):
            report["limitations"] = ["x" * _HUGE]
        job.emit(Report("checkpoint", report))

    async def _check(self, job: Job, behaviour: Behaviour) -> Ended:
        """Part of the checks: what pixirnb itself looks with is looked with, what is the user's goes as the world says."""
        work = job.work
        if isinstance(work, PythonWork) and work.call.startswith("pixirnb."):
            found = _looked(work)
            return Ended("completed", value={"format": "json", "value": found})
        how = behaviour.get("check", "pass")
        reason = await _stopped_within(job, _FOR_EVER if how == "hang" else 0.5)
        if reason is not None:
            return Ended(reason)
        if isinstance(work, PythonWork):
            verdict = how == "pass"
            return Ended("completed", value={"format": "json", "value": [verdict, str(verdict)]})
        job.emit(Output("stdout", b"looked\n"))
        code = 0 if how == "pass" else 1
        return Ended("completed" if code == 0 else "failed", exit_code=code)


async def _answered(job: Job, said: dict[str, Any]) -> dict[str, Any] | None:
    """What a person says; None where the attempt has to end first."""
    answers: list[dict[str, Any]] = []
    assert job.ask is not None
    ask = job.ask
    async with anyio.create_task_group() as group:

        async def wait() -> None:
            answers.append(await ask("permit", said))
            group.cancel_scope.cancel()

        group.start_soon(wait)
        await job.stop.wait()
        group.cancel_scope.cancel()
    return answers[0] if answers else None


async def _stopped_within(job: Job, seconds: float) -> Any:
    """Why the work has to end, or None where it came to its own end first."""
    with anyio.move_on_after(seconds):
        return await job.stop.wait()
    return None


def _is_check(work: object) -> bool:
    if isinstance(work, PythonWork):
        return work.call != STEP_CALL
    if isinstance(work, ShellWork):
        first = work.run.split()[0] if isinstance(work.run, str) else work.run[0]
        return first == "check"
    return False


def _looked(work: PythonWork) -> Any:
    said = load_arguments(work.arguments)
    if work.call == "pixirnb.spec.schemas:schema_problems":
        return schema_problems(said["value"], said["schema"])
    if work.call == "pixirnb.runners.output.printed:model_problems":
        return _model_problems(said["value"])
    if work.call == JSON_PROBLEMS:
        model = said.get("model")
        found = json_problems(said["printed"], said.get("schema"))
        return found or (_model_problems(json.loads(said["printed"]["text"])) if model else [])
    look = contains if work.call.endswith(":contains") else first_match
    return look(**said)


def _model_problems(value: Any) -> list[str]:
    is_left = isinstance(value, dict) and isinstance(value.get("n"), int)
    return [] if is_left else ["n: Field required"]


def _result(job: Job, how: str) -> dict[str, Any]:
    """What the work leaves: the same whatever it was given, or a function of that; `big` is too large for a line."""
    number = 1 if how == "const" else _given(job) % 3
    left: dict[str, Any] = {"n": number, "text": f"v{number}"}
    if how == "big":
        left["pad"] = "x" * _BIG
    return left


def _given(job: Job) -> int:
    work = job.work
    signs = [job.env[name] for name in sorted(job.env) if _SIGNS.fullmatch(name)]
    if isinstance(work, ShellWork):
        seen: Any = [work.run, signs]
    elif isinstance(work, PythonWork):
        seen = load_arguments(work.arguments)
    else:
        seen = work.task.split(_CONTEXT)[0]
    text = json.dumps(seen, sort_keys=True)
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "big")


def _printed(left: Mapping[str, Any], behaviour: Behaviour) -> str:
    """A shell step prints JSON where its output is declared, else a word."""
    if behaviour.get("prints") == "json":
        return json.dumps(left)
    return str(left.get("text", "nothing")) + str(left.get("pad", ""))
