"""The value an attempt left: an agent's reported output, a function's return value, or the text of a command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pixirnb import values
from pixirnb.engine.surroundings import Surroundings
from pixirnb.history.events import StoredValue
from pixirnb.planning.plan import PlannedStep
from pixirnb.runners.masking import Mask
from pixirnb.work import Ended


@dataclass(frozen=True, slots=True)
class Results:
    """Of one attempt."""

    step: PlannedStep
    mask: Mask
    report: dict[str, Any] | None
    around: Surroundings

    def typed_value(self, ended: Ended, text: str) -> Any:
        """The value itself, for checks and a declared output. Blocking."""
        if self.step.kind == "python":
            if ended.value is None:
                return None
            key = values.user_key() if ended.value["format"] == "pickle" else None
            return values.decode(ended.value, ended.payload, key)
        if self.report is not None and "output" in self.report:
            return self.report["output"]
        return text

    async def output(self, ended: Ended, text: str) -> StoredValue:
        """The value as the log keeps it."""
        if self.step.kind == "python":
            if ended.value is None:
                return {"format": "none"}
            return await self.stored(ended.value, ended.payload)
        if self.report is not None and "output" in self.report:
            return await self.stored(*values.encode(self.report["output"]))
        return await self.stored(*values.encode(text))

    async def stored(self, stored: StoredValue, data: bytes | None) -> StoredValue:
        """A value with secrets masked, its bytes as a blob where they are too large for the log."""
        masked: StoredValue = self.mask.data(stored) if data is None else stored
        if data is None:
            return masked
        if stored["format"] in {"text", "json"}:
            data = self.mask.text(data.decode("utf-8")).encode("utf-8")
        digest = await self.around.offload(self.around.log.blobs.put, data)
        return {**stored, "blob": digest, "bytes": len(data)}
