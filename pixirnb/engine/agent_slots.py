"""Limit on the agents that work at a time in one engine, whatever runs they belong to: first come, first served;
who has lent its slot has it back before the others.

    AgentSlots   the limit, and the queue
    Slot         one agent's: taken before its session begins, lent while it waits for a run of its own, given back at its end

An agent that waits for a run it started holds no slot, so that the agents of that run can work. Source: contract.md §7.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import anyio

from pixirnb.errors import InvalidArguments
from pixirnb.protocols.ports import Stop
from pixirnb.runners.processes.eager_tasks import in_task

VARIABLE: Final = "PIXIRNB_MAX_AGENTS"
STANDARD: Final = 6
_MOST: Final = 1000


def agent_limit(environment: Mapping[str, str]) -> int:
    """Return the number of agents that may work at a time here. Raises InvalidArguments (`bad_setting`)."""
    text = environment.get(VARIABLE, "").strip()
    if not text:
        return STANDARD
    limit = int(text) if text.isascii() and text.isdigit() and len(text) <= 4 else 0
    if not 1 <= limit <= _MOST:
        raise InvalidArguments(
            f"{VARIABLE} must be a whole number of agents, got `{text:.40}`",
            fix=f"set it to 1–{_MOST}, or unset it for {STANDARD}",
            code="bad_setting",
        )
    return limit


class AgentSlots:
    """The slots of an engine and the queue for them. Belongs to the engine's thread."""

    def __init__(self, limit: int = STANDARD) -> None:
        self._limit = limit
        self._taken = 0
        self._queue: deque[anyio.Event] = deque()

    @property
    def taken(self) -> int:
        """Return the number of agents that work now."""
        return self._taken

    @property
    def waiting(self) -> int:
        """Return the number of agents that wait for their turn."""
        return len(self._queue)

    def resize(self, limit: int) -> None:
        """Change the limit; agents that hold a slot keep it."""
        self._limit = limit
        self._pass_on()

    async def acquire(self, *, is_back: bool = False) -> None:
        """Wait until it is the caller's turn; `is_back`: before all that have not begun."""
        turn = anyio.Event()
        self._queue.insert(0 if is_back else len(self._queue), turn)
        self._pass_on()
        try:
            await turn.wait()
        except BaseException:
            if turn in self._queue:
                self._queue.remove(turn)
            else:
                self.release()
            raise

    def release(self) -> None:
        """Free the caller's slot."""
        self._taken -= 1
        self._pass_on()

    def _pass_on(self) -> None:
        while self._queue and self._taken < self._limit:
            self._taken += 1
            self._queue.popleft().set()


class Slot:
    """One agent's slot."""

    def __init__(self, slots: AgentSlots) -> None:
        self._slots = slots
        self._is_held = self._is_kept = False
        self._calls = 0

    async def acquire(self, stop: Stop) -> bool:
        """Wait for a slot; return False where a stop comes first."""
        await in_task()
        async with anyio.create_task_group() as group:

            async def give_up() -> None:
                await stop.wait()
                group.cancel_scope.cancel()

            group.start_soon(give_up)
            await self._acquire(is_back=False)
            group.cancel_scope.cancel()
        return self._is_held and stop.reason is None

    def release(self) -> None:
        """Free the slot, if it is held. Safe to call twice."""
        if self._is_held:
            self._is_held = False
            self._slots.release()

    @asynccontextmanager
    async def released(self) -> AsyncIterator[None]:
        """Let others use the slot while the context is open; on exit the slot is taken again. Nothing for one not held."""
        self._calls += 1
        self._is_kept = self._is_kept or self._is_held
        self.release()
        try:
            yield
        finally:
            self._calls -= 1
            if self._calls == 0 and self._is_kept:
                self._is_kept = False
                await self._acquire(is_back=True)

    async def _acquire(self, *, is_back: bool) -> None:
        await self._slots.acquire(is_back=is_back)
        self._is_held = True
