"""The beginning of a log: waited for where a run is only just given to its process, required where a run is to be read."""

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
"""How long a run that is held may take to show its first event."""


def read_started(store: FileStore, run_id: str) -> LogContents:
    """A reading of a run; of one that is just starting, with its first event. Raises UnknownRun, StateUnusable."""
    # Id and lock are there a moment before the first event is on disk: who looks from elsewhere waits for it.
    patience = time.monotonic() + _PATIENCE_S
    while True:
        reading = store.read(run_id)
        if reading.events or reading.owner is None or time.monotonic() >= patience:
            return reading
        time.sleep(_LOOK_S)


def require_beginning(run_id: str, events: Sequence[Event]) -> None:
    """Raise LogDamaged for a history that lost its beginning, or never had one."""
    if not events or events[0].kind != "run_started":
        raise LogDamaged(
            f"the log of {run_id} cannot be read from its beginning.",
            fix="Look at log.jsonl in its folder; the run cannot be shown or resumed.",
        )
