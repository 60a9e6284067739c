"""A model provider on loopback for trials of real coding agents: it does what the prompt's words say, on three wires.

    POST …/v1/messages                          Anthropic
    POST …/responses                            OpenAI
    POST …/models/NAME:streamGenerateContent    Gemini

    TRIAL-SAY              says that it is ready
    TRIAL-WRITE PATH       writes PATH by the agent's tool for that, then PATH.shell by its shell, then says that it is ready
    TRIAL-CREATE PATH      the same without the shell
    TRIAL-WAIT             says "waiting", and then nothing for two minutes

It reads of a request what tools there are and how many results there were. No model would be as obedient; that is the point.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Event = tuple[str, dict[str, Any]]
TEXT = "made by an agent\n"
_WAIT_S = 120.0


class Provider:
    """A context manager: serves while it is open."""

    def __init__(self) -> None:
        self.received: list[tuple[str, dict[str, Any]]] = []
        """Path and body of each request."""
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.provider = self  # type: ignore[attr-defined]
        self._http.daemon_threads = True
        self.is_over = threading.Event()

    @property
    def url(self) -> str:
        """Without a path."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.is_over.set()
        self._http.shutdown()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(b'{"data": [], "models": []}')

    def do_POST(self) -> None:
        provider: Provider = self.server.provider  # type: ignore[attr-defined]
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        provider.received.append((self.path, body))
        path = self.path.partition("?")[0]
        if path.endswith("/messages"):
            self._stream(_anthropic(body))
        elif path.endswith("/responses"):
            self._stream(_responses(body))
        elif path.endswith(":streamGenerateContent"):
            self._stream(_gemini(body))
        elif path.endswith(":generateContent"):
            self._answer(json.dumps(next(iter(_gemini(body)))[1]).encode())
        else:
            self._answer(b'{"input_tokens": 1, "totalTokens": 1}')

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class's name
        """Nothing: a trial prints its own."""

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, events: Iterator[Event]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        provider: Provider = self.server.provider  # type: ignore[attr-defined]
        try:
            for name, data in events:
                if name == "wait":
                    self.wfile.flush()
                    provider.is_over.wait(_WAIT_S)
                    continue
                head = f"event: {name}\n" if name else ""
                self.wfile.write(f"{head}data: {json.dumps(data)}\n\n".encode())
            self.wfile.flush()
        except OSError:
            pass  # an agent that was ended
        self.close_connection = True


# --- what it does -------------------------------------------------------------------------------------------------------


def _move(body: dict[str, Any], tools: dict[str, dict[str, Any]], results: int) -> Any:
    """What is next: a text, `"wait"`, or a tool's name and arguments. Of the prompt its last words count."""
    words = re.findall(r"TRIAL-(SAY|WRITE|CREATE|WAIT)(?: (/[\w./-]+))?", json.dumps(body))
    if not words or not tools:
        return "A title."
    task, path = words[-1]
    path = path.rstrip(".")
    if task == "WAIT":
        return None
    calls = []
    if task in {"WRITE", "CREATE"}:
        calls.append(_write(tools, path, may_ask="currently never" not in json.dumps(body)))
    if task == "WRITE":
        calls.append(_shell(tools, f"echo shell > {path}.shell"))
    calls = [call for call in calls if call is not None]
    if results < len(calls):
        return calls[results]
    return "All is done.\ncheckpoint_status: checkpoint_ready"


def _write(tools: dict[str, dict[str, Any]], path: str, *, may_ask: bool) -> tuple[str, Any] | None:
    if "apply_patch" in tools:
        patch = f"*** Begin Patch\n*** Add File: {path}\n+{TEXT}*** End Patch"
        return "apply_patch", patch
    for name in ("Write", "write", "write_file"):
        if name in tools:
            keys = tools[name].get("properties") or {"file_path": {}}
            key = next(key for key in ("file_path", "filePath", "path") if key in keys)
            return name, {key: path, "content": TEXT}
    if (
        "exec_command" in tools
    ):  # of codex, where it does not know the model: leave for what its sandbox does not let through
        leave = {"sandbox_permissions": "require_escalated", "justification": "writes a file"}
        asked = leave if may_ask else {}
        return "exec_command", {"cmd": f"echo {TEXT.strip()} > {path}", **asked}
    return None


