"""Interchange with other programs: tools for their agents, their workflows as native YAML, sessions for an editor.

The verbs `mcp` and `convert`, and the option `show --acp`. Source: contract.md §7, §9.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pixirnb.errors import Cannot, InvalidArguments
from pixirnb.operations.locations import store_of, workspace_of
from pixirnb.operations.run import Run
from pixirnb.operations.workflow_source import convert_source
from pixirnb.sessions.state import fold_session
from pixirnb.sessions.tool_calls import text_of
from pixirnb.spec.agent_commands import PermissionMode
from pixirnb.verbs.answers import Answer
from pixirnb.verbs.options import Common, DeskHere, is_json
from pixirnb.verbs.run_answers import session_of
from pixirnb.verbs.workflow_options import source_of
from pixirnb.views.session.acp import acp_of_outcome, acp_stop_reason, acp_updates


def mcp(
    *,
    desk: DeskHere,
    permission: PermissionMode = "ask",
    workspace: Path | None = None,
    state: Path | None = None,
) -> None:
    """Serve the workflow tools to an agent over MCP (standard input and output).

    Args:
        permission: Allow the agent to read only, to run what its user approves, or to run anything.
        workspace: Folder that its workflows work in, instead of the current one.
        state: State folder, instead of the nearest `.pixirnb`.
    """
    if desk.is_notebook:
        raise InvalidArguments(
            "`mcp` does not work in a cell: MCP uses standard input and output",
            fix="configure the agent's program to start `pixirnb mcp`",
        )
    folder = workspace_of(None, workspace)
    try:
        from pixirnb.agent_tools.mcp.server import serve
    except ImportError as error:
        raise Cannot(
            "`mcp` needs the MCP SDK, which is not installed",
            fix="run `pip install 'pixirnb[mcp]'`",
            code="extra_missing",
        ) from error
    serve(folder, store_of(folder, state), permission)


def convert(file: str, /, *, desk: DeskHere, common: Common | None = None) -> Answer:
    """Print a workflow as native YAML: converts an agent-relay file, normalizes a native one.

    Args:
        file: Workflow file, `-` for standard input, or the name of a workflow of this notebook.
    """
    text, notes = convert_source(source_of(desk, file))
    document = {"ok": True, "yaml": text, "notes": [note.document() for note in notes]}
    return Answer("conversion", document, is_json=is_json(common))


def acp_document(run: Run, session: str | None) -> dict[str, Any]:
    """Describe a run, or the session of a step, as updates of the Agent Client Protocol.

    Return `{run_id, session_id, updates, stopReason, _meta}`; `session_id` is null for the run, STEP.ATTEMPT for a
    session of it.

    Raises InvalidArguments, UnknownRun (`unknown_session`).
    """
    if session is None:
        return {"run_id": run.id, "session_id": None, **acp_of_outcome(run.outcome.document())}
    view = session_of(run, session)
    events = view.events()
    state = fold_session(events)
    kind = text_of((state.failed or {}).get("error_kind")) or None
    updates = [update["update"] for update in acp_updates(events)]
    end = acp_stop_reason(state.turn, view.checkpoint_status, error_kind=kind)
    return {"run_id": run.id, "session_id": view.session_id, "updates": updates, **end}
