"""`Run`: one run, live here, live elsewhere or long over. It holds no truth: it reads the log, or asks the loop.

Cells, scripts and the command line all work with this object. Reading executes nothing. What a person asks of it (`cancel`,
`decide`, `checkpoint`) works from any process: see `requests`.
"""

from __future__ import annotations

import queue
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from pixirnb import courses, launch
from pixirnb.engine.broadcast import News, topic_of
from pixirnb.engine.live import LiveRun
from pixirnb.engine.outputs import Outputs
from pixirnb.errors import Cannot, HeldByAnother, InvalidArguments, LogDamaged
from pixirnb.history.events import Event
from pixirnb.history.state import RunState, StepState, fold
from pixirnb.machine.outcome import RunOutcome, as_damaged, outcome
from pixirnb.machine.requests import Request, grant
from pixirnb.machine.resume import Selection
from pixirnb.planning.facts import Facts
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import PlanReport, report
from pixirnb.ports import Damage, Reading
from pixirnb.requests import bring, request
from pixirnb.resumption import pinned_plan
from pixirnb.store.files import FileStore
from pixirnb.views.digraph import digraph
from pixirnb.views.display import Bundle, mimebundle
from pixirnb.views.dot import dot
from pixirnb.views.drawing import edges_of
from pixirnb.views.explain import explain
from pixirnb.views.frame import frame
from pixirnb.views.mermaid import mermaid

if TYPE_CHECKING:  # named in signatures only; imported where a frame or a graph is asked for
    import networkx as nx
    import pandas as pd

_TICK_S: Final = 0.1
"""How often a waiting cell lets its kernel notice an interrupt."""


