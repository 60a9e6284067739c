"""One attempt as a process: the engine's conversation with its reaper, from request to the end of the whole tree.

Output is passed on as it is produced. The end is the reaper's `exited`, never the end of a pipe: a descendant that keeps the
pipe open cannot hang a step. When nobody can say `exited` any more, what bears the attempt's tag is ended from here.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import anyio
import anyio.abc
import anyio.to_thread

from pixirnb import process_marks
from pixirnb.ids import attempt_tag
from pixirnb.ports import Job
from pixirnb.runners import processes, reaper, trees
from pixirnb.runners.frames import FrameReader
from pixirnb.runners.supervisor import PACKAGE, Supervisor
from pixirnb.work import Ended, Output, Progress, Report, Started, StopReason, Told

CHUNK: Final = 65_536
_LATE_CHUNKS: Final = 32
"""What can be left in a pipe when its writers are dead: at most the largest pipe the system grants, 1 MiB, twice."""

_MARGIN_S: Final = reaper.KILL_LIMIT_S + 5.0
"""How much longer than the grace a reaper may take before the tree is ended without it."""

Result = Callable[[dict[str, Any], bytes], Ended]


@dataclass(frozen=True, slots=True)
class Order:
    """What the reaper is asked to run: `exec` an argv, or call one of our functions (`script`, `python`)."""

    header: dict[str, Any]
    tail: bytes = b""
    result: Result | None = None
    """Turns the function's last frame (`value` or `error`) into an end; None for an exec'ed argv."""


async def perform(supervisor: Supervisor, job: Job, order: Order) -> Ended:
    """Run `order` for `job` in a tree of its own, emitting as it goes. Never raises for what the work does."""
    attempt = _Attempt(supervisor, job, order)
    try:
        return await attempt.run()
    except (OSError, ExceptionGroup) as raised:
        error = _refusal(raised)
        if error is None:
            raise
        return Ended(
            "failed",
            error_kind="spawn_failed",
            message=f"no process could be started for this step: {error.strerror or error}.",
            details={"errno": error.errno},
        )
    finally:
        await attempt.close()


def child_path() -> list[str]:
    """This process's `sys.path` for a function child elsewhere; our own package can always be found on it."""
    entries = [os.fspath(entry) or str(Path.cwd()) for entry in sys.path]
    home = str(PACKAGE.parent)
    return entries if home in entries else [*entries, home]


