"""The engine's connection with the reaper of one attempt: one request out, then messages both ways, a line of JSON each."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import anyio

from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import Asking
from pixirnb.runners.processes import reaper

MAX_OPEN: Final = 64
"""Maximum number of open questions of one attempt; more wait in the pipe."""


class Questions:
    """The questions without an answer, and the pipe they are answered on."""

    def __init__(self, ask: Asking) -> None:
        """Open the pipe of answers; its `reading` end belongs to the process. Raises OSError."""
        self._ask = ask
        self.reading, writing = os.pipe()
        os.set_blocking(writing, False)
        self._writing: int | None = writing
        self._one_at_a_time = anyio.Lock()
        self._open = 0
        self._answered = anyio.Event()

    async def answer(self, frame: JsonObject) -> None:
        """Ask one question, and write its answer."""
        self._open += 1
        try:
            answer = await self._ask(frame["question"], frame["data"])
        finally:
            self._open -= 1
            self._answered.set()
            self._answered = anyio.Event()
        line = memoryview(json.dumps({"id": frame["id"], "answer": answer}).encode() + b"\n")
        async with self._one_at_a_time:
            while line and self._writing is not None:
                try:
                    line = line[os.write(self._writing, line) :]
                except BlockingIOError:
                    await anyio.wait_writable(self._writing)
                except BrokenPipeError:
                    return  # it is gone: whoever listens finds out why

    async def pause(self) -> None:
        """Wait while too many questions are open."""
        while self._open >= MAX_OPEN:
            await self._answered.wait()

    def close(self) -> None:
        """Close our end of the pipe."""
        if self._writing is not None:
            os.close(self._writing)
            self._writing = None


_CHUNK: Final = 65_536


class ReaperConnection:
    """Our end of the socket to a reaper. Never raises for a reaper that is gone."""

    def __init__(self, ours: socket.socket) -> None:
        """Take our end of a `connected_pair`."""
        self._socket = ours
        self._heard = b""

    async def send_request(self, header: JsonObject, tail: bytes) -> None:
        """Send what is to be started. A reaper that is gone takes nothing: `next_message` returns None then."""
        head = json.dumps(header).encode()
        data = memoryview(reaper.REQUEST.pack(len(head), len(tail)) + head + tail)
        while data:
            try:
                data = data[self._socket.send(data) :]
            except BlockingIOError:
                await anyio.wait_writable(self._socket)
            except (BrokenPipeError, ConnectionResetError):
                return

    def tell(self, message: JsonObject) -> None:
        """Send a message, without waiting."""
        try:
            self._socket.send(json.dumps(message).encode() + b"\n")
        except OSError:
            pass  # the reaper is gone: whoever listens hears the end of the line

    async def next_message(self) -> JsonObject | None:
        """Return the next message; None where the reaper is gone."""
        while b"\n" not in self._heard:
            try:
                words = self._socket.recv(_CHUNK)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
                continue
            except OSError:
                return None
            if not words:
                return None
            self._heard += words
        line, _, self._heard = self._heard.partition(b"\n")
        message: JsonObject = json.loads(line)
        return message

    def read_arrived(self) -> Iterator[JsonObject]:
        """Yield the messages that have arrived, without waiting."""
        try:
            while words := self._socket.recv(_CHUNK):
                self._heard += words
        except OSError:
            pass  # nothing more, for now or for ever
        *lines, self._heard = self._heard.split(b"\n")
        yield from map(json.loads, lines)

    def end_requests(self) -> None:
        """Say nothing more: a late reaper starts nothing, and its last words can still be read."""
        with suppress(OSError):  # it is gone
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the socket: a late reaper starts nothing."""
        self._socket.close()
