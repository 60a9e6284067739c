"""A run prepared for an engine to drive, and the watchers of it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from pixirnb.engine.broadcast import Listener
from pixirnb.engine.folders import AttemptFolders
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.run_state import RunState
from pixirnb.machine.board import RunStop
from pixirnb.planning.plan import Plan
from pixirnb.protocols.ports import Cluster, RunLog
from pixirnb.protocols.trees import Files


class PreparedRun(Struct, frozen=True):
    """A run about to be driven: its log is owned, and its driver closes it."""

    plan: Plan
    log: RunLog
    run: RunState
    """The state of the history so far."""
    opening: tuple[EventDraft, ...]
    """The first events."""
    folders: AttemptFolders
    """The folders it works on."""
    files: Files | None = None
    """The keeper of its isolated folders and merges."""
    cluster: Cluster | None = None
    """Performs the steps that are placed on a cluster; None where there are none."""
    stop: RunStop | None = None
    """The operator's request to stop, if there is one at the start."""


class Watchers(Struct, frozen=True):
    """Watchers of a run while it is driven."""

    listeners: Sequence[Listener] = ()
    """Called with all news of the run, on the engine's thread."""
    is_attended: bool = False
    """True if a person can be asked for permissions."""


NO_WATCHERS = Watchers()
