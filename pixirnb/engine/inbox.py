"""Looks into a live run's inbox, four times a second, for what other processes ask of it. Source: contract.md §3."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from pixirnb.errors import LogWriteFailed
from pixirnb.machine.requests import Request
from pixirnb.ports import Clock, Inbox, Offload, RunLog

EVERY_S: Final = 0.25


@dataclass(slots=True, eq=False)
class HeldInbox:
    """An inbox for as long as its run is held: whoever has lost it leaves the requests to its next owner."""

    inbox: Inbox
    log: RunLog

    def take(self) -> list[Request]:
        """What arrived. Raises LogWriteFailed (`lock_lost`)."""
        self.log.require_hold()
        return self.inbox.take()

    def answer(self, request_id: str, reply: dict[str, Any] | None) -> None:
        """Leave a reply, unless the run was lost."""
        with suppress(LogWriteFailed):
            self.log.require_hold()
            self.inbox.answer(request_id, reply)

    def close(self) -> None:
        """Hear nobody any more."""
        self.inbox.close()


async def attend(
    inbox: Inbox,
    clock: Clock,
    offload: Offload,
    hear: Callable[[Request], None],
    lost: Callable[[LogWriteFailed], None],
) -> None:
    """Hand on every request as it arrives, until the run is lost; when that is broken off, nobody is heard any more."""
    try:
        while True:
            for request in await offload(inbox.take):
                hear(request)
            await clock.sleep_until(clock.now() + EVERY_S)
    except LogWriteFailed as error:
        lost(error)
    finally:
        inbox.close()
