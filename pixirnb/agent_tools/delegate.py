"""The tool surface as an engine hands it to the agents of its runs: `protocols.ports.Delegate`, from above."""

from __future__ import annotations

from typing import Any, Final

from pixirnb.agent_tools.caller import Asker
from pixirnb.agent_tools.definitions import SURFACE, definitions
from pixirnb.agent_tools.dispatch import use
from pixirnb.history.events import Parent
from pixirnb.operations.workflow_source import store_of
from pixirnb.protocols.ports import Caller
from pixirnb.store.file_store import FileStore

_OFFERED: Final = definitions(SURFACE)


class SurfaceDelegate:
    """Carries out what agents ask of the tool surface."""

    definitions = _OFFERED

    async def __call__(self, tool: str, args: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """See `protocols.ports.Delegate`."""
        result = await use(tool, args, _asker(caller))
        return result.document()


def _asker(caller: Caller) -> Asker:
    """The agent of an attempt. In `ask` mode it has asked before it calls; what may only read is held to that here as well."""
    parent: Parent = {
        "run_id": caller.run_id,
        "step": caller.step,
        "attempt": caller.attempt,
        "session_id": caller.session_id,
        "depth": caller.depth,
    }
    place = caller.workspace
    return Asker(
        workspace=place,
        store=store_of(place, None) if caller.state is None else FileStore(caller.state),
        permission_mode=caller.permission_mode,
        by=f"agent {caller.session_id} of {caller.run_id}",
        parent=parent,
        depth=caller.depth,
        is_permitted=True,
        tell=caller.tell,
    )
