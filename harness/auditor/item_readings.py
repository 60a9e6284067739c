"""Steps with `for_each` as the auditor reads them: the one that collects, and its items once a log has told their list.

Collector    a step with a list; it waits for its items and leaves the list of what they left
ItemReading  one item: the step as written, with the item in its sets, artifacts and checked files
ListReading  a workflow with the lists that are known at some point of a log
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Final

from msgspec.structs import replace
from pydantic_core import from_json

from harness.auditor.readings import Claims, Reading, StepReading
from pixirnb.history.codec import canonical
from pixirnb.spec.expressions.references import (
    Reference,
    Template,
    as_text,
    parse_references,
    pick,
    render,
)
from pixirnb.spec.for_each import ForEach
from pixirnb.spec.policies import Retry
from pixirnb.spec.workflow import Workflow

FOR_EACH: Final = "for_each"
_ALL: Final = "**/*"
_MAGIC: Final = frozenset("*?[]{}\\,")
_REPO: Final = re.compile(r"repos\.[^/:]*:")
_CHECKED: Final = ("file_exists", "git_changes")
"""What of a check names files."""

Item = Mapping[str, Any]
Lists = Mapping[str, Sequence[Item]]


def name_of(step: str, number: int) -> str:
    """The name of an item's step."""
    return f"{step}@{number}"


@dataclass(eq=False)
class Collector(StepReading):
    """A step with `for_each`: it does nothing by itself but collect."""

    items: tuple[ItemReading, ...] | None = None
    """In the order of the list; None until that is known."""

    @property
    def each(self) -> ForEach:
        """What its author wrote of the list."""
        assert self.step.for_each is not None
        return self.step.for_each

    @property
    def leader(self) -> str | None:
        """The step whose list it shares."""
        return self.each.same_as

    @cached_property
    def sources(self) -> frozenset[str]:
        """The steps that its list is made from."""
        return frozenset(each.name for each in self.references if each.source == "step")

    @property
    def kind(self) -> str:
        """It is no kind of work."""
        return FOR_EACH

    @cached_property
    def gates(self) -> tuple[str, ...]:
        """The written steps that it and its items wait for, the one whose list it shares apart."""
        return tuple(d for d in dict.fromkeys(self.step.depends_on) if d != self.leader)

    @cached_property
    def depends_on(self) -> tuple[str, ...]:
        """What is before it: as written, whose list it has, and its items."""
        leaders = () if self.leader is None else (self.leader,)
        items = (item.id for item in self.items or ())
        return tuple(dict.fromkeys((*self.step.depends_on, *leaders, *items)))

    @cached_property
    def when(self) -> None:
        """A condition is one of its items."""
        return

    @cached_property
    def timeout_ms(self) -> None:
        """It has none: it waits for nobody."""
        return

    @cached_property
    def retry(self) -> Retry:
        """A single attempt."""
        return Retry()

    @cached_property
    def checks(self) -> int:
        """Its items are checked."""
        return 0

    @cached_property
    def claims(self) -> Claims:
        """It touches nothing."""
        return Claims((), (), is_shared=True)

    @cached_property
    def workspace(self) -> str:
        """It works nowhere."""
        return "shared"

    @property
    def says_what_it_writes(self) -> bool:
        """It writes nothing."""
        return True

    def said(self, key: str) -> Any:
        """What is its own: the rest is said of its items."""
        own = {"verify": (), "output": None, "artifacts": (), "rerun": "auto"}
        return own[key] if key in own else super().said(key)

    @cached_property
    def template(self) -> ItemReading:
        """An item of no list."""
        return ItemReading(self.step, self.workflow, self.order, self, -1, 0, None, is_filled=False)

    def deed(self, sources: Mapping[str, str]) -> bytes:
        """What its items do, with which list, and how many of them must be ready."""
        told = self.each.items if self.leader is None else {"same_as": self.leader}
        return self.template.deed(sources) + canonical([told, self.each.require])

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """What its list refers to, and the keys of it."""
        texts = [self.each.items] if isinstance(self.each.items, str) else _texts(self.each.items)
        texts += [] if self.each.key is None else [self.each.key]
        found = (each for text in texts for each in parse_references(text))
        return tuple(each for each in found if each.source != "item")


