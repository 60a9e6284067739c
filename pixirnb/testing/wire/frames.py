"""The frames of a streamed answer, as the OpenAI protocol writes them: chat completions, and the responses interface.

A frame is the bytes of one server-sent event. Content frames are what `cut_after` and its like count; what stands before and
after them (the role, the reason of the end, usage, `[DONE]`) is the envelope.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pixirnb.testing.wire.answers import Answer, Call

DONE = b"data: [DONE]\n\n"
GARBAGE = b'data: {"choices": [{"delta": {"content": \n\n'


@dataclass(frozen=True, slots=True)
class Frames:
    """An answer, ready to be sent."""

    opening: list[bytes]
    content: list[bytes]
    closing: list[bytes]


def chat_frames(answer: Answer, model: str, number: Callable[[], str]) -> Frames:
    """Return frames of chat completions: `POST /v1/chat/completions`. `number` names a call."""

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data(_chat_envelope(model, [choice]))

    content = [chunk({"reasoning_content": thought}) for thought in answer.reasoning]
    content += [chunk({"content": text}) for text in _texts(answer)]
    for index, call in enumerate(answer.calls):
        call_id = call.call_id or number()
        first, rest = _halves(_arguments(call))
        begun = {
            "index": index,
            "id": call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": first},
        }
        content.append(chunk({"tool_calls": [begun]}))
        content.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": rest}}]}))
    closing = []
    if answer.finish is not None:
        reason = answer.finish
        if reason == "auto":
            reason = "tool_calls" if answer.calls else "stop"
        closing.append(chunk({}, reason))
    if answer.usage is not None:
        used, made = answer.usage
        tokens = {"prompt_tokens": used, "completion_tokens": made, "total_tokens": used + made}
        closing.append(_data({**_chat_envelope(model, []), "usage": tokens}))
    if answer.finish is not None:
        closing.append(DONE)
    return Frames([chunk({"role": "assistant", "content": ""})], content, closing)


def responses_frames(answer: Answer, model: str, number: Callable[[], str]) -> Frames:
    """Return the responses interface: `POST /v1/responses`."""
    counter = iter(range(100_000))

    def event(kind: str, **fields: Any) -> bytes:
        body = {"type": kind, "sequence_number": next(counter), **fields}
        return f"event: {kind}\n".encode() + _data(body)

    opening = [event("response.created", response=_response(model, "in_progress", []))]
    content: list[bytes] = []
    items: list[dict[str, Any]] = []
    if texts := _texts(answer):
        part = {"type": "output_text", "text": "", "annotations": []}
        item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress"}
        position = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        opening.append(
            event("response.output_item.added", output_index=0, item={**item, "content": []})
        )
        opening.append(event("response.content_part.added", part=part, **position))
        content += [
            event("response.output_text.delta", delta=text, logprobs=[], **position)
            for text in texts
        ]
        whole = {**part, "text": "".join(texts)}
        items.append({**item, "status": "completed", "content": [whole]})
    for call in answer.calls:
        call_id, index = call.call_id or number(), len(items)
        item = {"id": f"fc_{index}", "type": "function_call", "call_id": call_id, "name": call.name}
        arguments = _arguments(call)
        begun = {**item, "arguments": "", "status": "in_progress"}
        done = {**item, "arguments": arguments, "status": "completed"}
        position = {"item_id": item["id"], "output_index": index}
        content.append(event("response.output_item.added", output_index=index, item=begun))
        content += [
            event("response.function_call_arguments.delta", delta=half, **position)
            for half in _halves(arguments)
        ]
        content.append(event("response.output_item.done", output_index=index, item=done))
        items.append(done)
    if answer.finish is None:
        return Frames(opening, content, [])
    response = _response(model, "completed", items)
    if answer.usage is not None:
        used, made = answer.usage
        response["usage"] = {
            "input_tokens": used,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": made,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": used + made,
        }
    return Frames(opening, content, [event("response.completed", response=response)])


def fault_frame(code: int, message: str) -> bytes:
    """Return an error inside a stream that had begun well."""
    return _data({"error": {"message": message, "code": str(code), "type": "server_error"}})


def _texts(answer: Answer) -> list[str]:
    return [answer.text] if isinstance(answer.text, str) else list(answer.text)


def _arguments(call: Call) -> str:
    given = call.arguments
    return given if isinstance(given, str) else json.dumps(given)


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _chat_envelope(model: str, choices: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": model,
        "choices": list(choices),
    }


def _response(model: str, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": model,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _data(body: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\n\n"
