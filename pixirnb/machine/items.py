"""Lists of `for_each`: from a value to items with keys and numbers, and whether enough of them are ready.

Source: contract.md §4; docs/adr/0039-items-are-steps.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from pixirnb.history.events import ItemData
from pixirnb.history.items import ItemList
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.ids import item_id
from pixirnb.machine.fingerprint import digest
from pixirnb.machine.required_steps import skipped_steps
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.spec import limits
from pixirnb.spec.expressions.references import (
    Reference,
    Template,
    as_text,
    pick,
    render,
    render_value,
)
from pixirnb.wording import cut

NOT_READY: Final = "items_not_ready"
"""Kind of the error of a step of whose items too few are ready."""
_KEY: Final = 60
"""Characters of a value that is its own key; a longer one has its digest."""
_NAMED: Final = 5
"""Items that a reason names."""
_DIGEST: Final = re.compile("[0-9a-f]{12}")

Lookup = Callable[[Reference], Any]


class BadList(ValueError):
    """Raised for a value that is no list of items. The text is one sentence, `kind` that of the step's error."""

    def __init__(self, text: str, kind: str = "not_a_list") -> None:
        super().__init__(text)
        self.kind = kind


def read_list(step: PlannedStep, known: ItemList, lookup: Lookup) -> list[ItemData]:
    """Return the items of a step's list, each with the number of its key: known ones keep theirs.

    Raises BadList; LookupError for a reference without a value.
    """
    written = step.spec.for_each
    assert written is not None
    values = render_value(written.items, lookup)
    if isinstance(values, Mapping):
        # A log keeps no other order of them.
        values = [{"key": key, "value": values[key]} for key in sorted(values, key=str)]
    if not isinstance(values, list | tuple):
        raise BadList(f"`for_each` needs a list, got {_kind(values)}")
    if len(values) > limits.STEPS:
        text = f"the list has {len(values):,} items, more than {limits.STEPS:,} (limit: steps)"
        raise BadList(text, "limit_exceeded")
    template = None if written.key is None else Template.parse(written.key)
    following = max(known.numbers.values(), default=-1) + 1
    items: list[ItemData] = []
    taken: dict[str, int] = {}
    used: set[int] = set()
    for position, value in enumerate(values):
        key = _content(value) if template is None else _named(template, value, position, lookup)
        if key in taken and template is not None:
            raise BadList(f"two items have the key `{cut(key, _KEY)}`")
        key = _unused(key, taken)
        number = known.numbers.get(key)
        if number is None or number in used:  # a foreign log may have given it to two keys
            number, following = following, following + 1
        used.add(number)
        items.append({"number": number, "key": key, "value": value})
    return items


def is_same_list(step: PlannedStep, known: ItemList, lookup: Lookup) -> bool:
    """Return whether the list of a step is what it was; False where it cannot be read now."""
    try:
        return step.leader is not None or read_list(step, known, lookup) == known.items
    except (LookupError, BadList):
        return False


def step_named(run: RunState, name: str) -> str:
    """Return the id of a step; an item can be named by its key, too: `resize@cat.png`."""
    step, at, key = name.partition("@")
    known = run.items.get(step)
    if not at or known is None or any(str(each["number"]) == key for each in known.items):
        return name
    number = next((each["number"] for each in known.items if each["key"] == key), None)
    return name if number is None else item_id(step, number)


def _unused(key: str, taken: dict[str, int]) -> str:
    """Return the key, with a number where an equal item has it."""
    count = taken[key] = taken.get(key, 0) + 1
    if count == 1:
        return key
    numbered = f"{key}#{count}"
    if numbered in taken:
        return _unused(key, taken)
    taken[numbered] = 1
    return numbered


