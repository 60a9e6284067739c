"""Every mistake at once: a wrong key hides nothing else of its step, and what must be left out is named."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.planning.report import problems_of
from pixirnb.spec.loader import load

# A mistake in the shape of a step, and its code.
SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "a wrong duration": ({"timeout": "soon"}, "bad_duration"),
    "an unknown key": ({"zzz": 1}, "unknown_key"),
    "a retry that is text": ({"retry": "often"}, "wrong_type"),
    "a wrong choice": ({"rerun": "perhaps"}, "not_a_choice"),
    "a wrong variable": ({"env": {"A": [1], "B": "b"}}, "wrong_type"),
    "a check of no kind": ({"verify": [{"file": "x"}, {"file_exists": "y"}]}, "unknown_key"),
    "text for a flag": ({"process": "yes"}, "wrong_type"),
    "a list item that is a number": ({"read_set": ["a", 3]}, "wrong_type"),
}
# A mistake that only the whole shows, and its code.
MEANINGS: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown dependency": ({"depends_on": ["nowhere"]}, "unknown_dependency"),
    "a second step of its id": ({"id": "first"}, "duplicate_id"),
    "a reference to no step": (
        {"run": "echo {{ steps.nowhere.output }}"},
        "reference_unknown_step",
    ),
    "a reference to no input": ({"run": "echo {{ inputs.nowhere }}"}, "reference_unknown_input"),
    "a read-only writer": ({"posture": "read_only", "write_set": ["x"]}, "read_only_writes"),
    "a broken glob": ({"write_set": ["[a"]}, "bad_pattern"),
}


def codes(workflow: dict[str, Any] | str) -> list[str]:
    """Return the codes of all mistakes that are shown."""
    return sorted(each.code for each in problems_of(load(workflow)))


@pytest.mark.parametrize(("shape", "first"), SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize(("meaning", "second"), MEANINGS.values(), ids=MEANINGS.keys())
def test_a_wrong_key_hides_no_other_mistake_of_its_step(
    shape: dict[str, Any], first: str, meaning: dict[str, Any], second: str
) -> None:
    steps = [{"id": "first", "run": "true"}, {"id": "a", "run": "true", **meaning, **shape}]
    found = codes({"name": "w", "steps": steps})
    assert set(found) - {"check_kind"} == {first, second}


def test_a_step_whose_action_is_misspelt_is_checked_as_if_it_were_not() -> None:
    steps = [{"id": "a", "comand": "echo {{ steps.nowhere.output }}", "depends_on": ["zz"]}]
    assert codes({"name": "w", "steps": steps}) == [
        "reference_unknown_step",
        "unknown_dependency",
        "unknown_key",
    ]


def test_a_removed_part_is_not_reported_as_missing() -> None:
    text = """
name: w
agents:
  worker: {runner: openai}
inputs:
  n: {type: int}
repos:
  other: 3
steps:
  - {id: "a b", run: "echo {{ inputs.n }}"}
  - {id: b, task: x, agent: worker, write_set: ["repos.other:x"]}
  - {id: c, run: "echo {{ steps.b.output }}", needs: b}
  - {id: d, merge: [b], depends_on: ["a b", b]}
  - {id: e, run: "true", depends_on: [3, b]}
  - {id: f, run: "echo {{ steps.b.output }}", depends_on: [e]}
"""
    assert [(each.code, each.line) for each in problems_of(load(text))] == [
        ("not_a_choice", 4),
        ("not_a_choice", 6),
        ("wrong_type", 8),
        ("bad_name", 10),
        ("unknown_key", 12),
        ("wrong_type", 14),
    ]


def test_names_are_lost_in_their_own_collection_only() -> None:
    text = """
name: w
agents: {a: {runner: openai}}
steps:
  - {id: a, run: x}
  - {id: a, run: x, depends_on: [a]}
"""
    assert "duplicate_id" in codes(text)


SKIPPED = [
    "run: x, needs: a",
    "run: x, depends_on: 3",
    "run: x, workspace: copy",
    "task: x, agent: [a]",
    "cwd: x",
]


@pytest.mark.parametrize("keys", SKIPPED)
def test_a_line_that_keeps_more_errors_from_appearing_is_named(keys: str) -> None:
    loaded = load(f"name: w\nsteps:\n- {{id: a, run: x}}\n- {{id: b, {keys}}}\n")
    (note,) = loaded.source_map.notes
    assert (note.code, note.line) == ("checks_skipped", 4)
    assert (note.message, note.fix) == ("more errors may appear", "fix line 4 first")


def test_lines_that_keep_more_errors_from_appearing_are_named_at_once() -> None:
    loaded = load("name: w\nsteps:\n- {id: a, run: x, needs: b}\n- {id: b, run: x, needs: c}\n")
    (note,) = loaded.source_map.notes
    assert (note.path, note.line) == ("steps", 3)
    assert note.fix == "fix lines 3, 4 first"


def test_no_check_is_skipped_for_a_wrong_timeout() -> None:
    loaded = load({"name": "w", "steps": [{"id": "a", "run": "x", "timeout": "soon"}]})
    assert loaded.source_map.notes == ()


def test_items_keep_their_places_when_one_of_them_is_wrong() -> None:
    text = "name: w\nsteps:\n- id: a\n  run: x\n  depends_on:\n  - 3\n  - zz\n"
    assert [(each.code, each.path, each.line) for each in problems_of(load(text))] == [
        ("wrong_type", "steps[0].depends_on[0]", 6),
        ("unknown_dependency", "steps[0].depends_on[1]", 7),
    ]
