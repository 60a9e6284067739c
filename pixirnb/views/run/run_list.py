"""The runs of a state folder, newest first."""

from __future__ import annotations

from pixirnb.json_types import JsonMapping
from pixirnb.views.basics.durations import moment
from pixirnb.views.basics.status_marks import count_mark, run_mark
from pixirnb.views.blocks.model import Block, Code, Counts, Paragraph, Phrase, Status, Table


def run_list_blocks(document: JsonMapping) -> list[Block]:
    """Return a row for each run."""
    runs = document.get("runs") or []
    if not runs:
        return [Paragraph("No runs yet.", "mute")]
    rows: list[tuple[Phrase, ...]] = [
        (
            Status(run_mark(run.get("status"))),
            Code(run.get("run_id"), 60),
            str(run.get("workflow") or ""),
            moment(run.get("started_at")),
            Counts(
                [
                    (count_mark(name, run_status=run.get("status")), count)
                    for name, count in (run.get("counts") or {}).items()
                ]
            ),
        )
        for run in runs
    ]
    return [Table(("status", "run", "workflow", "started", "steps"), rows)]
