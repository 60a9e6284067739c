"""A run's outcome for other programs: an HTML page without scripts, links or anything to load; a data frame; a graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Literal

from pixirnb.errors import Cannot
from pixirnb.machine.outcome_documents import RunDocument
from pixirnb.planning.documents import PlanDocument
from pixirnb.views.basics.markup import text
from pixirnb.views.basics.phrases import result_phrase
from pixirnb.views.basics.step_items import written_steps
from pixirnb.views.basics.step_names import label
from pixirnb.views.blocks.html_renderer import draw_html
from pixirnb.views.picture.drawing import Edges
from pixirnb.views.run.outcome_view import outcome_blocks

if TYPE_CHECKING:  # named in signatures only; imported by the functions that need them
    import networkx as nx
    import pandas as pd

_STYLE: Final = "body{margin:2rem auto;max-width:72rem;padding:0 1rem;font-family:sans-serif}"
_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""Policy of the page: should escaping ever fail, a browser that opens the file still runs and loads nothing."""


def page(outcome: RunDocument, edges: Edges, plan: PlanDocument | None = None) -> str:
    """Return the page of a `RunOutcome.document()`, with its plan if there is one."""
    name = label(outcome.get("workflow") or "workflow", outcome.get("workflow_title"))
    title = f"{text(name, 80)} · {text(outcome.get('run_id') or '', 60)}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n"
        f"<body>{draw_html(outcome_blocks(outcome, edges, plan=plan))}</body></html>\n"
    )


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
    """Return a row for each step of an outcome's document; times in ms. Raises Cannot (`extra_missing`) without pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise Cannot(
            "a data frame needs pandas, which is not installed",
            fix="pip install 'pixirnb[frames]'",
            code="extra_missing",
        ) from error
    rows = [
        {
            **{name: step[name] for name in FRAME_COLUMNS},
            "summary": step["summary"] or result_phrase(step),
            "skipped": step.get("skipped", False),
        }
        for step in outcome["steps"]
    ]
    return pd.DataFrame(rows, columns=[*FRAME_COLUMNS, "skipped"])


_Kept = Literal["kind", "wave", "attempt", "subagent_status", "checkpoint_status", "elapsed_ms"]


def digraph(outcome: RunDocument, edges: Iterable[tuple[str, str]]) -> nx.DiGraph[str]:
    """Return a DiGraph of step ids, an arrow from each dependency to its dependents.

    Nodes carry `kind wave attempt subagent_status checkpoint_status elapsed_ms`; the graph carries `run_id workflow status`.
    """
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph(
        run_id=outcome["run_id"], workflow=outcome["workflow"], status=outcome["status"]
    )
    kept: tuple[_Kept, ...] = (
        "kind",
        "wave",
        "attempt",
        "subagent_status",
        "checkpoint_status",
        "elapsed_ms",
    )
    for step in written_steps(outcome["steps"]):
        graph.add_node(step["step_id"], **{name: step[name] for name in kept})
    graph.add_edges_from(edges)
    return graph
