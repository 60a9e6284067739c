"""Coroutines that run where they are started, and become tasks of the loop only when they need it.

    tasks.start(attempt())      # runs until it waits for a `Signal`, or is over
    signal.set()                # goes on with it, on the spot

To start a task and to wake it costs a step in a thread as much as all its bookkeeping: it waits once, for its thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from functools import partial
from typing import Any

import anyio
import anyio.abc

Coro = Coroutine[Any, Any, None]


class Signal:
    """An event that one coroutine waits for: to set it goes on with that coroutine. Belongs to the loop's thread."""

    __slots__ = ("_then", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._then: Callable[[], object] | None = None

    def set(self) -> None:
        """Go on with the coroutine that waits; a second time changes nothing."""
        if not self.is_set:
            self.is_set = True
            if self._then is not None:
                self._then()

    async def wait(self) -> None:
        """Return once it is set, in a task as outside of one."""
        if self.is_set:
            return
        if _CALL.is_eager:
            await _Pause(self)
            return
        event = anyio.Event()
        self._then = event.set
        await event.wait()

    def then(self, call: Callable[[], object]) -> None:
        """Call once it is set."""
        self._then = call


class EagerTasks:
    """The coroutines of one task group that need no task yet. Make it in a task: what it starts has a copy of its context."""

    def __init__(self, group: anyio.abc.TaskGroup) -> None:
        self.group = group
        # A caller may be a plain callback of the loop, in whose context no task can be started.
        self._context = copy_context()
        self._waiting: dict[Coro, tuple[Signal, Context]] = {}

    def start(self, coro: Coro) -> None:
        """Run a coroutine until it waits for a signal or needs a task."""
        self._go_on(coro, self._context.copy())

    def cancel(self) -> None:
        """Cancel those that wait, each in a task: it may have to wait for what it ends."""
        for coro in list(self._waiting):
            signal, context = self._waiting.pop(coro)
            signal.then(_nothing)
            context.run(self.group.start_soon, _cancelled, coro)

    def _go_on(self, coro: Coro, context: Context) -> None:
        self._waiting.pop(coro, None)
        outer, _CALL.is_eager = _CALL.is_eager, True
        try:
            signal = context.run(coro.send, None)
        except StopIteration:
            return
        except BaseException as error:  # noqa: BLE001 - it ends the group, as that of a task does
            context.run(self.group.start_soon, _raised, error)
            return
        finally:
            _CALL.is_eager = outer
        if signal is None:
            context.run(self.group.start_soon, _carried, coro)
        else:
            self._waiting[coro] = signal, context
            signal.then(partial(self._go_on, coro, context))


async def in_task() -> None:
    """Return in a task of the loop: call before anything that only a task may do, such as anyio's scopes and threads."""
    if _CALL.is_eager:
        await _Pause(None)


class _Call(threading.local):
    is_eager = False
    """True while a coroutine of this thread runs that is no task."""


_CALL = _Call()


class _Pause:
    __slots__ = ("signal",)

    def __init__(self, signal: Signal | None) -> None:
        self.signal = signal

    def __await__(self) -> Generator[Signal | None, None, None]:
        yield self.signal


async def _carried(coro: Coro) -> None:
    await _Rest(coro)


async def _cancelled(coro: Coro) -> None:
    await _Rest(coro, anyio.get_cancelled_exc_class()())


async def _raised(error: BaseException) -> None:
    raise error


class _Rest:
    """Rest of a coroutine that has begun; `error` is raised in it first."""

    def __init__(self, coro: Coro, error: BaseException | None = None) -> None:
        self.coro = coro
        self.error = error

    def __await__(self) -> Generator[Any, Any, None]:
        # An `await` refuses a coroutine that waits.
        error, answer = self.error, None
        while True:
            try:
                waits = self.coro.send(answer) if error is None else self.coro.throw(error)
            except StopIteration:
                return
            try:
                error, answer = None, (yield waits)
            except BaseException as raised:  # noqa: BLE001 - a cancellation, or an exit: it is the coroutine's
                error = raised


def _nothing() -> None:
    pass