@dataclass(slots=True)
class _Attempt:
    supervisor: Supervisor
    job: Job
    order: Order
    control: socket.socket | None = None
    answers: int | None = None
    """Where an agent is told what it asked for."""
    group: anyio.abc.TaskGroup | None = None
    heard: bytes = b""
    pipes: dict[_Pipe, int] = field(default_factory=dict)
    frames: FrameReader = field(default_factory=FrameReader)
    is_requested: bool = False
    pid: int | None = None
    exited: dict[str, Any] | None = None
    """The reaper's last word; empty when it died without one; None while it may still speak."""
    spawn_failure: dict[str, Any] | None = None
    result: tuple[dict[str, Any], bytes] | None = None
    stop_reason: StopReason | None = None
    answering: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def tag(self) -> str:
        return attempt_tag(self.job.run_id, self.job.step, self.job.attempt)

    async def run(self) -> Ended:
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch_stop, group.cancel_scope)
            await self._converse(group)
            group.cancel_scope.cancel()
        for name in self.pipes:
            self._drain(name)
        return await self._judge()

    async def close(self) -> None:
        """Give up every descriptor. Where the caller was cancelled: first end the tree, within a bound."""
        with anyio.CancelScope(shield=True):
            if self.pid is not None and self.exited is None:
                self._tell({"stop": 0})
                with anyio.move_on_after(_MARGIN_S):
                    await self._listen()
            if self.control is not None:
                self.control.close()
                self.control = None
            for descriptor in self.pipes.values():
                os.close(descriptor)
            self.pipes.clear()
            if self.answers is not None:
                os.close(self.answers)
                self.answers = None

    async def _converse(self, group: anyio.abc.TaskGroup) -> None:
        async with self.supervisor.spawning:
            with anyio.move_on_after(self.supervisor.spawn_limit_s):
                await self._request()
                await self._listen(until_started=True)
        if self.pid is None:
            return
        self.group = group
        self.job.emit(Started(self.pid))
        for name in self.pipes:
            group.start_soon(self._relay, name)
        await self._listen()

    async def _request(self) -> None:
        """Make the step's pipes, pass the far ends on, and send what is to be run."""
        self.control, theirs = socket.socketpair()
        self.control.setblocking(False)
        names: list[_Pipe] = ["stdout", "stderr"]
        if self.order.result is not None:
            names.append("report")
        far: list[int] = []
        try:
            for name in names:
                self.pipes[name], writing = os.pipe()
                far.append(writing)
                os.set_blocking(self.pipes[name], False)
            if self.job.ask is not None and self.order.header["kind"] == "agent":
                reading, self.answers = os.pipe()
                far.append(reading)
                os.set_blocking(self.answers, False)
            is_python = self.order.header["kind"] == "python"
            await self.supervisor.hand_over([theirs.fileno(), *far], is_python=is_python)
        finally:
            theirs.close()
            for descriptor in far:
                os.close(descriptor)
        said = {
            "cwd": str(self.job.cwd),
            "env": {**self.job.env, trees.TAG: self.tag},
            "tag": self.tag,
            "mark": process_marks.mark_of(self.tag),
        }
        header = json.dumps({**self.order.header, **said}).encode()
        lengths = reaper.REQUEST.pack(len(header), len(self.order.tail))
        await _send_all(self.control, memoryview(lengths + header + self.order.tail))
        self.is_requested = True

    async def _listen(self, *, until_started: bool = False) -> None:
        """Take in what the reaper says until it has exited, or only until the child has started."""
        while self.exited is None and not (until_started and self.pid is not None):
            message = await self._next_message()
            if message is None:
                self.exited = {}
            elif "started" in message:
                self.pid = message["started"]
            elif "spawn_failed" in message:
                self.spawn_failure = message
            else:
                self.exited = message

    async def _next_message(self) -> dict[str, Any] | None:
        assert self.control is not None
        while b"\n" not in self.heard:
            try:
                words = self.control.recv(CHUNK)
            except BlockingIOError:
                await anyio.wait_readable(self.control)
                continue
            except OSError:
                return None
            if not words:
                return None
            self.heard += words
        line, _, self.heard = self.heard.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    async def _watch_stop(self, scope: anyio.CancelScope) -> None:
        self.stop_reason = await self.job.stop.wait()
        if self.is_requested:
            self._tell({"stop": self.job.grace_s})
            await anyio.sleep(self.job.grace_s + _MARGIN_S)
        # Not requested yet, or nobody answers: leaving closes our ends, and a late reaper starts nothing.
        scope.cancel()

    def _tell(self, message: dict[str, Any]) -> None:
        assert self.control is not None
        try:
            self.control.send(json.dumps(message).encode() + b"\n")
        except OSError:
            pass  # the reaper is gone: whoever listens hears the end of the line

    async def _relay(self, name: _Pipe) -> None:
        while True:
            await anyio.wait_readable(self.pipes[name])
            try:
                chunk = os.read(self.pipes[name], CHUNK)
            except BlockingIOError:
                continue
            if not chunk:
                return
            self._pass_on(name, chunk)

    def _drain(self, name: _Pipe) -> None:
        """What the dead left in the pipe. Never waits, whoever still holds the other end."""
        for _ in range(_LATE_CHUNKS):
            try:
                chunk = os.read(self.pipes[name], CHUNK)
            except BlockingIOError:
                return
            if not chunk:
                return
            self._pass_on(name, chunk)

    def _pass_on(self, name: _Pipe, chunk: bytes) -> None:
        if name != "report":
            self.job.emit(Output(name, chunk))
            return
        for frame, data in self.frames.feed(chunk):
            match frame.get("frame"):
                case "progress":
                    self.job.emit(Progress(frame["fraction"], frame["message"]))
                case "checkpoint" | "tool":
                    self.job.emit(Report(frame["frame"], frame["data"]))
                case "session":
                    self._drain("stdout")  # what it said before it told this has come before it
                    self.job.emit(Told(frame["kind"], frame["data"]))
                case "ask":
                    self._ask(frame)
                case _:
                    self.result = (frame, data)

    def _ask(self, frame: dict[str, Any]) -> None:
        # What is asked after the end, out of a pipe that is drained, nobody waits for.
        if self.group is not None and self.exited is None:
            self.group.start_soon(self._answer, frame)

    async def _answer(self, frame: dict[str, Any]) -> None:
        assert self.job.ask is not None
        answer = await self.job.ask(frame["question"], frame["data"])
        line = memoryview(json.dumps({"id": frame["id"], "answer": answer}).encode() + b"\n")
        async with self.answering:
            while line and self.answers is not None:
                try:
                    line = line[os.write(self.answers, line) :]
                except BlockingIOError:
                    await anyio.wait_writable(self.answers)
                except BrokenPipeError:
                    return  # it is gone: whoever listens finds out why

    async def _judge(self) -> Ended:
        """What it all amounts to, once nothing of the tree is left."""
        exited = self.exited or {}
        facts: dict[str, Any] = {
            "exit_code": exited.get("code"),
            "signal": exited.get("signal"),
            "strays": exited.get("strays", 0),
        }
        details: dict[str, Any] = {}
        if survivors := exited.get("survivors"):
            details["survivors"] = survivors
        if not exited and self.is_requested and self.spawn_failure is None:
            swept = await anyio.to_thread.run_sync(processes.end_tagged, self.tag)
            facts["strays"] = len(swept)
        if self.stop_reason is not None and (not exited or exited["stopped"]):
            return Ended(self.stop_reason, details={"reason": self.stop_reason, **details}, **facts)
        if self.spawn_failure is not None:
            return _spawn_failed(self.spawn_failure, self.job)
        if self.exited is None:
            limit = f"{self.supervisor.spawn_limit_s:g} s"
            message = f"no process id came within {limit}: nothing was started."
            return Ended("failed", error_kind="spawn_failed", message=message, details=details)
        if not exited:
            lost = "supervisor_lost" if await self.supervisor.is_lost() else "lost"
            return Ended("failed", error_kind=lost, message=_LOST[lost], details=details, **facts)
        if exited["supervisor_lost"]:
            message = _LOST["supervisor_lost"]
            return Ended(
                "failed", error_kind="supervisor_lost", message=message, details=details, **facts
            )
        if self.result is not None and self.order.result is not None:
            ended = self.order.result(*self.result)
            return replace(ended, details={**ended.details, **details}, **facts)
        return _by_status(facts, details, is_function=self.order.result is not None)


