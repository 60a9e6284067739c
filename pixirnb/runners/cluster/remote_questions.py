"""The questions of an agent on a worker: each is asked here once, and its answer is sent until the worker has it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from pixirnb.protocols.ports import Asking
from pixirnb.runners.cluster.packet import RemoteQuestion

_AGAIN_S: Final = 1.0
"""Seconds until an answer is sent again that no worker has confirmed."""


class RemoteQuestions:
    """The questions of one attempt. Used on the engine's loop.

    Args:
        ask: answers them; None where the work asks nothing.
        call: makes a call on the worker; returns None where it may not have it.
        key: of the attempt.
    """

    def __init__(
        self, ask: Asking | None, call: Callable[..., Awaitable[object]], key: str
    ) -> None:
        self._ask, self._call, self._key = ask, call, key
        self._open: set[asyncio.Task[None]] = set()

    def begin(self, question: RemoteQuestion | None) -> None:
        """Answer a question while others are open, if there is one."""
        if self._ask is None or question is None:
            return
        task = asyncio.get_running_loop().create_task(self._answer(self._ask, question))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    def close(self) -> None:
        """Answer no more."""
        self._ask = None
        for task in self._open:
            task.cancel()

    async def _answer(self, ask: Asking, question: RemoteQuestion) -> None:
        answer = await ask(question.kind, question.data)
        is_taken = False
        while not is_taken:
            taken = await self._call("take_answer", self._key, question.number, answer)
            is_taken = taken is not None
            await asyncio.sleep(0.0 if is_taken else _AGAIN_S)
