"""The environment of a prepared run: time, chance, this process and its files; what is stamped with them."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from pixirnb.engine.services import SystemClock
from pixirnb.history.codec import storable
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event, Owner
from pixirnb.history.run_state import RunState
from pixirnb.ids import run_id as make_run_id
from pixirnb.operations.cluster import no_cluster
from pixirnb.planning.plan import Plan
from pixirnb.planning.roots import Roots
from pixirnb.protocols.ports import Cluster, Contents, RunLog
from pixirnb.protocols.trees import Files
from pixirnb.runners.cluster.leftovers import Left
from pixirnb.runners.processes.orphans import end_strays
from pixirnb.runners.processes.thread_children import INSTANCE
from pixirnb.store.state_folder import prepare_state, state_of_run
from pixirnb.system.process_life import birth_of
from pixirnb.workspace.local_files import LocalFiles
from pixirnb.workspace.read_digest import contents_digest


def _this_process() -> Owner:
    owner: Owner = {"host": socket.gethostname(), "pid": os.getpid(), "instance": INSTANCE}
    born = birth_of(os.getpid())
    return owner if born is None else {**owner, "born": born}


def _end_strays(run: RunState) -> None:
    end_strays(run.run_id, run.owners)


def _local_files(log: RunLog, roots: Roots, never_copy: Sequence[str]) -> Files | None:
    if log.folder is None:
        return None
    state = state_of_run(log.folder)
    if not state.exists():
        # Of a moved run: nobody is to take what lies there for the user's files.
        prepare_state(state)
    return LocalFiles(state, roots, never_copy=never_copy)


class RunEnvironment(Struct, frozen=True):
    """The environment of a prepared run: time, randomness, this process, the file system around it."""

    wall: Callable[[], str] = SystemClock().wall
    chance: Callable[[int], bytes] = secrets.token_bytes
    owner: Callable[[], Owner] = _this_process
    end_strays: Callable[[RunState], object] = _end_strays
    """Ends processes that a dead owner of a run left."""
    contents: Contents = contents_digest
    cluster: Callable[[Plan, Left], Cluster | None] = no_cluster
    """Connects a run with the cluster that its plan, or what was left, asks for; None where neither does. Raises Cannot."""
    files: Callable[[RunLog, Roots, Sequence[str]], Files | None] = _local_files
    """Makes the file keeper of a run for these roots, without never-copied files; None if its store has no folders."""


HERE: Final = RunEnvironment()
"""The environment of this process, on this machine."""


def new_run_id(environment: RunEnvironment) -> str:
    """Return an id for a new run, of the time and of chance."""
    stamp = "".join(character for character in environment.wall() if character.isdigit())
    return make_run_id(stamp, environment.chance(6))


def as_events(
    drafts: Sequence[EventDraft], before: Sequence[Event], environment: RunEnvironment
) -> list[Event]:
    """Return events of drafts, numbered on from those before."""
    at = environment.wall()
    seq = before[-1].seq if before else 0
    return [
        Event(seq + n, at, draft.kind, storable(draft.data))
        for n, draft in enumerate(drafts, start=1)
    ]
