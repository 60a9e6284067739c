"""The beginning of a log: waited for while a run starts, required when a run is read."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from pixirnb.errors import LogDamaged
from pixirnb.history.events import Event
from pixirnb.protocols.ports import LogContents
from pixirnb.store.file_store import FileStore

_LOOK_S: Final = 0.01
_PATIENCE_S: Final = 5.0
"""Seconds that an owned run may take until its first event."""


def read_started(store: FileStore, run_id: str) -> LogContents:
    """Read a run; if it is just starting, with its first event. Raises UnknownRun, StateUnusable."""
    # Id and lock exist a moment before the first event is on disk: readers elsewhere wait for it.
    patience = time.monotonic() + _PATIENCE_S
    while True:
        reading = store.read(run_id)
        if reading.events or reading.owner is None or time.monotonic() >= patience:
            return reading
        time.sleep(_LOOK_S)


def require_beginning(run_id: str, events: Sequence[Event]) -> None:
    """Raise LogDamaged for a history without its beginning."""
    if not events or events[0].kind != "run_started":
        raise LogDamaged(
            f"the log of {run_id} cannot be read from its beginning.",
            fix="Look at log.jsonl in its folder; the run cannot be shown or resumed.",
        )
