"""Looks into a live run's inbox, four times a second, for what other processes ask of it. Source: contract.md §3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pixirnb.machine.requests import Request
from pixirnb.ports import Clock, Inbox, Offload

EVERY_S: Final = 0.25


async def attend(
    inbox: Inbox, clock: Clock, offload: Offload, hear: Callable[[Request], None]
) -> None:
    """Hand on every request as it arrives, for ever; when that is broken off, nobody is heard any more."""
    try:
        while True:
            for request in await offload(inbox.take):
                hear(request)
            await clock.sleep_until(clock.now() + EVERY_S)
    finally:
        inbox.close()
