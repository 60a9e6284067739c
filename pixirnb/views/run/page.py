"""A run's outcome as a page of its own: one HTML file without scripts, links or anything to load."""

from __future__ import annotations

from typing import Final

from pixirnb.machine.outcome import RunDocument
from pixirnb.planning.report import PlanDocument
from pixirnb.views.basics.markup import text
from pixirnb.views.blocks.html_renderer import draw_html
from pixirnb.views.picture.drawing import Edges
from pixirnb.views.run.outcome_view import outcome_blocks

_STYLE: Final = "body{margin:2rem auto;max-width:72rem;padding:0 1rem;font-family:sans-serif}"
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
"""Should escaping ever fail: a browser that opens the file still runs and loads nothing."""


def page(outcome: RunDocument, edges: Edges, plan: PlanDocument | None = None) -> str:
    """The page of a `RunOutcome.document()`, its plan beside it where there is one."""
    title = f"{text(outcome.get('workflow') or 'workflow', 80)} · {text(outcome.get('run_id') or '', 60)}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n"
        f"<body>{draw_html(outcome_blocks(outcome, edges, plan=plan))}</body></html>\n"
    )
