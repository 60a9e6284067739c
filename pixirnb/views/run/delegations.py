"""Who does what, in a plan: a row a task, for text and for pages, and there its prompt behind a click."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pixirnb.planning.delegations import Delegation
from pixirnb.views.basics import html_cards, text_table
from pixirnb.views.basics.markup import block, code, text

PROMPTS: Final = 12
"""Prompts that a page holds; `PlanReport.prompt` has them all."""
_HEADS: Final = ("task", "agent", "by", "may", "role")


def delegation_lines(found: Sequence[Delegation]) -> list[str]:
    """A table with a row a task."""
    if not found:
        return []
    rows = [
        [each.step, each.agent or "", _by(each), _may(each), each.origin or "in the workflow"]
        for each in found
    ]
    return text_table.table(list(_HEADS), rows)


def delegations_html(found: Sequence[Delegation], prompts: Mapping[str, str]) -> str:
    """The same as markup. `prompts`: by step, as far as they are shown."""
    if not found:
        return ""
    rows = [
        [
            code(each.step, 80),
            code(each.agent or "", 80),
            text(_by(each), 80),
            text(_may(each), 80),
            code(each.origin, 200) if each.origin else "in the workflow",
        ]
        for each in found
    ]
    told = "".join(
        html_cards.disclosure(f"Prompt of {step}", f"<pre>{block(prompt)}</pre>")
        for step, prompt in list(prompts.items())[:PROMPTS]
    )
    return html_cards.table(list(_HEADS), rows) + told


def _by(each: Delegation) -> str:
    return f"{each.runner} {each.by}".strip() or "nobody"


def _may(each: Delegation) -> str:
    if each.permission_mode == "read_only":
        return "read"
    where = ", ".join(each.write_set[:3]) + (" …" if len(each.write_set) > 3 else "")
    return f"write {where}, {'unasked' if each.permission_mode == 'auto' else 'asking'}"