def _kind(value: Any) -> str:
    names = {str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return "nothing" if value is None else names.get(type(value), f"a {type(value).__name__}")


def _content(value: Any) -> str:
    """Return the key of an item that the author does not name."""
    if isinstance(value, Mapping) and isinstance(value.get("key"), str) and len(value) == 2:
        value = value["key"] if "value" in value else value
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return (
        text if text and len(text) <= _KEY and text.isprintable() else digest("item", value)[3:15]
    )


def _named(template: Template, value: Any, position: int, lookup: Lookup) -> str:
    def of_item(reference: Reference) -> Any:
        if reference.source != "item":
            return lookup(reference)
        return position if reference.part == "index" else pick(value, reference)

    key = as_text(render(template, of_item))
    if not key.strip():
        raise BadList(f"item {position} has an empty key")
    return key


def item_title(plan: Plan, run: RunState, step: PlannedStep) -> str:
    """Return what an item is of, for people: its key, or its value if it has no name."""
    if step.parent is None or step.item is None:
        return ""
    at, value = step.item
    known = run.items.get(plan.steps[step.parent].id)
    key = known.items[at]["key"] if known is not None and at < len(known.items) else ""
    return key if key and _DIGEST.fullmatch(key) is None else cut(as_text(value), _KEY)


class Tally(Struct, frozen=True):
    """How the items of a step stand."""

    ready: int
    skipped: int
    undecided: int
    """Waiting for a person's decision, on them or on what holds them."""
    others: tuple[str, ...]
    """Ids of the items that are neither ready nor skipped, in the order of the list."""
    required: int
    """Number of items that must be ready."""

    def __str__(self) -> str:
        """Return how many of the items are ready, for people."""
        return f"{self.ready:,} of {self.ready + len(self.others):,} items ready"

    @property
    def is_enough(self) -> bool:
        """Return whether the step is ready for those behind it."""
        return self.ready >= self.required

    @property
    def is_open(self) -> bool:
        """Return whether a person's decision on its items can still make it ready."""
        return not self.is_enough and self.ready + self.undecided >= self.required


def may_be_decided(run: RunState, name: str) -> bool:
    """Return whether a person's decision, on a step or on what holds it, can still make it ready."""
    return _to_blame(run, name).checkpoint_status in {"needs_orchestrator", "partial"}


def _to_blame(run: RunState, name: str) -> StepState:
    """Return the state of the step that a step is held by in the end; its own if none holds it."""
    seen: set[str] = set()
    while name not in seen:
        seen.add(name)
        state = run.steps.get(name) or StepState()
        if state.hold != "dependency" or state.holder is None:
            return state
        name = state.holder
    return StepState()


def tally(plan: Plan, run: RunState, index: int) -> Tally:
    """Return how the items of an expanded step stand. Skipped ones, and what these hold, do not count."""
    ready = skipped = undecided = 0
    others: list[str] = []
    items = plan.items[index]
    for each in items:
        step = plan.steps[each]
        state = run.steps.get(step.id) or StepState()
        if state.checkpoint_status == "checkpoint_ready":
            ready += 1
        elif _to_blame(run, step.id).hold == "when":
            skipped += 1
        else:
            undecided += may_be_decided(run, step.id)
            others.append(step.id)
    written = plan.steps[index].spec.for_each
    assert written is not None
    count = len(items) - skipped
    return Tally(ready, skipped, undecided, tuple(others), written.required(count))


def has_more_items(plan: Plan, run: RunState, step: PlannedStep) -> bool:
    """Return whether an item that was skipped when its list was collected is not any more: a resume has left the list out."""
    ended = run.step(step.id).ended
    missing = () if ended is None else ended.get("missing", ())
    others = [
        index
        for index in plan.items.get(step.index, ())
        if run.step(plan.steps[index].id).checkpoint_status != "checkpoint_ready"
        and plan.steps[index].id not in missing
    ]
    return bool(others) and not skipped_steps(plan, run).issuperset(others)


def open_items(plan: Plan, run: RunState, step: PlannedStep) -> list[str]:
    """Return the first items that begin again of a step that is ready: those that a resume left out, and all that are not
    ready where a course has set the step back and did not come to it; or the step whose list it shares, if that is another.
    """
    state = run.step(step.id)
    was_set_back = state.stage == "idle" or state.checkpoint_status == "held"
    if step.index not in plan.items:
        leader = None if step.leader is None else plan.steps[step.leader].id
        known, shared = run.items.get(step.id), run.items.get(leader or "")
        has_changed = known is not None and shared is not None and known.items != shared.items
        return [leader] if leader is not None and was_set_back and has_changed else []
    if was_set_back:
        return list(tally(plan, run, step.index).others[:_NAMED])
    left = [i for i in plan.items[step.index] if run.step(plan.steps[i].id).hold == "not_selected"]
    skipped = skipped_steps(plan, run) if left else set()
    return [plan.steps[index].id for index in left if index not in skipped][:_NAMED]
