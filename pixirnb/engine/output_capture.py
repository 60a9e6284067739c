"""Printed output of an attempt: masked, kept in its output log, kept as its value, and passed on live; never held in memory.

    both streams ──mask──▶ output log: head and tail, 10 MiB at most an attempt
                     └───▶ live news
    stdout ──mask──▶ the value: in memory while it fits an event, from then on a draft of the blob it will be, 2 GiB at most

So the disk holds one copy of standard output, next to the excerpt in its log. Secrets are masked before anything else sees the
bytes, over chunk borders too. Memory: the log's tail, 5 MiB, whatever is printed and in whatever pieces.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final, Literal

from pixirnb.errors import LogWriteFailed, PixirnbError, StateUnusable
from pixirnb.history.events import StoredValue
from pixirnb.history.file_events import OutputLog
from pixirnb.protocols.ports import BlobDraft, KeptBlobs
from pixirnb.protocols.work import Output
from pixirnb.runners.output.mask import Mask, StreamMask
from pixirnb.runners.output.printed import Printed
from pixirnb.runners.output.unseen import plain
from pixirnb.spec.limits import OFFERED_BYTES
from pixirnb.system.atomic_files import create_private
from pixirnb.value_codec import INLINE_LIMIT

SUMMARY_LIMIT: Final = 2000
"""Characters of a summary, and of the message of an error."""
LOG_LIMIT: Final = 10 * 1024 * 1024
TAIL_LIMIT: Final = 4096
VALUE_LIMIT: Final = 2 * 1024**3
_ENDING: Final = 4 * SUMMARY_LIMIT
_BLOCK: Final = 65_536


class Capture:
    """The output of one attempt. `path` is its log, None where the store has no folder."""

    def __init__(
        self,
        path: Path | None,
        blobs: KeptBlobs,
        mask: Mask,
        live: Callable[[str, bytes], None],
        *,
        require_hold: Callable[[], object] = lambda: None,
        has_value: bool = True,
        value_limit: int = VALUE_LIMIT,
        log_limit: int = LOG_LIMIT,
    ) -> None:
        """Begin the capture.

        `require_hold` raises LogWriteFailed if the log may not be written any more; `has_value`: standard output is
        required as a value, or by a check.
        """
        self._live = live
        self._require_hold = require_hold
        self._mask = mask
        self._masks: dict[str, StreamMask] = {}
        """By stream that has printed."""
        self._blobs = blobs
        self._has_value = has_value
        self._value_limit = value_limit
        self._log_limit = log_limit
        self._head_limit = log_limit // 2
        self._short = b""
        """The value while it is short."""
        self._draft: BlobDraft | None = None
        self._newline = b""
        """A line break that may be the last: it is no part of the value."""
        self._ending = b""
        """The end of standard output."""
        self._path = path
        self._file: BinaryIO | None = None
        self._head = 0
        self._last: deque[bytearray] = deque()
        self._last_size = 0
        self.bytes = 0
        """Bytes printed in all, both streams."""
        self.printed_bytes = 0
        """Bytes printed to standard output, its last line break included."""
        self.refusal = ""
        """Reason why the disk kept less than was printed; empty where it kept all."""
        self.tail = b""
        """The end of both streams, for summaries and the next attempt's failure context."""

    def take(self, output: Output) -> None:
        """Take one chunk as it was produced."""
        stream = self._masks.get(output.stream)
        if stream is None:
            stream = self._masks[output.stream] = self._mask.stream()
        self._keep(output.stream, stream.feed(output.chunk))

    def finish(self) -> None:
        """Flush the bytes that were held back for masking, and end the log file."""
        for name, mask in self._masks.items():
            self._keep(name, mask.flush())
        try:
            self._end_log()
        except (OSError, LogWriteFailed) as error:
            self._refuse(error)

    # --- the value ----------------------------------------------------------------------------------------------

    @property
    def value_bytes(self) -> int:
        """Return the bytes of the value: standard output without its last line break, or as much of it as one blob holds."""
        return len(self._short) if self._draft is None else self._draft.size

    def printed(self) -> Printed:
        """Return standard output without its last line break, for checks that read it before it is kept."""
        if self._draft is None:
            return Printed.of(self._short)
        if (
            self._draft.path is None
        ):  # a store without files has it in memory, and is asked for no more than that
            return Printed.of(self._blobs.get(self._draft.keep()))
        return Printed(self._draft.size, path=self._draft.path, is_whole=not self._is_cut)

    def inline(self) -> StoredValue | None:
        """Return the value as an event has it, where it is short text."""
        if self._draft is not None:
            return None
        try:
            return {"format": "text", "value": self._short.decode(), "bytes": len(self._short)}
        except UnicodeDecodeError:
            return None  # no event holds these bytes as they are

    def stored(self, form: Literal["text", "json"] = "text") -> StoredValue:
        """Keep the value as a blob, byte for byte, and return its record. Blocking. Raises LogWriteFailed."""
        if self._draft is None:
            self._draft = self._blobs.draft()
            self._draft.write(self._short)
        digest, size = self._draft.keep(), self._draft.size
        stored: StoredValue = {"format": form, "blob": digest, "bytes": size}
        if size > OFFERED_BYTES:
            stored["printed"] = self.printed_bytes - len(self._newline)
        return stored

    def summary(self) -> str:
        """Return the last line of standard output with text on it, without escape sequences, at most 2,000 characters."""
        lines = plain(self._ending.decode("utf-8", errors="replace")).splitlines()
        texts = [line.strip() for line in lines if line.strip()]
        return texts[-1][:SUMMARY_LIMIT] if texts else ""

    # --- the record ---------------------------------------------------------------------------------------------

    @property
    def is_truncated(self) -> bool:
        """Return whether some of the output is not in the log: its middle, or bytes that the disk refused."""
        return self.bytes > self._log_limit or bool(self.refusal)

    def record(self, relative: str) -> OutputLog:
        """Return the record for `attempt_ended.output_log`."""
        return {"path": relative, "bytes": self.bytes, "truncated": self.is_truncated}

    def close(self) -> None:
        """Close the files; output that was not kept as a value is deleted."""
        if self._draft is not None:
            self._draft.drop()
        try:
            if self._file is not None:
                self._file.close()
        except OSError as error:  # what was still to be written; the file is closed all the same
            self._refuse(error)

    # --- what is printed ----------------------------------------------------------------------------------------

    @property
    def _is_cut(self) -> bool:
        return self.printed_bytes - len(self._newline) > self.value_bytes

    def _keep(self, stream: str, chunk: bytes) -> None:
        if not chunk:
            return
        self.bytes += len(chunk)
        self.tail = (self.tail + chunk[-TAIL_LIMIT:])[-TAIL_LIMIT:]
        if stream == "stdout":
            self.printed_bytes += len(chunk)
            self._ending = (self._ending + chunk[-_ENDING:])[-_ENDING:]
        if not self.refusal:
            try:
                if stream == "stdout" and self._has_value:
                    self._value(chunk)
                if self._path is not None:
                    self._log(chunk, self._path)
            except (OSError, LogWriteFailed, StateUnusable) as error:
                self._refuse(error)
        self._live(stream, chunk)

    def _value(self, chunk: bytes) -> None:
        data = self._newline + chunk
        self._newline = b"\n" if data.endswith(b"\n") else b""
        data = data[: len(data) - len(self._newline)]
        room = self._value_limit - self.value_bytes
        data = data[: max(0, room)]
        if self._draft is None and len(self._short) + len(data) <= INLINE_LIMIT:
            self._short += data
            return
        if self._draft is None:
            self._draft = self._blobs.draft()
            self._draft.write(self._short)
            self._short = b""
        self._draft.write(data)

    def _refuse(self, error: Exception) -> None:
        """Stop keeping output as the disk takes no more: the step goes on."""
        number = error.details.get("errno") if isinstance(error, LogWriteFailed) else None
        reason = (
            os.strerror(number) if isinstance(number, int) else getattr(error, "strerror", None)
        )
        text = error.one_line() if isinstance(error, PixirnbError) else str(error)
        self.refusal = self.refusal or reason or text
        self._last.clear()
        if self._draft is not None:
            self._draft.drop()
        self._draft, self._short = None, b""

    def _end_log(self) -> None:
        if self._file is None:
            return
        self._require_hold()
        extra = self._last_size - (self._log_limit - self._head_limit)
        if extra > 0 and self._last:
            del self._last[0][:extra]
            self._last_size -= extra
        dropped = self.bytes - self._head - self._last_size
        if dropped > 0:
            self._file.write(b"\n[pixirnb: %d bytes left out here]\n" % dropped)
        for block in self._last:
            self._file.write(block)
        self._file.flush()

    def _log(self, chunk: bytes, path: Path) -> None:
        self._require_hold()
        if self._file is None:
            self._file = create_private(path)
        room = self._head_limit - self._head
        if room > 0:
            self._file.write(chunk[:room])
            self._file.flush()
            self._head += len(chunk[:room])
            chunk = chunk[room:]
        if chunk:
            # In blocks: a flood of single bytes would else cost fifty times its size.
            if not self._last or len(self._last[-1]) + len(chunk) > _BLOCK:
                self._last.append(bytearray())
            self._last[-1] += chunk
            self._last_size += len(chunk)
            while self._last_size - len(self._last[0]) >= self._log_limit - self._head_limit:
                self._last_size -= len(self._last.popleft())
