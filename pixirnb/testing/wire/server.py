"""The server: its own thread on loopback, a script of replies for each model, and every request kept as it came.

    with ModelServer({"good": [Answer(("Hello",))], "busy": [Refusal(429), Answer(("Hello",))]}) as server:
        ...  # OPENAI_BASE_URL=server.base_url, model: "openai:busy"
        assert len(server.requests_for("busy")) == 2

Replies of a model are given one a request, in order; the last one is given for ever. A model without
a script is refused with 404.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from pixirnb.testing.wire.answers import Answer, Plain, Received, Refusal, Reply, ScriptedReply
from pixirnb.testing.wire.frames import (
    GARBAGE,
    Frames,
    chat_frames,
    fault_frame,
    responses_frames,
)

_RESET = struct.pack("ii", 1, 0)
"""Linger on, for no time: closing then resets the connection, as a fallen server's kernel does."""


class ModelServer:
    """A context manager; used by a test from its own thread."""

    def __init__(self, scripts: Mapping[str, Sequence[ScriptedReply]]) -> None:
        """`scripts`: model name to its replies."""
        self._scripts = {model: list(replies) for model, replies in scripts.items()}
        self._lock = threading.Lock()
        self._calls = 0
        self.received: list[Received] = []
        """All requests, in the order in which they came in."""
        self._http = _Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def base_url(self) -> str:
        """Value for `OPENAI_BASE_URL`."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def requests_for(self, model: str) -> list[Received]:
        """Return the requests for a model, in order."""
        with self._lock:
            return [request for request in self.received if request.model == model]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.is_over.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def reply_to(self, request: Received) -> Reply:
        """Keep the request, and choose what is said to it."""
        with self._lock:
            self.received.append(request)
            script = self._scripts.get(request.model)
            if script is None:
                return Refusal(
                    404, f"The model `{request.model}` does not exist.", "model_not_found"
                )
            reply = script.pop(0) if len(script) > 1 else script[0]
        return reply(request.body) if callable(reply) else reply

    def call_id(self) -> str:
        """Return a new id for a call."""
        with self._lock:
            self._calls += 1
            return f"call_{self._calls}"


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, server: ModelServer) -> None:
        self.model_server = server
        self.is_over = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Do nothing: clients that went away are what many tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body: dict[str, Any] = json.loads(raw)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Received(self.path, str(body.get("model")), body, raw, headers)
        match self.server.model_server.reply_to(request):
            case Answer() as answer:
                self._stream(answer, request)
            case Refusal() as refusal:
                self._refuse(refusal)
            case Plain(body=b""):
                self._break_off()
            case Plain(body=words):
                self._send(200, "text/html", words)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class's name
        """Do nothing: requests are kept, not printed."""

    def _stream(self, answer: Answer, request: Received) -> None:
        number = self.server.model_server.call_id
        make = responses_frames if request.path.endswith("/responses") else chat_frames
        frames = make(answer, request.model, number)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if self._send_frames(frames, answer):
            self.wfile.write(b"0\r\n\r\n")
        else:
            self._break_off()

    def _send_frames(self, frames: Frames, answer: Answer) -> bool:
        """Send the frames; false if the connection is to break."""
        for frame in frames.opening:
            self._chunk(frame, answer)
        for count in range(len(frames.content) + 1):
            if answer.cut_after == count:
                return False
            if answer.garbage_after == count:
                self._chunk(GARBAGE, answer)
            if answer.fault is not None and answer.fault[0] == count:
                self._chunk(fault_frame(500, answer.fault[1]), answer)
                return True
            if count < len(frames.content):
                self._chunk(frames.content[count], answer)
        for frame in frames.closing:
            self._chunk(frame, answer)
        return True

    def _chunk(self, frame: bytes, answer: Answer) -> None:
        if answer.delay_s:
            deadline = time.monotonic() + answer.delay_s
            while time.monotonic() < deadline and not self.server.is_over.is_set():
                self.server.is_over.wait(deadline - time.monotonic())
        self.wfile.write(b"%x\r\n%s\r\n" % (len(frame), frame))
        self.wfile.flush()

    def _refuse(self, refusal: Refusal) -> None:
        error = {"message": refusal.message, "code": refusal.code, "type": "error"}
        extra = {} if refusal.retry_after is None else {"Retry-After": f"{refusal.retry_after:g}"}
        self._send(refusal.status, "application/json", json.dumps({"error": error}).encode(), extra)

    def _send(
        self, status: int, kind: str, body: bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _break_off(self) -> None:
        """End the connection in the middle, so that the other side finds out."""
        self.wfile.flush()
        time.sleep(0.05)  # a reset overtakes bytes on their way; they are to arrive
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.connection.close()
        self.close_connection = True
