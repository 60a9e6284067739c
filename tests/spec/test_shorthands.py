"""Short spellings of a workflow: the same workflow as the long ones, down to its digest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pixirnb.planning.digest import spec_digest
from pixirnb.spec.loader import load
from pixirnb.spec.workflow import Workflow
from pixirnb.spec.yaml.writer import write


def notebook_function() -> None:
    """Stand for a function of a module."""


def loaded(source: Any) -> Workflow:
    """Return the workflow of a source without mistakes."""
    result = load(source)
    assert result.problems == ()
    assert result.workflow is not None
    return result.workflow


SHELL = {"id": "a", "run": "true"}
SAME: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("retry", {"retry": 2}, {"retry": {"max_attempts": 2}}),
    ("depends_on", {"depends_on": "b"}, {"depends_on": ["b"]}),
    ("write_set", {"write_set": "out/"}, {"write_set": ["out/"]}),
    ("read_set", {"read_set": "data/**"}, {"read_set": ["data/**"]}),
    ("artifacts", {"artifacts": "x.csv"}, {"artifacts": ["x.csv"]}),
    ("carry", {"carry": "node_modules"}, {"carry": ["node_modules"]}),
    ("seams", {"seams": "a with b"}, {"seams": ["a with b"]}),
    ("additional_paths", {"additional_paths": "../b"}, {"additional_paths": ["../b"]}),
    ("verify", {"verify": {"file_exists": "x"}}, {"verify": [{"file_exists": "x"}]}),
    ("retry.classes", {"retry": {"classes": "exit"}}, {"retry": {"classes": ["exit"]}}),
    ("env", {"env": {"N": 3, "B": True, "F": 0.5}}, {"env": {"N": "3", "B": "true", "F": "0.5"}}),
    ("timeout", {"timeout": "2d"}, {"timeout": "48h"}),
    ("timeout in days and hours", {"timeout": "1d12h"}, {"timeout": "36h"}),
]


@pytest.mark.parametrize(("short", "long"), [case[1:] for case in SAME], ids=[c[0] for c in SAME])
def test_a_short_step_is_the_long_one(short: dict[str, Any], long: dict[str, Any]) -> None:
    first = loaded({"name": "w", "steps": [{**SHELL, **short}]})
    second = loaded({"name": "w", "steps": [{**SHELL, **long}]})
    assert first == second
    assert spec_digest(first) == spec_digest(second)
    assert write(first) == write(second)


def test_a_question_may_be_its_text() -> None:
    short = loaded({"name": "w", "steps": [{"id": "a", "ask": "Ship it?"}]})
    assert short == loaded({"name": "w", "steps": [{"id": "a", "ask": {"question": "Ship it?"}}]})


def test_one_merged_step_and_one_choice_need_no_list() -> None:
    steps = [
        {"id": "a", "run": "true", "workspace": "isolated"},
        {"id": "land", "merge": "a", "depends_on": "a"},
        {"id": "gate", "ask": {"question": "Ship it?", "choices": "now"}},
    ]
    workflow = loaded({"name": "w", "steps": steps})
    assert workflow.canonical()["steps"][1]["merge"] == ["a"]
    assert workflow.canonical()["steps"][2]["ask"]["choices"] == ["now"]


def test_an_input_may_be_its_default() -> None:
    short = {"n": 3, "f": 0.5, "s": "text", "b": False, "a": [1], "o": {"x": 1}}
    workflow = loaded({"name": "w", "inputs": short, "steps": [SHELL]})
    types = {"n": "integer", "f": "number", "s": "string", "b": "boolean"}
    types |= {"a": "array", "o": "object"}
    assert workflow.canonical()["inputs"] == {
        name: {"type": types[name], "default": value} for name, value in short.items()
    }


@pytest.mark.parametrize("key", ["type", "default", "enum", "description", "defualt"])
def test_a_mapping_with_a_key_of_an_input_is_its_declaration(key: str) -> None:
    problems = load({"name": "w", "inputs": {"n": {key: {}}}, "steps": [SHELL]}).problems
    assert problems
    assert all(each.path.startswith("inputs.n") for each in problems)


def test_steps_may_be_a_mapping_in_its_order() -> None:
    workflow = loaded({"name": "w", "steps": {"b": {"run": "true"}, "a": {"run": "false"}}})
    assert workflow.canonical()["steps"] == [
        {"id": "b", "run": "true"},
        {"id": "a", "run": "false"},
    ]


def test_a_mistake_in_a_mapping_of_steps_has_the_path_and_the_line_of_the_text() -> None:
    text = "name: w\nsteps:\n  b: {run: 'true'}\n  a:\n    run: 'true'\n    timeout: soon\n"
    (problem,) = load(text).problems
    assert (problem.path, problem.line) == ("steps.a.timeout", 6)


def test_keys_that_begin_with_x_hold_anchors_and_are_no_part_of_the_workflow() -> None:
    text = """
