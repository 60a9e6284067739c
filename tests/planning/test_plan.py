"""The plan the machine drives: who said which time-out, who writes, who runs as a process, which mistakes stop it."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.errors import InvalidSpec
from pixirnb.planning.facts import Facts, PathFact
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.planning.report import compile_plan, problems_of, report, require
from pixirnb.spec.loader import load_mapping, load_text

AGENT = {"b": {"runner": "scripted"}}


def planned(*steps: dict[str, Any], **keys: Any) -> Plan:
    spec = {"name": "w", "steps": list(steps), **keys}
    return compile_plan(load_mapping(spec).require(), Facts(), {})


def only(step: dict[str, Any], **keys: Any) -> PlannedStep:
    return planned({"id": "a", **step}, **keys).steps[0]


def codes(text: str, facts: Facts | None = None) -> list[tuple[str, str, int | None]]:
    loaded = load_text(text)
    if loaded.workflow is None:
        return [(each.code, each.path, each.line) for each in problems_of(loaded, facts)]
    found = report(loaded.workflow, facts or Facts()).errors
    return [(each.code, each.path, each.line) for each in found]


HEAD = "name: w\nsteps:\n"
BROKEN = {
    "one id twice": (
        HEAD + "- {id: a, run: x}\n- {id: a, run: y}\n",
        [("duplicate_id", "steps[1].id", 4)],
    ),
    "a dependency on nobody, and who waits for it": (
        HEAD
        + "- {id: build, run: x, depends_on: [biuld]}\n- {id: b, run: y, depends_on: [build]}\n",
        [("unknown_dependency", "steps[0].depends_on[0]", 3), ("unreachable", "steps[1]", 4)],
    ),
    "a dependency written twice": (
        HEAD + "- {id: a, run: x}\n- {id: b, run: y, depends_on: [a, a]}\n",
        [("duplicate_dependency", "steps[1].depends_on[1]", 4)],
    ),
    "a cycle, and who waits for it": (
        HEAD + "- {id: a, run: x, depends_on: [b]}\n- {id: b, run: y, depends_on: [a]}\n"
        "- {id: c, run: y, depends_on: [b]}\n",
        [("cycle", "steps[0].depends_on", 3), ("unreachable", "steps[2]", 5)],
    ),
    "a step that waits for itself": (
        HEAD + "- {id: a, run: x, depends_on: [a]}\n",
        [("cycle", "steps[0].depends_on", 3)],
    ),
    "a task for nobody": (HEAD + "- {id: a, task: x}\n", [("agent_missing", "steps[0].task", 3)]),
    "a task for a stranger": (
        HEAD + "- {id: a, task: x, agent: b}\n",
        [("agent_unknown", "steps[0].agent", 3)],
    ),
    "a reader that writes": (
        HEAD + "- {id: a, run: x, posture: read_only, write_set: [o]}\n",
        [("read_only_writes", "steps[0].write_set", 3)],
    ),
    "a role that reads and a step that writes": (
        "name: w\nagents: {b: {posture: read_only}}\nsteps:\n"
        "- {id: a, task: x, agent: b, write_set: [o]}\n",
        [("read_only_writes", "steps[0].write_set", 4)],
    ),
    "a reference to nobody": (
        HEAD + "- {id: a, run: 'echo {{ steps.z.output }}'}\n",
        [("reference_unknown_step", "steps[0].run", 3)],
    ),
    "a reference to a stranger": (
        HEAD + "- {id: a, run: x}\n- {id: b, run: [echo, '{{ steps.a.output }}']}\n",
        [("reference_not_ancestor", "steps[1].run", 4)],
    ),
    "a reference to itself": (
        HEAD + "- {id: a, run: x, env: {N: '{{ steps.a.output }}'}}\n",
        [("reference_not_ancestor", "steps[0].env.N", 3)],
    ),
    "a reference to no input": (
        HEAD + "- {id: a, call: 'm:f', with: {x: ['{{ inputs.n }}']}}\n",
        [("reference_unknown_input", "steps[0].with", 3)],
    ),
    "a reference in quotes": (
        HEAD + "- {id: a, run: \"echo '{{ run.id }}'\"}\n",
        [("quoted_reference", "steps[0].run", 3)],
    ),
    "a reference in the quotes of a check": (
        HEAD + "- {id: a, run: x, verify: [{command: 'test \"{{ run.id }}\"'}]}\n",
        [("quoted_reference", "steps[0].verify[0].command", 3)],
    ),
    "a reference that is none": (
        HEAD + "- {id: a, run: 'echo {{ steps.a }}'}\n",
        [("bad_reference", "steps[0].run", 3)],
    ),
    "a reference where the plan must know": (
        HEAD + "- {id: a, run: x, write_set: ['{{ run.id }}/**']}\n",
        [("reference_not_allowed", "steps[0].write_set[0]", 3)],
    ),
    "a condition that calls": (
        HEAD + "- {id: a, run: x, when: 'exit() == 1'}\n",
        [("bad_condition", "steps[0].when", 3)],
    ),
    "a condition on a stranger": (
        HEAD + "- {id: a, run: x}\n- {id: b, run: x, when: \"{{ steps.a.output }} == 'y'\"}\n",
        [("reference_not_ancestor", "steps[1].when", 4)],
    ),
    "a glob that leaves": (
        HEAD + "- {id: a, run: x, write_set: [ok, ../x]}\n",
        [("bad_pattern", "steps[0].write_set[1]", 3)],
    ),
    "a glob into .git": (
        HEAD + "- {id: a, run: x, write_set: [.git/hooks]}\n",
        [("bad_pattern", "steps[0].write_set[0]", 3)],
    ),
    "a schema that is none": (
        HEAD + "- {id: a, run: x, output: {type: objekt}}\n",
        [("bad_schema", "steps[0].output", 3)],
    ),
    "a schema in a check that is none": (
        HEAD + "- {id: a, run: x, verify: [{schema: {required: 3}}]}\n",
        [("bad_schema", "steps[0].verify[0].schema", 3)],
    ),
    "an input's default of another type": (
        "name: w\ninputs:\n  n: {type: integer, default: many}\nsteps: [{id: a, run: x}]\n",
        [("input_invalid", "inputs.n.default", 3)],
    ),
    "a choice of another type": (
        "name: w\ninputs:\n  n: {type: string, enum: [a, 1]}\nsteps: [{id: a, run: x}]\n",
        [("input_invalid", "inputs.n.enum[1]", 3)],
    ),
    "a step in two phases": (
        "name: w\nphases: [{name: p, steps: [a]}, {name: q, steps: [a]}]\n"
        "steps: [{id: a, run: x}]\n",
        [("phase_twice", "phases[1].steps[0]", 2)],
    ),
    "a phase said in both ways": (
        "name: w\nphases: [{name: p, steps: [a]}]\nsteps: [{id: a, run: x, phase: p}]\n",
        [("phase_twice", "steps[0].phase", 3)],
    ),
    "a phase of nobody": (
        "name: w\nphases: [{name: p, steps: [z]}]\nsteps: [{id: a, run: x}]\n",
        [("phase_unknown_step", "phases[0].steps[0]", 2)],
    ),
    "two phases of one name": (
        "name: w\nphases: [{name: p}, {name: p}]\nsteps: [{id: a, run: x}]\n",
        [("duplicate_phase", "phases[1].name", 2)],
    ),
    "an isolated step": (
        HEAD + "- {id: a, run: x, workspace: isolated}\n",
        [("not_yet_available", "steps[0].workspace", 3)],
    ),
    "a merge": (
        HEAD + "- {id: a, run: x}\n- {id: b, merge: [a], depends_on: [a]}\n",
        [("not_yet_available", "steps[1].merge", 4)],
    ),
    "another repository": (
        "name: w\nrepos: {c: ../c}\nsteps:\n- {id: a, run: x, cwd: repos.c, write_set: ['repos.c:**']}\n",
        [
            ("not_yet_available", "repos", 2),
            ("not_yet_available", "steps[0].write_set[0]", 4),
            ("not_yet_available", "steps[0].cwd", 4),
        ],
    ),
    "another runner": (
        "name: w\nagents: {b: {runner: llm}}\nsteps: [{id: a, task: x, agent: b}]\n",
        [("not_yet_available", "agents.b.runner", 2)],
    ),
    "carried folders": (
        "name: w\nnever_copy: []\nsteps:\n- {id: a, run: x, carry: [n], seams: [s]}\n",
        [
            ("not_yet_available", "never_copy", 2),
            ("not_yet_available", "steps[0].carry", 4),
            ("not_yet_available", "steps[0].seams", 4),
        ],
    ),
    "isolation by default": (
        "name: w\ndefaults: {workspace: isolated}\nsteps: [{id: a, run: x}]\n",
        [("not_yet_available", "defaults.workspace", 2)],
    ),
    "broken and unknown in one go": (
        HEAD
        + "- {id: a, run: x, timeout: soon}\n- {id: b, run: y, depends_on: [z]}\n- {id: c, rnu: y}\n"
        "- {id: d, run: y, depends_on: [c, a]}\n",
        [
            ("bad_duration", "steps[0].timeout", 3),
            ("unknown_dependency", "steps[1].depends_on[0]", 4),
            ("step_kind", "steps[2]", 5),
        ],
    ),
}


@pytest.mark.parametrize(("text", "told"), BROKEN.values(), ids=BROKEN.keys())
def test_a_mistake_of_meaning_is_told_with_code_path_and_line(
    text: str, told: list[tuple[str, str, int]]
) -> None:
    assert codes(text) == told


def test_a_cycle_is_told_as_a_path() -> None:
    loaded = load_text(
        HEAD + "- {id: a, run: x, depends_on: [c]}\n- {id: b, run: x, depends_on: [a]}\n"
        "- {id: c, run: x, depends_on: [b]}\n"
    )
    assert "a → c → b → a" in problems_of(loaded)[0].message


def test_a_broken_name_is_not_missed_a_second_time() -> None:
    text = "name: w\nagents: {b: {runner: x}}\nsteps:\n- {id: 'a a', run: x}\n"
    text += "- {id: c, task: x, agent: b, depends_on: ['a a']}\n"
    assert [code for code, _, _ in codes(text)] == ["not_a_choice", "bad_name"]


def test_what_is_not_yet_there_loads_and_does_not_plan() -> None:
    loaded = load_mapping(
        {"name": "w", "steps": [{"id": "a", "run": "x", "workspace": "isolated"}]}
    )
    workflow = require(loaded)
    with pytest.raises(InvalidSpec) as raised:
        compile_plan(workflow, Facts(), {})
    assert [each.code for each in raised.value.problems] == ["not_yet_available"]


def test_loading_refuses_a_reference_to_a_stranger() -> None:
    with pytest.raises(InvalidSpec) as raised:
        require(load_text(HEAD + "- {id: a, run: 'echo {{ steps.z.output }}'}\n"))
    assert [(each.code, each.line) for each in raised.value.problems] == [
        ("reference_unknown_step", 3)
    ]


def fact(**keys: Any) -> PathFact:
    kept: dict[str, Any] = {
        "exists": True,
        "is_directory": True,
        "is_writable": True,
        "is_git": False,
        "is_inside": True,
        "resolved": "/w",
        **keys,
    }
    return PathFact(**kept)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({}, []),
        ({"exists": False, "is_directory": False}, ["path_missing"]),
        ({"is_directory": False}, ["path_not_directory"]),
        ({"is_inside": False}, ["path_escapes"]),
        ({"is_inside": False, "exists": False}, ["path_escapes"]),
    ],
)
def test_a_step_works_in_a_folder_of_the_workspace(found: dict[str, Any], told: list[str]) -> None:
    facts = Facts("/w", {"sub": fact(**found)})
    assert [code for code, _, _ in codes(HEAD + "- {id: a, run: x, cwd: sub}\n", facts)] == told


def test_an_agent_may_work_outside_where_something_is() -> None:
    text = (
        "name: w\nagents: {b: {cwd: ../c, additional_paths: [../d]}}\n"
        "steps: [{id: a, task: x, agent: b}]\n"
    )
    facts = Facts(
        "/w", {"../c": fact(is_inside=False), "../d": fact(exists=False, is_inside=False)}
    )
    assert codes(text, facts) == [("path_missing", "agents.b.additional_paths[0]", 2)]


def test_a_function_of_the_notebook_must_be_known() -> None:
    text = HEAD + "- {id: a, call: ':fetch'}\n"
    assert codes(text, Facts(functions=frozenset([":fetch"]))) == []
    assert codes(text, Facts(functions=frozenset([":fitch"]))) == [
        ("function_missing", "steps[0].call", 3)
    ]


@pytest.mark.parametrize(
    ("step", "keys", "expected"),
    [
        ({"run": "x"}, {}, (1_800_000, "standard")),
        ({"run": "x"}, {"defaults": {"timeout": "20m"}}, (1_200_000, "defaults")),
        ({"run": "x", "timeout": 5}, {"defaults": {"timeout": "20m"}}, (5_000, "step")),
        ({"task": "x", "agent": "b"}, {"agents": {"b": {"timeout": "1m"}}}, (60_000, "agent")),
        (
            {"task": "x", "agent": "b"},
            {"agents": {"b": {"timeout": "1m"}}, "defaults": {"timeout": "2m"}},
            (60_000, "agent"),
        ),
        ({"ask": {"question": "?"}}, {"defaults": {"timeout": "2m"}}, (None, "none")),
        ({"ask": {"question": "?"}, "timeout": "2m"}, {}, (120_000, "step")),
    ],
)
def test_the_nearest_level_sets_the_time_out(
    step: dict[str, Any], keys: dict[str, Any], expected: tuple[int | None, str]
) -> None:
    found = only(step, **keys)
    assert (found.timeout_ms, found.timeout_source) == expected


def test_the_nearest_level_sets_the_retries() -> None:
    keys: dict[str, Any] = {"defaults": {"retry": {"max_attempts": 2}}, "agents": AGENT}
    task = {"task": "x", "agent": "b"}
    assert only(task, **keys).retry.max_attempts == 2
    keys["agents"] = {"b": {"retry": {"max_attempts": 3}}}
    assert only(task, **keys).retry.max_attempts == 3
    assert only({**task, "retry": {"max_attempts": 4}}, **keys).retry.max_attempts == 4
    assert only({"run": "x"}).retry.max_attempts == 1


def test_defaults_speak_where_a_step_is_silent() -> None:
    keys = {"defaults": {"env": {"A": "1"}, "posture": "read_only", "rerun": "ask"}}
    assert only({"run": "x"}, **keys).spec.env == {"A": "1"}
    assert only({"run": "x"}, **keys).spec.rerun == "ask"
    assert only({"run": "x", "env": {}}, **keys).spec.env == {}
    assert only({"run": "x", "posture": "writer"}, **keys).posture == "writer"


ALL = ("**/*",)


@pytest.mark.parametrize(
    ("step", "keys", "expected"),
    [
        ({"run": "x"}, {}, ("undeclared", (), ())),
        ({"run": "x"}, {"undeclared_writers": "serialize"}, ("undeclared", (), ALL)),
        ({"run": "x", "posture": "writer"}, {}, ("writer", (), ALL)),
        ({"run": "x", "posture": "read_only"}, {}, ("read_only", ALL, ())),
        ({"run": "x", "write_set": ["o"]}, {}, ("writer", (), ("o",))),
        ({"run": "x", "read_set": ["i"]}, {}, ("read_only", ("i",), ())),
        ({"run": "x", "write_set": []}, {}, ("read_only", ALL, ())),
        ({"call": "m:f"}, {}, ("read_only", (), ())),
        ({"call": "m:f", "write_set": ["o"]}, {}, ("writer", (), ("o",))),
        ({"call": "m:f", "posture": "writer"}, {}, ("writer", (), ALL)),
        ({"task": "x", "agent": "b"}, {"agents": AGENT}, ("writer", (), ALL)),
        (
            {"task": "x", "agent": "b"},
            {"agents": {"b": {"posture": "read_only"}}},
            ("read_only", ALL, ()),
        ),
        (
            {"task": "x", "agent": "b", "posture": "writer"},
            {"agents": {"b": {"posture": "read_only"}}},
            ("writer", (), ALL),
        ),
        ({"ask": {"question": "?"}}, {}, ("read_only", (), ())),
    ],
)
def test_a_step_claims_what_it_says_or_what_its_kind_does(
    step: dict[str, Any],
    keys: dict[str, Any],
    expected: tuple[str, tuple[str, ...], tuple[str, ...]],
) -> None:
    found = only(step, **keys)
    assert (found.posture, found.read_set, found.write_set) == expected
    assert found.workspace == "shared"


@pytest.mark.parametrize(
    ("step", "is_process"),
    [
        ({"call": "m:f"}, False),
        ({"call": "m:f", "process": True}, True),
        ({"call": "m:f", "write_set": ["o"]}, True),
        ({"call": "m:f", "write_set": ["o"], "process": False}, True),
        ({"call": "m:f", "retry": {"max_attempts": 2}}, True),
        ({"call": "m:f", "retry": {"max_attempts": 2, "classes": ["crash"]}}, False),
        ({"call": "m:f", "retry": {"max_attempts": 1}}, False),
        ({"run": "x"}, False),
    ],
)
def test_a_python_step_that_may_have_to_be_killed_is_a_process(
    step: dict[str, Any], is_process: bool
) -> None:
    assert only(step).process is is_process


def test_the_plan_knows_edges_waves_and_phases_by_index() -> None:
    plan = planned(
        {"id": "a", "run": "x", "phase": "one"},
        {"id": "b", "run": "x", "depends_on": ["a"], "phase": "two"},
        {"id": "c", "run": "x", "depends_on": ["a"]},
        {"id": "d", "run": "x", "depends_on": ["c", "b"]},
        max_concurrency=1,
    )
    assert plan.index == {"a": 0, "b": 1, "c": 2, "d": 3}
    assert [step.depends_on for step in plan.steps] == [(), (0,), (0,), (2, 1)]
    assert [step.dependents for step in plan.steps] == [(1, 2), (3,), (3,), ()]
    assert [step.wave for step in plan.steps] == [0, 1, 2, 3]
    assert plan.phases == (("one", (0,)), ("two", (1,)), ("rest", (2, 3)))
    assert [step.phase for step in plan.steps] == ["one", "two", "rest", "rest"]
    assert (plan.max_concurrency, plan.timeout_ms, plan.sources) == (1, None, {})


def test_references_come_in_order_of_appearance() -> None:
    step = only(
        {
            "run": "echo {{ inputs.a }}",
            "env": {"B": "{{ inputs.b }}"},
            "cwd": "{{ inputs.c }}",
            "verify": [{"command": ["test", "{{ run.id }}"]}],
            "when": "{{ inputs.d }} == 1",
        },
        inputs={name: {"type": "string", "default": ""} for name in "abcd"},
    )
    assert [reference.name for reference in step.references] == ["a", "b", "c", "run"]
    assert step.when is not None
    assert [reference.name for reference in step.when.references] == ["d"]
