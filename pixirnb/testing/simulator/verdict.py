"""What the auditor makes of a run of a world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pixirnb.machine.outcome import RunOutcome
from pixirnb.testing.auditor.breaches import Breach, Sighting


def audited(
    log: bytes, blobs: Mapping[str, bytes], found: RunOutcome, seen: Sequence[Sighting]
) -> list[Breach]:
    """Every promise that the log, the outcome and the witness show broken."""
    return []