@dataclass(eq=False)
class ItemReading(StepReading):
    """One item of a list."""

    parent: Collector
    number: int
    position: int
    value: Any
    is_filled: bool = True

    def __post_init__(self) -> None:
        """Fill the item in where it is taken literally."""
        update: dict[str, Any] = {"for_each": None, "seams": ()}
        if self.is_filled:
            for key in ("read_set", "write_set", "artifacts"):
                if globs := getattr(self.step, key, None):
                    update[key] = tuple(map(self._fill, globs))
            if self.step.verify:
                update["verify"] = tuple(self._checked(check) for check in self.step.verify)
        written = self.step.model_fields_set | (update.keys() - {"for_each", "seams"})
        self.step = self.step.model_copy(update=update)
        self.step.__pydantic_fields_set__.intersection_update({*written, "seams"})

    def _checked(self, check: Any) -> Any:
        named = {key: getattr(check, key) for key in _CHECKED if getattr(check, key) is not None}
        return check.model_copy(update={key: self._fill(text) for key, text in named.items()})

    def _fill(self, text: str) -> str:
        if "{{" not in text:
            return text

        def escaped(reference: Reference) -> str:
            told = as_text(self.own(reference))
            return "".join(f"\\{each}" if each in _MAGIC else each for each in told)

        try:
            glob = str(render(Template.parse(text), escaped))
            # What an item brings is no name of a repository.
            return f"./{glob}" if _REPO.match(glob) and not _REPO.match(text) else glob
        except LookupError:
            return _ALL

    def own(self, reference: Reference) -> Any:
        """What a reference to the item stands for. Raises LookupError for any other, and for a field that it lacks."""
        if reference.source != "item":
            raise LookupError(reference.text)
        return self.position if reference.part == "index" else pick(self.value, reference)

    @property
    def id(self) -> str:
        """Its name."""
        return name_of(self.parent.id, self.number)

    @property
    def written_id(self) -> str:
        """The name of its step."""
        return self.parent.id

    @cached_property
    def depends_on(self) -> tuple[str, ...]:
        """What is written before its step, and the same item of the step whose list that shares."""
        leader = self.parent.leader
        return self.parent.gates + (() if leader is None else (name_of(leader, self.number),))

    def of_item(self, reference: Reference) -> Reference:
        """The reference as it is meant in an item: what a step left whose list is shared, that step's same item has."""
        if reference.source != "step" or reference.name not in self.leaders:
            return reference
        return replace(reference, name=name_of(reference.name, self.number))

    @cached_property
    def leaders(self) -> tuple[str, ...]:
        """The steps whose list it shares, the nearest first."""
        return leaders_of(self.workflow, self.parent.id)


def is_needed(step: StepReading | None) -> bool:
    """Whether nothing but its failure is needed to fail what it belongs to: of some items others may be enough."""
    return not isinstance(step, ItemReading) or step.parent.each.require == "all"


def leaders_of(workflow: Workflow, step: str) -> tuple[str, ...]:
    """The steps whose list a step shares, the nearest first."""
    each = {written.id: written.for_each for written in workflow.steps}
    found: list[str] = []
    now = each.get(step)
    while now is not None and now.same_as is not None and now.same_as not in found:
        found.append(now.same_as)
        now = each.get(now.same_as)
    return tuple(found)


@dataclass(eq=False)
class ListReading(Reading):
    """A workflow, with the lists that are known."""

    lists: Lists = field(default_factory=dict)

    @cached_property
    def steps(self) -> dict[str, StepReading]:
        """Every step by name: those in spec order, then the items of each list."""
        found: dict[str, StepReading] = {}
        items: dict[str, StepReading] = {}
        places = {step.id: n for n, step in enumerate(self.workflow.steps)}
        for n, step in enumerate(self.workflow.steps):
            if step.for_each is None:
                found[step.id] = StepReading(step, self.workflow, (n, -1, n))
                continue
            collector = found[step.id] = Collector(step, self.workflow, (n, -1, n))
            if step.id in self.lists:
                root = places.get((leaders_of(self.workflow, step.id) or (step.id,))[-1], n)
                collector.items = tuple(
                    ItemReading(
                        step,
                        self.workflow,
                        (root, item["number"], n),
                        collector,
                        item["number"],
                        position,
                        item["value"],
                    )
                    for position, item in enumerate(self.lists[step.id])
                )
                items |= {item.id: item for item in collector.items}
        return found | items

    @property
    def listed(self) -> list[str]:
        """Every step in the order of the workflow, each with its items behind it."""
        found: list[str] = []
        for name in self.written:
            step = self.steps[name]
            found += [name, *(each.id for each in getattr(step, "items", None) or ())]
        return found

    def carriers(self, names: Iterable[str]) -> list[str]:
        """The steps that work where these are named: the items of one that has a list, else itself."""
        found: list[str] = []
        for name in names:
            items = getattr(self.steps.get(name), "items", None)
            found += [name] if items is None else [each.id for each in items]
        return found


def read_spec(spec: Mapping[str, Any]) -> Reading:
    """The workflow pinned in a log. Raises ValueError for what is none."""
    return _read(canonical(dict(spec)), b"")


def with_lists(reading: Reading, spec: Mapping[str, Any], lists: Lists) -> Reading:
    """The workflow of a log with the lists of some of its steps; the same one where it has none of them."""
    known = {
        step.id: [dict(item) for item in lists[step.id]]
        for step in reading.workflow.steps
        if step.for_each is not None and step.id in lists
    }
    if not known and not getattr(reading, "lists", None):
        return reading
    return _read(canonical(dict(spec)), canonical(known))


@lru_cache(maxsize=512)
def _read(text: bytes, lists: bytes) -> Reading:
    workflow = Workflow.model_validate(from_json(text), by_alias=True, by_name=False)
    if all(step.for_each is None for step in workflow.steps):
        return Reading(workflow)
    return ListReading(workflow, from_json(lists) if lists else {})


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    values = value.values() if isinstance(value, Mapping) else value
    return (
        [text for each in values for text in _texts(each)] if isinstance(values, Iterable) else []
    )
