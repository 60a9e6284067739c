"""The worker's side: what a worker does for drivers, with the supervisor and runners that do the work at home.

Frames of an attempt are kept here until its driver has released it. They are sent as events, at most so many bytes a second;
what is left out, or lost on the way, the driver fetches.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

import anyio
from msgspec.structs import replace

from pixirnb.errors import Cannot
from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import BlobDraft, Job, Runner
from pixirnb.protocols.trees import TreePacks
from pixirnb.protocols.work import (
    AgentWork,
    Ended,
    PythonWork,
    StopReason,
    Work,
    agent_variables,
)
from pixirnb.runners.cluster.blobs import WorkerBlobs, with_blobs
from pixirnb.runners.cluster.packet import BEAT_S, FENCE_S, LOST_S, FrameNews, Packet
from pixirnb.runners.cluster.ports import ClaimRefused, WorkerHost
from pixirnb.runners.cluster.worker_attempt import ValueDraft, WorkerAttempt
from pixirnb.runners.cluster.worker_files import WorkerFiles
from pixirnb.runners.python.loaded_modules import is_current


class WorkerService:
    """The attempts of this worker. Used on its loop; what drivers call, on any thread."""

    def __init__(
        self,
        host: WorkerHost,
        runners: Mapping[type[Work], Runner],
        packs: TreePacks,
        blobs: WorkerBlobs,
    ) -> None:
        self.host, self._runners = host, runners
        self._packs, self._blobs = packs, blobs
        self.attempts: dict[str, WorkerAttempt] = {}
        self._loop = asyncio.get_running_loop()
        self._reached = self._loop.time()
        self._arrived = asyncio.Event()

    # --- what drivers call ----------------------------------------------------------------------------------------

    def stop(self, key: str, reason: StopReason) -> bool:
        """Ask an attempt to end; return whether this worker knows it."""
        attempt = self.attempts.get(key)
        if attempt is not None:
            self._loop.call_soon_threadsafe(attempt.stop.set, reason)
        return attempt is not None

    def read_frames(self, key: str, since: int) -> list[bytes] | None:
        """Return the next frames of an attempt, about a megabyte at most; None if it is not known here."""
        attempt = self.attempts.get(key)
        return None if attempt is None else attempt.spool.read(since)

    def read_payload(self, key: str, offset: int) -> bytes | None:
        """Return the next piece of the value of an attempt; None if it is not known here."""
        attempt = self.attempts.get(key)
        return None if attempt is None else attempt.read_payload(offset)

    def take_answer(self, key: str, number: int, answer: JsonObject) -> bool | None:
        """Take the answer to a question of an agent; None if the attempt is not known here."""
        attempt = self.attempts.get(key)
        if attempt is None:
            return None
        self._loop.call_soon_threadsafe(attempt.take_answer, number, answer)
        return True

    def take_blob(self, key: str, digest: str, offset: int, piece: bytes, size: int) -> int | None:
        """Take a piece of an argument; return the number of bytes that are here, None if the attempt is not known here."""
        attempt = self.attempts.get(key)
        if attempt is None:
            return None
        held = self._blobs.take(digest, offset, piece, size)
        if held >= size:
            self._loop.call_soon_threadsafe(attempt.blob_arrived.set)
        return held

    def take_files(self, key: str, tree: str, offset: int, piece: bytes, size: int) -> int | None:
        """Take a piece of the files of an attempt; return the number of bytes that are here, None if it is not known here."""
        attempt = self.attempts.get(key)
        if attempt is None or attempt.files is None:
            return None
        return attempt.files.take(tree, offset, piece, size)

    def read_files(self, key: str, offset: int) -> bytes | None:
        """Return the next piece of the files that an attempt has left; None if it is not known here."""
        attempt = self.attempts.get(key)
        return None if attempt is None or attempt.files is None else attempt.files.read(offset)

    def end_tagged(self, *tags: str) -> bool:
        """End the processes of attempts on this machine. Returns True."""
        for tag in tags:
            self.host.end_tagged(tag)
        return True

    def find_left(self, tags: list[str]) -> list[str]:
        """Return the attempts that go on in a thread of this worker, or in a process of its machine."""
        threads = {each.packet.tag for each in self._threads_of(tags)}
        return [tag for tag in tags if tag in threads or self.host.has_tagged(tag)]

    def end_left(self, tags: list[str]) -> list[str]:
        """End the processes of attempts on this machine; return those of them that go on in a thread of this worker."""
        self.end_tagged(*tags)
        left = self._threads_of(tags)
        for attempt in left:
            self.stop(attempt.packet.key, "interrupted")
        return [attempt.packet.tag for attempt in left]

    def _threads_of(self, tags: list[str]) -> list[WorkerAttempt]:
        running = [each for each in list(self.attempts.values()) if not each.is_over]
        return [each for each in running if each.is_thread and each.packet.tag in tags]

    # --- its own work ---------------------------------------------------------------------------------------------

    async def watch(self) -> None:
        """Beat, and end what no driver requires any more, for ever."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._reach)
            while True:
                await self._next_beat()
                self._watch()
                self._fence()

    async def perform(self, packet: Packet) -> None:
        """Perform an attempt to its end. Raises ClaimRefused, and as `WorkerHost.take_claim`."""
        attempt = WorkerAttempt(packet, self._send)
        if packet.key in self.attempts:
            raise ClaimRefused(self.host.address)
        if self._is_idle():
            self._reached = self._loop.time()
        self.attempts[packet.key] = attempt
        self._arrived.set()
        try:
            holder = await self.host.take_claim(packet.key, has_plugin=packet.has_plugin)
        except BaseException:
            self.attempts.pop(packet.key).close()
            raise
        if holder != self.host.address:
            self.attempts.pop(packet.key).close()
            raise ClaimRefused(holder)
        try:
            ended = await self._ended(attempt)
            attempt.finish(ended)
            if ended.status == "detached":
                await attempt.returned.wait()  # until then the worker has no room for another
        finally:
            attempt.is_over = True

    async def _ended(self, attempt: WorkerAttempt) -> Ended:
        packet = attempt.packet
        if packet.proof is None or self.host.has_file(*packet.proof):
            return await self._performed(attempt)
        if packet.copies is None:
            message = f"the workspace {packet.workspace} is not on worker {self.host.address}"
            return Ended("failed", "workspace_not_shared", message)
        files = attempt.files = WorkerFiles(
            self._packs, packet.copies, attempt.stop, self.host.offload
        )
        attempt.request_files(self._packs.known())
        try:
            if not await files.arrive():
                return _stopped(attempt)
            ended = await self._performed(attempt)
            await files.record()
        except Cannot as error:
            if attempt.stop.reason is not None:
                return _stopped(attempt)
            return Ended("failed", error.code, error.one_line())
        finally:
            await files.remove()
        return ended

    async def _performed(self, attempt: WorkerAttempt) -> Ended:
        packet = attempt.packet
        work = await self._whole(attempt)
        if work is None:
            return _stopped(attempt)
        if isinstance(work, PythonWork) and not work.process:
            is_in_thread = is_current(work.call, str(packet.workspace))
            work = replace(work, process=not is_in_thread)
            attempt.is_thread = is_in_thread
        job = Job(
            run_id=packet.run_id,
            step=packet.step,
            attempt=packet.attempt,
            work=work,
            cwd=packet.cwd,
            workspace=packet.workspace,
            env={**_inherited(work), **packet.env},
            stop=attempt.stop,
            emit=attempt.emit,
            on_thread_returned=partial(self._note_return, attempt),
            grace_s=packet.grace_s,
            limit_s=packet.limit_s,
            draft=_draft,
            ask=attempt.ask,
            copies=packet.copies,
        )
        return await self._runners[type(work)].perform(job)

    async def _whole(self, attempt: WorkerAttempt) -> Work | None:
        """Return the work with its large arguments, once they are here; None where the attempt is to stop before."""
        packet = attempt.packet
        if not packet.blobs:
            return packet.work
        attempt.stop.then(attempt.blob_arrived.set)
        while attempt.stop.reason is None:
            attempt.blob_arrived.clear()
            if lacking := self._blobs.lacking(packet.blobs):
                attempt.request_blobs(lacking)
                await attempt.blob_arrived.wait()
                continue
            with suppress(FileNotFoundError):  # others took its room meanwhile
                return await self.host.offload(with_blobs, packet.work, self._blobs.read)
        return None

    def _note_return(self, attempt: WorkerAttempt) -> None:
        self._loop.call_soon_threadsafe(attempt.returned.set)

    def _watch(self) -> None:
        """Forget the attempts that their driver has released, end those whose driver is gone, and give a sign of life."""
        running: dict[str, dict[str, int]] = {}
        for key, attempt in list(self.attempts.items()):
            if not self.host.is_required(key):
                if attempt.is_over:
                    self.attempts.pop(key).close()
                    continue
                attempt.stop.set("interrupted")
            if not attempt.ended:
                running.setdefault(attempt.packet.topic, {})[key] = attempt.spool.count
        for topic, counts in running.items():
            self._send(topic, {"running": counts})

    async def _reach(self) -> None:
        """Note when the scheduler is known to have counted on this worker, for ever."""
        while True:
            await self._next_beat()
            if self._is_idle():
                continue
            requested = self._loop.time()
            with suppress(OSError, TimeoutError), anyio.fail_after(FENCE_S / 4):
                await self.host.reach()
                self._reached = requested

    async def _next_beat(self) -> None:
        """Return half a beat later, and not before there is an attempt."""
        if not self.attempts:
            self._arrived.clear()
            await self._arrived.wait()
        await anyio.sleep(BEAT_S / 2)

    def _is_idle(self) -> bool:
        return all(each.is_over for each in self.attempts.values())

    def _fence(self) -> None:
        """End everything once the scheduler is out of reach: it will take this worker for lost, and so will drivers."""
        if self._is_idle():
            return
        cut_off_s = self._loop.time() - self._reached
        if cut_off_s > FENCE_S:
            for attempt in self.attempts.values():
                attempt.stop.set("interrupted")
        if cut_off_s > (FENCE_S + LOST_S) / 2:
            self.host.end()  # a thread that goes on can be ended in no other way

    def _send(self, topic: str, news: FrameNews) -> None:
        self.host.send(topic, {"worker": self.host.address, **news})


def _stopped(attempt: WorkerAttempt) -> Ended:
    reason = attempt.stop.reason
    assert reason is not None
    return Ended(reason, details={"reason": reason})


def _inherited(work: Work) -> dict[str, str]:
    """Return the part of this worker's environment that the work is given."""
    if isinstance(work, AgentWork):
        return agent_variables(os.environ, work.pass_env)
    return dict(os.environ)


def _draft() -> BlobDraft:
    return ValueDraft()
