"""A plan or an outcome as Graphviz DOT. Node names are numbers; run data stands only in quoted labels, as the text it is.

DOT has three languages within a quoted string: its own quotes, escapes such as `\\N`, and HTML's entities. All are taken away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pixirnb.machine.outcome_documents import RunDocument
from pixirnb.planning.documents import PlanDocument
from pixirnb.views.basics.sanitize import line
from pixirnb.views.basics.status_marks import PLANNED, run_mark
from pixirnb.views.basics.step_names import label
from pixirnb.views.basics.style import COLOURS
from pixirnb.views.basics.times import span
from pixirnb.views.picture.drawing import Edges, Node, drawing

_SHAPES: Final = {
    "shell": "box",
    "python": "box",
    "agent": "ellipse",
    "decision": "diamond",
    "merge": "invhouse",
}

_MEANT: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;"})


def dot(
    plan: PlanDocument | None,
    outcome: RunDocument | None = None,
    edges: Edges = (),
    *,
    kinds: Mapping[str, str] | None = None,
    resolution: int | None = None,
) -> str:
    """Return a `digraph`, left to right, columns as ranks. Whole workflows: nothing is folded.

    `resolution` is dots an inch, for pictures made of dots.
    """
    shown = drawing(plan, outcome, edges, kinds=kinds)
    names = {step: f"n{number}" for number, step in enumerate(shown.nodes)}
    held = set(shown.holds)
    mark = PLANNED if outcome is None else run_mark(outcome.get("status"))
    title = _quoted(f"{mark.symbol} {label(shown.workflow, shown.title, 120)}: {mark.word}")
    fine = "" if resolution is None else f", dpi={resolution:d}"
    lines = [
        'digraph "workflow" {',
        f'  graph [rankdir=LR, fontname="sans-serif", fontsize=12, labelloc=t, label={title}{fine}];',
        '  node [fontname="sans-serif", fontsize=11, penwidth=1.4]; edge [arrowsize=0.7, color="#59616e"];',
    ]
    lines += [f"  {names[step]} [{_attributes(node)}];" for step, node in shown.nodes.items()]
    for column in shown.columns:
        same = "; ".join(names[step] for step in column)
        lines.append(f"  {{ rank=same; {same}; }}")
    for source, target in shown.edges:
        dash = " [style=dashed]" if (source, target) in held else ""
        lines.append(f"  {names[source]} -> {names[target]}{dash};")
    return "\n".join([*lines, "}"]) + "\n"


def _attributes(node: Node) -> str:
    rows = [f"{node.mark.symbol} {label(node.id, node.title, 120)}"]
    rest = [node.mark.word] if node.mark.key != "planned" else []
    rest += [" ".join(filter(None, (node.times, node.item_counts)))] if node.times else []
    rest += ["isolated"] if node.is_isolated else []
    rest += [f"attempt {node.attempt}"] if node.attempt > 1 else []
    rest += [span(node.elapsed_ms)] if span(node.elapsed_ms) else []
    if rest:
        rows.append(" · ".join(line(part, 60) for part in rest))
    style = "dashed" if node.mark.key in {"held", "skipped"} else "solid"
    return (
        f"label={_quoted(*rows)}, shape={_SHAPES.get(node.kind or '', 'box')}, style={style}, "
        f'color="{COLOURS[node.mark.tone]}"'
    )


def _quoted(*rows: str) -> str:
    """Return a double-quoted string: a backslash, a quote and an ampersand are the only signs with a meaning inside one."""
    escaped = (line(row, 200).translate(_MEANT) for row in rows)
    return '"' + "\\n".join(escaped) + '"'
