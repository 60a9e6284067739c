"""A plan with the items of its `for_each` steps, as the history has their lists: each item is a step after the written ones.

Items that could start are ordered by what they follow (`order`): those of steps that share a list start side by side, so that
an item can pass all of them before the next begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from pixirnb.history.events import ItemData
from pixirnb.history.run_state import RunState
from pixirnb.ids import item_id
from pixirnb.planning.items import fill, lookup_in
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.spec.expressions.references import Reference
from pixirnb.spec.steps import Step

_EVERYTHING: Final = "**/*"
Order = tuple[int, int, int]


def with_items(plan: Plan, run: RunState) -> Plan:
    """Return the plan with the items of all steps whose list is known.

    Total: what a list of a log cannot stand for in a set claims everything.
    """
    chosen = [
        step
        for step in plan.written
        if step.template is not None and step.index not in plan.items and run.knows(step.id)
    ]
    if not chosen:
        return plan
    steps = list(plan.steps)
    index, items = dict(plan.index), dict(plan.items)
    following: dict[int, list[int]] = {}
    for step in sorted(chosen, key=lambda each: len(_leaders(plan, each))):
        added = item_steps(plan, step, run.items[step.id].items, index, len(steps))
        steps += added
        for one in added:
            index[one.id] = one.index
            for earlier in one.depends_on:
                following.setdefault(earlier, []).append(one.index)
        items[step.index] = tuple(range(len(steps) - len(added), len(steps)))
        steps[step.index] = replace(step, depends_on=(*step.depends_on, *items[step.index]))
    for earlier, later in following.items():
        known = steps[earlier]
        steps[earlier] = replace(known, dependents=(*known.dependents, *later))
    return replace(plan, steps=tuple(steps), index=index, items=items)


def without_items(plan: Plan) -> Plan:
    """Return the plan without items."""
    if not plan.items:
        return plan
    count = len(plan.written)

    def inside(edges: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(each for each in edges if each < count)

    steps = tuple(
        replace(step, depends_on=inside(step.depends_on), dependents=inside(step.dependents))
        for step in plan.written
    )
    index = {step.id: step.index for step in steps}
    return replace(plan, steps=steps, index=index, items={})


def item_steps(
    plan: Plan,
    step: PlannedStep,
    items: Iterable[ItemData],
    index: Mapping[str, int],
    first: int,
) -> list[PlannedStep]:
    """Return the steps of a list's items. `index`: positions by id; `first`: the position of the first item."""
    template, added = step.template, list[PlannedStep]()
    assert template is not None
    before = tuple(
        each for each in step.depends_on if each != step.leader and each < len(plan.written)
    )
    has_sets = any("{{" in text for text in _texts(template))
    for at, item in enumerate(items):
        needs = before
        if step.leader is not None:
            leader = index.get(item_id(plan.steps[step.leader].id, item["number"]))
            needs = before if leader is None else (*before, leader)
        one = replace(
            template,
            index=first + at,
            id=item_id(step.id, item["number"]),
            depends_on=needs,
            dependents=(step.index,),
            parent=step.index,
            number=item["number"],
            item=(at, item["value"]),
        )
        added.append(_filled(plan, one) if has_sets else one)
    return added


def order(plan: Plan, index: int) -> Order:
    """Return the place of a step among those that could start: an item's is that of its list's first step."""
    step = plan.steps[index]
    if step.parent is None:
        return index, -1, index
    leaders = _leaders(plan, plan.steps[step.parent])
    return leaders[-1] if leaders else step.parent, step.number, step.parent


def bad_set(plan: Plan, step: PlannedStep, items: Iterable[ItemData]) -> str | None:
    """Return why a set, artifact or checked file of one of the items is no glob; None where all are."""
    template = step.template
    assert template is not None
    texts = [text for text in _texts(template) if "{{" in text]
    if texts:
        for at, item in enumerate(items):
            one = replace(template, parent=step.index, item=(at, item["value"]))
            try:
                for text in texts:
                    _glob(plan, one, text)
            except (LookupError, ValueError) as error:
                return f"item {at}: {error}"
    return None


def _leaders(plan: Plan, step: PlannedStep) -> list[int]:
    leaders: list[int] = []
    while step.leader is not None and step.leader not in leaders:
        leaders.append(step.leader)
        step = plan.steps[step.leader]
    return leaders


def _texts(step: PlannedStep) -> list[str]:
    """Return what of a step can name files of one item."""
    return [*step.read_set, *step.write_set, *step.spec.artifacts, *_checked(step.spec)]


def _checked(spec: Step) -> list[str]:
    return [glob for check in spec.verify for glob in check.globs]


def _filled(plan: Plan, step: PlannedStep) -> PlannedStep:
    """Return the step of an item with the item in its sets, artifacts and checked files."""

    def fill(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(_safe(plan, step, text) for text in texts)

    update: dict[str, object] = {
        key: fill(texts)
        for key in ("read_set", "write_set", "artifacts")
        if (texts := getattr(step.spec, key)) and any("{{" in text for text in texts)
    }
    if any("{{" in text for text in _checked(step.spec)):
        update["verify"] = tuple(
            check.model_copy(
                update={
                    key: _safe(plan, step, text)
                    for key in ("file_exists", "git_changes")
                    if (text := getattr(check, key)) is not None
                }
            )
            for check in step.spec.verify
        )
    spec = step.spec.model_copy(update=update) if update else step.spec
    return replace(step, spec=spec, read_set=fill(step.read_set), write_set=fill(step.write_set))


def _safe(plan: Plan, step: PlannedStep, text: str) -> str:
    try:
        return _glob(plan, step, text)
    except (LookupError, ValueError):
        return _EVERYTHING


def _glob(plan: Plan, step: PlannedStep, text: str) -> str:
    """Return a text with the item in it. Raises LookupError, ValueError where that is no glob."""
    if "{{" not in text:
        return text

    def no_value(reference: Reference) -> Any:
        raise LookupError(f"{reference.text} is not known yet")

    glob = fill(text, lookup_in(plan, step, no_value))
    plan.roots.pattern(glob)
    return glob
