"""Questions of one attempt's process to the engine, and the pipe for their answers."""

from __future__ import annotations

import json
import os
from typing import Final

import anyio

from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import Asking

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
