"""What reaches the loop of a run: events, requests, merges, each with where its answer goes; and the inbox it is looked for in.

The inbox is looked into four times a second for what other processes ask. Source: contract.md §3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pixirnb.errors import LogWriteFailed
from pixirnb.history.event_draft import EventDraft
from pixirnb.machine.board import Board
from pixirnb.machine.requests import Request
from pixirnb.protocols.ports import Clock, Inbox, Offload, RequestReply, RunLog

Reply = Callable[[RequestReply | None], None]
"""Told `{"ok": true}`, an error's document, or None when the course ended before the request was heard."""


@dataclass(frozen=True, slots=True)
class Message:
    """Something that happened: facts to record, or a wish of the operator to be noted."""

    facts: tuple[EventDraft, ...] = ()
    note: Callable[[Board], None] | None = None
    request: Request | None = None
    """What a person asks: granted or refused in the turn it is heard in, and answered once that is on disk."""
    reply: Reply | None = None
    """Where the answer goes; None: to the inbox."""
    said: RequestReply | None = None
    """The answer, where the request has been carried out: given once the facts are on disk."""


def drop_message(stimulus: Message) -> None:
    """Tell whoever waits that the course ended before this was heard."""
    if stimulus.reply is not None:
        stimulus.reply(None)


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

    def answer(self, request_id: str, reply: Mapping[str, object] | None) -> None:
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
