"""Items of `for_each`: how a plan names what differs from item to item before the list is known, and after.

as_planned(texts)   sets with a wildcard for each reference: what the items together may touch
collector(step, …)  the step that stands for all items, with the template of one
fill(text, value) a set, artifact or checked file with the values of one item, taken literally
lookup_in(step, …)  values as they are in one item: `{{ item }}`, and outputs of the steps that share its list
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from pixirnb.ids import item_id
from pixirnb.planning.globs.pattern import REPO, literal
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.spec.expressions.references import (
    Reference,
    Template,
    as_text,
    parse_references,
    pick,
    render,
)
from pixirnb.spec.fields import Texts
from pixirnb.spec.policies import Retry

Lookup = Callable[[Reference], Any]


def as_planned(texts: Iterable[str]) -> tuple[str, ...]:
    """Return globs with `**` for a whole segment that is a reference, and `*` for one within a segment."""
    return tuple(map(_planned, texts))


def _planned(text: str) -> str:
    if "{{" not in text:
        return text
    try:
        references = parse_references(text)
    except ValueError:
        return text  # planning reports it
    for reference in reversed(references):
        before, after = text[: reference.start], text[reference.end :]
        is_whole = before[-1:] in {"", "/", ":"} and after[:1] in {"", "/"}
        wildcard = "" if after.startswith("*") else "**" if is_whole else "*"
        text = before + wildcard + after
    return text


def fill(text: str, lookup: Lookup) -> str:
    """Return a glob with the values of an item, in which no character is a wildcard. Raises LookupError, ValueError."""
    if "{{" not in text:
        return text

    def escaped(reference: Reference) -> str:
        value = lookup(reference)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return literal(as_text(value))
        raise LookupError(f"{reference.text} is not a text")

    glob = str(render(Template.parse(text), escaped))
    # No item names a repository; the dot is dropped again in a pattern.
    return f"./{glob}" if REPO.match(glob) and not REPO.match(text) else glob


def with_lists(
    steps: Sequence[PlannedStep],
    references: Sequence[tuple[Reference, ...]],
    positions: Mapping[str, int],
) -> list[PlannedStep]:
    """Return the steps, those with `for_each` as the steps that collect the values of their items.

    `references`: those of the list of each step; `positions`: of all steps, by id.
    """
    return [
        step if step.spec.for_each is None else _collector(step, of_list, positions)
        for step, of_list in zip(steps, references, strict=True)
    ]


def _collector(
    step: PlannedStep, of_list: tuple[Reference, ...], positions: Mapping[str, int]
) -> PlannedStep:
    written = step.spec.for_each
    assert written is not None
    spec = step.spec.model_copy(update={"for_each": None, "seams": ()})
    of_items = {"verify": (), "output": None, "artifacts": (), "rerun": "auto"}
    template = replace(
        step,
        spec=spec,
        read_set=_as_written(step.read_set, step.spec.read_set),
        write_set=_as_written(step.write_set, step.spec.write_set),
        is_referenced=step.is_referenced or step.kind == "decision",
    )
    return replace(
        step,
        kind="for_each",
        spec=step.spec.model_copy(update=of_items),
        agent=None,
        timeout_ms=None,
        timeout_source="none",
        retry=Retry(),
        posture="read_only",
        read_set=(),
        write_set=(),
        workspace="shared",
        process=False,
        placement="local",
        when=None,
        references=(*of_list, *step.references),
        template=template,
        list_references=of_list,
        leader=None if written.same_as is None else positions[written.same_as],
    )


def _as_written(planned: tuple[str, ...], written: Texts | None) -> tuple[str, ...]:
    """Return the globs in force, with the references of those that are the author's own."""
    return written if written is not None and planned == as_planned(written) else planned


def lookup_in(plan: Plan, step: PlannedStep, lookup: Lookup) -> Lookup:
    """Return a lookup for the references of a step: an item has its own, and those of the steps it shares its list with.

    The lookup raises LookupError for a field that the item lacks.
    """
    if step.item is None or step.parent is None:
        return lookup
    index, value = step.item
    shared = leaders_of(plan, plan.steps[step.parent])

    def in_item(reference: Reference) -> Any:
        if reference.source == "item":
            return index if reference.part == "index" else pick(value, reference)
        if reference.source == "step" and reference.name in shared:
            reference = replace(reference, name=item_id(reference.name, step.number))
        return lookup(reference)

    return in_item


def leaders_of(plan: Plan, step: PlannedStep) -> list[str]:
    """Return the ids of the steps whose list a step shares, the nearest first."""
    names: list[str] = []
    while step.leader is not None:
        step = plan.steps[step.leader]
        names.append(step.id)
    return names