name: w
x-common: &common
  timeout: 5m
  retry: 2
x-list: [&first {run: make}]
steps:
  - {<<: *common, id: a, run: make, timeout: 1m}
  - {<<: [*first, *common], id: b}
"""
    steps = loaded(text).canonical()["steps"]
    assert steps == [
        {"id": "a", "run": "make", "timeout": "1m", "retry": {"max_attempts": 2}},
        {"id": "b", "run": "make", "timeout": "5m", "retry": {"max_attempts": 2}},
    ]
    assert loaded({"name": "w", "x-a": object(), "steps": [SHELL]}).canonical() == {
        "name": "w",
        "steps": [SHELL],
    }


def test_a_merge_key_of_what_is_no_mapping_is_one_mistake_on_its_line() -> None:
    (problem,) = load("name: w\nsteps:\n- id: a\n  run: x\n  <<: 3\n").problems
    assert (problem.code, problem.line) == ("merge_key", 5)


def test_a_quoted_merge_key_is_an_unknown_key() -> None:
    (problem,) = load('name: w\nsteps:\n- id: a\n  run: x\n  "<<": 3\n').problems
    assert problem.code == "unknown_key"


def test_merged_aliases_count_against_the_limit_of_aliases() -> None:
    keys = ", ".join(f"k{number}: 1" for number in range(400))
    merged = "".join(f"x-{number}: {{<<: *big}}\n" for number in range(4))
    (problem,) = load(
        f"name: w\nx-big: &big {{{keys}}}\n{merged}steps: [{{id: a, run: x}}]"
    ).problems
    assert problem.code == "limit_exceeded"


def test_a_dict_may_hold_functions() -> None:
    steps = [{"id": "a", "call": json.dumps, "verify": [{"python": notebook_function}]}]
    step = loaded({"name": "w", "steps": steps}).canonical()["steps"][0]
    assert step["call"] == "json:dumps"
    assert step["verify"] == [{"python": f"{__name__}:notebook_function"}]


def test_a_function_of_the_notebook_is_named_by_a_colon() -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec("def f(): pass", namespace)
    step = loaded({"name": "w", "steps": [{"id": "a", "call": namespace["f"]}]}).canonical()
    assert step["steps"][0]["call"] == ":f"


def test_a_function_without_a_name_is_a_mistake() -> None:
    (problem,) = load({"name": "w", "steps": [{"id": "a", "call": lambda: 1}]}).problems
    assert problem.code == "bad_function"
    assert problem.fix == "define it with `def` at the top level of a module or of the notebook"


def test_a_step_of_a_mapping_has_no_other_id_than_its_key() -> None:
    text = "name: x\nsteps:\n  a: {id: a, run: 'true'}\n  b:\n    id: c\n    run: 'true'\n"
    [problem] = load(text).problems
    assert (problem.code, problem.path, problem.line) == ("duplicate_id", "steps.b.id", 5)
    assert problem.message == "`b` has another id too: 'c'"


def test_an_unknown_anchor_of_a_merge_key_is_one_mistake() -> None:
    text = "name: w\nsteps:\n  - id: a\n    <<: NAMED\n    run: x\n"
    for named in ("*nope", "[*nope]"):
        (problem,) = load(text.replace("NAMED", named)).problems
        assert (problem.code, problem.line) == ("yaml_alias", 4)


def test_a_question_that_is_a_number_is_shown_quoted() -> None:
    (problem,) = load("name: w\nsteps:\n  - {id: a, ask: 5}\n").problems
    assert problem.fix == "write `ask: '5'`"
