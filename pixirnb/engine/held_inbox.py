"""The inbox of a held run, polled four times a second for requests of other processes. Source: contract.md §3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from msgspec import Struct

from pixirnb.errors import LogWriteFailed
from pixirnb.machine.requests import Request
from pixirnb.protocols.ports import Clock, Inbox, Offload, RunLog
from pixirnb.runners.processes.worker_threads import surely

EVERY_S: Final = 0.25
"""Seconds between two looks into an inbox."""


class HeldInbox(Struct, eq=False):
    """An inbox for as long as its run is held: an owner that lost the run leaves the requests to the next one."""

    inbox: Inbox
    log: RunLog
    is_neighbour: Callable[[str], bool]
    """Returns whether a run is live and may write the same files: a file alone does not prove it."""

    def take(self) -> list[Request]:
        """Return the requests that arrived. Raises LogWriteFailed (`lock_lost`)."""
        self.log.require_hold()
        return [request for request in self.inbox.take() if self._is_true(request)]

    def _is_true(self, request: Request) -> bool:
        """Return False, and forget the request, if it names a neighbour that is none."""
        if request.verb != "neighbour" or self.is_neighbour(str(request.arguments.get("run_id"))):
            return True
        self.inbox.answer(request.id, None)
        return False

    def answer(self, request_id: str, reply: Mapping[str, object] | None) -> None:
        """Leave a reply, unless the run was lost."""
        with suppress(LogWriteFailed):
            self.log.require_hold()
            self.inbox.answer(request_id, reply)

    def close(self) -> None:
        """Take no more requests."""
        self.inbox.close()


async def poll_inbox(
    inbox: Inbox,
    clock: Clock,
    offload: Offload,
    on_request: Callable[[Request], None],
    on_lost: Callable[[LogWriteFailed], None],
) -> None:
    """Pass on every request as it arrives, until the run is lost; when that is broken off, no more requests are taken."""
    try:
        while True:
            for request in await surely(offload)(inbox.take):
                on_request(request)
            await clock.sleep_until(clock.now() + EVERY_S)
    except LogWriteFailed as error:
        on_lost(error)
    finally:
        inbox.close()
