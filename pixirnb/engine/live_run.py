"""A run that this process drives, as other threads may use it: requests go in, snapshots and news come out."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from pixirnb.engine.broadcast import Listener
from pixirnb.engine.messages import Message
from pixirnb.engine.scheduler import Scheduler
from pixirnb.errors import PixirnbError
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event
from pixirnb.history.run_state import RunState, fold
from pixirnb.machine.board import RunStop
from pixirnb.machine.outcome import RunOutcome, outcome
from pixirnb.machine.requests import Request, grant
from pixirnb.protocols.ports import RequestReply

ENGINE_THREAD: Final = "pixirnb-engine"
_LOOK_S: Final = 0.1

T = TypeVar("T")


class LiveRun(Struct, eq=False):
    """One live run. Every method may be called from any thread."""

    scheduler: Scheduler
    call_soon: Callable[[Callable[[], object]], object]
    """Function that makes a call on the engine's thread, without waiting. Raises RuntimeError where its loop is closed."""
    ended: threading.Event = field(default_factory=threading.Event)
    failure: PixirnbError | None = None
    """The error that ended the loop. None for every run that ended by itself, however badly."""
    started_by: str | None = None
    """Tag of the step of this process whose thread started it."""
    _left: int | None = None
    """Bytes of the log at the end of this course."""

    def stop(self, how: RunStop) -> None:
        """Request the end of the run. Returns at once."""
        self._soon(lambda: self.scheduler.stop(how))

    def record(self, drafts: Sequence[EventDraft]) -> None:
        """Pass drafts to the loop that come from a person. Returns at once."""
        self._soon(lambda: self.scheduler.post(Message(tuple(drafts))))

    def request(self, request: Request) -> RequestReply | None:
        """Return the loop's answer to a request of this process, once it is on disk: `{"ok": true}` or an error's document.

        None when the run came to rest before the request. On the engine's own thread waiting is impossible: there the answer
        holds if no other message comes in between.
        """
        replies: queue.SimpleQueue[RequestReply | None] = queue.SimpleQueue()
        message = Message(request=request, reply=replies.put)
        if threading.current_thread().name == ENGINE_THREAD:
            grant(request, self.scheduler.plan, self.scheduler.board.run)
            self.scheduler.post(message)
            return {"ok": True}
        self._soon(lambda: self.scheduler.post(message))
        while not self.ended.is_set() or not replies.empty():
            try:
                return replies.get(timeout=_LOOK_S)
            except queue.Empty:
                continue
        return None

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Add a listener, called on the engine's thread; return a function that removes it."""
        leave = self.ask(lambda scheduler: scheduler.broadcast.listen(listener))
        return lambda: self._soon(leave)

    def events(self) -> list[Event]:
        """Return every event on disk, as copies: a change in them changes nothing of the run."""
        return [event.copy() for event in self.ask(lambda scheduler: list(scheduler.durable))]

    def ask(self, question: Callable[[Scheduler], T]) -> T:
        """Call `question` where the run's state holds still. It must not block."""
        if self.ended.is_set() or threading.current_thread().name == ENGINE_THREAD:
            return question(self.scheduler)
        answer: Future[T] = Future()

        def ask() -> None:
            try:
                answer.set_result(question(self.scheduler))
            except Exception as error:  # noqa: BLE001 - raised where it was asked
                answer.set_exception(error)

        self._soon(ask)
        while not wait([answer], _LOOK_S).done:
            if self.ended.is_set():
                return question(self.scheduler)
        return answer.result()

    def leave(self) -> None:
        """End the course: close its log, and record its length."""
        self._left = self._log_bytes()
        try:
            self.scheduler.log.close()
        finally:
            self.ended.set()

    def leave_to_parent(self) -> None:
        """Leave the run to the parent of this forked process: here it is known from its log alone."""
        self.ended = threading.Event()  # the lock of the other may be held for ever
        self.ended.set()
        self._left = -1

    def is_outdated(self) -> bool:
        """Return whether the log went on after this course."""
        if not self.ended.is_set():
            return False
        now = self._log_bytes()
        return now is not None and now != self._left

    def _log_bytes(self) -> int | None:
        folder = self.scheduler.log.folder
        try:
            return None if folder is None else (folder / "log.jsonl").stat().st_size
        except OSError:
            return None  # moved or deleted: what is in memory is all there is

    def outcome(self) -> RunOutcome:
        """Return the outcome of the run now."""
        return self.ask(self._outcome)

    def _outcome(self, scheduler: Scheduler) -> RunOutcome:
        if scheduler.write_error is None:
            is_live = not self.ended.is_set()
            folder = scheduler.log.folder
            result = outcome(scheduler.plan, scheduler.board.run, is_live=is_live, folder=folder)
            if result.status != "running":
                return result
            so_far = scheduler.clock.now() - scheduler.board.driven_since
            return replace(result, elapsed_ms=scheduler.board.run.elapsed_ms + round(so_far * 1000))
        if not scheduler.durable:
            raise scheduler.write_error
        # What the disk refused did not happen: the outcome is that of what is on disk, and says why it ends there.
        known: RunState = fold(scheduler.durable)
        code = scheduler.write_error.code
        folder = scheduler.log.folder
        result = outcome(scheduler.plan, known, is_live=False, gone=code, folder=folder)
        reasons = result.reasons or [{"code": code, "step": None}]
        summary = f"{result.summary.rstrip('.')}; {scheduler.write_error.message}"
        result = replace(result, status="interrupted", reasons=reasons, summary=summary)
        if scheduler.write_error.details.get("log_is_whole") is not False:
            return result
        # A log whose events are gone cannot be resumed: the message says what can be done.
        summary = f"{summary}; {scheduler.write_error.fix}"
        return replace(result, summary=summary, next_actions=[])

    def _soon(self, call: Callable[[], object]) -> None:
        if not self.ended.is_set():
            with suppress(RuntimeError):  # the loop is closed: the run is about to end
                self.call_soon(call)
