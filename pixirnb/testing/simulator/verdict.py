"""What the auditor makes of a run of a world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pixirnb.machine.outcome import RunOutcome
from pixirnb.testing.auditor.audit import audit
from pixirnb.testing.auditor.breaches import Breach, Sighting


def audited(
    log: bytes, blobs: Mapping[str, bytes], found: RunOutcome, seen: Sequence[Sighting]
) -> list[Breach]:
    """Every promise that the log, the outcome and the witness show broken."""
    whole = log[: log.rfind(b"\n") + 1]  # what was torn at a death had been promised to nobody
    return audit(
        whole,
        blobs=lambda name: blobs[name],
        outcome=found.document(),
        sightings=seen,
        wall_is_true=True,
    )
