"""What an attempt prints: masked, kept in its output log, collected as its value, and passed on live.

The output log keeps the head and the tail of what was printed, 10 MiB at most an attempt. Standard output alone is
the step's value (`.output`), whole, up to the blob limit. Secrets are masked before anything else sees the bytes, over
chunk borders too.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from pixirnb.interruptions import unbroken
from pixirnb.runners.agents.terminal_text import plain
from pixirnb.runners.masking import Mask, StreamMask
from pixirnb.work import Output

LOG_LIMIT: Final = 10 * 1024 * 1024
HEAD_LIMIT: Final = LOG_LIMIT // 2
SUMMARY_LIMIT: Final = 2000
TAIL_LIMIT: Final = 4096
VALUE_LIMIT: Final = 2 * 1024**3
_IN_MEMORY: Final = 1024 * 1024


class Capture:
    """One attempt's output. `path` is its log, None where the store has no folder."""

    def __init__(self, path: Path | None, mask: Mask, live: Callable[[str, bytes], None]) -> None:
        self._live = live
        self._masks = {name: StreamMask(mask) for name in ("stdout", "stderr")}
        self._value: BinaryIO = cast("BinaryIO", tempfile.SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115 - closed in `close`
        self._path = path
        self._file: BinaryIO | None = None
        self._head = 0
        self._last: deque[bytes] = deque()
        self._last_size = 0
        self.bytes = 0
        """Printed in all, both streams."""
        self.value_bytes = 0
        self.refusal = ""
        """Why the disk kept less than was printed; empty where it kept all."""
        self.tail = b""
        """The last of both streams, for summaries and the next attempt's failure context."""

    def take(self, output: Output) -> None:
        """Take one chunk as it was produced."""
        self._keep(output.stream, self._masks[output.stream].feed(output.chunk))

    def finish(self) -> None:
        """Nothing more comes: let go of what was held back for masking, and end the log file."""
        for name, mask in self._masks.items():
            self._keep(name, mask.flush())
        try:
            self._value.flush()
            self._end_log()
        except OSError as error:
            self._refuse(error)

    def value(self) -> bytes:
        """Standard output without its last newline."""
        self._value.seek(0)
        data = self._value.read()
        return data[:-1] if data.endswith(b"\n") else data

    def text(self) -> str:
        """Standard output as text; bytes that are not UTF-8 become U+FFFD."""
        return self.value().decode("utf-8", errors="replace")

    def summary(self) -> str:
        """The last line of standard output that says something, without escape sequences, at most 2,000 characters."""
        size = self._value.tell()
        self._value.seek(max(0, size - 4 * SUMMARY_LIMIT))
        lines = plain(self._value.read().decode("utf-8", errors="replace")).splitlines()
        said = [line.strip() for line in lines if line.strip()]
        return said[-1][:SUMMARY_LIMIT] if said else ""

    @property
    def is_truncated(self) -> bool:
        """Whether some of the output is not in the log: its middle, or what the disk did not take."""
        return self.bytes > LOG_LIMIT or bool(self.refusal)

    def record(self, relative: str) -> dict[str, Any]:
        """For `attempt_ended.output_log`."""
        return {"path": relative, "bytes": self.bytes, "truncated": self.is_truncated}

    def close(self) -> None:
        """Give the files back."""
        for file in (self._value, self._file):
            try:
                if file is not None:
                    file.close()
            except (
                OSError
            ) as error:  # what was still to be written; the file is closed all the same
                self._refuse(error)

    def _keep(self, stream: str, chunk: bytes) -> None:
        if not chunk:
            return
        self.bytes += len(chunk)
        self.tail = (self.tail + chunk)[-TAIL_LIMIT:]
        if not self.refusal:
            try:
                self._write(stream, chunk)
            except OSError as error:
                self._refuse(error)
        self._live(stream, chunk)

    def _write(self, stream: str, chunk: bytes) -> None:
        if stream == "stdout" and self.value_bytes + len(chunk) <= VALUE_LIMIT:
            self.value_bytes += len(chunk)
            self._value.write(chunk)
        if self._path is not None:
            self._log(chunk, self._path)

    def _refuse(self, error: OSError) -> None:
        """The disk took no more: the step goes on, and what is kept of its output is not all of it."""
        self.refusal = self.refusal or error.strerror or str(error)
        self._last.clear()
        # A buffer that could not be written is tried again at every touch; nothing more is asked of this one.
        self._value = BytesIO()

    def _end_log(self) -> None:
        if self._file is None:
            return
        dropped = self.bytes - self._head - self._last_size
        if dropped > 0:
            self._file.write(b"\n[pixirnb: %d bytes left out here]\n" % dropped)
        for chunk in self._last:
            self._file.write(chunk)
        self._file.flush()

    def _log(self, chunk: bytes, path: Path) -> None:
        if self._file is None:
            self._file = _open(path)
        room = HEAD_LIMIT - self._head
        if room > 0:
            self._file.write(chunk[:room])
            self._file.flush()
            self._head += len(chunk[:room])
            chunk = chunk[room:]
        if chunk:
            self._last.append(chunk)
            self._last_size += len(chunk)
            while self._last_size - len(self._last[0]) >= LOG_LIMIT - HEAD_LIMIT:
                self._last_size -= len(self._last.popleft())


def _open(path: Path) -> BinaryIO:
    unbroken(path.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
    file = path.open("wb")
    path.chmod(0o600)
    return file
