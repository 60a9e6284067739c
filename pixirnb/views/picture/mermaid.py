"""A plan or an outcome as a mermaid flowchart. Node names are numbers; run data stands only in quoted, encoded labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pixirnb.machine.outcome_documents import RunDocument
from pixirnb.planning.documents import PlanDocument
from pixirnb.views.basics.sanitize import line
from pixirnb.views.basics.step_names import label
from pixirnb.views.basics.style import COLOURS
from pixirnb.views.basics.times import span
from pixirnb.views.picture.drawing import Edges, drawing

_PLAIN: Final = frozenset(" -_.,:/()+=!?…·×✓✗◐◆▸■◷‖⊘⊖◌○")


def mermaid(
    plan: PlanDocument | None,
    outcome: RunDocument | None = None,
    edges: Edges = (),
    *,
    kinds: Mapping[str, str] | None = None,
) -> str:
    """Return a `flowchart LR`. Whole workflows: nothing is folded."""
    shown = drawing(plan, outcome, edges, kinds=kinds)
    names = {step: f"n{number}" for number, step in enumerate(shown.nodes)}
    held = set(shown.holds)
    lines = ["flowchart LR"]
    for step, node in shown.nodes.items():
        parts = [f"{node.mark.symbol} {label(step, node.title, 120)}"]
        if node.mark.key != "planned":
            parts.append(node.mark.word)
        if node.times:
            parts.append(" ".join(filter(None, (node.times, node.item_counts))))
        if node.is_isolated:
            parts.append("isolated")
        if node.attempt > 1:
            parts.append(f"attempt {node.attempt}")
        if span(node.elapsed_ms):
            parts.append(span(node.elapsed_ms))
        quoted = _label(" · ".join(line(part, 130) for part in parts))
        lines.append(f'  {names[step]}["{quoted}"]:::{node.mark.tone}')
    for source, target in shown.edges:
        arrow = "-.->" if (source, target) in held else "-->"
        lines.append(f"  {names[source]} {arrow} {names[target]}")
    tones = dict.fromkeys(node.mark.tone for node in shown.nodes.values())
    for tone in tones:
        dash = ",stroke-dasharray:4 3" if tone == "idle" and outcome is not None else ""
        lines.append(f"  classDef {tone} stroke:{COLOURS[tone]},stroke-width:2px{dash}")
    return "\n".join(lines) + "\n"


def _label(words: str) -> str:
    """Keep letters, digits and harmless signs, write all else as a numeric entity: an allow-list, not an escape."""
    return "".join(
        letter if letter.isalnum() or letter in _PLAIN else f"#{ord(letter)};" for letter in words
    )
