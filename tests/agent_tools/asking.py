"""An agent at the counter: who it is is a value, and what it asks is one call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from msgspec.structs import replace

from pixirnb.agent_tools.caller import Asker
from pixirnb.agent_tools.dispatch import use
from pixirnb.agent_tools.result import Result
from pixirnb.history.events import Parent
from pixirnb.operations.locations import store_of

SLEEPER = {"name": "sleeper", "steps": [{"id": "nap", "run": "sleep 60"}]}


def asker(workspace: Path, **fields: Any) -> Asker:
    """An agent that may do what it likes, outside any run."""
    who = Asker(workspace, store_of(workspace, None), "auto", "agent a.1 of r-outer")
    return replace(who, **fields)


def parent(run_id: str, *, depth: int = 0) -> Parent:
    """The attempt an agent of that run is."""
    return {"run_id": run_id, "step": "a", "attempt": 1, "session_id": "a.1", "depth": depth}


def asked(who: Asker, tool: str, **args: Any) -> Result:
    """What a tool answers."""
    return anyio.run(lambda: use(tool, args, who))


def workflow(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A workflow as an agent writes it."""
    return {"name": "inner", **fields, "steps": list(steps)}


def heard() -> tuple[list[dict[str, Any]], Callable[[str, dict[str, Any]], None]]:
    """What a session was told, and how it is told."""
    told: list[dict[str, Any]] = []
    return told, lambda kind, data: told.append({"kind": kind, **data})