def _shell(tools: dict[str, dict[str, Any]], command: str) -> tuple[str, Any] | None:
    for name in ("Bash", "bash", "run_shell_command", "exec_command", "shell", "shell_command"):
        if name in tools:
            keys = tools[name].get("properties") or {}
            key = "cmd" if "cmd" in keys else "command"
            said: Any = ["sh", "-c", command] if name == "shell" else command
            more = {"description": "writes a file"} if "description" in keys else {}
            return name, {key: said, **more}
    return None


# --- its wires ----------------------------------------------------------------------------------------------------------


def _anthropic(body: dict[str, Any]) -> Iterator[Event]:
    tools = {tool["name"]: tool.get("input_schema") or {} for tool in body.get("tools") or []}
    blocks = [
        block
        for message in body.get("messages") or []
        for block in (message["content"] if isinstance(message["content"], list) else [])
    ]
    move = _move(body, tools, sum(block.get("type") == "tool_result" for block in blocks))
    usage = {"input_tokens": 3, "output_tokens": 5}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield "message_start", {"type": "message_start", "message": message}
    is_call = isinstance(move, tuple)
    call_id = f"toolu_{len(blocks)}"
    begun: dict[str, Any] = (
        {"type": "tool_use", "id": call_id, "name": move[0], "input": {}}
        if is_call
        else {"type": "text", "text": ""}
    )
    place = {"index": 0}
    yield "content_block_start", {"type": "content_block_start", **place, "content_block": begun}
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(move[1])}
        if is_call
        else {"type": "text_delta", "text": "waiting" if move is None else move}
    )
    yield "content_block_delta", {"type": "content_block_delta", **place, "delta": delta}
    if move is None:
        yield "wait", {}
    yield "content_block_stop", {"type": "content_block_stop", **place}
    ended = {"stop_reason": "tool_use" if is_call else "end_turn", "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": ended, "usage": usage}
    yield "message_stop", {"type": "message_stop"}


def _responses(body: dict[str, Any]) -> Iterator[Event]:
    tools = {
        str(tool.get("name")): tool.get("parameters") or {}
        for tool in body.get("tools") or []
        if isinstance(tool, dict)
    }
    kinds = [item.get("type") for item in body.get("input") or [] if isinstance(item, dict)]
    move = _move(body, tools, sum(str(kind).endswith("_call_output") for kind in kinds))
    response = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    yield "response.created", {"type": "response.created", "response": response}
    item: dict[str, Any]
    if isinstance(move, tuple):
        name, args = move
        call = {"id": f"fc_{len(kinds)}", "call_id": f"call_{len(kinds)}", "name": name}
        item = {**call, "type": "function_call", "arguments": json.dumps(args)}
        if isinstance(args, str):
            item = {**call, "type": "custom_tool_call", "input": args}
    else:
        text = "waiting" if move is None else move
        said = {"type": "output_text", "text": text, "annotations": []}
        item = {"id": f"msg_{len(kinds)}", "type": "message", "role": "assistant", "content": []}
        place = {"item_id": item["id"], "output_index": 0}
        yield (
            "response.output_item.added",
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": item,
            },
        )
        yield (
            "response.output_text.delta",
            {
                "type": "response.output_text.delta",
                "content_index": 0,
                "delta": text,
                **place,
            },
        )
        item = {**item, "content": [said]}
        if move is None:
            yield "wait", {}
    yield (
        "response.output_item.done",
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": item,
        },
    )
    usage = {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8}
    done = {**response, "status": "completed", "output": [item], "usage": usage}
    yield "response.completed", {"type": "response.completed", "response": done}


def _gemini(body: dict[str, Any]) -> Iterator[Event]:
    declared = [
        function
        for tool in body.get("tools") or []
        for function in tool.get("functionDeclarations") or []
    ]
    tools = {
        function["name"]: function.get("parametersJsonSchema") or function.get("parameters") or {}
        for function in declared
    }
    parts = [part for turn in body.get("contents") or [] for part in turn.get("parts") or []]
    move = _move(body, tools, sum("functionResponse" in part for part in parts))
    if isinstance(move, tuple):
        part = {"functionCall": {"name": move[0], "args": move[1]}}
    else:
        part = {"text": "waiting" if move is None else move}
    said = {"role": "model", "parts": [part]}
    if move is None:
        yield "", {"candidates": [{"content": said}]}
        yield "wait", {}
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 5, "totalTokenCount": 8}
    candidate = {"content": said, "finishReason": "STOP", "index": 0}
    yield "", {"candidates": [candidate], "usageMetadata": usage}


if __name__ == "__main__":
    with Provider() as provider:
        print(provider.url, flush=True)
        sys.stdin.read()
