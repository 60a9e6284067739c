"""The protocol of a function in a child process: JSON lines, each followed by as many raw bytes as it announces.

Frames are `progress {fraction message}`, `checkpoint {data}`, `tool {data}`, `session {kind data}`, `ask {…}`, and
last `value {stored}` or `error {kind message details}`. The writer limits a line: long texts are cut, visibly and
without leaving half a secret. The reader accepts no longer line, and writes large payloads to a draft as they come.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, Protocol

from pixirnb.json_types import JsonObject
from pixirnb.runners.output.mask import Mask, secret_values

LINE_LIMIT: Final = 1024 * 1024
"""Maximum number of bytes of one line."""
TEXT_LIMIT: Final = 128 * 1024
"""Maximum number of characters of one text in a line that is too long."""
PAYLOAD_IN_MEMORY: Final = 1024 * 1024
_ITEMS: Final = 100
"""Maximum number of items of a list or mapping, in a line that is still too long after its texts are cut."""


class Sink(Protocol):
    """Destination of a frame's large payload."""

    def write(self, data: bytes) -> None:
        """Add bytes."""
        ...


class Garbled(Exception):
    """Raised for bytes that are not frames: nothing after them can be read."""


class FrameWriter:
    """Writer of whole frames to a pipe, from any thread of the child."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def write(self, frame: str, payload: bytes = b"", **fields: Any) -> None:
        """Write one frame. `fields` must be JSON; raises TypeError if they are not. A closed pipe is ignored."""
        header = {"frame": frame, "bytes": len(payload)}
        line = json.dumps({**header, **fields}).encode()
        if len(line) >= LINE_LIMIT:
            line = json.dumps({**header, **_shortened(fields, len(line))}).encode()
        with self._lock:
            try:
                for part in (memoryview(line + b"\n"), memoryview(payload)):
                    rest = part
                    while rest:
                        rest = rest[os.write(self._descriptor, rest) :]
            except BrokenPipeError:
                pass  # the engine is gone, and the reaper is on its way


class FrameReader:
    """A buffer that joins chunks to frames."""

    def __init__(
        self, sink: Callable[[], Sink], require_shape: Callable[[JsonObject], None] = lambda _: None
    ) -> None:
        """Start with an empty buffer; `sink` makes a destination for a large payload.

        `require_shape` raises Garbled for a line that is no frame.
        """
        self._sink = sink
        self._require_shape = require_shape
        self._pending = bytearray()
        self._header: JsonObject | None = None
        self._left = 0
        """Number of bytes of the frame that are still to come."""
        self._into: Sink | None = None

    def feed(self, chunk: bytes) -> list[tuple[JsonObject, bytes | Sink]]:
        """Add a chunk; return the frames completed by it, each with its bytes. Raises Garbled, and the errors of a sink."""
        self._pending += chunk
        complete: list[tuple[JsonObject, bytes | Sink]] = []
        while True:
            if self._header is None and not self._begin():
                return complete
            assert self._header is not None
            if self._into is not None:
                part = bytes(self._pending[: self._left])
                self._into.write(part)
                del self._pending[: len(part)]
                self._left -= len(part)
            elif len(self._pending) < self._left:
                return complete
            if self._into is not None and self._left:
                return complete
            data: bytes | Sink = self._into or bytes(self._pending[: self._left])
            del self._pending[: self._left]
            complete.append((self._header, data))
            self._header = self._into = None

    def _begin(self) -> bool:
        """Read the line of the next frame; False if it is incomplete."""
        end = self._pending.find(b"\n", 0, LINE_LIMIT + 1)
        if end < 0:
            if len(self._pending) > LINE_LIMIT:
                raise Garbled
            return False
        try:
            header = json.loads(self._pending[:end])
        except (ValueError, RecursionError):
            raise Garbled from None
        size = header.get("bytes") if isinstance(header, dict) else None
        if type(size) is not int or size < 0:
            raise Garbled
        self._require_shape(header)
        del self._pending[: end + 1]
        self._header, self._left = header, size
        self._into = self._sink() if size > PAYLOAD_IN_MEMORY else None
        return True


def cut(text: str, limit: int, *, keeps_end: bool = False) -> str:
    """Return the beginning of `text`, or that and its end, with the omitted size; never half a secret of this process."""
    if len(text) <= limit:
        return text
    whole = _own_mask().text(text)
    rest = len(whole) - limit
    if rest <= 0:
        return whole
    if not keeps_end:
        return f"{whole[:limit]}\n[… {rest} more characters omitted]"
    half = limit // 2
    return f"{whole[: limit - half]}\n[… {rest} characters omitted …]\n{whole[-half:]}"


@lru_cache(maxsize=1)
def _own_mask() -> Mask:
    return Mask(secret_values(os.environ))


def _shortened(fields: JsonObject, size: int) -> JsonObject:
    """Return a frame shortened to fit a line. An agent's report loses its output rather than have it altered."""
    data = fields.get("data")
    if isinstance(data, dict) and "checkpoint_status" in data:
        known_limitations = data.get("limitations") or []
        known = (
            list(known_limitations) if isinstance(known_limitations, list) else [known_limitations]
        )
        limitations = [*known[:_ITEMS], f"report_cut: it was {size} bytes, more than {LINE_LIMIT}"]
        kept = {key: value for key, value in data.items() if key != "output"}
        fields = {**fields, "data": {**kept, "limitations": limitations}}
    for limit, items in ((TEXT_LIMIT, None), (4_000, _ITEMS), (200, 10)):
        shorter: JsonObject = _cut_all(fields, limit, items)
        if len(json.dumps(shorter)) < LINE_LIMIT:
            return shorter
    return {**dict.fromkeys(fields), "left_out": size}


def _cut_all(value: Any, limit: int, items: int | None, depth: int = 0) -> Any:
    if isinstance(value, str):
        return cut(value, limit, keeps_end=True)
    if isinstance(value, dict | list) and items is not None and depth > 8:
        return "…"
    if isinstance(value, dict):
        kept = list(value.items())[:items]
        return {str(key)[:limit]: _cut_all(item, limit, items, depth + 1) for key, item in kept}
    if isinstance(value, list):
        return [_cut_all(item, limit, items, depth + 1) for item in value[:items]]
    return value
