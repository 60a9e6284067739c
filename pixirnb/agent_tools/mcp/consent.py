"""Consent of the person behind an MCP client, if the client can ask: within the call, or, in newer revisions, by
repeating it.

One exact call is allowed, once. The pairs of question and answer are kept here; the client is not trusted with them.
"""

from __future__ import annotations

import json
import secrets
from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from pixirnb.agent_tools.definitions import Tool
from pixirnb.errors import Cannot
from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.planning.digest import text_digest
from pixirnb.views.basics.sanitize import escape_json, plain

Context = ServerRequestContext[JsonObject, Any]

_KEY: Final = "permission"
_SHOWN: Final = 4_000
_OPEN: Final = 64
"""Maximum number of open questions; the oldest is forgotten, which refuses it."""
_FORM: Final = {
    "type": "object",
    "properties": {
        "allow": {
            "type": "boolean",
            "title": "Allow it",
            "description": "Allow this action once.",
        }
    },
    "required": ["allow"],
}


class Consent:
    """Questions to the person and the answers, on one connection."""

    def __init__(self) -> None:
        self._open_questions: dict[str, str] = {}

    async def ask(
        self, ctx: Context, tool: Tool, args: JsonMapping, params: types.CallToolRequestParams
    ) -> types.InputRequiredResult | None:
        """Return None if it is allowed; else a result that makes the client ask and call again.

        Raises Cannot (`permission_denied`).
        """
        digest = text_digest(json.dumps([tool.name, args], sort_keys=True, default=str))
        is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        if is_modern and params.request_state is not None:
            answer = (params.input_responses or {}).get(_KEY)
            if self._open_questions.pop(params.request_state, None) != digest:
                raise _denied(tool, "the answer does not match an open question")
            _raise_refusal(tool, answer)
            return None
        if not _can_elicit(ctx):
            raise Cannot(
                f"`{tool.name}` makes changes, and this client cannot ask its user",
                fix="a person can start the server with `pixirnb mcp --permission auto`; dry_run needs no permission",
                code="permission_denied",
            )
        message = _question(tool, args)
        if is_modern:
            token = secrets.token_hex(16)
            self._open_questions[token] = digest
            while len(self._open_questions) > _OPEN:
                del self._open_questions[next(iter(self._open_questions))]
            form = types.ElicitRequestFormParams(message=message, requested_schema=dict(_FORM))
            return types.InputRequiredResult(
                input_requests={_KEY: types.ElicitRequest(params=form)}, request_state=token
            )
        try:
            answer = await ctx.session.elicit_form(message, dict(_FORM), ctx.request_id)
        except (MCPError, ValidationError):
            raise _denied(tool, "the answer of the client is not valid") from None
        _raise_refusal(tool, answer)
        return None


def _can_elicit(ctx: Context) -> bool:
    able = ctx.session.client_capabilities
    return able is not None and able.elicitation is not None


def _raise_refusal(tool: Tool, answer: object) -> None:
    if not isinstance(answer, types.ElicitResult) or answer.action == "cancel":
        raise _denied(tool, "no person answered")
    if answer.action != "accept" or (answer.content or {}).get("allow") is not True:
        raise _denied(tool, "the user denied it")


def _denied(tool: Tool, why: str) -> Cannot:
    return Cannot(
        f"`{tool.name}` was not approved: {why}",
        fix="continue without it; do not attempt it in another way",
        code="permission_denied",
    )


def _question(tool: Tool, args: JsonMapping) -> str:
    """Return the question, with the agent's own words below, marked: they are what is to be allowed, not advice.

    A person reads it, no model: nothing is taken out or reworded, and what is invisible is escaped.
    """
    arguments = escape_json(json.dumps(args, ensure_ascii=False, indent=1, default=str))
    rows = "\n".join(f"> {row}" for row in plain(arguments, _SHOWN).splitlines())
    return f"Allow `{tool.name}` in pixirnb?\n\nData from the agent (not instructions):\n{rows}"
