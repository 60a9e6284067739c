"""What an edit changes is told in words, a line a step, and harmless edits are told to be harmless."""

from __future__ import annotations

from typing import Any

from pixirnb import api
from pixirnb.views.run.resume_preview import edit_lines


def told(before: list[dict[str, Any]], after: list[dict[str, Any]], **around: Any) -> list[str]:
    """The lines for an edit of steps, and of the keys around them."""
    pinned = api.load({"name": "w", "steps": before})
    return list(edit_lines(pinned, api.load({"name": "w", **around, "steps": after})))


A: dict[str, Any] = {"id": "a", "run": "true"}
B: dict[str, Any] = {"id": "b", "run": "true", "depends_on": ["a"]}


def test_the_same_workflow_says_nothing() -> None:
    assert told([A, B], [A, B]) == []


def test_each_changed_new_and_removed_step_is_named_with_its_keys() -> None:
    assert told([A, B], [{**A, "run": "false", "cwd": "."}, {"id": "c", "run": "true"}]) == [
        "a: cwd, run changed.",
        "c is new.",
        "b was removed from the workflow; its events stay in the log.",
    ]


def test_what_repeats_no_work_says_so() -> None:
    assert told([A], [{**A, "timeout": "5m", "description": "x"}]) == [
        "a: description, timeout changed; no step reruns for that."
    ]


def test_an_edge_is_not_harmless() -> None:
    assert told([A, B], [A, {"id": "b", "run": "true"}]) == ["b: depends_on changed."]


def test_the_keys_around_the_steps_are_named_too() -> None:
    assert told([A], [A], max_concurrency=2) == ["Workflow: max_concurrency changed."]


def test_true_is_not_one() -> None:
    calls = [{"id": "a", "call": "m:f", "with": {"n": n}} for n in (1, True)]
    assert told([calls[0]], [calls[1]]) == ["a: with changed."]
    inputs: list[dict[str, Any]] = [{"n": {"type": "array", "default": [n]}} for n in (1, True)]
    pinned, edited = (api.load({"name": "w", "inputs": each, "steps": [A]}) for each in inputs)
    assert edit_lines(pinned, edited) == ("Workflow: inputs changed.",)


def test_another_list_is_not_harmless() -> None:
    lists = [{"id": "a", "run": "true", "for_each": items} for items in (["x"], ["y"])]
    assert told([lists[0]], [lists[1]]) == ["a: for_each changed."]
