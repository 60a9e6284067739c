"""Context that the attempts of a run share, and the loop's record of each attempt that is under way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from pixirnb.engine.agent_slots import AgentSlots
from pixirnb.engine.broadcast import Live
from pixirnb.engine.folders import AttemptFolders
from pixirnb.engine.services import Runners
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import AttemptStarted
from pixirnb.history.run_state import RunState
from pixirnb.ids import attempt_name
from pixirnb.json_types import JsonObject
from pixirnb.machine.board import Board
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.planning.roots import Roots
from pixirnb.protocols.ports import Clock, Delegate, Guard, Offload, RunLog
from pixirnb.protocols.trees import Files
from pixirnb.protocols.work import Started
from pixirnb.runners.processes.stop_signal import StopSignal
from pixirnb.spec.expressions.references import Reference
from pixirnb.store.state_folder import state_of_run

Permit = Callable[[str, int, JsonObject], Awaitable[JsonObject]]
"""Function that takes a step, an attempt and `{tool, args, digest, agent, why}`; answers `{request_id, verdict, by, note}`."""

MARGIN_S: Final = 2.0
"""Seconds beyond its time-out after which an attempt is ended without the loop."""


class Attempt(Struct, eq=False):
    """One attempt under way, as the loop sees it."""

    step: PlannedStep
    number: int
    timeout_ms: int | None
    started: float = 0.0
    """Monotonic time from which its time counts: set by `begin`."""
    stop: StopSignal = field(default_factory=StopSignal)
    last_output: float = 0.0
    """Monotonic time of the last output; the start where there was none."""
    last_activity: float = 0.0
    """Monotonic time of the last sign of life: output, a tool, a report, progress, a request, an event of its session."""
    is_stalled: bool = False
    """True if it was reported as stalled since its last sign of life."""
    unreported: str = ""
    """Printed text of its agent that no message has covered yet, masked."""
    concurrent: list[PlannedStep] = field(default_factory=list)
    """Steps that were under way at some time while it was."""
    is_disturbed: bool = False
    """True if a person merged files while it ran."""
    is_queued: bool = False
    """True while it waits for its turn among the agents, or for a worker: it has not begun, and no time counts."""
    delegated: int = 0
    """Number of its calls that wait for a run it started."""

    @property
    def limit_s(self) -> float | None:
        """Return the seconds after which it is ended where it runs, should the loop that ends it stand still."""
        return None if self.timeout_ms is None else self.timeout_ms / 1000 + MARGIN_S

    def stir(self, now: float, *, is_output: bool = False) -> None:
        """Record a sign of life."""
        self.last_activity = now
        self.is_stalled = False
        if is_output:
            self.last_output = now

    def begin(self, now: float) -> None:
        """Start its time."""
        self.started = now
        self.stir(now, is_output=True)

    def started_draft(self, started: Started) -> EventDraft:
        """Return the event of its start."""
        name, number = self.step.id, self.number
        data: AttemptStarted = {"step": name, "attempt": number, "pid": started.pid}
        if self.step.kind == "agent":
            data["session_id"] = attempt_name(name, number)
        if started.worker is not None:
            data["worker"] = started.worker
        return EventDraft("attempt_started", data)

    def meet(self, others: Iterable[Attempt]) -> None:
        """Record the attempts that are under way as it begins."""
        for other in others:
            other.concurrent.append(self.step)
            self.concurrent.append(other.step)


class RunContext(Struct, frozen=True):
    """Context that every attempt of a run shares."""

    board: Board
    folders: AttemptFolders
    """The user's own folders."""
    log: RunLog
    clock: Clock
    runners: Runners
    sources: Mapping[str, str]
    lookup: Callable[[Reference], Any]
    """Function that returns the value of a reference, blobs included. May read the disk."""
    publish: Callable[[Live], None]
    on_started: Callable[[Attempt, Started], None]
    on_thread_returned: Callable[[PlannedStep], None]
    grace_s: float
    offload: Offload
    permit: Permit
    slots: AgentSlots
    on_begun: Callable[[Attempt], None]
    """Function that is called when an agent's turn has come: from here on its time counts."""
    files: Files | None = None
    """Folders for isolated attempts, and merges; None where the store keeps no folders."""
    delegate: Delegate | None = None
    """Function that carries out calls of the tool surface; None: agents are offered none."""
    supervisor: Guard | None = None
    """Ends with this process what git does for attempts."""

    @property
    def plan(self) -> Plan:
        """Return the plan, with the items that are known."""
        return self.board.plan

    @property
    def run(self) -> RunState:
        """Return the run's state."""
        return self.board.run

    @property
    def depth(self) -> int:
        """Return the depth of delegation: 0 for a run that a person started."""
        return self.run.depth

    @property
    def state_folder(self) -> Path | None:
        """Return the state folder its run is kept in; None where it is kept in none."""
        return None if self.log.folder is None else state_of_run(self.log.folder)

    def printed_path(self, attempt: Attempt) -> Path | None:
        """Return the file of what an attempt prints; None where the run is kept in no folder."""
        name = attempt_name(attempt.step.id, attempt.number)
        return None if self.log.folder is None else self.log.folder / "output" / f"{name}.log"

    def facts(self, attempt: Attempt) -> dict[str, str]:
        """Return the environment variables that tell a step where it is. Source: contract.md §11."""
        known = {
            "PIXIRNB_RUN_ID": self.run.run_id,
            "PIXIRNB_STEP_ID": attempt.step.id,
            "PIXIRNB_ATTEMPT": str(attempt.number),
        }
        state = self.state_folder
        return known if state is None else {**known, "PIXIRNB_STATE": str(state)}

    @property
    def roots(self) -> Roots:
        """Return the folders the run works on."""
        return self.folders.roots
