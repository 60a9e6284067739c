"""The writer of a run's log: groups in order, one at a time, on a thread of its own while the loop goes on.

A thread kept for a run, because every step waits for its group: asking a pool for a worker each time costs a step more than
all its other bookkeeping. Nothing here decides what is written, or what a refusal means.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence

import anyio
from msgspec import Struct, field

from pixirnb.errors import LogWriteFailed
from pixirnb.history.events import Event
from pixirnb.protocols.ports import RunLog
from pixirnb.runners.processes.eager_tasks import in_task
from pixirnb.runners.processes.loop_mailbox import Mailbox
from pixirnb.runners.processes.worker_threads import thread_refused


class _Order(Struct, eq=False):
    events: Sequence[Event]
    done: anyio.Event = field(default_factory=anyio.Event)
    error: BaseException | None = None


class LogWriter:
    """The writer of one run's log. Belongs to one loop. The thread starts with the first group and ends with `close`."""

    def __init__(self, log: RunLog, is_only_run: Callable[[], bool] = lambda: False) -> None:
        """Prepare a writer. `is_only_run` returns whether the loop drives no other run now."""
        self._log = log
        self._is_only_run = is_only_run
        self._orders: queue.SimpleQueue[_Order | None] = queue.SimpleQueue()
        self._mailbox: Mailbox | None = None
        self._thread: threading.Thread | None = None

    async def append(self, events: Sequence[Event], *, is_alone: bool = False) -> None:
        """Return when the group is durable. A cancellation waits until then.

        `is_alone`: the run has nothing else to do. If no other run has either, the loop's thread writes: handing over costs as
        much as the sync.

        Raises LogWriteFailed, and what `RunLog.append` raises.
        """
        if is_alone and self._is_only_run():
            self._log.append(events)
            return
        await in_task()
        if self._mailbox is None:
            self._mailbox = self._start()
        order = _Order(events)
        self._orders.put(order)
        # Whoever is told of a cancellation closes the log: never under a write.
        with anyio.CancelScope(shield=True):
            await order.done.wait()
        if order.error is not None:
            raise order.error

    def close(self) -> None:
        """End the thread, after the group it writes. Safe to call twice; nothing may be appended afterwards."""
        self._orders.put(None)
        if self._thread is not None:
            self._thread.join()

    def _start(self) -> Mailbox:
        mailbox, run_id = Mailbox(), self._log.run_id
        thread = threading.Thread(
            target=self._write, args=(mailbox,), name=f"pixirnb log {run_id}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:
            refused = thread_refused(error)
            raise LogWriteFailed(
                f"the log of run {run_id} cannot be written: {refused.message}", fix=refused.fix
            ) from error
        self._thread = thread
        return mailbox

    def _write(self, mailbox: Mailbox) -> None:
        while (order := self._orders.get()) is not None:
            try:
                self._log.append(order.events)
            except BaseException as error:  # noqa: BLE001 - raised on, where it was asked for
                order.error = error
            mailbox.post(order.done.set)
