"""Messages to the loop of a run: events, requests, merges, each with the receiver of its answer. Source: contract.md §3."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Any, Final

import anyio
from msgspec import Struct
from msgspec.structs import replace

from pixirnb.errors import LogWriteFailed
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.file_events import CONFLICT
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.machine.board import Board
from pixirnb.machine.requests import Request
from pixirnb.protocols.ports import Clock, Inbox, Offload, RequestReply
from pixirnb.runners.output.mask import Mask, mask_here
from pixirnb.runners.processes.worker_threads import surely
from pixirnb.spec.expressions.conditions import is_same

COMMIT_WINDOW_S: Final = 0.002
"""Seconds that a turn waits for more messages while other attempts are running."""
STOOD_STILL_S: Final = 1.0
"""Seconds after which a loop that wakes late has stood still: it collects ends before any attempt counts as late."""

_FREE: Final = frozenset({"name", "note", "value"})

Reply = Callable[[RequestReply | None], None]
"""Function that takes `{"ok": true}`, an error's document, or None when the course ended before the request."""


class Message(Struct, frozen=True):
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

    def __init__(
        self, clock: Clock, attempts: Sized, catch_up_s: float, on_due: Callable[[], None]
    ) -> None:
        """Prepare a queue. `attempts`: those under way; `catch_up_s`: seconds to collect ends after standing still.

        `on_due` is called when `take` is to be asked.
        """
        self._clock = clock
        self._attempts = attempts
        self._catch_up_s = catch_up_s
        self._on_due = on_due
        self._messages: list[Message] = []
        self._is_closed = False
        self._gathers_until: float | None = None
        """Time up to which the next turn waits for more messages; None where it has none."""
        self._rings_at: float | None = None
        """Time at which `ring` calls `on_due`."""
        self._is_earlier = anyio.Event()
        """Set when `_rings_at` came nearer."""
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
        self._on_due()

    def ride_by(self, at: float) -> None:
        """Set `ride_at` where it is not set."""
        if self.ride_at is None:
            self.ride_at = at
            self._ring_by(at)

    def close(self, board: Board) -> None:
        """Drop the messages that are left, and all that come; `board` takes the changes of those that are left."""
        self._is_closed = True
        for message in self._messages:
            _drop(message)
            if message.note is not None:  # a thread that has returned meanwhile does not go on
                message.note(board)

    def take(self) -> list[Message] | None:
        """Return the messages of the turn that is due; None where none is."""
        deadline, now = self._deadline(), self._clock.now()
        is_due = deadline is not None and now >= deadline
        if not self._messages and not is_due:
            self._ring_by(deadline)
            return None
        if self._gathers_until is None:
            self._gathers_until = now
            if deadline is not None and now - deadline > STOOD_STILL_S:
                self._gathers_until = now + self._catch_up_s
            elif self._messages:
                # While others are under way their ends may be near: one sync can serve them all.
                self._gathers_until = now + COMMIT_WINDOW_S
        if self._attempts and now < self._gathers_until:
            self._ring_by(self._gathers_until)
            return None
        self._gathers_until = None
        taken, self._messages = self._messages, []
        return taken

    async def ring(self) -> None:
        """Call `on_due` at the times at which a turn may be due without a message; runs for ever."""
        while True:
            await self._clock.wait(self._is_earlier, self._rings_at)
            if self._is_earlier.is_set():
                self._is_earlier = anyio.Event()
            if self._rings_at is not None and self._clock.now() >= self._rings_at:
                self._rings_at = None
                self._on_due()

    def _ring_by(self, at: float | None) -> None:
        # A ring that comes early asks when the next is due: to move it for each turn costs more.
        if at is not None and (self._rings_at is None or at < self._rings_at):
            self._rings_at = at
            self._is_earlier.set()

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
            by = draft.data["held_by"]
            shown = {**by, "seen": mask_here({}).value(by["seen"])}
            yield replace(draft, data={**draft.data, "held_by": shown})
        else:
            yield draft


def mask_words(drafts: Iterable[EventDraft], run: RunState) -> Iterator[EventDraft]:
    """Return the events of a request, with secrets masked in all that its sender was free to write."""
    mask = mask_here({})
    for draft in drafts:
        data = {
            key: mask.value(value) if key in _FREE else value for key, value in draft.data.items()
        }
        if draft.data.get("verdict") == "accept":
            data["value"] = _mask_answer(draft.data["value"], run.steps[draft.data["step"]], mask)
        yield replace(draft, data=data)


def _mask_answer(value: Any, state: StepState, mask: Mask) -> Any:
    """Return an answer without secrets. Choices of a question and sides of a conflict are names of the workflow."""
    if any(is_same(value, choice) for choice in state.choices):
        return value
    if state.error_kind == CONFLICT:
        is_by_file = isinstance(value, dict)
        return {mask.text(path): side for path, side in value.items()} if is_by_file else value
    return mask.value(value)


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
