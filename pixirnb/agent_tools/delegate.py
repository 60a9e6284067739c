"""The tools as an engine offers them to the agents of its runs: `protocols.ports.Delegate`, implemented above the engine."""

from __future__ import annotations

from typing import Final

from pixirnb.agent_tools.caller import Asker
from pixirnb.agent_tools.definitions import SURFACE, definitions
from pixirnb.agent_tools.dispatch import use
from pixirnb.history.events import Parent
from pixirnb.json_types import JsonObject
from pixirnb.operations.workflow_source import store_of
from pixirnb.protocols.ports import Caller
from pixirnb.store.file_store import FileStore

_OFFERED: Final = definitions(SURFACE)


class SurfaceDelegate:
    """Executes agents' calls of the tools."""

    definitions = _OFFERED

    async def __call__(self, tool: str, args: JsonObject, caller: Caller) -> JsonObject:
        """Execute a call. See `protocols.ports.Delegate`."""
        result = await use(tool, args, _asker(caller))
        return result.document()


def _asker(caller: Caller) -> Asker:
    """Return the agent of an attempt. In `ask` mode it has asked before it calls; a read-only agent is limited here too."""
    parent: Parent = {
        "run_id": caller.run_id,
        "step": caller.step,
        "attempt": caller.attempt,
        "session_id": caller.session_id,
        "depth": caller.depth,
    }
    workspace = caller.workspace
    return Asker(
        workspace=workspace,
        store=store_of(workspace, None) if caller.state is None else FileStore(caller.state),
        permission_mode=caller.permission_mode,
        by=f"agent {caller.session_id} of {caller.run_id}",
        parent=parent,
        depth=caller.depth,
        is_permitted=True,
        tell=caller.tell,
    )
