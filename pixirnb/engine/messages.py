"""Messages to the loop of a run: events, requests, merges, each with the receiver of its answer. Source: contract.md §3."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Final

import anyio

from pixirnb.errors import LogWriteFailed
from pixirnb.history.event_draft import EventDraft
from pixirnb.machine.board import Board
from pixirnb.machine.requests import Request
from pixirnb.protocols.ports import Clock, Inbox, Offload, RequestReply
from pixirnb.runners.output.mask import mask_here
from pixirnb.runners.processes.worker_threads import surely

COMMIT_WINDOW_S: Final = 0.002
"""Seconds that a turn waits for more messages while other attempts are running."""
STOOD_STILL_S: Final = 1.0
"""Seconds after which a loop that wakes late has stood still: it collects ends before any attempt counts as late."""

_FREE: Final = frozenset({"name", "note", "value"})

Reply = Callable[[RequestReply | None], None]
"""Function that takes `{"ok": true}`, an error's document, or None when the course ended before the request."""


@dataclass(frozen=True, slots=True)
class Message:
    """Message to a run's loop: events to record, or a change of the board."""

    drafts: tuple[EventDraft, ...] = ()
    note: Callable[[Board], None] | None = None
    request: Request | None = None
    """A person's request: granted or refused in the turn it arrives in, and answered once that is on disk."""
    reply: Reply | None = None
    """Receiver of the answer; None: the inbox."""
    answer: RequestReply | None = None
    """The answer, where the request has been carried out: sent once the drafts are on disk."""


class MessageQueue:
    """The messages to one loop, and the times at which it wakes without one. Belongs to the engine's thread."""

    def __init__(self, clock: Clock, attempts: Sized, catch_up_s: float) -> None:
        """Prepare a queue. `attempts`: those under way; `catch_up_s`: seconds to collect ends after standing still."""
        self._clock = clock
        self._attempts = attempts
        self._catch_up_s = catch_up_s
        self._messages: list[Message] = []
        self._arrived = anyio.Event()
        self._is_closed = False
        self.wake_at: float | None = None
        """Time at which the machine is to decide again."""
        self.ride_at: float | None = None
        """Time at which riders are recorded by themselves: set at a start, so that `attempt_started` need not wake the loop."""

    def post(self, message: Message) -> None:
        """Take a message, or drop it after the end of the course."""
        if self._is_closed:
            _drop(message)
            return
        self._messages.append(message)
        self._arrived.set()

    def wake(self) -> None:
        """Let the loop compute its deadline again."""
        self._arrived.set()

    def ride_by(self, at: float) -> bool:
        """Set `ride_at` where it is not set; return whether it was."""
        if self.ride_at is not None:
            return False
        self.ride_at = at
        return True

    def close(self, board: Board) -> None:
        """Drop the messages that are left, and all that come; `board` takes the changes of those that are left."""
        self._is_closed = True
        for message in self._messages:
            _drop(message)
            if message.note is not None:  # a thread that has returned meanwhile does not go on
                message.note(board)

    async def gather(self) -> list[Message]:
        """Wait for messages or a deadline; return the messages of one turn."""
        while not self._messages:
            deadline = self._deadline()
            if deadline is not None and self._clock.now() >= deadline:
                break
            await self._clock.wait(self._arrived, deadline)
            self._arrived = anyio.Event()
        deadline, now = self._deadline(), self._clock.now()
        window = now
        if deadline is not None and now - deadline > STOOD_STILL_S:
            window = now + self._catch_up_s
        elif self._messages:
            # While others are under way their ends may be near: one sync can serve them all.
            window = now + COMMIT_WINDOW_S
        while self._attempts and self._clock.now() < window:
            self._arrived = anyio.Event()
            await self._clock.wait(self._arrived, window)
        taken, self._messages = self._messages, []
        self._arrived = anyio.Event()
        return taken

    def _deadline(self) -> float | None:
        return min((at for at in (self.ride_at, self.wake_at) if at is not None), default=None)


def _drop(message: Message) -> None:
    """Report to the waiting sender that the course ended before this message."""
    if message.reply is not None:
        message.reply(None)


def hide(drafts: Iterable[EventDraft]) -> Iterator[EventDraft]:
    """Yield the machine's events, with secrets masked in the values that a false `when` has seen."""
    for draft in drafts:
        if draft.kind == "step_held" and "seen" in draft.data["held_by"]:
            yield replace(draft, data=mask_here({}).value(draft.data))
        else:
            yield draft


def mask_words(drafts: Iterable[EventDraft]) -> tuple[EventDraft, ...]:
    """Return the events of a request, with secrets masked in all that its sender was free to write."""
    mask = mask_here({})
    return tuple(
        replace(
            draft,
            data={
                key: mask.value(value) if key in _FREE else value
                for key, value in draft.data.items()
            },
        )
        for draft in drafts
    )


async def answer_requests(
    answers: Sequence[tuple[Message, RequestReply]],
    lost: LogWriteFailed | None,
    inbox: Inbox | None,
    offload: Offload,
) -> None:
    """Send the answer of each message; `lost` takes the place of a yes that could not be written down."""
    for message, answer in answers:
        reply = lost.document() if lost is not None and answer["ok"] else answer
        if message.reply is not None:
            message.reply(reply)
        elif message.request is not None and inbox is not None:
            awaited = reply if message.request.is_awaited else None
            await surely(offload)(inbox.answer, message.request.id, awaited)
