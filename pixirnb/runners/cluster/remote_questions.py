"""The questions of an agent on a worker: each is asked here once, and its answer is sent until the worker has it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import Asking
from pixirnb.runners.cluster.packet import Asked

_AGAIN_S: Final = 1.0
"""Seconds until an answer is sent again that no worker has confirmed."""


class RemoteQuestions:
    """The questions of one attempt. Used on the engine's loop.

    Args:
        ask: answers them; None where the work asks nothing.
        send: sends the answer to a question of a number; returns None where the worker may not have it.
    """

    def __init__(
        self, ask: Asking | None, send: Callable[[int, JsonObject], Awaitable[object]]
    ) -> None:
        self._ask, self._send = ask, send
        self._open: set[asyncio.Task[None]] = set()

    def begin(self, asked: Asked) -> None:
        """Answer a question, beside others."""
        if self._ask is None:
            return
        task = asyncio.get_running_loop().create_task(self._answer(self._ask, asked))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    def close(self) -> None:
        """Answer no more."""
        self._ask = None
        for task in self._open:
            task.cancel()

    async def _answer(self, ask: Asking, asked: Asked) -> None:
        answer = await ask(asked.question, asked.data)
        is_taken = False
        while not is_taken:
            is_taken = await self._send(asked.number, answer) is not None
            await asyncio.sleep(0.0 if is_taken else _AGAIN_S)
