"""Claims of attempts, at the scheduler: who is first may begin an attempt, who is second is refused.

A scheduler that lost sight of a worker gives its task to another one. Our plugin decides by a handler of the scheduler; where
none may be installed, a queue with room for one entry does, which is put to without waiting.
"""

from __future__ import annotations

from typing import Any, Final

from distributed import Client, Queue, Scheduler, Worker
from distributed.diagnostics.plugin import SchedulerPlugin

from pixirnb.runners.cluster.ports import ANOTHER, DRIVER

_KEEP_S: Final = 3600.0
"""Seconds that a claim outlives its task: a worker that was cut off may still ask."""
_REFUSED_S: Final = 1.0
"""Seconds after which a full queue is a refusal; without any, asyncio refuses an empty one too."""
HANDLER: Final = "pixirnb_claim"


class ClaimsPlugin(SchedulerPlugin):
    """The claims of all attempts that a scheduler has been given."""

    name = "pixirnb-claims"
    idempotent = True

    def __init__(self) -> None:
        self.claims: dict[str, str] = {}
        self._scheduler: Scheduler | None = None

    async def start(self, scheduler: Scheduler) -> None:
        """Offer the handler."""
        self._scheduler = scheduler
        scheduler.handlers[HANDLER] = self.claim

    def claim(self, comm: object = None, key: str = "", by: str = "") -> str:  # noqa: ARG002 - as handlers are called
        """Return who holds the claim now: the first who asked."""
        return self.claims.setdefault(key, by)

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002 - as plugins are called
        """Forget a claim some time after its task was forgotten."""
        if finish == "forgotten" and key in self.claims and self._scheduler is not None:
            self._scheduler.loop.call_later(_KEEP_S, self.claims.pop, key, None)


def withdraw(client: Client, key: str, *, has_plugin: bool) -> str:
    """Take the claim of an attempt for its driver, so that no worker can begin it; return who holds it. Blocking.

    Returns: `DRIVER`, the address of a worker, or `ANOTHER` where only a queue knows. Raises OSError, TimeoutError.
    """
    if has_plugin:
        holder: str = client.sync(getattr(client.scheduler, HANDLER), key=key, by=DRIVER)
        return holder
    try:
        Queue(f"{key}-claim", client=client, maxsize=1).put(DRIVER, timeout=_REFUSED_S)
    except TimeoutError:
        return ANOTHER
    return DRIVER


async def take_claim(worker: Worker, key: str, *, has_plugin: bool) -> str:
    """Take the claim of an attempt for a worker; return who holds it: the worker itself, or another. Called on its loop."""
    if has_plugin:
        holder: str = await getattr(worker.scheduler, HANDLER)(key=key, by=worker.address)
        return holder
    client = worker._get_client()  # noqa: SLF001 - the documented `get_client` needs a task's thread
    queue = await Queue(f"{key}-claim", client=client, maxsize=1)
    try:
        await queue.put(worker.address, timeout=_REFUSED_S)
    except TimeoutError:
        return ANOTHER
    return worker.address