_Pipe = Literal["stdout", "stderr", "report"]

_LOST: Final = {
    "lost": "the process that watched this step was killed; what it had started has been ended.",
    "supervisor_lost": "the process that supervises all steps died; what this step had started has been ended.",
}


def _refusal(raised: Exception) -> OSError | None:
    """What the system said no with, out of the groups that the tasks it went through have put around it."""
    while isinstance(raised, ExceptionGroup) and len(raised.exceptions) == 1:
        raised = raised.exceptions[0]
    return raised if isinstance(raised, OSError) else None


def _spawn_failed(failure: dict[str, Any], job: Job) -> Ended:
    match failure["spawn_failed"]:
        case "cwd":
            message = f"the step's directory cannot be entered: {job.cwd}: {_reason(failure)}."
        case "fork":
            message = f"the system refused a new process: {_reason(failure)}."
        case "exec":
            message = f"the command cannot be run: {_reason(failure)}."
        case _:
            message = f"the step's process could not be prepared: {_reason(failure)}."
    return Ended(
        "failed",
        error_kind="spawn_failed",
        message=message,
        details={"errno": failure["errno"], "phase": failure["spawn_failed"]},
    )


def _reason(failure: dict[str, Any]) -> str:
    number, command = failure["errno"], failure.get("command")
    reason = os.strerror(number) if number is not None else failure["reason"]
    return f"{command}: {reason}" if command else reason


def _by_status(facts: dict[str, Any], details: dict[str, Any], *, is_function: bool) -> Ended:
    """An end told by the exit status alone."""
    if facts["signal"] is not None:
        name = _signal_name(facts["signal"])
        message = f"the process was ended by {name}."
        return Ended("failed", error_kind="crash", message=message, details=details, **facts)
    code = facts["exit_code"]
    if code == 0 and is_function:
        message = "the process left with code 0 before the function had returned."
        return Ended("failed", error_kind="exit", message=message, details=details, **facts)
    if code == 0:
        return Ended("completed", details=details, **facts)
    message = f"exited with code {code}." if code is not None else "ended without a status."
    return Ended("failed", error_kind="exit", message=message, details=details, **facts)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


async def _send_all(control: socket.socket, data: memoryview) -> None:
    while data:
        try:
            data = data[control.send(data) :]
        except BlockingIOError:
            await anyio.wait_writable(control)
        except (BrokenPipeError, ConnectionResetError):
            return  # nobody is there any more: `_listen` finds out why
