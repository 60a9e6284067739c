"""Conversion between our events and the library's messages. Keeps no state.

items of sessions.replay ──▶ messages_of ──▶ the provider ──▶ a response ──▶ events_of ──▶ events of the session
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.sessions.events import Pair

DEEPEST: Final = 100
"""Maximum depth of a call's arguments: more than any tool needs, less than a reader could fail on."""
_TOO_DEEP: Final = "[nested too deep]"


def messages_of(items: Sequence[JsonObject]) -> list[ModelMessage]:
    """Return the conversation as the library sends it. See `sessions.provider_input` for the items."""
    messages: list[ModelMessage] = []
    for item in items:
        if item["role"] == "assistant":
            parts = [_spoken(part) for part in item["parts"]]
            messages.append(ModelResponse(parts=parts))
            continue
        heard = _heard(item)
        last = messages[-1] if messages else None
        if isinstance(last, ModelRequest):
            last.parts = [*last.parts, heard]
        else:
            messages.append(ModelRequest(parts=[heard]))
    return messages


def definitions_of(tools: Sequence[JsonObject]) -> list[ToolDefinition]:
    """Return tools as the library offers them."""
    return [
        ToolDefinition(
            name=tool["name"],
            description=tool.get("description"),
            parameters_json_schema=tool["parameters"],
            # Sent unchanged: the stricter form of a provider has no optional arguments and no open objects.
            strict=False,
        )
        for tool in tools
    ]


def events_of(response: ModelResponse, model: str) -> list[Pair]:
    """Return a whole response in its order: `reasoning`, `assistant_message`, `tool_call`."""
    is_last_word = not response.tool_calls
    last_text = max(
        (n for n, part in enumerate(response.parts) if isinstance(part, TextPart)), default=-1
    )
    events: list[Pair] = []
    for index, part in enumerate(response.parts):
        match part:
            case ThinkingPart():
                events.append(("reasoning", _thought(part, model)))
            case TextPart() if part.content or index == last_text:
                is_final = is_last_word and index == last_text
                events.append(_message(part.content, model, is_final=is_final))
            case ToolCallPart():
                called = {
                    "call_id": part.tool_call_id,
                    "name": part.tool_name,
                    "args": arguments_of(part.args),
                }
                events.append(("tool_call", called))
            case _:
                pass  # what providers do by themselves (searches, files) is not offered to them
    if is_last_word and last_text < 0:
        events.append(_message("", model, is_final=True))
    return events


def arguments_of(arguments: str | JsonMapping | None) -> Any:
    """Return the model's arguments as data if they are JSON; unchanged if not, or if nested too deeply."""
    if arguments is None:
        return {}
    if not isinstance(arguments, str):
        return _TOO_DEEP if _depth_exceeds(arguments, DEEPEST) else arguments
    try:
        given = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return arguments
    return arguments if _depth_exceeds(given, DEEPEST) else given


def _depth_exceeds(value: Any, limit: int) -> bool:
    level: list[Any] = [value]
    for _ in range(limit + 1):
        inner: list[Any] = []
        for each in level:
            if isinstance(each, Mapping):
                inner += each.values()
            elif isinstance(each, list | tuple):
                inner += each
        if not inner:
            return False
        level = inner
    return True


def _message(text: str, model: str, *, is_final: bool) -> Pair:
    return "assistant_message", {"text": text, "partial": False, "final": is_final, "model": model}


def _spoken(part: JsonObject) -> ModelResponsePart:
    match part["kind"]:
        case "call":
            # In the order of the log, not of the model: the next request is built from the log alone.
            args = part["args"]
            given = args if isinstance(args, str) else json.dumps(args, sort_keys=True)
            return ToolCallPart(part["name"], given, tool_call_id=part["call_id"])
        case "reasoning":
            opaque = part.get("opaque") or {}
            return ThinkingPart(
                part["text"],
                id=opaque.get("id"),
                signature=opaque.get("signature"),
                provider_name=opaque.get("provider"),
                provider_details=opaque.get("details"),
            )
        case _:
            return TextPart(part["text"])


def _heard(item: JsonObject) -> ModelRequestPart:
    if item["role"] == "user":
        return UserPromptPart(item["text"])
    return ToolReturnPart(
        item["name"],
        item["output"],
        tool_call_id=item["call_id"],
        outcome="success" if item["ok"] else "failed",
    )


def _thought(part: ThinkingPart, model: str) -> JsonObject:
    opaque = {
        "id": part.id,
        "signature": part.signature,
        "provider": part.provider_name,
        "details": part.provider_details,
    }
    kept = {name: value for name, value in opaque.items() if value is not None}
    return {"text": part.content, "model": model, **({"opaque": kept} if kept else {})}
