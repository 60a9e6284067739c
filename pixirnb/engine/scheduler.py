"""The loop of one live run: gather, decide, commit, perform (docs/adr/0001-the-loop.md).

It owns the run's board and is the only writer of its log. Everything that happens reaches it as a `Message` in its inbox, on
the engine's thread; `machine.advance` makes its decisions. When the disk refuses an event, nothing more is recorded or started:
running attempts are ended and the run is over, as far as this process goes.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import anyio.abc

from pixirnb.engine.agent_slots import AgentSlots
from pixirnb.engine.attempt import perform_attempt
from pixirnb.engine.broadcast import Broadcast, Live
from pixirnb.engine.folders import AttemptFolders
from pixirnb.engine.heartbeat import watch
from pixirnb.engine.held_inbox import poll_inbox
from pixirnb.engine.live_merges import LiveMerges
from pixirnb.engine.log_writer import LogWriter
from pixirnb.engine.merge import Merger
from pixirnb.engine.messages import Message, MessageQueue, Reply, answer_requests, mask_words
from pixirnb.engine.permission_requests import PermissionRequests
from pixirnb.engine.preload import BlobPreloader
from pixirnb.engine.run_context import Attempt, RunContext
from pixirnb.engine.services import Runners, Settings, in_thread, own_threads
from pixirnb.engine.turn import Turn
from pixirnb.errors import LogWriteFailed, PixirnbError
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event
from pixirnb.machine.board import Board, RunStop
from pixirnb.machine.instructions import DigestReads, Instruction, StartAttempt, StopAttempt
from pixirnb.machine.requests import Request, grant
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.protocols.ports import (
    Clock,
    Contents,
    Delegate,
    GroupWriter,
    Guard,
    Inbox,
    Offload,
    RequestReply,
    RunLog,
)
from pixirnb.protocols.trees import Files
from pixirnb.protocols.work import Started
from pixirnb.runners.processes.eager_tasks import EagerTasks
from pixirnb.runners.processes.worker_threads import surely
from pixirnb.spec.expressions.references import Reference
from pixirnb.workspace.read_digest import contents_digest

RIDER_PATIENCE_S: Final = 0.1
"""Seconds that an `attempt_started` waits for a group to ride with."""


@dataclass(slots=True, eq=False)
class Scheduler:
    """One live run. Create it, then `await drive(...)` once. All methods belong to the engine's thread."""

    board: Board
    log: RunLog
    clock: Clock
    runners: Runners
    lookup: Callable[[Reference], Any]
    folders: AttemptFolders
    """The user's own folders."""
    settings: Settings = field(default_factory=Settings)
    broadcast: Broadcast = field(default_factory=Broadcast)
    files: Files | None = None
    """Folders for isolated attempts, and merges; None where the store keeps no folders."""
    inbox: Inbox | None = None
    """Requests of other processes; None for stores without an inbox."""
    is_attended: bool = False
    """True if a person is there to be asked for permissions."""
    delegate: Delegate | None = None
    """Function that carries out calls of the tool surface."""
    slots: AgentSlots = field(default_factory=AgentSlots)
    """Slots of all agents of the engine."""
    supervisor: Guard | None = None
    """Ends git with this process; None where no process is started."""
    offload: Offload = in_thread
    promptly: Offload = field(default_factory=own_threads)
    """The `offload` of what a turn and the inbox wait for: not one of those that steps wait with."""
    contents: Contents = contents_digest
    writer_of: Callable[[RunLog], GroupWriter] = LogWriter
    post_from_thread: Callable[[Callable[[], None]], None] = lambda call: call()
    """Function that runs a call on the engine's thread, from any other."""
    on_returned: Callable[[str], None] = lambda _: None
    """Function that is called on the engine's thread when a step's detached thread returned."""
    on_rest: Callable[[Mapping[str, int]], None] = lambda _: None
    """Function that is called before the log is closed with the threads that go on: attempt by step."""
    write_error: LogWriteFailed | None = None
    durable: list[Event] = field(default_factory=list)
    """The events on disk: the history the run was acquired with, and every group committed since."""
    attempts: dict[str, Attempt] = field(default_factory=dict)
    """Attempts under way, by step."""
    _riders: list[EventDraft] = field(default_factory=list)
    _eager: EagerTasks | None = None
    _rest: anyio.Event = field(init=False)
    """Set when the course is over."""
    _is_turning: bool = False
    """True while a turn is made: what arrives meanwhile is of the next."""
    _shared: RunContext = field(init=False)
    """Context of all attempts."""
    _messages: MessageQueue = field(init=False)
    writer: GroupWriter = field(init=False)
    """Writes the log: once it is closed, nothing more is written."""
    _permits: PermissionRequests = field(init=False)
    _preloader: BlobPreloader = field(init=False)
    _live_merges: LiveMerges = field(init=False)

    def __post_init__(self) -> None:
        board, blobs, roots = self.board, self.log.blobs, self.folders.roots
        self._messages = MessageQueue(
            self.clock, self.attempts, self.settings.catch_up_s, self._take_turns
        )
        self._permits = PermissionRequests(
            board.run,
            self.clock,
            lambda draft: self.post(Message((draft,))),
            self.attempts,
            self.is_attended,
        )
        self.writer = self.writer_of(self.log)
        self._shared = self._context()
        self._preloader = BlobPreloader(
            self._shared, board, self.promptly, self.contents, self._start_task, self.post
        )
        self._live_merges = LiveMerges(
            board,
            self.attempts,
            lambda files: Merger(board.plan, board.run, roots, files, blobs),
            self.files,
            self.offload,
            self._start_task,
        )

    @property
    def plan(self) -> Plan:
        """Return the plan, with the items that are known."""
        return self.board.plan

    async def drive(self, opening: Sequence[EventDraft]) -> None:
        """Run to rest: returns when `run_finished` is on disk, or the disk refused. Raises nothing the log can hold."""
        self._rest = anyio.Event()
        try:
            async with anyio.create_task_group() as group:
                self._eager = EagerTasks(group)
                group.start_soon(self._watch)
                if self.inbox is not None:
                    group.start_soon(self._poll_inbox, self.inbox)
                try:
                    self.post(Message(tuple(opening)))
                    group.start_soon(self._messages.ring)
                    await self._rest.wait()
                finally:
                    self._preloader.is_over = True
                    self._eager.cancel()
                group.cancel_scope.cancel()
        finally:
            self._messages.close(self.board)
            self.on_rest(self.board.left_threads)
            self.writer.close()

    # --- what reaches it ----------------------------------------------------------------------------------------

    def post(self, message: Message) -> None:
        """Take a message, or drop it after the end of the course."""
        self._messages.post(message)

    def stop(self, how: RunStop) -> None:
        """Stop the run: cancel, drain or interrupt. A harder stop overrides a softer one."""
        self.post(Message(note=lambda _: self._note_stop(how)))

    def _note_stop(self, how: RunStop) -> None:
        if self.board.stop is None or self.board.stop == "drain":
            self.board.stop = how

    def publish(self, news: Live) -> None:
        """Pass news to listeners that is not recorded."""
        self.broadcast.publish([news])

    async def _watch(self) -> None:
        await watch(
            self.attempts,
            self.clock,
            self.publish,
            heartbeat_s=self.settings.heartbeat_s,
            supervisor=self.supervisor,
            stall_after_s=self.settings.stall_after_s,
        )

    async def _poll_inbox(self, inbox: Inbox) -> None:
        def post(request: Request) -> None:
            self.post(Message(request=request))

        await poll_inbox(inbox, self.clock, self.promptly, post, self._end_with)

    # --- decide, commit, perform --------------------------------------------------------------------------------

    def _take_turns(self) -> None:
        if self._eager is not None and not self._is_turning:
            self._is_turning = True
            self._eager.start(self._turns())

    async def _turns(self) -> None:
        while (messages := self._messages.take()) is not None:
            await self._turn(messages)
            if self._is_over():
                self._rest.set()
                return
        self._is_turning = False

    async def _turn(self, messages: Sequence[Message]) -> None:
        turn = Turn(self.board, self.clock.now(), self.clock.wall())
        riders, self._riders = self._riders, []
        self._messages.ride_at = None
        turn.record(riders)
        replies: list[tuple[Message, RequestReply]] = []
        for message in messages:
            drafts: Iterable[EventDraft] = message.drafts
            if message.answer is not None:
                replies.append((message, message.answer))
            elif message.request is not None:
                drafts, reply = self._grant(message.request, message.reply)
                if reply is not None:
                    replies.append((message, reply))
            if message.note is not None:
                message.note(self.board)
            turn.record(drafts)
        await self._preloader.load(turn.events)
        self._messages.wake_at = turn.decide(self._preloader.mark_unread)
        is_durable = await self._commit(turn.events)
        if is_durable and self.write_error is None:
            self._perform(turn.instructions)
        self._live_merges.perform(self.write_error)
        lost = None if is_durable else self.write_error
        await answer_requests(replies, lost, self.inbox, self.promptly)

    def _grant(
        self, request: Request, reply: Reply | None
    ) -> tuple[tuple[EventDraft, ...], RequestReply | None]:
        """Return the drafts of a request, and the answer (None: later); a stop or a cancelled step is noted."""
        try:
            granted = grant(request, self.plan, self.board.run)
            if granted.merge is not None:
                self.log.require_hold()
                self._live_merges.grant(granted.merge, partial(self._merged, request, reply))
                return (), None
        except PixirnbError as refused:
            return (), refused.document()
        if granted.stop is not None:
            self._note_stop(granted.stop)
        if granted.cancelled is not None:
            self.board.cancel(granted.cancelled)
        return tuple(mask_words(granted.drafts, self.board.run)), {"ok": True}

    def _start_task(self, call: Callable[[], Coroutine[Any, Any, None]]) -> None:
        assert self._eager is not None
        self._eager.group.start_soon(call)

    def _merged(
        self, request: Request, reply: Reply | None, drafts: list[EventDraft], answer: RequestReply
    ) -> None:
        """Finish a person's merge."""
        self.post(Message(tuple(drafts), Board.end_merge, request, reply, answer))

    async def _commit(self, events: Sequence[Event]) -> bool:
        if self.write_error is not None or not events:
            return self.write_error is None
        try:
            await self.writer.append(events, is_alone=not self.attempts)
        except LogWriteFailed as error:
            self._end_with(error)
            return False
        self.durable.extend(events)
        for merge in (e.data["merge"] for e in events if e.kind == "merge_applied"):
            if self.files is not None:
                await surely(self.promptly)(self.files.recorded, self.log.run_id, merge)
        self._permits.heard(events)
        self.broadcast.publish(events)
        return True

    def _end_with(self, error: LogWriteFailed) -> None:
        """Stop recording: running attempts are stopped, and then the course is over."""
        self.write_error = self.write_error or error
        self._permits.refuse(error)
        for attempt in list(self.attempts.values()):
            attempt.stop.set("interrupted")
        self.post(Message())

    def _perform(self, instructions: Mapping[Instruction, None]) -> None:
        for instruction in instructions:
            match instruction:
                case StartAttempt(name, number, timeout_ms):
                    self._start(self.plan.steps[self.plan.index[name]], number, timeout_ms)
                case DigestReads(name):
                    self._preloader.digest(self.plan.index[name])
                case StopAttempt(name, number, reason):
                    if (attempt := self.attempts.get(name)) and attempt.number == number:
                        attempt.stop.set(reason)

    def _start(self, step: PlannedStep, number: int, timeout_ms: int | None) -> None:
        attempt = Attempt(step, number, timeout_ms)
        attempt.begin(started := self.clock.now())
        attempt.meet(self.attempts.values())
        self.attempts[step.id] = attempt
        if step.kind == "agent" or step.placement == "cluster":
            attempt.is_queued = True
            self.board.queued(step.index)
        else:
            self.board.begun(step.index, started)
        self._messages.ride_by(started + RIDER_PATIENCE_S)
        assert self._eager is not None
        self._eager.start(self._perform_attempt(attempt))

    def _on_begun(self, attempt: Attempt) -> None:
        attempt.begin(self.clock.now())
        attempt.is_queued = False
        self.board.begun(attempt.step.index, attempt.started)
        self.post(Message())  # the loop has a deadline more to wake for

    async def _perform_attempt(self, attempt: Attempt) -> None:
        state = self.board.state(attempt.step.index)
        drafts = await perform_attempt(attempt, state, self._shared)
        del self.attempts[attempt.step.id]
        self.post(Message(tuple(drafts)))

    def _context(self) -> RunContext:
        return RunContext(
            board=self.board,
            folders=self.folders,
            files=self.files,
            log=self.log,
            clock=self.clock,
            runners=self.runners,
            sources=self.plan.sources,
            lookup=self.lookup,
            publish=self.publish,
            on_started=self._on_started,
            on_thread_returned=lambda s: self.post_from_thread(partial(self.on_returned, s.id)),
            grace_s=self.settings.grace_s,
            offload=self.offload,
            supervisor=self.supervisor,
            permit=self._permits.ask,
            slots=self.slots,
            on_begun=self._on_begun,
            delegate=self.delegate,
        )

    def _on_started(self, attempt: Attempt, started: Started) -> None:
        if started.worker is not None:
            self._on_begun(attempt)
        self._riders.append(attempt.started_draft(started))
        self._messages.ride_by(self.clock.now() + RIDER_PATIENCE_S)

    def release(self, step: str) -> None:
        """Free the claims of a thread that outlived its step and has returned."""
        self.post(Message(note=lambda board: board.release(step)))

    def _is_over(self) -> bool:
        is_broken = self.write_error is not None
        return not self.attempts if is_broken else self.board.run.finished is not None
