"""The class `Run`: one run, to read, to watch and to control, in cells, scripts and the command line.

`RunRecord` has its reading part. A person's requests (`cancel decide approve deny checkpoint`) work from any process:
see `operations.request_delivery`.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from pixirnb.engine.broadcast import TOPICS, News, NewsQueue, topic_of
from pixirnb.engine.engine import engine
from pixirnb.engine.prepared_run import Watchers
from pixirnb.errors import Cannot, HeldByAnother, InvalidArguments, PixirnbError
from pixirnb.history.events import Event
from pixirnb.machine.merge_requests import MergeReport, Sides
from pixirnb.machine.outcome import RunOutcome
from pixirnb.machine.requests import Request, grant
from pixirnb.machine.resume import Selection
from pixirnb.operations import launch, merge_reports, prepare
from pixirnb.operations.record import TICK_S, RunRecord
from pixirnb.operations.request_delivery import (
    deliver,
    raise_refusal,
    request,
    require_outside,
    require_person,
)
from pixirnb.protocols.ports import Lease
from pixirnb.store.file_store import FileStore
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.picture.drawing import edges_of
from pixirnb.views.run.outcome_view import outcome_blocks


@dataclass(slots=True, eq=False)
class Run(RunRecord):
    """One run of a workflow: a record that can be watched and controlled.

    Example:
        >>> run = pixirnb.start({"name": "demo", "steps": [{"id": "hello", "run": "echo hello"}]})
        >>> run.wait().status, run.value("hello")
        ('completed', 'hello')
    """

    # --- while it runs ------------------------------------------------------------------------------------------

    def on(self, topic: str, callback: Callable[[News], None]) -> Callable[[], None]:
        """Register a callback for news of a topic, on the engine's thread; return a function that removes it.

        Only for a run driven here.

        Args:
            topic: `step:output`, `step:heartbeat`, `step:stalled`, `step:progress`, `step:session` (an event of an agent's
                session), or a recorded event's kind.
            callback: called with each piece of news.

        Raises:
            InvalidArguments: the topic does not exist.
            Cannot: the run is not driven here.
        """
        if topic not in TOPICS:
            raise InvalidArguments(
                f"Nothing is ever told under {topic!r:.80}.",
                fix=f"Listen for {', '.join(TOPICS[:5])}, or a kind of event, such as attempt_ended.",
            )
        if not callable(callback):
            raise InvalidArguments(
                f"{callback!r:.80} cannot be called.", fix="Give a function that takes the news."
            )
        if self.live is None:
            raise Cannot(
                f"{self.id} is not driven by this process, so it has no live news here.",
                fix="Use history(), or events(), which follows the log.",
                code="not_live_here",
            )

        def hear(news: News) -> None:
            if topic_of(news) == topic:
                callback(news)

        return self.live.listen(hear)

    async def events(self) -> AsyncIterator[News]:
        """Iterate over everything from the first event on, live: recorded events, and ephemeral news of a run driven here."""
        if self.live is None or self.live.ended.is_set():
            async for event in self._followed():
                yield event
            return
        arrived = NewsQueue()

        known, unsubscribe = self.live.ask(
            lambda scheduler: (list(scheduler.durable), scheduler.broadcast.listen(arrived.put))
        )
        try:
            for event in known:
                yield event
            while True:
                is_over = self.live.ended.is_set()
                while not arrived.empty():
                    yield arrived.get()
                if is_over:
                    return
                await anyio.sleep(TICK_S / 2)
        finally:
            unsubscribe()

    def follow(self) -> Iterator[Event]:
        """Iterate over every event as it reaches the disk, from the first on, until the run has no owner any more. Blocks."""
        follower = self.store.follow(self.id)
        while True:
            is_over = self._reading().owner is None
            while events := follower.poll():  # until it has none: only then it tells of damage
                yield from events
            if is_over:
                return
            time.sleep(TICK_S)

    def wait(self, timeout: float | None = None) -> RunOutcome:
        """Block until the run comes to rest, or `timeout` seconds passed; return the outcome either way."""
        deadline = None if timeout is None else time.monotonic() + timeout
        for is_over in self._watched():
            if is_over or (deadline is not None and time.monotonic() >= deadline):
                break
            pause = TICK_S if deadline is None else min(TICK_S, deadline - time.monotonic())
            if self.live is not None:
                self.live.ended.wait(max(0.0, pause))
            else:
                time.sleep(max(0.0, pause))
        self._raise_failure()
        return self.outcome

    async def wait_ended(self) -> RunOutcome:
        """Wait like `wait`, for an event loop: other tasks run meanwhile, so that an interrupt of the cell is noticed
        at once.
        """
        for is_over in self._watched():
            if is_over:
                break
            await anyio.sleep(TICK_S)
        self._raise_failure()
        return self.outcome

    def __await__(self) -> Generator[Any, None, RunOutcome]:
        return self.wait_ended().__await__()

    # --- what a person can do to it -----------------------------------------------------------------------------

    def cancel(
        self, step: str | None = None, *, drain: bool = False, take_over: bool = False
    ) -> None:
        """End the run, or give up one step. Returns at once.

        Works from any process: the owner of the run is asked to do it. A run whose owner died is ended here: its
        remaining processes are ended, and its log records that it was given up.

        Args:
            step: give up only this step.
            drain: let running steps finish and start nothing more.
            take_over: end a run of another host that is known to be dead.

        Raises:
            Cannot: the run is at rest (`not_live`), or its owner does not answer (`owner_silent`).
        """
        if step is not None:
            self._step(step)
        require_outside(self.id, "cancel")
        pending = request("cancel", step=step, how="drain" if drain else "cancel")

        def end_here() -> None:
            owner = self._reading().owner
            if owner is not None and not take_over:
                raise self._held(owner)
            if step is not None or self.state.finished is not None:
                raise self._not_live("cancel")
            self.live = launch.launch_resume(
                self.store, self.id, stop="cancel", take_over=take_over
            )
            self.wait()

        self._ask(pending, end_here)

    def interrupt(self) -> None:
        """End the run like an operator's interrupt. Only in the process that drives it: else raises Cannot, HeldByAnother."""
        if self.is_live_here and self.live is not None:
            self.live.stop("interrupt")
            return
        owner = self._reading().owner
        if owner is None:
            raise self._not_live("interrupt")
        raise self._held(owner)

    def checkpoint(self, name: str, note: str = "", *, take_over: bool = False) -> None:
        """Save a named checkpoint of the run in its current state, from any process. Raises InvalidArguments, Cannot."""
        pending = request("checkpoint", name=name, note=note)
        self._ask(
            pending,
            lambda: prepare.record(self.store, self.id, pending, take_over=take_over),
        )

    def decide(
        self,
        step: str,
        verdict: str,
        *,
        value: Any = None,
        note: str = "",
        resume: bool = True,
        take_over: bool = False,
        attended: bool = False,
        by: str | None = None,
    ) -> Run:
        """Record a decision on a step, and (unless `resume=False`) continue.

        Works from any process: while the run is live its owner records it and continues.

        Args:
            step: the step to decide, or a seam to resolve.
            verdict: `accept` or `reject`.
            value: the answer.
            note: the reason, for the record.
            resume: continue the run.
            take_over: take the run over from an owner that is known to be gone.
            attended: a person can be asked for permissions.
            by: the author of the decision, instead of this user.

        Raises:
            InvalidArguments: the step needs no decision, or the value is none of the choices.
            Cannot: the decision cannot be recorded now.
        """
        if step not in self.state.seams:
            self._step(step)
        if by is None:
            require_person("decide")
        pending = request("decide", by=by, step=step, verdict=verdict, value=value, note=note)
        return self._say(pending, resume=resume, take_over=take_over, attended=attended)

    def approve(
        self,
        request_id: str,
        note: str = "",
        *,
        resume: bool = True,
        take_over: bool = False,
        attended: bool = False,
    ) -> Run:
        """Allow one exact call that an agent requested. A waiting attempt goes on; a parked step runs again.

        Works from any process except a step's own. Raises InvalidArguments (`unknown_request`, `answered_already`,
        `request_outdated`), Cannot (`approval_by_agent`, `owner_silent`).
        """
        require_person("approve")
        pending = request("approve", request_id=request_id, note=note)
        return self._say(pending, resume=resume, take_over=take_over, attended=attended)

    def deny(
        self,
        request_id: str,
        note: str = "",
        *,
        resume: bool = True,
        take_over: bool = False,
        attended: bool = False,
    ) -> Run:
        """Deny a call that an agent requested.

        A waiting attempt gets the answer and goes on; a parked step fails. As `approve`.
        """
        require_person("deny")
        pending = request("deny", request_id=request_id, note=note)
        return self._say(pending, resume=resume, take_over=take_over, attended=attended)

    def merge(
        self,
        *steps: str | Sequence[str],
        preview: bool = False,
        undo: bool = False,
        sides: Sides = None,
        take_over: bool = False,
    ) -> MergeReport:
        """Merge the changes of isolated steps into the user's files, three-way, completely or not at all.

        Merged changes are left out. Neither a preview nor an undo goes beyond a merge that a dead process left
        incomplete (`merge_unfinished`): a resume rolls that back. Works from any process except a step's own.

        Args:
            steps: ids, one by one or as a list; by default all ready steps.
            preview: change nothing.
            undo: undo the last merge.
            sides: the side that counts for conflicting files, for all or by path: `workspace`, or a step.
            take_over: take the run over from an owner that is known to be gone.

        Raises:
            InvalidArguments: an argument is wrong.
            Cannot: `merge_disturbed`, `merge_refused`, `merge_busy` …
        """
        require_person("merge")
        chosen = dict(sides) if isinstance(sides, Mapping) else sides
        if preview or undo:
            merge_reports.refuse_unfinished(self)
        pending = request("merge", steps=_ids(steps), undo=undo, sides=chosen)
        merge_request = grant(pending, self.compiled(), self.state).merge
        if preview:
            return merge_reports.preview_merge(self, merge_request)
        if merge_request is None or (merge_request.undoes is None and not merge_request.steps):
            merge_reports.refuse_unfinished(self)
            return MergeReport(self.id, "nothing", [])
        self._ask(
            pending,
            lambda: prepare.merge(self.store, self.id, pending, take_over=take_over),
        )
        return merge_reports.report_merge(self, pending.id, chosen)

    def _say(self, pending: Request, *, resume: bool, take_over: bool, attended: bool) -> Run:
        """Deliver a person's answer, and continue a run without an owner."""
        if self._live_run() is None or not self.is_live_here:
            grant(
                pending, self.compiled(), self.state
            )  # what is plainly wrong is said before anyone is asked

        def say_here() -> None:
            if resume:
                self.live = launch.launch_resume(
                    self.store,
                    self.id,
                    selection=Selection(is_decision=True),
                    request=pending,
                    take_over=take_over,
                    watchers=Watchers(is_attended=attended),
                )
            else:
                prepare.record(self.store, self.id, pending, take_over=take_over)

        self._ask(pending, say_here)
        return self

    # --- display ------------------------------------------------------------------------------------------------

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        try:
            edges = edges_of(self.compiled())
            blocks = outcome_blocks(self.outcome.document(), edges, plan=self.plan.document())
            return mimebundle(blocks)
        except PixirnbError as error:  # removed since, or damaged from its first line on
            return {"text/plain": f"{self!r}\n{error}"}

    def __repr__(self) -> str:
        try:
            return f"<Run {self.id}: {self.status}>"
        except PixirnbError as error:
            return f"<Run {self.id}: {error.code}>"

    def _ask(self, pending: Request, carry_out: Callable[[], None]) -> None:
        """Deliver a request: to the loop of this process, to this process itself, or to the owner elsewhere."""
        if self.is_live_here and self.live is not None:
            reply = self.live.request(pending)
            if reply is not None:
                raise_refusal(reply)
                return
        deliver(self.store, self.id, pending, carry_out)

    def _held(self, owner: Lease) -> HeldByAnother:
        return HeldByAnother(
            f"{self.id} is driven by process {owner.pid} on {owner.host}.",
            fix=f"`pixirnb cancel {self.id}` ends it from here.",
            details={"host": owner.host, "pid": owner.pid, "since": owner.since},
        )

    def _not_live(self, verb: str) -> Cannot:
        return Cannot(
            f"{self.id} is not live, so there is nothing to {verb}.",
            fix=f"See how it stands with `pixirnb show {self.id}`.",
            code="not_live",
        )

    def _watched(self) -> Iterator[bool]:
        """Yield, again and again, whether the run has come to rest."""
        while True:
            if self.live is not None:
                yield self.live.ended.is_set()
            else:
                yield self._reading().owner is None

    async def _followed(self) -> AsyncIterator[News]:
        follower = self.store.follow(self.id)
        while True:
            is_over = self._reading().owner is None
            while events := follower.poll():
                for event in events:
                    yield event
            if is_over:
                return
            await anyio.sleep(TICK_S)

    def _raise_failure(self) -> None:
        if self.live is not None and self.live.failure is not None:
            raise self.live.failure


def _ids(named: Sequence[str | Sequence[str]]) -> list[str]:
    """Return step ids, given one by one, or in lists. Raises InvalidArguments."""
    named_ids: list[object] = []
    for each in named:
        named_ids += list(each) if isinstance(each, list | tuple | set | frozenset) else [each]
    ids = [each for each in named_ids if isinstance(each, str)]
    if len(ids) < len(named_ids):
        raise InvalidArguments(
            "A step is named by its id, which is a text.",
            fix="Give ids, as in run.merge('a', 'b') or run.merge(['a', 'b']).",
        )
    return ids


def load_run(store: FileStore, run_id: str) -> Run:
    """Load a run, driven by this process or not. Raises UnknownRun.

    A copy of a live run's folder has its id and is another run.
    """
    folder, live = store.folder(run_id), engine().find(run_id)
    driven = None if live is None else live.scheduler.log.folder
    if driven is None or not driven.exists() or not driven.samefile(folder):
        live = None
    return Run(run_id, store, live)
