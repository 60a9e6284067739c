"""One attempt on a worker: its frames, kept until the driver has released it, and its value until it was fetched."""

from __future__ import annotations

import asyncio
import itertools
import os
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, Self

from msgspec.structs import replace

from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import Question
from pixirnb.protocols.work import AgentEvent, Ended, Output, Progress, Report, RunnerEvent
from pixirnb.runners.cluster.packet import Frame, FrameNews, Packet, RemotePayload, RemoteQuestion
from pixirnb.runners.cluster.worker_files import WorkerFiles
from pixirnb.runners.output.mask import StreamMask, mask_here
from pixirnb.runners.processes.stop_signal import StopSignal

_GATHER_S: Final = 0.01
"""Seconds that events wait for others, to leave in one frame."""
_FRAME_BYTES: Final = 256 * 1024
_PER_SECOND: Final = 4 * 1024 * 1024
_INLINE: Final = 256 * 1024
"""Maximum bytes of a value in a frame."""
_PIECE: Final = 1024 * 1024
_NO_MORE: Final = Frame(())


class Spool:
    """The frames of an attempt: in memory while they are few, then in a file."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_FRAME_BYTES)  # noqa: SIM115 - closed with the attempt
        self._ends = [0]
        self._lock = threading.Lock()

    def add(self, frame: bytes) -> int:
        """Add a frame and return its number."""
        with self._lock:
            self._file.seek(0, os.SEEK_END)
            self._file.write(frame)
            self._ends.append(self._ends[-1] + len(frame))
            return len(self._ends) - 2

    @property
    def count(self) -> int:
        """Return the number of frames."""
        return len(self._ends) - 1

    def read(self, since: int) -> list[bytes]:
        """Return frames from a number on."""
        frames: list[bytes] = []
        size = 0
        with self._lock:
            for begin, end in zip(self._ends[since:], self._ends[since + 1 :], strict=False):
                if frames and size + end - begin > _PIECE:
                    break
                self._file.seek(begin)
                frames.append(self._file.read(end - begin))
                size += end - begin
        return frames

    def close(self) -> None:
        self._file.close()


class ValueDraft:
    """A large value on its way to the driver, in a file of this machine. See `ports.BlobDraft`."""

    def __init__(self) -> None:
        self.file: BinaryIO = tempfile.NamedTemporaryFile(prefix="pixirnb-")  # type: ignore[assignment]  # noqa: SIM115 - closed with the attempt
        self.size = 0

    @property
    def path(self) -> Path:
        return Path(self.file.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    def write(self, data: bytes) -> None:
        self.file.write(data)
        self.file.flush()
        self.size += len(data)

    def keep(self) -> str:
        raise NotImplementedError("the driver keeps it")

    def drop(self) -> None:
        with suppress(OSError):
            self.file.close()


class WorkerAttempt:
    """One attempt on this worker. Used on the service's loop; its spool on any thread."""

    def __init__(self, packet: Packet, send: Callable[[str, FrameNews], None]) -> None:
        self.packet = packet
        self.stop = StopSignal()
        self.spool = Spool()
        self.ended = False
        self.is_thread = False
        self.is_over = False
        """True once nothing of it goes on here."""
        self.returned = asyncio.Event()
        """Set when a thread that outlived its step has returned."""
        self.blob_arrived = asyncio.Event()
        """Set when an argument that was requested is here, whole."""
        self.files: WorkerFiles | None = None
        """Its files, where those of the driver are not here."""
        self._send = send
        self._mask = mask_here({})
        self._masks: dict[str, StreamMask] = {}
        self._events: list[RunnerEvent] = []
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._second, self._sent = 0, 0
        self._payload: bytes | ValueDraft | None = None
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Event] = {}
        """The questions without an answer."""
        self._answers: dict[int, JsonObject] = {}

    def emit(self, event: RunnerEvent) -> None:
        """Take an event of the runner; secrets of this worker are masked."""
        self._mask.refresh()
        match event:
            case Output(stream, chunk):
                mask = self._masks.setdefault(stream, self._mask.stream())
                event = Output(stream, mask.feed(chunk))
                self._size += len(chunk)
            case Progress(fraction, message):
                event = Progress(fraction, self._mask.text(message))
            case Report() | AgentEvent():
                event = replace(event, data=self._mask.value(event.data))
            case _:
                pass
        self._events.append(event)
        if self._size >= _FRAME_BYTES:
            self._leave()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_GATHER_S, self._leave)

    def request_files(self, known: tuple[str, ...]) -> None:
        """Request the files of the attempt, without what is in the known trees."""
        self._leave(Frame((), lacks=known))

    def request_blobs(self, digests: tuple[str, ...]) -> None:
        """Request arguments."""
        self._leave(Frame((), blobs=digests))

    async def ask(self, question: Question, data: JsonObject) -> JsonObject:
        """Return the driver's answer to a question of the agent. See `ports.Asking`."""
        number, answered = next(self._numbers), asyncio.Event()
        self._waiting[number] = answered
        self._leave(Frame((), question=RemoteQuestion(number, question, self._mask.value(data))))
        await answered.wait()
        return self._answers.pop(number)

    def take_answer(self, number: int, answer: JsonObject) -> None:
        """Take the answer to a question; one that comes again is dropped."""
        if (waiting := self._waiting.pop(number, None)) is not None:
            self._answers[number] = answer
            waiting.set()

    def finish(self, ended: Ended) -> None:
        """Send the last frame."""
        for stream, mask in self._masks.items():
            if rest := mask.flush():
                self._events.append(Output(stream, rest))  # type: ignore[arg-type]
        ended = replace(
            ended,
            message=self._mask.text(ended.message),
            details=self._mask.data(ended.details),
        )
        if ended.value is not None and "value" in ended.value:
            ended = replace(
                ended, value={**ended.value, "value": self._mask.value(ended.value["value"])}
            )
        payload: RemotePayload | None = None
        if ended.payload is not None:
            self._payload = ended.payload if isinstance(ended.payload, bytes | ValueDraft) else None
            size = len(ended.payload) if isinstance(ended.payload, bytes) else _size(self._payload)
            if not isinstance(ended.payload, bytes) or size > _INLINE:
                payload, ended = RemotePayload(size), replace(ended, payload=None)
        files = None if self.files is None else self.files.left
        self._leave(Frame((), ended, payload, files))
        self.ended = True

    def read_payload(self, offset: int) -> bytes:
        """Return the next piece of the value."""
        if isinstance(self._payload, ValueDraft):
            with self._payload.path.open("rb") as file:
                file.seek(offset)
                return file.read(_PIECE)
        return (self._payload or b"")[offset : offset + _PIECE]

    def close(self) -> None:
        """Delete what it left here."""
        self.spool.close()
        if self.files is not None:
            self.files.close()
        if isinstance(self._payload, ValueDraft):
            self._payload.drop()

    def _leave(self, last: Frame = _NO_MORE) -> None:
        """Send a frame of the events so far, and what is to come after them."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        frame = replace(last, events=tuple(self._events)).dumps()
        self._events, self._size = [], 0
        number = self.spool.add(frame)
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._sent = second, 0
        self._sent += len(frame)
        is_awaited = last.ended is not None or last.question is not None
        if is_awaited or self._sent <= _PER_SECOND:
            news: FrameNews = {"key": self.packet.key, "number": number, "frame": frame}
            self._send(self.packet.topic, news)


def _size(payload: bytes | ValueDraft | None) -> int:
    return payload.size if isinstance(payload, ValueDraft) else len(payload or b"")
