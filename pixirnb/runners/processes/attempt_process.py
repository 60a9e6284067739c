"""One attempt as a process: the engine's connection with its reaper, from the request to the end of the whole tree.

Output is passed on as it is produced. The end is the reaper's `exited`, never the end of a pipe: a descendant that
keeps the pipe open cannot hang a step. If the reaper is gone, all processes with the attempt's tag are ended from
here; so they are if the supervisor has died and the reaper, which a step may have stopped, does not tell its end.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

import anyio.abc
from msgspec.structs import replace

from pixirnb.errors import PixirnbError
from pixirnb.ids import attempt_tag
from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import BlobDraft, Job
from pixirnb.protocols.work import AgentEvent, Ended, Output, Progress, Report, Started, StopReason
from pixirnb.runners.processes import orphans, process_tree, reaper
from pixirnb.runners.processes.eager_tasks import in_task
from pixirnb.runners.processes.end_messages import (
    by_status,
    lost,
    never_started,
    not_startable,
    refusal,
    spawn_failed,
    unreadable,
)
from pixirnb.runners.processes.frame_shapes import require_shape
from pixirnb.runners.processes.frames import FrameReader, Garbled, Sink
from pixirnb.runners.processes.reaper_connection import Questions, ReaperConnection
from pixirnb.runners.processes.supervisor import Supervisor, connected_pair
from pixirnb.runners.processes.thread_children import INSTANCE
from pixirnb.runners.processes.worker_threads import in_worker_or_here
from pixirnb.system import process_marks

CHUNK: Final = 65_536
_LATE_CHUNKS: Final = 32
"""Maximum number of chunks in a pipe of dead writers: twice the largest pipe the system grants, 1 MiB."""

_MARGIN_S: Final = reaper.KILL_LIMIT_S + 5.0
"""Seconds beyond the grace that a reaper may take before the tree is ended without it."""

_THAW_S: Final = 2.0
"""Seconds that a reaper has for its first word before it is continued, and for its first and last when the limit is over."""
_LAST_WORD_S: Final = reaper.ORPHAN_GRACE_S + reaper.KILL_LIMIT_S + 1.0
"""Seconds for a reaper to tell its end once the supervisor has died: it needs less, even for what survives SIGKILL."""

Result = Callable[[JsonObject, bytes | BlobDraft], Ended]
"""Function that makes the result; may block."""


class SpawnRequest(NamedTuple):
    """A request to the reaper: `exec` an argv, or call one of our functions (`script`, `python`)."""

    header: JsonObject
    tail: bytes = b""
    result: Result | None = None
    """Turns the function's last frame (`value` or `error`) into an end; None for an exec'ed argv."""


async def perform(supervisor: Supervisor, job: Job, order: SpawnRequest) -> Ended:
    """Run `order` for `job` in its own process tree, emitting events. Never raises for failures of the work."""
    await in_task()
    if job.stop.reason is not None:
        return Ended(job.stop.reason, details={"reason": job.stop.reason})
    attempt = _Attempt(supervisor, job, order)
    try:
        return await attempt.run()
    except (OSError, ExceptionGroup) as raised:
        if (error := refusal(raised)) is None:
            raise
        return not_startable(error)
    finally:
        await attempt.close()


@dataclass(slots=True)
class _Attempt:
    supervisor: Supervisor
    job: Job
    order: SpawnRequest
    control: ReaperConnection | None = None
    questions: Questions | None = None
    """An agent's questions, where someone answers them."""
    group: anyio.abc.TaskGroup | None = None
    pipes: dict[_Pipe, int] = field(default_factory=dict)
    frames: FrameReader = field(init=False)
    unread: PixirnbError | Garbled | None = None
    """Reason why the report pipe is not read any more."""
    is_requested: bool = False
    death: anyio.Event = field(default_factory=anyio.Event)
    """Set when the supervisor that forked the reaper was found dead."""
    pid: int | None = None
    exited: JsonObject | None = None
    """The reaper's last message; empty when it died without one; None while it lives."""
    spawn_failure: JsonObject | None = None
    result: tuple[JsonObject, bytes | BlobDraft] | None = None
    drafts: list[BlobDraft] = field(default_factory=list)
    stop_reason: StopReason | None = None
    tag: str = field(init=False)
    mark: int = field(init=False)

    def __post_init__(self) -> None:
        self.tag = attempt_tag(self.job.run_id, self.job.step, self.job.attempt)
        self.mark = process_marks.mark_of(self.tag, INSTANCE)
        work = self.order.header["kind"]
        self.frames = FrameReader(self._draft, lambda frame: require_shape(frame, work))

    async def run(self) -> Ended:
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch_stop, group.cancel_scope)
            await self._converse(group)
            group.cancel_scope.cancel()
        self.group = None
        for name in self.pipes:
            self._drain(name)
        return await self._judge()

    async def close(self) -> None:
        """Close every descriptor. If the caller was cancelled, end the tree first, within a limit."""
        with anyio.CancelScope(shield=True):
            is_given_up = self.is_requested and self.exited is None and self.control is not None
            if is_given_up and self.pid is not None:
                self._tell_stop(0)
                with anyio.move_on_after(_MARGIN_S):
                    await self._listen()
            if self.control is not None:
                self.control.close()
                self.control = None
            if is_given_up and not self.exited:
                # Silent or gone: its step may have stopped or killed it, even before it told that it had started.
                await in_worker_or_here(orphans.end_tagged, self.tag)
            self.supervisor.release(self.mark)
            while self.pipes:
                os.close(self.pipes.popitem()[1])
            for draft in self.drafts:
                if self.result is None or draft is not self.result[1]:
                    draft.drop()
            if self.questions is not None:
                self.questions.close()

    async def _converse(self, group: anyio.abc.TaskGroup) -> None:
        async with self.supervisor.spawning:
            with anyio.move_on_after(self.supervisor.spawn_limit_s):
                await self._request()
                group.start_soon(self._watch_supervisor, self.death, group.cancel_scope)
                while self.pid is None and self.exited is None:
                    with anyio.move_on_after(_THAW_S):
                        await self._listen(until_started=True)
                    # The step may have stopped its reaper before that could tell that it had started.
                    if self.pid is None:
                        await in_worker_or_here(orphans.wake_tagged, self.tag)
        if self.pid is None:
            self._catch_up()
        for is_last in (False, True) if self.is_requested else ():
            # Both may have been frozen past the limit: the reaper goes on a moment later. In the end it is to start nothing.
            if self.pid is None and self.exited is None and self.control is not None:
                if is_last:
                    self.control.end_requests()
                with anyio.move_on_after(_THAW_S):
                    await self._listen(until_started=not is_last)
        if self.pid is None:
            return
        self.group = group
        self.job.emit(Started(self.pid))
        for name in self.pipes:
            group.start_soon(self._relay, name)
        await self._listen()

    async def _request(self) -> None:
        """Make the step's pipes, pass the far ends on, and send the request."""
        ours, theirs = connected_pair()
        self.control = ReaperConnection(ours)
        names: list[_Pipe] = ["stdout", "stderr"]
        if self.order.result is not None:
            names.append("report")
        far: list[int] = []
        try:
            for name in names:
                self.pipes[name], writing = os.pipe()
                far.append(writing)
                os.set_blocking(self.pipes[name], False)
            if self.job.ask is not None and self.order.header["kind"] in {"agent", "script"}:
                self.questions = Questions(self.job.ask)
                far.append(self.questions.reading)
            self.death = await self.supervisor.hand_over(
                [theirs.fileno(), *far], is_python=self.order.header["kind"] == "python"
            )
        finally:
            theirs.close()
            for descriptor in far:
                os.close(descriptor)
        request = {
            "cwd": str(self.job.cwd),
            "env": {**self.job.env, process_tree.TAG: self.tag},
            "tag": self.tag,
            "mark": self.mark,
            "limit_s": self.job.limit_s,
            "grace_s": self.job.grace_s,
        }
        if self.job.stop.reason is None:  # else `_watch_stop` ends this in a moment
            await self.control.send_request({**self.order.header, **request}, self.order.tail)
            self.is_requested = True

    async def _listen(self, *, until_started: bool = False) -> None:
        """Handle the reaper's messages until it has exited, or only until the child has started."""
        while self.exited is None and not (until_started and self.pid is not None):
            assert self.control is not None
            message = await self.control.next_message()
            self._take_in({} if message is None else message)

    def _take_in(self, message: JsonObject) -> None:
        if "started" in message:
            self.pid = message["started"]
        elif "spawn_failed" in message:
            self.spawn_failure = message
        else:
            self.exited = message

    def _catch_up(self) -> None:
        """Handle the messages of the reaper so far: this process, not the reaper, may have hung past the limit."""
        for message in () if self.control is None else self.control.read_arrived():
            self._take_in(message)

    async def _watch_stop(self, scope: anyio.CancelScope) -> None:
        self.stop_reason = await self.job.stop.wait()
        if self.is_requested:
            self._tell_stop(self.job.grace_s)
            await anyio.sleep(self.job.grace_s + _MARGIN_S)
        # Not requested yet, or no answer: closing our ends is enough, a late reaper then starts nothing.
        scope.cancel()

    async def _watch_supervisor(self, death: anyio.Event, scope: anyio.CancelScope) -> None:
        """Let another guard what goes on once the supervisor has died, and end it from here if the reaper does not."""
        await death.wait()
        with suppress(OSError):  # none can be started now: it is ended from here all the same
            await self.supervisor.guard(self.mark)
        await in_worker_or_here(orphans.wake_tagged, self.tag)
        await anyio.sleep(_LAST_WORD_S)
        self._catch_up()
        scope.cancel()

    def _tell_stop(self, grace_s: float) -> None:
        assert self.control is not None
        self.control.tell({"stop": grace_s})

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
            if name == "report":
                await self._pause()

    async def _pause(self) -> None:
        """Stop reading while emitted events are not handled, or too many questions are open."""
        if self.job.pace is not None:
            await self.job.pace()
        if self.questions is not None:
            await self.questions.pause()

    def _drain(self, name: _Pipe) -> None:
        """Read the rest of a pipe of dead writers. Never waits, even if another process holds the other end."""
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
        if self.unread is not None:
            return  # read away, so that whoever writes it goes on to its end
        try:
            for frame, data in self.frames.feed(chunk):
                self._handle_frame(frame, data)
        except (PixirnbError, Garbled) as error:
            self.unread = error
            if isinstance(error, Garbled) and self.exited is None:
                self._tell_stop(self.job.grace_s)  # nothing that it returns can be read

    def _handle_frame(self, frame: JsonObject, data: bytes | Sink) -> None:
        match frame["frame"]:
            case "progress":
                self.job.emit(Progress(frame["fraction"], frame["message"]))
            case "checkpoint" | "tool" as kind:
                self.job.emit(Report(kind, frame["data"]))
            case "session":
                self._drain("stdout")  # what it said before it told this has come before it
                self.job.emit(AgentEvent(frame["kind"], frame["data"]))
            case "ask" if self.questions is not None:
                # Questions after the end, out of a drained pipe, have no waiting asker.
                if self.group is not None and self.exited is None:
                    self.group.start_soon(self.questions.answer, frame)
            case "value" | "error" if self.result is None:
                self.result = (frame, data if isinstance(data, bytes) else self.drafts[-1])
            case _:
                raise Garbled

    def _draft(self) -> BlobDraft:
        if self.job.draft is None:
            raise Garbled
        self.drafts.append(self.job.draft())
        return self.drafts[-1]

    async def _judge(self) -> Ended:
        """Return the end of the work, once the whole tree is gone."""
        exited = self.exited or {}
        facts: JsonObject = {
            "exit_code": exited.get("code"),
            "signal": exited.get("signal"),
            "strays": exited.get("strays", 0),
        }
        details = {"survivors": each} if (each := exited.get("survivors")) else {}
        facts |= details
        if not exited and self.is_requested and self.spawn_failure is None:
            if self.exited is None and self.control is not None:
                self.control.close()  # a late reaper starts nothing
                self.control = None
            swept = await in_worker_or_here(orphans.end_tagged, self.tag)
            facts["strays"] = len(swept)
        if self.stop_reason is not None and (not exited or exited["stopped"]):
            return Ended(self.stop_reason, details={"reason": self.stop_reason, **details}, **facts)
        if self.spawn_failure is not None:
            return spawn_failed(self.spawn_failure, self.job)
        if self.exited is None and not self.death.is_set():
            return never_started(self.supervisor.spawn_limit_s, facts, details)
        if not exited:
            self.supervisor.stand_by()  # the step may have stopped it, too, and it is to end what is left
            is_lost = await self.supervisor.is_lost(self.death)
            return lost("supervisor_lost" if is_lost else "lost", facts, details)
        if exited["overdue"]:
            return Ended("timed_out", details={"reason": "timed_out", **details}, **facts)
        if exited["supervisor_lost"]:
            return lost("supervisor_lost", facts, details)
        if self.unread is not None:
            return unreadable(self.unread, facts)
        read, is_clean = self.order.result, facts["exit_code"] == 0
        if read and self.result and (is_clean or self.result[0]["frame"] == "error"):
            frame, data = self.result
            is_short = isinstance(data, bytes)
            ended = read(frame, data) if is_short else await in_worker_or_here(read, frame, data)
            return replace(ended, details={**ended.details, **details}, **facts)
        self.result = None  # its value was written before the crash, or by a forked copy
        return by_status(facts, details, is_function=self.order.result is not None)


_Pipe = Literal["stdout", "stderr", "report"]
