"""The caller of a tool, and its limits: mode, depth, and the runs it may not control. Source: contract.md §7."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from pixirnb.agent_tools.definitions import Tool, is_mutation
from pixirnb.errors import Cannot, UnknownRun
from pixirnb.history.events import Parent
from pixirnb.history.run_state import fold
from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.spec.agent_commands import PERMISSION_MODES
from pixirnb.spec.workflow import Workflow
from pixirnb.store.file_store import FileStore

MAX_DEPTH: Final = 1
"""Maximum depth: agents of runs at this depth or deeper may not start runs; a run that a person started is at 0."""
_LINEAGE: Final = 16


def _ignore(_kind: str, _data: JsonObject) -> None:
    return


class Asker(Struct, frozen=True):
    """An agent, and its position in runs."""

    workspace: Path
    store: FileStore
    permission_mode: str
    by: str
    """Its name in the record of its decisions."""
    parent: Parent | None = None
    """Its attempt; None for an agent outside any run."""
    is_proven: bool = True
    """False if only an environment names its attempt: then it decides only what is in `started`."""
    depth: int = 0
    """Depth of its run; 0 outside of any."""
    is_permitted: bool = False
    """True if a person or its mode has allowed the current call."""
    ends_what_it_started: bool = True
    """True if a run that it stops waiting for is ended; otherwise that run goes on, and can be inspected."""
    patience_s: float | None = None
    """Seconds it waits for a run by default; None: to the end."""
    tell: Callable[[str, JsonObject], None] = _ignore
    """Records the result of a delegated run in its session."""
    started: set[str] = field(default_factory=set)
    """Runs that this connection started."""

    @property
    def run_id(self) -> str | None:
        """Return the run it works in."""
        return None if self.parent is None else self.parent["run_id"]

    def require_permission(self, tool: Tool, args: JsonMapping) -> None:
        """Raise Cannot (`permission_denied`) if its mode allows no change."""
        if not is_mutation(tool, args):
            return
        if self.permission_mode == "read_only":
            raise Cannot(
                f"`{tool.name}` makes changes, and this agent may only read",
                fix="report what should be run, or use dry_run"
                if "dry_run" in tool.parameters["properties"]
                else "report what should be done; a person can do it",
                code="permission_denied",
            )
        if self.permission_mode != "auto" and not self.is_permitted:
            raise Cannot(
                f"`{tool.name}` was not approved",
                fix="continue without it, or report that it is needed",
                code="permission_denied",
            )

    def require_depth(self) -> None:
        """Raise Cannot (`depth_exceeded`) if its run was itself delegated."""
        if self.depth >= MAX_DEPTH:
            raise Cannot(
                f"an agent of a delegated run may not start runs (depth {self.depth}, at most {MAX_DEPTH})",
                fix="do the work in this step, or report what should be run",
                code="depth_exceeded",
                details={"current": self.depth, "max": MAX_DEPTH},
            )

    def require_modes(self, workflow: Workflow) -> None:
        """Raise Cannot (`permission_exceeds`) if agents of a workflow would be allowed more than it is."""
        most = PERMISSION_MODES.index(self.permission_mode)
        for name, agent in workflow.agents.items():
            if (
                agent.permission_mode is not None
                and PERMISSION_MODES.index(agent.permission_mode) > most
            ):
                raise Cannot(
                    f"agent `{name}` has `permission_mode: {agent.permission_mode}`; yours is {self.permission_mode}",
                    fix=f"set it to {self.permission_mode} at most, or remove `permission_mode`",
                    code="permission_exceeds",
                    details={"agent": name, "asked": agent.permission_mode},
                )

    def require_resumable(self, run_id: str, workflow: Workflow, depth: int) -> None:
        """Raise Cannot if agents of a run at `depth` would be allowed more than it is, or could start runs too deep."""
        self.require_modes(workflow)
        if self.parent is not None and workflow.agents and depth <= self.depth:
            raise Cannot(
                f"{run_id} was not started by an agent; runs of its agents would be more than {MAX_DEPTH} levels below you",
                fix="report that it should be resumed; a person can do it",
                code="depth_exceeded",
                details={"current": self.depth + 1, "max": MAX_DEPTH},
            )

    def require_other(self, run_id: str, *, deciding: bool) -> None:
        """Raise Cannot if a run is its own, or an ancestor of its own."""
        if run_id not in self._lineage():
            return
        if deciding:
            raise Cannot(
                f"{run_id} is the run that you work in, or a run it was delegated from: you may not decide its steps",
                fix="report that a decision is needed; a person makes it",
                code="decision_by_agent",
                details={"run_id": run_id},
            )
        raise Cannot(
            f"{run_id} is the run that you work in, or a run it was delegated from: it continues by itself",
            fix="end your turn with a report instead",
            code="own_run",
            details={"run_id": run_id},
        )

    def require_delegated(self, run_id: str) -> None:
        """Raise Cannot (`decision_by_agent`) if it did not start a run, UnknownRun if the run does not exist."""
        if not self.has_delegated(run_id):
            raise Cannot(
                f"you did not start {run_id}: only a person, or the agent that started it, may decide its steps",
                fix="report that a decision is needed; a person makes it",
                code="decision_by_agent",
                details={"run_id": run_id},
            )

    def has_delegated(self, run_id: str) -> bool:
        """Return whether it started that run: an attempt of its step did, or this connection. Raises UnknownRun."""
        parent = fold(self.store.read(run_id).events).parent
        if run_id in self.started:
            return True
        if parent is None or self.parent is None or not self.is_proven:
            return False
        return all(parent.get(key) == self.parent[key] for key in ("run_id", "step"))

    def _lineage(self) -> list[str]:
        """Return its run, and the ancestors of that."""
        ancestors: list[str] = []
        run_id = self.run_id
        while run_id is not None and run_id not in ancestors and len(ancestors) < _LINEAGE:
            ancestors.append(run_id)
            try:
                parent = fold(self.store.read(run_id).events).parent
            except UnknownRun:
                break  # it was pruned: what came before it is over
            run_id = None if parent is None else str(parent.get("run_id"))
        return ancestors