@dataclass(slots=True, eq=False)
class Run:
    """One run of a workflow."""

    id: str
    store: FileStore
    live: LiveRun | None = None
    """Set while, and after, this process drives it."""
    is_no_op: bool = False
    """A resume found nothing to do: the run was completed and nothing has changed."""
    _cached: tuple[int, RunState, Plan] | None = field(default=None, repr=False)

    # --- how it stands ------------------------------------------------------------------------------------------

    @property
    def outcome(self) -> RunOutcome:
        """How the run stands now, or ended."""
        if (live := self._course()) is not None:
            return live.outcome()
        reading = self._reading()
        run, plan = self._folded(reading)
        found = outcome(plan, run, is_live=reading.owner is not None)
        return found if reading.damage is None else as_damaged(found, reading.damage)

    @property
    def status(self) -> str:
        """One word: `running`, `completed`, `partial`, …"""
        return self.outcome.status

    @property
    def state(self) -> RunState:
        """The folded history. Read it, do not change it."""
        if (live := self._course()) is not None:
            return live.ask(lambda scheduler: fold(scheduler.durable))
        return self._folded(self._reading())[0]

    @property
    def plan(self) -> PlanReport:
        """The plan of the pinned workflow."""
        return report(self.compiled().workflow, Facts())

    @property
    def damage(self) -> Damage | None:
        """Where the log stops being what was written; None for a sound one."""
        return None if self._course() is not None else self._reading().damage

    @property
    def folder(self) -> Path:
        """The run folder: it can be zipped, moved and opened elsewhere."""
        return self.store.folder(self.id)

    @property
    def is_live_here(self) -> bool:
        """Whether this process drives it now."""
        return self.live is not None and not self.live.ended.is_set()

    def compiled(self) -> Plan:
        """The plan the machine goes by."""
        if (live := self._course()) is not None:
            return live.scheduler.plan
        return self._folded(self._reading())[1]

    # --- what it left -------------------------------------------------------------------------------------------

    def history(self) -> list[Event]:
        """Every event on disk, in order. Of a run driven here never more than `state` knows."""
        if self.live is not None and not self.live.ended.is_set():
            return self.live.ask(lambda scheduler: list(scheduler.durable))
        return list(self._reading().events)

    def value(self, step: str, *, trust: bool = False) -> Any:
        """The typed value a step left. `trust=True` loads a pickle of another user: it can run code."""
        state, run = self._step(step)
        return Outputs(run, self.store.blobs(self.id)).value(state, trust=trust)

    def output(self, step: str) -> str:
        """What the step's last attempt printed, as kept in its output log; empty where it printed nothing."""
        state, _ = self._step(step)
        path = self.folder / "output" / f"{step}.{state.attempt}.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""

    def bundle(self, step: str) -> Bundle | None:
        """The step's Checkpoint Bundle; None where it left nothing usable."""
        self._step(step)
        found = self.outcome.step(step).checkpoint
        return None if found is None else Bundle(found)

    def explain(self, step: str) -> list[str]:
        """Why the step ran, waits, was held, reused or rerun: a sentence each."""
        _, run = self._step(step)
        return explain(self.compiled(), run, step)

    # --- to go on with elsewhere --------------------------------------------------------------------------------

    def to_mermaid(self) -> str:
        """The run as a mermaid flowchart."""
        return mermaid(self.plan.document(), self.outcome.document(), edges_of(self.compiled()))

    def to_dot(self) -> str:
        """The run as a DOT graph."""
        return dot(self.plan.document(), self.outcome.document(), edges_of(self.compiled()))

    def to_networkx(self) -> nx.DiGraph[str]:
        """The run as a networkx graph of step ids; see `views.digraph`."""
        return digraph(self.outcome.document(), edges_of(self.compiled()))

    def to_dataframe(self) -> pd.DataFrame:
        """A row a step: how it stands, attempt, times in ms. Raises Cannot (`extra_missing`) where pandas is not there."""
        return frame(self.outcome.document())

    # --- while it runs ------------------------------------------------------------------------------------------

    def on(self, topic: str, callback: Callable[[News], None]) -> Callable[[], None]:
        """Call back for each piece of news of a topic: `step:output`, `step:heartbeat`, `step:stalled`, `step:progress`,
        or a recorded event's kind. Called on the engine's thread; returns what ends it. Only for a run driven here.
        """
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
        """Everything from the first event on, live: recorded events, and ephemeral news of a run driven here."""
        if self.live is None or self.live.ended.is_set():
            async for event in self._followed():
                yield event
            return
        arrived: queue.SimpleQueue[News] = queue.SimpleQueue()

        known, leave = self.live.ask(
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
                await anyio.sleep(_TICK_S / 2)
        finally:
            leave()

    def follow(self) -> Iterator[Event]:
        """Every event as it reaches the disk, from the first on, until nobody drives the run any more. Blocks."""
        follower = self.store.follow(self.id)
        while True:
            is_over = self._reading().owner is None
            yield from follower.poll()
            if is_over:
                return
            time.sleep(_TICK_S)

    def wait(self, timeout: float | None = None) -> RunOutcome:
        """Block until the run comes to rest, or `timeout` seconds passed; the outcome either way."""
        deadline = None if timeout is None else time.monotonic() + timeout
        for is_over in self._watched():
            if is_over or (deadline is not None and time.monotonic() >= deadline):
                break
            pause = _TICK_S if deadline is None else min(_TICK_S, deadline - time.monotonic())
            if self.live is not None:
                self.live.ended.wait(max(0.0, pause))
            else:
                time.sleep(max(0.0, pause))
        self._raise_failure()
        return self.outcome

    async def wait_ended(self) -> RunOutcome:
        """As `wait`, for an event loop: lets the loop breathe, so that an interrupt of the cell is noticed at once."""
        for is_over in self._watched():
            if is_over:
                break
            await anyio.sleep(_TICK_S)
        self._raise_failure()
        return self.outcome

    def __await__(self) -> Generator[Any, None, RunOutcome]:
        return self.wait_ended().__await__()

    # --- what a person can do to it -----------------------------------------------------------------------------

    def cancel(
        self, step: str | None = None, *, drain: bool = False, take_over: bool = False
    ) -> None:
        """End the run, or give up one step; `drain` lets what runs finish and starts nothing more. Returns at once.

        Works from any process: the one that drives the run is asked to. A run whose owner died is ended here: what it left
        running is swept, and its log says that it was given up. Raises Cannot when the run is at rest (`not_live`) or its
        owner does not answer (`owner_silent`).
        """
        if step is not None:
            self._step(step)
        said = request("cancel", step=step, how="drain" if drain else "cancel")

        def end_here() -> None:
            if step is not None or self.state.finished is not None:
                raise self._not_live("cancel")
            self.live = launch.go_on(self.store, self.id, stop="cancel", take_over=take_over)
            self.wait()

        self._ask(said, end_here)

    def interrupt(self) -> None:
        """End the run as an operator's interrupt does. Only where it is driven: raises Cannot, HeldByAnother."""
        if self.is_live_here and self.live is not None:
            self.live.stop("interrupt")
            return
        owner = self._reading().owner
        if owner is None:
            raise self._not_live("interrupt")
        raise HeldByAnother(
            f"{self.id} is driven by process {owner.pid} on {owner.host}.",
            fix=f"`pixirnb cancel {self.id}` ends it from here.",
            details={"host": owner.host, "pid": owner.pid, "since": owner.since},
        )

    def checkpoint(self, name: str, note: str = "", *, take_over: bool = False) -> None:
        """Save a named checkpoint of the run as it stands, from any process. Raises InvalidArguments, Cannot."""
        said = request("checkpoint", name=name, note=note)
        self._ask(said, lambda: courses.record(self.store, self.id, said, take_over=take_over))

    def decide(
        self,
        step: str,
        verdict: str,
        *,
        value: Any = None,
        note: str = "",
        resume: bool = True,
        take_over: bool = False,
    ) -> Run:
        """Record what a human decided on a step, `accept` or `reject`, and (unless `resume=False`) go on.

        Works from any process: while the run is live its owner records it and goes on. Raises InvalidArguments for a step
        that needs no decision or a value that is none of the choices; Cannot.
        """
        self._step(step)
        said = request("decide", step=step, verdict=verdict, value=value, note=note)
        if self._course() is None or not self.is_live_here:
            grant(
                said, self.compiled(), self.state
            )  # what is plainly wrong is said before anyone is asked

        def decide_here() -> None:
            if resume:
                selection = Selection(is_decision=True)
                self.live = launch.go_on(
                    self.store, self.id, selection=selection, request=said, take_over=take_over
                )
            else:
                courses.record(self.store, self.id, said, take_over=take_over)

        self._ask(said, decide_here)
        return self

    # --- display ------------------------------------------------------------------------------------------------

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        edges = edges_of(self.compiled())
        return mimebundle("outcome", self.outcome.document(), edges, plan=self.plan.document())

    def __repr__(self) -> str:
        return f"<Run {self.id}: {self.status}>"

    def _course(self) -> LiveRun | None:
        if (live := self.live) is not None and live.is_outdated():
            live = self.live = None  # taken up again since, here or elsewhere: the log knows more
        return live

    def _ask(self, said: Request, carry_out: Callable[[], None]) -> None:
        """Have a request done: by the loop of this process, by this process itself, or by the owner elsewhere."""
        if self.is_live_here and self.live is not None:
            self.live.request(said)
            return
        bring(self.store, self.id, said, carry_out)

    def _not_live(self, verb: str) -> Cannot:
        return Cannot(
            f"{self.id} is not live, so there is nothing to {verb}.",
            fix=f"See how it stands with `pixirnb show {self.id}`.",
            code="not_live",
        )

    def _reading(self) -> Reading:
        # Id and lock are there a moment before the first event is on disk: who looks from elsewhere waits for it.
        patience = time.monotonic() + 5.0
        while True:
            reading = self.store.read(self.id)
            if reading.events or reading.owner is None or time.monotonic() >= patience:
                return reading
            time.sleep(_TICK_S / 10)

    def _folded(self, reading: Reading) -> tuple[RunState, Plan]:
        count = len(reading.events)
        if self._cached is None or self._cached[0] != count:
            if not reading.events or reading.events[0].kind != "run_started":
                raise LogDamaged(
                    f"the log of {self.id} cannot be read from its beginning.",
                    fix="Look at log.jsonl in its folder; the run cannot be shown or resumed.",
                )
            run = fold(reading.events)
            self._cached = (count, run, pinned_plan(run))
        return self._cached[1], self._cached[2]

    def _step(self, step: str) -> tuple[StepState, RunState]:
        run = self.state
        if step not in self.compiled().index:
            raise InvalidArguments(
                f"{self.id} has no step `{step}`.",
                fix="Its steps: " + ", ".join(list(self.compiled().index)[:8]) + ".",
                code="unknown_step",
            )
        return run.step(step), run

    def _watched(self) -> Iterator[bool]:
        """Again and again: whether the run has come to rest."""
        while True:
            if self.live is not None:
                yield self.live.ended.is_set()
            else:
                yield self._reading().owner is None

    async def _followed(self) -> AsyncIterator[News]:
        follower = self.store.follow(self.id)
        while True:
            is_over = self._reading().owner is None
            for event in follower.poll():
                yield event
            if is_over:
                return
            await anyio.sleep(_TICK_S)

    def _raise_failure(self) -> None:
        if self.live is not None and self.live.failure is not None:
            raise self.live.failure
