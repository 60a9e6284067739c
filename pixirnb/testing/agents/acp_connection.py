"""Connections of the fake coding agent: to the client on its own pipes, and to a server of the Model Context Protocol."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable
from typing import Any


class Connection:
    """JSON-RPC with a client on standard output; `_answered` takes its answers."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._number = 0
        self._answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}

    def _answered(self, message: dict[str, Any]) -> None:
        """Pass the answer to a request on to the thread that waits for it."""
        answer = self._answers.pop(message["id"], None)
        if answer is not None:
            answer.put(message)

    def _update(self, kind: str, **fields: Any) -> None:
        self._tell({"sessionUpdate": kind, **fields})

    def _tell(self, update: dict[str, Any]) -> None:
        self._send(method="session/update", params={"sessionId": self._session, "update": update})

    def _request(
        self, method: str, meanwhile: Callable[[], None] = lambda: None, **params: Any
    ) -> dict[str, Any]:
        answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        with self._lock:
            self._number += 1
            number = self._number
            self._answers[number] = answers
        self._send(id=number, method=method, params={"sessionId": self._session, **params})
        meanwhile()
        return answers.get()

    def _send(self, **message: Any) -> None:
        self._write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")

    def _write(self, text: str) -> None:
        with self._lock:
            # Not through the buffer of `sys.stdout`: a thread that speaks as the program ends would hold its lock.
            rest = memoryview(text.encode())
            while rest:
                rest = rest[os.write(1, rest) :]


def call_tool(server: dict[str, Any], tool: str, args: str) -> str:
    """Call a tool as agents do, and return its answer: the server is a child that speaks on its pipes."""
    client = {"clientInfo": {"name": "fake", "version": "1"}, "capabilities": {}}
    messages: list[dict[str, Any]] = [
        {
            "id": 1,
            "method": "initialize",
            "params": {"protocolVersion": "2025-06-18", **client},
        },
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": tool, "arguments": json.loads(args)},
        },
    ]
    with subprocess.Popen(
        [server["command"], *server["args"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        heard = (json.loads(line) for line in process.stdout)
        answer: dict[str, Any] = next(
            (line for line in heard if line.get("id") == 2), {"result": {}}
        )
        process.stdin.close()
    content = answer.get("result", {}).get("content") or [{"text": json.dumps(answer)}]
    return str(content[0]["text"])
