"""Asking the person behind an MCP client, where the client can: within the call, or, in newer revisions, by having it repeated.

What is allowed is one exact call, once. Which answer belongs to which question is kept here and never believed of the client.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from pixirnb.agent_tools.definitions import Tool
from pixirnb.errors import Cannot
from pixirnb.planning.digest import text_digest
from pixirnb.planning.prompts.quoting import quote
from pixirnb.views.basics.sanitize import plain

Context = ServerRequestContext[dict[str, Any], Any]

_KEY: Final = "permission"
_SHOWN: Final = 4_000
_OPEN: Final = 64
"""Questions that may wait for an answer at once; the oldest is forgotten, which refuses it."""
_FORM: Final = {
    "type": "object",
    "properties": {
        "allow": {
            "type": "boolean",
            "title": "Allow it",
            "description": "Let the agent do this, once.",
        }
    },
    "required": ["allow"],
}


class Consent:
    """What the person was asked and has said, on one connection."""

    def __init__(self) -> None:
        self._asked: dict[str, str] = {}

    async def ask(
        self, ctx: Context, tool: Tool, args: Mapping[str, Any], params: types.CallToolRequestParams
    ) -> types.InputRequiredResult | None:
        """None where it is allowed; a result that has the client ask and call again. Raises Cannot (`permission_denied`)."""
        digest = text_digest(json.dumps([tool.name, args], sort_keys=True, default=str))
        is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        if is_modern and params.request_state is not None:
            said = (params.input_responses or {}).get(_KEY)
            if self._asked.pop(params.request_state, None) != digest:
                raise _denied(tool, "that answer belongs to no open question")
            _heed(tool, said)
            return None
        if not _can_be_asked(ctx):
            raise Cannot(
                f"`{tool.name}` changes things, and this client cannot ask its user.",
                fix="A person can start the server with `pixirnb mcp --permission auto`; dry_run needs no permission.",
                code="permission_denied",
            )
        message = _question(tool, args)
        if is_modern:
            token = secrets.token_hex(16)
            self._asked[token] = digest
            while len(self._asked) > _OPEN:
                del self._asked[next(iter(self._asked))]
            form = types.ElicitRequestFormParams(message=message, requested_schema=dict(_FORM))
            return types.InputRequiredResult(
                input_requests={_KEY: types.ElicitRequest(params=form)}, request_state=token
            )
        try:
            said = await ctx.session.elicit_form(message, dict(_FORM), ctx.request_id)
        except (MCPError, ValidationError):
            raise _denied(tool, "the client gave no answer that can be read") from None
        _heed(tool, said)
        return None


def _can_be_asked(ctx: Context) -> bool:
    able = ctx.session.client_capabilities
    return able is not None and able.elicitation is not None


def _heed(tool: Tool, said: object) -> None:
    if not isinstance(said, types.ElicitResult) or said.action == "cancel":
        raise _denied(tool, "nobody answered")
    if said.action != "accept" or (said.content or {}).get("allow") is not True:
        raise _denied(tool, "the user said no")


def _denied(tool: Tool, why: str) -> Cannot:
    return Cannot(
        f"`{tool.name}` was not allowed: {why}.",
        fix="Go on without it; do not try it in another way.",
        code="permission_denied",
    )


def _question(tool: Tool, args: Mapping[str, Any]) -> str:
    """The agent's own words stand below, marked: they are what is to be allowed, and no advice."""
    said = json.dumps(args, ensure_ascii=False, indent=1, default=str)
    return f"Allow `{tool.name}` in pixirnb?\n\n{quote('the agent', plain(said, _SHOWN))}"
