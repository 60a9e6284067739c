"""A run's outcome as a data frame, for people who think in tables. pandas is imported when one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pixirnb.errors import Cannot
from pixirnb.machine.outcome import RunDocument

if TYPE_CHECKING:  # named in signatures only; imported where a frame is asked for
    import pandas as pd

FRAME_COLUMNS: Final = (
    "step_id",
    "kind",
    "wave",
    "attempt",
    "subagent_status",
    "checkpoint_status",
    "elapsed_ms",
    "timeout_ms",
    "summary",
)


def frame(outcome: RunDocument) -> pd.DataFrame:
    """A row a step of an outcome's document; times in ms. Raises Cannot (`extra_missing`) where pandas is not there."""
    try:
        import pandas as pd
    except ImportError as error:
        raise Cannot(
            "A data frame needs pandas, which is not installed here.",
            fix="pip install 'pixirnb[frames]'",
            code="extra_missing",
        ) from error
    rows = [{name: step[name] for name in FRAME_COLUMNS} for step in outcome["steps"]]
    return pd.DataFrame(rows, columns=list(FRAME_COLUMNS))
