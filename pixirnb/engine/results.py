"""The value an attempt left: an agent's reported output, a function's return value, or the text of a command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pixirnb import values
from pixirnb.engine.capture import Capture
from pixirnb.engine.payload import Payload
from pixirnb.engine.surroundings import Surroundings
from pixirnb.history.events import StoredValue
from pixirnb.planning.plan import PlannedStep
from pixirnb.runners.checks import NOT_READ
from pixirnb.runners.masking import Mask
from pixirnb.runners.printed import Printed
from pixirnb.work import Draft, Ended

_CHUNK: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Results:
    """Of one attempt."""

    step: PlannedStep
    mask: Mask
    report: dict[str, Any] | None
    around: Surroundings

    def typed_value(self, ended: Ended) -> Any:
        """The value itself, for checks and a declared output; NOT_READ where it is what was printed. Blocking."""
        if self.step.kind == "python":
            if ended.value is None:
                return None
            key = values.user_key() if ended.value["format"] == "pickle" else None
            return values.decode(ended.value, _bytes_of(ended.payload), key)
        if self.report is not None and "output" in self.report:
            return self.report["output"]
        return NOT_READ

    async def output(
        self, ended: Ended, printed: Printed, capture: Capture, payload: Payload | None
    ) -> StoredValue:
        """The value as the log keeps it."""
        is_parsed = payload is not None and payload.is_parsed
        if payload is not None and is_parsed and payload.value is not NOT_READ:
            return await self.stored(*values.encode(payload.value))
        if self.step.kind == "python":
            if ended.value is None:
                return {"format": "none"}
            return await self.stored(ended.value, ended.payload)
        if self.report is not None and "output" in self.report:
            return await self.stored(*values.encode(self.report["output"]))
        if self.step.kind == "agent" and printed.text is not None:
            return await self.stored(*values.encode(printed.text))
        if (short := capture.inline()) is not None:
            return short
        return await self.around.offload(capture.stored, "json" if is_parsed else "text")

    async def stored(self, stored: StoredValue, data: bytes | Draft | None) -> StoredValue:
        """A value with secrets masked, its bytes as a blob where they are too large for the log."""
        if data is not None and not isinstance(data, bytes):
            return {**stored, "blob": await self.around.offload(self._kept, stored, data)}
        masked: StoredValue = self.mask.data(stored) if data is None else stored
        if data is None:
            return masked
        if stored["format"] in {"text", "json"}:
            data = self.mask.text(data.decode("utf-8")).encode("utf-8")
        digest = await self.around.offload(self.around.log.blobs.put, data)
        return {**stored, "blob": digest, "bytes": len(data)}

    def _kept(self, stored: StoredValue, draft: Draft) -> str:
        """Bytes that came as a draft, as a blob; of text and JSON they are masked on the way. Blocking."""
        if stored["format"] not in {"text", "json"} or not self.mask.secrets or draft.path is None:
            return draft.keep()
        stream = self.mask.stream()
        with self.around.log.blobs.draft() as masked, draft.path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                masked.write(stream.feed(chunk))
            masked.write(stream.flush())
            draft.drop()
            return masked.keep()


def _bytes_of(payload: bytes | Draft | None) -> bytes | None:
    if payload is None or isinstance(payload, bytes) or payload.path is None:
        return payload if isinstance(payload, bytes) else None
    return payload.path.read_bytes()
