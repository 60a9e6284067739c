"""One attempt on a worker, as its driver sees it: frames in order, the request to stop, and the end as reported or assumed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from pixirnb.errors import Cannot
from pixirnb.protocols.ports import Job
from pixirnb.protocols.trees import TreePacks
from pixirnb.protocols.work import Ended, Progress, Started
from pixirnb.runners.cluster.driver_files import DriverFiles, send_pieces
from pixirnb.runners.cluster.leftovers import await_end
from pixirnb.runners.cluster.packet import (
    LOST_S,
    SILENT_S,
    Frame,
    FrameNews,
    Packet,
    load_frame,
)
from pixirnb.runners.cluster.ports import (
    ANOTHER,
    DRIVER,
    Call,
    ClaimRefused,
    ClusterConnection,
    RemoteTask,
)
from pixirnb.runners.cluster.remote_questions import RemoteQuestions
from pixirnb.runners.cluster.remote_value import with_value
from pixirnb.runners.cluster.worker_files import PIECE
from pixirnb.runners.processes.eager_tasks import Signal, in_task
from pixirnb.wording import error_text

_MARGIN_S: Final = 20.0
"""Seconds beyond the grace that a worker has to tell the end of an attempt which was asked to stop: it may need 10."""


class RemoteAttempt:
    """One attempt on a worker, as its driver sees it. Used on the engine's loop, but for `post`."""

    def __init__(
        self,
        packet: Packet,
        job: Job,
        connection: ClusterConnection,
        packs: TreePacks | None,
        blobs: Mapping[str, bytes],
    ) -> None:
        self.packet, self.job, self._connection = packet, job, connection
        self._blobs = blobs
        """The large arguments, by digest."""
        self._requested: tuple[str, ...] = ()
        """Digests of the arguments that the worker requests."""
        self._files: DriverFiles | None = None
        if packs is not None and job.copies is not None:
            self._files = DriverFiles(
                packs,
                job.copies,
                packet.key,
                ask=self._on_worker,
                insist=self._insist,
                offload=connection.offload,
            )
        self._lacks: tuple[str, ...] | None = None
        """Set while the worker requests the files."""
        self.questions = RemoteQuestions(job.ask, self._on_worker, packet.key)
        self._loop = asyncio.get_running_loop()
        self._news = Signal()
        self._task: RemoteTask | None = None
        self.worker: str | None = None
        self._heard = self._loop.time()
        self._is_silent = False
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0
        self._known = 0
        """Number of frames that the worker has, as it reported."""
        self._later: dict[int, bytes] = {}
        """Frames that came before one that is missing, by number."""
        self._last: Frame | None = None
        self._failure: BaseException | None = None
        self._is_done = False
        self._has_heard_stop = False
        self._late_stop: asyncio.Task[None] | None = None
        self._look: asyncio.Task[None] | None = None
        self._gives_up_at: float | None = None
        self._then: Callable[[], object] | None = None
        """Called once an attempt that was given up has returned."""

    def submit(self, data: bytes) -> None:
        """Give the attempt to the cluster: once, and for one worker. Raises ClusterGone."""
        resources = self.job.resources
        self._task = self._connection.submit(self.packet.key, data, resources, self._on_done)
        self.job.stop.then(self._wake)

    def post(self, call: Callable[[], object]) -> None:
        """Make a call on the engine's loop, from any thread; nothing where it has ended."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call)

    def abandon(self, then: Callable[[], object]) -> None:
        """Go on listening, only for the return of what outlived its step; call `then` after that."""
        self._then = then
        if self._is_done:
            self._await_return()

    def release(self) -> None:
        """Let the cluster forget the attempt."""
        self._quiet()
        if self._task is not None:
            self._task.release()

    def on_news(self, news: FrameNews) -> None:
        """Take a frame, or a sign of life."""
        self._heard = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(SILENT_S, self._watch_silence)
            self._wake()  # a stop may have waited to know the worker
        self.worker = news["worker"]
        if self._is_silent:
            self._is_silent = False
            self._tell(f"worker {self.worker} answers again")
        if "frame" in news:
            self._later[news["number"]] = news["frame"]
            self._take_frames()
        self._known = max(self._known, news.get("running", {}).get(self.packet.key, 0))
        if self._then is not None:
            self._stop_late()
        elif (
            self._last is not None
            or self._lacks is not None
            or self._requested
            or self._is_behind()
            or self._has_stop_to_tell()
        ):
            self._wake()

    async def converse(self) -> Ended:
        """Return the end of the attempt, as its worker tells it or as it must be assumed."""
        while True:
            await self._news.wait()
            self._news = Signal()
            is_done = self._is_done and self._failure is None and self._last is None
            if is_done or self._is_behind():
                await self._fetch()
            if self._last is not None:
                return await self._end(self._last)
            if self._requested:
                await self._send_blobs()
            if self._lacks is not None and (refused := await self._send_files()) is not None:
                return refused
            if self._failure is not None:
                return await self._lost(self._failure)
            if self._gives_up_at is not None and self._loop.time() >= self._gives_up_at:
                return self._detached()
            if self._has_stop_to_tell():
                ended = await self._tell_stop()
                if ended is not None:
                    return ended

    def _quiet(self) -> None:
        """Report nothing more."""
        if self._timer is not None:
            self._timer.cancel()
        self._is_silent = False

    def _watch_silence(self) -> None:
        silent_s = self._loop.time() - self._heard
        if silent_s >= SILENT_S and not self._is_silent:
            self._is_silent = True
            self._tell(f"worker {self.worker} has been silent for {silent_s:.0f} s")
        if self._is_silent and (self._look is None or self._look.done()):
            self._look = self._loop.create_task(self._look_for_worker())
        self._timer = self._loop.call_later(SILENT_S / 5, self._watch_silence)

    def _tell(self, message: str) -> None:
        if self._then is None:
            self.job.emit(Progress(None, message))

    async def _look_for_worker(self) -> None:
        """Take a silent worker for lost where it has ended, or its scheduler has lost it: its task may wait for ever."""
        worker, heard = self.worker or "", self._heard
        is_lost = await self._connection.is_gone(worker)
        if not is_lost:
            known = await self._connection.workers()
            is_lost = bool(known) and worker not in known
        if is_lost and heard == self._heard:
            self._done(LookupError("it is gone"))

    def _wake(self) -> None:
        self._news.set()

    def _on_done(self, failure: BaseException | None) -> None:
        """Tell the engine's loop of the end of the task. Called on any thread."""
        self.post(partial(self._done, failure))

    def _done(self, failure: BaseException | None) -> None:
        if self._is_done:
            return
        self._is_done = True
        self._failure = failure
        if self._then is not None:
            self._await_return()
        self._wake()

    def _await_return(self) -> None:
        """Return once nothing of the attempt goes on: on a worker that was lost, once it has ended itself."""
        self._loop.call_later(0.0 if self._failure is None else LOST_S, self._return)

    def _return(self) -> None:
        then, self._then = self._then, lambda: None
        if then is not None:
            then()
            self.job.on_thread_returned()

    def _is_behind(self) -> bool:
        """Return whether frames are missing: out of their order, or not heard of at all."""
        return bool(self._later) or self._next < self._known

    def _take_frames(self) -> None:
        while (data := self._later.pop(self._next, None)) is not None:
            self._next += 1
            self._take(load_frame(data))
        for number in [each for each in self._later if each < self._next]:
            del self._later[number]  # it was fetched meanwhile

    def _take(self, frame: Frame) -> None:
        for event in frame.events:
            if self._then is None:
                self.job.emit(self._located(event) if isinstance(event, Started) else event)
        if frame.lacks is not None:
            self._lacks = frame.lacks
        self._requested = frame.blobs or self._requested
        self.questions.begin(frame.question)
        if frame.ended is not None:
            self._last = frame

    def _located(self, event: Started) -> Started:
        return Started(event.pid, self.worker)

    async def _fetch(self) -> None:
        """Fetch the frames that are missing from the worker; they may come as news meanwhile."""
        if self.worker is None:
            self.worker = await self._connection.performer(self.packet.key)
        while self._last is None and self.worker is not None:
            since = self._next
            # Once the task is done no other news comes: a worker that is only silent is asked again.
            ask = self._insist if self._is_done else self._on_worker
            frames = await ask("read_frames", self.packet.key, since)
            if not frames:
                break
            self._later.update(enumerate(frames, since))
            self._take_frames()
            if not self._later and not self._is_done:
                return
        if self._last is None and self._is_done:
            self._failure = self._failure or LookupError("its end was not reported")

    async def _send_blobs(self) -> None:
        """Send the arguments that the worker requests."""
        digests, self._requested = self._requested, ()
        for digest in digests:
            data = self._blobs[digest]
            ask = partial(self._on_worker, "take_blob", self.packet.key, digest)
            await send_pieces(ask, partial(_piece, data), len(data), self._is_over)

    async def _send_files(self) -> Ended | None:
        """Send the files that the worker requests; return the end where they cannot be sent."""
        known, self._lacks = self._lacks or (), None
        assert self._files is not None
        try:
            await self._files.send(known, self._is_over)
        except Cannot as error:
            if self.job.stop.reason is None:
                return Ended("failed", error.code, error.one_line())
        return None

    def _is_over(self) -> bool:
        return self._is_done or self.job.stop.reason is not None

    async def _end(self, last: Frame) -> Ended:
        """Return the end of the last frame, with its value and once its files are here."""
        ended = last.ended
        assert ended is not None
        if last.files is not None and self._files is not None:
            try:
                if not await self._files.fetch(last.files):
                    words = f"worker {self.worker} was lost before its files had been fetched"
                    return Ended("failed", "worker_lost", words)
            except Cannot as error:
                return Ended("failed", error.code, error.one_line())
        read = partial(self._insist, "read_payload", self.packet.key)
        whole = await with_value(ended, last.payload, self.job.draft, read)
        if whole is None:
            words = f"worker {self.worker} was lost before its value had been fetched"
            return Ended("failed", "worker_lost", words)
        return whole

    async def _tell_stop(self) -> Ended | None:
        """Ask the worker to end the attempt; return its end where no worker has begun it, which none can any more."""
        reason = self.job.stop.reason
        assert reason is not None
        if self.worker is None and await self._withdraw():
            return Ended(reason, details={"reason": reason})
        if self._gives_up_at is None:
            self._gives_up_at = self._loop.time() + self.job.grace_s + _MARGIN_S
            self._loop.call_later(self.job.grace_s + _MARGIN_S, self._wake)
        if self.worker is not None:  # else its first word is waited for
            await self._send_stop()
        return None

    def _has_stop_to_tell(self) -> bool:
        return self.job.stop.reason is not None and not self._has_heard_stop

    async def _send_stop(self) -> None:
        """Send the stop; where the worker does not answer, it is sent again at its next word."""
        answer = await self._on_worker("stop", self.packet.key, self.job.stop.reason)
        self._has_heard_stop = answer is not None

    def _stop_late(self) -> None:
        """Stop an attempt that was given up, at a word of its worker."""
        is_sending = self._late_stop is not None and not self._late_stop.done()
        if self._has_stop_to_tell() and not is_sending:
            self._late_stop = self._loop.create_task(self._send_stop())

    async def _withdraw(self) -> bool:
        """Return whether no worker has begun the attempt, and none can any more; else note the one that has, if it is known."""
        holder = await self._connection.withdraw(self.packet.key)
        if holder not in {DRIVER, ANOTHER, None}:
            self.worker = self.worker or holder
        return holder == DRIVER

    async def _on_worker(self, call: Call, *arguments: Any) -> Any:
        """Return what the worker of the attempt answers; None where it is lost, or silent for too long."""
        return await self._connection.ask(self.worker or "", call, *arguments)

    async def _insist(self, call: Call, *arguments: Any) -> Any:
        """Return what the worker answers, asked again while it may only be silent; None where it is lost."""
        until = self._loop.time() + LOST_S
        while (answer := await self._on_worker(call, *arguments)) is None:
            if self._loop.time() >= until or await self._connection.is_gone(self.worker or ""):
                return None
            await asyncio.sleep(1.0)
        return answer

    def _detached(self) -> Ended:
        message = f"worker {self.worker} does not answer: what it runs may go on, and keeps its claims until it is heard of"
        return Ended("detached", message=message, details={"reason": self.job.stop.reason})

    async def _lost(self, failure: BaseException) -> Ended:
        """Return the end of an attempt whose worker is gone, once nothing of it can be running."""
        reason = self.job.stop.reason
        if isinstance(failure, ClaimRefused):
            self.worker = failure.args[0]
        elif self.worker is None and await self._withdraw():
            is_lost = isinstance(failure, LookupError)
            message = f"no worker began it: {error_text(failure)}"
            kind = "worker_lost" if is_lost else "spawn_failed"
            return Ended(reason) if reason else Ended("failed", kind, message)
        await await_end(self._connection, self.worker, self.packet.tag)
        details = {"worker": self.worker, "cause": error_text(failure)}
        if reason is not None:
            return Ended(reason, details={"reason": reason, **details})
        message = f"worker {self.worker or '(unknown)'} was lost while it ran the step"
        return Ended("failed", "worker_lost", message, details)


async def _piece(data: bytes, offset: int) -> bytes:
    await in_task()
    return data[offset : offset + PIECE]
