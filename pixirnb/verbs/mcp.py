"""The verb for agents outside: `mcp`. Source: contract.md §7, §9."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from cyclopts import App

from pixirnb import api
from pixirnb.errors import Cannot, InvalidArguments
from pixirnb.verbs.answers import Desk


def add(app: App, desk: Desk) -> None:
    """Register the verb on an App."""

    @app.command
    def mcp(
        *,
        permission: Literal["read_only", "ask", "auto"] = "ask",
        workspace: Path | None = None,
        state: Path | None = None,
    ) -> None:
        """Offer the tools for workflows to an agent outside, by the Model Context Protocol on standard input and output.

        Args:
            permission: What the agent may do: only look, ask its user each time, or run what it likes.
            workspace: Folder its workflows work in, instead of the current one.
            state: State folder to use instead of the nearest `.pixirnb`.
        """
        if desk.is_notebook:
            raise InvalidArguments(
                "A cell cannot serve an agent: it speaks over standard input and output.",
                fix="Let the agent's program start `pixirnb mcp` itself; see the how-to page.",
            )
        folder = api.workspace_of(None, workspace)
        try:
            from pixirnb.agent_tools.mcp.server import serve
        except ImportError as error:
            raise Cannot(
                "Serving agents needs the MCP SDK, which is not installed here.",
                fix="pip install 'pixirnb[mcp]'",
                code="extra_missing",
            ) from error
        serve(folder, api.store_of(folder, state), permission)
