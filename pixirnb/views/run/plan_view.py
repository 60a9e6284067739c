"""A plan: its waves as a picture, who does what, what works apart, what conflicts, what to fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pixirnb.planning.delegations import Delegation
from pixirnb.planning.documents import PlanDocument
from pixirnb.planning.prompts.compose import MUTE
from pixirnb.views.basics.sanitize import plural
from pixirnb.views.basics.status_marks import REFUSED, Mark
from pixirnb.views.basics.step_items import multiplicity
from pixirnb.views.basics.step_names import label, titles_of
from pixirnb.views.blocks.model import (
    Block,
    Code,
    Details,
    Graphic,
    Heading,
    Names,
    Paragraph,
    Preformatted,
    Table,
)
from pixirnb.views.picture.drawing import Edges, drawing
from pixirnb.views.picture.svg import image
from pixirnb.views.run.isolation_overview import Copies, copies_blocks
from pixirnb.views.run.problem_list import mistakes, warnings

PROMPTS: Final = 12
"""Prompts that a page holds; `PlanReport.prompt` has them all."""
_NAMED: Final = 12
_PAIRS: Final = 6
_PLANNED: Final = Mark("planned", "plan", "○", "idle")


def plan_blocks(
    document: PlanDocument,
    edges: Edges = (),
    *,
    kinds: Mapping[str, str] | None = None,
    delegations: Sequence[Delegation] = (),
    prompts: Mapping[str, str] | None = None,
    copies: Copies | None = None,
) -> list[Block]:
    """Return a `PlanReport.document()`.

    `edges` are (dependency, dependent) pairs, `kinds` the kind of each step, `delegations` the delegated tasks, `prompts` the
    prompts of agents, `copies` the isolated steps.
    """
    name = label(document.get("workflow") or "workflow", document.get("workflow_title"))
    errors, titles = document.get("errors") or [], titles_of(document)
    if not document.get("ok") or errors:
        return [
            Heading(REFUSED, name),
            Paragraph(f"{plural(len(errors), 'error')}; nothing was run."),
            mistakes(errors),
            warnings(document.get("warnings")),
        ]
    apart = copies or Copies()

    def draw() -> str:
        return image(drawing(document, None, edges, kinds=kinds, isolated=apart.isolated))

    return [
        Heading(_PLANNED, name),
        Paragraph(_sentence(document)),
        Graphic(draw, [_waves(document, titles)]),
        *_items(document, titles),
        *_placed(document, titles),
        *_delegations(delegations, prompts or {}, titles),
        *copies_blocks(apart, document),
        *_conflicts(document, titles),
        warnings(document.get("warnings")),
    ]


def _sentence(document: PlanDocument) -> str:
    waves = document.get("waves") or []
    steps = plural(sum(len(wave) for wave in waves), "step")
    parts = [f"{steps} in {plural(len(waves), 'wave')}"]
    if not any("items" in step for step in document.get("steps") or []):  # waves count no items
        parts.append(f"at most {document.get('peak_concurrency') or 1} at once")
    minutes = document.get("agent_minutes")
    is_bound = not any(
        step.get("kind") == "agent" and step.get("items", 1) is None
        for step in document.get("steps") or []
    )
    if isinstance(minutes, int | float) and minutes and is_bound:
        parts.append(f"up to {minutes:,.0f} agent minutes")
    return ", ".join(parts) + ". Nothing has run."


def _named(step: str, titles: Mapping[str, str], many: Mapping[str, str] | None = None) -> Code:
    name = " ".join(filter(None, (step, (many or {}).get(step))))
    return Code(name, title=titles.get(step, ""))


def _waves(document: PlanDocument, titles: Mapping[str, str]) -> Table:
    many = {step["step_id"]: multiplicity(step) for step in document.get("steps") or []}
    rows = [
        (
            str(number),
            Names([_named(step, titles, many) for step in wave[:_NAMED]], len(wave) - _NAMED),
        )
        for number, wave in enumerate(document.get("waves") or [], 1)
    ]
    return Table(("wave", "steps"), rows, numeric=frozenset({0}))


def _items(document: PlanDocument, titles: Mapping[str, str]) -> list[Block]:
    """Return a row for each step with items: how many, how many at a time, how many must be ready."""
    rows = [
        (
            _named(step["step_id"], titles),
            step["kind"],
            multiplicity(step),
            f"{step['max_parallel']:,} at a time" if step.get("max_parallel") else "",
            f"{step.get('require') or 'all'} ready",
            Code(step["key"], 60) if step.get("key") else "",
        )
        for step in document.get("steps") or []
        if "items" in step
    ]
    heads = ("for each", "kind", "items", "max_parallel", "require", "key")
    used = [at for at in range(len(heads)) if any(row[at] for row in rows)]
    table = Table(
        [heads[at] for at in used], [tuple(row[at] for at in used) for row in rows], count=len(rows)
    )
    return [table] if rows else []


def _placed(document: PlanDocument, titles: Mapping[str, str]) -> list[Block]:
    """Return the steps that run on a cluster; nothing where there are none."""
    placed = [each["step_id"] for each in document.get("steps") or [] if "placement" in each]
    if not placed:
        return []
    named = Names([_named(step, titles) for step in placed[:_NAMED]], len(placed) - _NAMED)
    return [Table(("placement", "steps"), [("cluster", named)])]


def _delegations(
    delegations: Sequence[Delegation], prompts: Mapping[str, str], titles: Mapping[str, str]
) -> list[Block]:
    """Return a row for each task, and its prompt behind a click."""
    if not delegations:
        return []
    rows = [
        (
            _named(each.step, titles),
            Code(each.agent or ""),
            f"{each.runner} {each.by}".strip() or "no runner",
            _may(each),
            Code(each.origin, 200) if each.origin else "inline",
        )
        for each in delegations
    ]
    return [
        Table(("task", "agent", "by", "permissions", "role"), rows, widest=40),
        *(
            Details(
                f"Prompt of {label(step, titles.get(step))}", [Preformatted(prompt)], instead=()
            )
            for step, prompt in list(prompts.items())[:PROMPTS]
        ),
    ]


def _may(each: Delegation) -> str:
    if each.permission_mode == "read_only":
        return "read"
    where = ", ".join(each.write_set[:3]) + (" …" if len(each.write_set) > 3 else "")
    ask = "cannot ask" if each.runner in MUTE else "ask"
    return f"write {where} ({'auto' if each.permission_mode == 'auto' else ask})"


def _conflicts(document: PlanDocument, titles: Mapping[str, str]) -> list[Block]:
    kept = document.get("serialized") or []
    pairs = [f"{entry.get('step')} after {entry.get('after')}" for entry in kept[:_PAIRS]]
    rows = [
        (
            Names([_named(step, titles) for step in entry.get("steps", [])], separator=" and "),
            str(entry.get("rule", "")).replace("_", "/"),
            Names([Code(path, 120) for path in entry.get("paths", [])[:3]]),
        )
        for entry in document.get("conflicts") or []
    ]
    count = document.get("conflict_count") or len(rows)
    blocks: list[Block] = []
    if pairs:
        named = Names(pairs, len(kept) - _PAIRS)
        blocks.append(Paragraph(("serialized by write conflicts:", named), "mute", is_apart=True))
    if rows:
        table = Table(("steps", "rule", "paths"), rows, count=count)
        blocks.append(Details(plural(count, "conflict"), [table], instead=()))
    return blocks
