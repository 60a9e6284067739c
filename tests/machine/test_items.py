"""Lists of items, and a plan that has them: keys, numbers, how many are required, and what a foreign log cannot break."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixirnb.history.events import Event
from pixirnb.history.items import ItemList
from pixirnb.history.run_state import RunState, fold
from pixirnb.machine.expansion import bad_set, order, with_items, without_items
from pixirnb.machine.items import BadList, read_list, step_named, tally
from pixirnb.planning.items import as_planned
from pixirnb.planning.plan import Plan
from pixirnb.testing.generators.histories import AT, events_of, plan_of, run_started


def plan(*steps: dict[str, Any]) -> Plan:
    """A plan of shell steps."""
    return plan_of({"name": "t", "steps": [{"run": "x", **step} for step in steps]})


def listed(values: Any, known: ItemList | None = None, **written: Any) -> list[tuple[int, str]]:
    """Number and key of each item of a list."""
    step = plan({"id": "a", "for_each": {"items": values, **written}}).steps[0]
    items = read_list(step, known or ItemList(), lambda _: None)
    return [(item["number"], item["key"]) for item in items]


def with_lists(of: Plan, **lists: Any) -> RunState:
    """A run in which these steps have these items."""
    events = events_of([run_started(of)])
    for step, items in lists.items():
        data = items
        if isinstance(items, list):
            numbered = [
                {"number": n, "key": str(n), "value": value} for n, value in enumerate(items)
            ]
            data = {"step": step, "items": numbered, "reused": []}
        events.append(Event(len(events) + 1, AT, "step_expanded", data))
    return fold(events)


def test_a_short_item_is_its_own_key_and_a_long_one_has_a_digest_that_only_it_has() -> None:
    long = {"name": "n" * 80}
    [first, second, third] = listed([3, "a b", long])
    assert (first, second) == ((0, "3"), (1, "a b"))
    assert third[0] == 2
    assert len(third[1]) == 12
    assert listed([{**long, "other": 1}])[0][1] != third[1]


def test_equal_items_are_told_apart_and_equal_written_keys_are_refused() -> None:
    assert [key for _, key in listed(["x", "x", "x#2", "x"])] == ["x", "x#2", "x#2#2", "x#3"]
    with pytest.raises(BadList, match="two items have the key `1`"):
        listed([{"n": 1, "v": 1}, {"n": 1, "v": 2}], key="{{ item.n }}")


def test_a_list_has_at_most_as_many_items_as_a_workflow_has_steps() -> None:
    step = plan_of(
        {
            "name": "t",
            "inputs": {"names": {"type": "array", "default": []}},
            "steps": [{"id": "a", "run": "x", "for_each": "{{ inputs.names }}"}],
        }
    ).steps[0]
    names = list(range(100_001))
    assert len(read_list(step, ItemList(), lambda _: names[1:])) == 100_000
    with pytest.raises(BadList, match="100,001 items, more than 100,000") as caught:
        read_list(step, ItemList(), lambda _: names)
    assert caught.value.kind == "limit_exceeded"


@given(
    st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6), min_size=1, max_size=5)
)
def test_a_key_keeps_its_number_whatever_comes_and_goes(lists: list[list[str]]) -> None:
    known, given = ItemList(), dict[str, int]()
    for values in lists:
        items = listed(values, known)
        assert [key for _, key in items] == values
        assert len({number for number, _ in items}) == len(items)
        for number, key in items:
            assert given.setdefault(key, number) == number
        known.numbers.update((key, number) for number, key in items)
    assert len(set(given.values())) == len(given)


def test_two_items_of_a_foreign_log_with_one_number_are_one_step_and_a_new_list_tells_them_apart() -> (
    None
):
    of = plan({"id": "a", "for_each": [1, 2]})
    items = [{"number": 0, "key": "x", "value": "x"}, {"number": 0, "key": "y", "value": "y"}]
    run = with_lists(of, a={"step": "a", "items": items, "reused": []})
    assert [step.id for step in with_items(of, run).steps] == ["a", "a@0"]
    assert listed(["x", "y"], ItemList(numbers={"x": 0, "y": 0})) == [(0, "x"), (1, "y")]


@pytest.mark.parametrize(
    ("require", "count", "required"),
    [
        ("all", 3, 3),
        ("all", 0, 0),
        ("any", 3, 1),
        ("any", 0, 0),
        (2, 3, 2),
        ("50%", 3, 2),
        ("0%", 3, 0),
    ],
)
def test_what_is_required_is_rounded_up(require: Any, count: int, required: int) -> None:
    step = plan({"id": "a", "for_each": {"items": [1], "require": require}}).steps[0]
    assert step.spec.for_each is not None
    assert step.spec.for_each.required(count) == required


def test_a_number_that_no_list_reaches_is_never_met() -> None:
    of = plan({"id": "a", "for_each": {"items": [1], "require": 2}})
    grown = with_items(of, with_lists(of, a=[1]))
    assert not tally(grown, with_lists(of, a=[1]), 0).is_enough


def test_items_come_after_all_written_steps_and_go_again() -> None:
    of = plan(
        {"id": "a", "for_each": [1, 2]},
        {"id": "b", "for_each": {"same_as": "a"}},
        {"id": "c", "depends_on": ["b"]},
    )
    run = with_lists(of, a=["x", "y"], b={"step": "b", "items": [], "reused": [], "same_as": "a"})
    grown = with_items(of, run)
    assert [step.id for step in grown.steps] == ["a", "b", "c", "a@0", "a@1", "b@0", "b@1"]
    assert [step.id for step in grown.listed] == ["a", "a@0", "a@1", "b", "b@0", "b@1", "c"]
    needs = {step.id: [grown.steps[i].id for i in step.depends_on] for step in grown.steps}
    assert needs["b@1"] == ["a@1"]
    assert needs["b"] == ["a", "b@0", "b@1"]
    assert sorted([*range(7)], key=lambda each: order(grown, each)) == [0, 3, 5, 4, 6, 1, 2]
    assert [step.id for step in without_items(grown).steps] == ["a", "b", "c"]
    assert [s.dependents for s in without_items(grown).steps] == [s.dependents for s in of.steps]
    assert step_named(run, "b@1") == "b@1"
    assert step_named(run, "b@x") == "b@x"


@pytest.mark.parametrize(
    "data",
    [
        {"step": "a", "items": [{"number": 0, "key": "k", "value": 5}], "reused": [0, 7]},
        {"step": "a", "items": [{"number": -3, "key": "", "value": ["../.."]}], "reused": []},
        {"step": "a", "items": [], "reused": [], "same_as": "nobody"},
        {"step": "nobody", "items": [], "reused": []},
        {"step": "plain", "items": [{"number": 1, "key": "k", "value": "v"}], "reused": [1]},
    ],
)
def test_a_list_of_a_foreign_log_breaks_no_reader(data: Any) -> None:
    of = plan({"id": "a", "for_each": ["x"], "write_set": ["{{ item.name }}/out"]}, {"id": "plain"})
    run = with_lists(of, a=data)
    grown = with_items(of, run)
    assert [step.id for step in grown.written] == ["a", "plain"]
    for step in grown.steps[2:]:
        assert step.write_set == ("**/*",)


def test_sets_name_the_item_and_nothing_else() -> None:
    of = plan({"id": "a", "for_each": [1], "write_set": ["{{ item }}", "x/{{ item }}.txt"]})
    grown = with_items(of, with_lists(of, a=["[b]*"]))
    assert grown.steps[1].write_set == (r"\[b\]\*", r"x/\[b\]\*.txt")
    items: Any = [{"number": 0, "key": "k", "value": "../up"}]
    assert bad_set(of, of.steps[0], items) is not None
    assert as_planned(["{{ item }}/x", "a{{ item }}{{ index }}"]) == ("**/x", "a*")
