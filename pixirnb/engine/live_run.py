"""A run this process drives, as other threads may touch it: wishes go in, snapshots and news come out."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from anyio.from_thread import BlockingPortal

from pixirnb.engine.broadcast import Listener
from pixirnb.engine.messages import Message
from pixirnb.engine.scheduler import Scheduler
from pixirnb.errors import InternalError
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.run_state import RunState, fold
from pixirnb.machine.board import RunStop
from pixirnb.machine.outcome import RunOutcome, outcome
from pixirnb.machine.requests import Request, grant
from pixirnb.protocols.ports import RequestReply

ENGINE_THREAD: Final = "pixirnb-engine"
_LOOK_S: Final = 0.1

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class LiveRun:
    """One live run. Every method may be called from any thread."""

    scheduler: Scheduler
    portal: BlockingPortal
    ended: threading.Event = field(default_factory=threading.Event)
    failure: InternalError | None = None
    """A bug of ours that ended the loop. None for every run that ended by itself, however badly."""
    _left: int | None = None
    """Bytes of the log as this course left it."""

    def stop(self, how: RunStop) -> None:
        """Ask the run to end. Returns at once."""
        self._soon(lambda: self.scheduler.stop(how))

    def record(self, facts: Sequence[EventDraft]) -> None:
        """Hand the loop facts that came from a person. Returns at once."""
        self._soon(lambda: self.scheduler.post(Message(tuple(facts))))

    def request(self, request: Request) -> RequestReply | None:
        """The loop's answer to what a person of this process asks, once it is on disk: `{"ok": true}` or an error's document.

        None when the run came to rest before it was heard. On the engine's own thread nothing can be waited for: there the
        answer is what will be said if nothing comes in between.
        """
        told: queue.SimpleQueue[RequestReply | None] = queue.SimpleQueue()
        stimulus = Message(request=request, reply=told.put)
        if threading.current_thread().name == ENGINE_THREAD:
            grant(request, self.scheduler.plan, self.scheduler.board.run)
            self.scheduler.post(stimulus)
            return {"ok": True}
        self._soon(lambda: self.scheduler.post(stimulus))
        while not self.ended.is_set() or not told.empty():
            try:
                return told.get(timeout=_LOOK_S)
            except queue.Empty:
                continue
        return None

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Add a listener, called on the engine's thread; returns what takes it away."""
        leave = self.ask(lambda scheduler: scheduler.broadcast.listen(listener))
        return lambda: self._soon(leave)

    def ask(self, question: Callable[[Scheduler], T]) -> T:
        """Answer a question where the run's state holds still. It must not block."""
        if self.ended.is_set() or threading.current_thread().name == ENGINE_THREAD:
            return question(self.scheduler)
        return self.portal.call(question, self.scheduler)

    def leave(self) -> None:
        """The course is over: its log is let go of, as long as it is now."""
        self._left = self._log_bytes()
        self.scheduler.log.close()
        self.ended.set()

    def is_outdated(self) -> bool:
        """Whether the log went on after this course."""
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
        """How the run stands now."""
        return self.ask(self._outcome)

    def _outcome(self, scheduler: Scheduler) -> RunOutcome:
        if scheduler.write_error is None:
            is_live = not self.ended.is_set()
            found = outcome(scheduler.plan, scheduler.board.run, is_live=is_live)
            if found.status != "running":
                return found
            so_far = scheduler.clock.now() - scheduler.board.course_started
            return replace(found, elapsed_ms=scheduler.board.run.elapsed_ms + round(so_far * 1000))
        if not scheduler.durable:
            raise scheduler.write_error
        # What the disk refused did not happen: the outcome is that of what is on disk, and says why it ends there.
        known: RunState = fold(scheduler.durable)
        code = scheduler.write_error.code
        found = outcome(scheduler.plan, known, is_live=False, gone=code)
        reasons = found.reasons or [{"code": code, "step": None}]
        summary = f"{found.summary.rstrip('.')}; {scheduler.write_error.message}"
        return replace(found, status="interrupted", reasons=reasons, summary=summary)

    def _soon(self, call: Callable[[], object]) -> None:
        if not self.ended.is_set():
            self.portal.start_task_soon(_call, call)


async def _call(call: Callable[[], object]) -> None:
    call()
