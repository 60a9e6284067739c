"""Doctored logs of lists: each breaks the promise of one rule about `for_each`, and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pixirnb.machine.items import NOT_READY
from pixirnb.testing.generators.histories import plan_of
from tests.harness.auditor.doctoring import Exhibit, at, of
from tests.harness.auditor.taped_runs import Tape, begun
from tests.harness.auditor.workflows_on_trial import play, shell, spec

Trial = tuple[str, str, Callable[[], Exhibit], Callable[[Exhibit], object]]

_LIST = at("step_expanded")
_NAMES = {"names": {"type": "array", "default": ["x", "y"]}}


def each(*after: str, **said: Any) -> dict[str, Any]:
    """A step for each name."""
    return shell(
        "e", *after, **{"for_each": "{{ inputs.names }}", "run": "echo {{ item }}", **said}
    )


def lists(*steps: dict[str, Any], **said: Any) -> Tape:
    """A run of steps with lists, begun."""
    return begun(spec(*steps, inputs=_NAMES, **said))


def plain() -> Tape:
    """Two items, and what they left."""
    return play(lists(each()), "e@0", "e@1", "e")


def behind() -> Tape:
    """A list that is read behind a step."""
    return play(lists(shell("a"), each("a")), "a", "e@0", "e@1", "e")


def pipeline() -> Tape:
    """A step that shares the list of another."""
    follows = shell("f", for_each={"same_as": "e"}, run="echo {{ steps.e.output }}")
    return play(lists(each(), follows), "e@0", "e@1", "f@0", "f@1", "e", "f")


def named() -> Tape:
    """Items that are named by their author."""
    other = {"items": "{{ inputs.names }}", "key": "n-{{ item }}"}
    return play(lists(each(for_each=other)), "e@0", "e@1", "e")


def one_by_one() -> Tape:
    """Items of which only one may run at a time."""
    few = {"items": "{{ inputs.names }}", "max_parallel": 1}
    return play(lists(each(for_each=few)), "e@0", "e@1", "e")


def some() -> Tape:
    """One of two items is enough."""
    any_ = {"items": "{{ inputs.names }}", "require": "any"}
    return play(lists(each(for_each=any_)), "e@0", "e@1!", "e")


def too_few() -> Tape:
    """One of two items is not enough."""
    return play(lists(each()), "e@0", "e@1!", "e")


def grown() -> Tape:
    """A resume with one name more, at the front of the list: two items stand, and one is new."""
    tape = plain().resume(inputs={"names": ["z", "x", "y"]})
    return play(tape, "e@2", "e")


def changed() -> Tape:
    """A resume with another command: no item stands."""
    other = spec(each(run="echo {{ item }}; true"), inputs=_NAMES)
    tape = plain().resume(plan=plan_of(other))
    return play(tape, "e@0", "e@1", "e")


def _move_first(exhibit: Exhibit, match: Callable[..., bool], before: Callable[..., bool]) -> None:
    """Move an event to before another, into the group of what it comes to stand behind."""
    event = exhibit.events.pop(exhibit.place(match))
    exhibit.insert(exhibit.place(before), event)


def _item(exhibit: Exhibit, nth: int, place: int, **said: Any) -> None:
    exhibit.events[exhibit.place(_LIST, nth)].data["items"][place].update(said)


def _begin_both(exhibit: Exhibit) -> None:
    exhibit.respec(steps=[each(for_each={"items": "{{ inputs.names }}", "max_parallel": 1})])


def _twice(exhibit: Exhibit) -> None:
    place = exhibit.place(_LIST)
    exhibit.insert(place + 1, exhibit.events[place])


def _swapped(exhibit: Exhibit) -> None:
    items = exhibit.events[exhibit.place(_LIST)].data["items"]
    for item, value in zip(items, ["y", "x"], strict=True):
        item["value"] = value


def _left(exhibit: Exhibit, values: list[Any]) -> None:
    exhibit.change(at("attempt_ended", "e"), output={"format": "jsonl", "value": values})


def _well_after_all(exhibit: Exhibit) -> None:
    exhibit.respec(steps=[each(for_each={"items": "{{ inputs.names }}", "require": "all"})])


def _renumbered(exhibit: Exhibit) -> None:
    """In the second course the items have each other's numbers: and so each other's values and keys."""
    for item, key in zip(
        exhibit.events[exhibit.place(_LIST, -1)].data["items"], ["y", "x"], strict=True
    ):
        item["key"] = key


def _stands(exhibit: Exhibit) -> None:
    """The first item stands, and is not run again."""
    exhibit.change(_LIST, -1, reused=[0])
    second = exhibit.place(at("run_resumed"))
    exhibit.events = [
        event
        for place, event in enumerate(exhibit.events)
        if place < second or event.data.get("step") != "e@0"
    ]


def _collected_early(exhibit: Exhibit) -> None:
    _move_first(exhibit, at("step_scheduled", "e"), at("attempt_ended", "e@1"))


def _outside(exhibit: Exhibit) -> None:
    place = exhibit.place(at("step_scheduled", "e@0"))
    exhibit.insert(place, exhibit.events[place])
    exhibit.events[place].data["step"] = "e@7"


TRIALS: list[Trial] = [
    ("lists_come_first", "read twice", of(plain), _twice),
    (
        "lists_come_first",
        "read before what it waits for",
        of(behind),
        lambda x: _move_first(x, _LIST, at("step_scheduled", "a")),
    ),
    ("list_is_true", "other items", of(plain), _swapped),
    (
        "list_is_true",
        "another key than the author's",
        of(named),
        lambda x: _item(x, 0, 0, key="x"),
    ),
    ("numbers_stay", "one key twice", of(plain), lambda x: _item(x, 0, 1, key="x")),
    (
        "list_is_true",
        "a list of its own for one that shares another's",
        of(pipeline),
        lambda x: x.change(_LIST, 1, items=x.events[x.place(_LIST)].data["items"]),
    ),
    ("numbers_stay", "a key of another number", of(changed), _renumbered),
    (
        "reused_is_unchanged",
        "made of other things",
        of(changed),
        _stands,
    ),
    ("parallel_bounded", "both at once", of(plain), _begin_both),
    (
        "collects_settled",
        "begun while an item runs",
        of(plain),
        _collected_early,
    ),
    ("enough_are_ready", "well without all", of(some), _well_after_all),
    (
        "enough_are_ready",
        "says another number",
        of(too_few),
        lambda x: x.change(
            at("attempt_ended", "e"),
            error={"kind": NOT_READY, "message": "m", "details": {"ready": 1, "required": 1}},
        ).change(
            at("checkpoint_decided", "e"),
            error={"kind": NOT_READY, "message": "m", "details": {"ready": 1, "required": 1}},
        ),
    ),
    ("collects_what_is", "in another order", of(plain), lambda x: _left(x, ["e@1", "e@0"])),
    ("collects_what_is", "a value left out", of(plain), lambda x: _left(x, ["e@0", None])),
    (
        "collects_what_is",
        "nothing is said to be missing",
        of(some),
        lambda x: x.change(at("attempt_ended", "e"), missing=[]),
    ),
    (
        "collects_what_is",
        "no limitation tells what is missing",
        of(some),
        lambda x: x.change(at("checkpoint_decided", "e"), limitations=[]),
    ),
    (
        "data_fits",
        "an item that is on no list",
        of(plain),
        _outside,
    ),
]
