"""Mistakes of meaning: each stops the plan, and is told with its code, path and line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pixirnb.errors import InvalidSpec
from pixirnb.planning.environment import Environment, PathFact
from pixirnb.planning.report import problems_of, report, require
from pixirnb.spec.loader import load_mapping, load_text


def codes(text: str, facts: Environment | None = None) -> list[tuple[str, str, int | None]]:
    loaded = load_text(text)
    if loaded.workflow is None:
        return [(each.code, each.path, each.line) for each in problems_of(loaded, facts)]
    found = report(loaded.workflow, facts or Environment()).errors
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
        [("cycle", "steps[0].depends_on", 3)],
    ),
    "a step that waits for itself": (
        HEAD + "- {id: a, run: x, depends_on: [a]}\n",
        [("cycle", "steps[0].depends_on", 3)],
    ),
    "a list that is its own": (
        HEAD + "- {id: a, run: x, for_each: {same_as: a}}\n",
        [("cycle", "steps[0].for_each.same_as", 3)],
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
        [("bad_schema", "steps[0].output.type", 3)],
    ),
    "a schema in a check that is none": (
        HEAD + "- {id: a, run: x, verify: [{schema: {required: 3}}]}\n",
        [("bad_schema", "steps[0].verify[0].schema", 3)],
    ),
    "what looks at a question": (
        HEAD
        + "- {id: a, ask: {question: Well}, verify: [{file_exists: x}], output: {type: integer}}\n",
        [("checks_not_taken", "steps[0].verify", 3), ("checks_not_taken", "steps[0].output", 3)],
    ),
    "what looks at a merge": (
        HEAD
        + "- {id: a, run: x, workspace: isolated, write_set: [y]}\n"
        + "- {id: m, merge: [a], depends_on: [a], artifacts: [z]}\n",
        [("checks_not_taken", "steps[1].artifacts", 4)],
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
    "a model's agent without a model": (
        "name: w\nagents: {b: {runner: llm}}\nsteps: [{id: a, task: x, agent: b}]\n",
        [("agent_model_missing", "agents.b.runner", 2)],
    ),
    "a model of nobody": (
        "name: w\nagents: {b: {runner: llm, model: big}}\nsteps: [{id: a, task: x, agent: b}]\n",
        [("model_unreadable", "agents.b.model", 2)],
    ),
    "a coding agent without a command": (
        "name: w\nagents:\n  b: {runner: acp}\n  c: {runner: cli, model: m}\n"
        "  d: {runner: pty}\nsteps: [{id: a, task: x, agent: b}]\n",
        [
            ("agent_command_missing", "agents.b.runner", 3),
            ("agent_command_missing", "agents.c.runner", 4),
            ("agent_command_missing", "agents.d.runner", 5),
        ],
    ),
    "a prompt pasted into a shell": (
        "name: w\nagents:\n  b: {runner: cli, command: [sh, -c, 'echo {prompt}']}\n"
        "  c: {runner: cli, command: 'bash -lc \"agent {cwd}\"'}\n"
        "  d: {runner: cli, command: [agent, '{promt}']}\nsteps: [{id: a, task: x, agent: b}]\n",
        [
            ("prompt_in_shell", "agents.b.command[2]", 3),
            ("prompt_in_shell", "agents.c.command", 4),
            ("placeholder_unknown", "agents.d.command[1]", 5),
        ],
    ),
    "a value pasted into a shell's code": (
        HEAD + "- {id: a, run: x}\n- id: b\n  depends_on: [a]\n"
        "  run: [timeout, '9', bash, -c, 'echo {{ steps.a.output }}', sh, '{{ steps.a.output }}']\n"
        "- {id: c, depends_on: [a], run: [ssh, host, '{{ steps.a.summary }}']}\n"
        "- {id: d, depends_on: [a], run: [awk, '/{{ steps.a.summary }}/', x]}\n"
        "- {id: e, depends_on: [a], run: [bash, '{{ steps.a.output_path }}'],\n"
        "   verify: [{command: [sh, -c, '{{ steps.a.output }}']}]}\n",
        [
            ("reference_in_shell", "steps[1].run[4]", 6),
            ("reference_in_shell", "steps[2].run[2]", 7),
            ("reference_in_shell", "steps[3].run[1]", 8),
            ("reference_in_shell", "steps[4].verify[0].command[2]", 10),
        ],
    ),
    "a tool nobody has": (
        "name: w\nagents: {b: {runner: llm, model: 'openai:m', tools: [raed, hammer]}}\n"
        "steps: [{id: a, task: x, agent: b}]\n",
        [("tool_unknown", "agents.b.tools[0]", 2), ("tool_unknown", "agents.b.tools[1]", 2)],
    ),
    "broken and unknown in one go": (
        HEAD
        + "- {id: a, run: x, timeout: soon}\n- {id: b, run: y, depends_on: [z]}\n- {id: c, rnu: y}\n"
        "- {id: d, run: y, depends_on: [c, a]}\n",
        [
            ("bad_duration", "steps[0].timeout", 3),
            ("unknown_dependency", "steps[1].depends_on[0]", 4),
            ("unknown_key", "steps[2].rnu", 5),
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
    facts = Environment("/w", {"sub": fact(**found)})
    assert [code for code, _, _ in codes(HEAD + "- {id: a, run: x, cwd: sub}\n", facts)] == told


def test_an_agent_may_work_outside_where_something_is() -> None:
    text = (
        "name: w\nagents: {b: {cwd: ../c, additional_paths: [../d]}}\n"
        "steps: [{id: a, task: x, agent: b, workspace: shared}]\n"
    )
    beside = {"../c": fact(is_inside=False), "../d": fact(exists=False, is_inside=False)}
    facts = Environment("/w", {".": fact()}, beside)
    assert codes(text, facts) == [("path_missing", "agents.b.additional_paths[0]", 2)]


def test_a_function_of_the_notebook_must_be_known() -> None:
    text = HEAD + "- {id: a, call: ':fetch'}\n"
    assert codes(text, Environment(functions=frozenset([":fetch"]))) == []
    assert codes(text, Environment(functions=frozenset([":fitch"]))) == [
        ("function_missing", "steps[0].call", 3)
    ]


@pytest.mark.parametrize("entry", ["GITHUB_TOKEN=ghp_abc12345678", "GITHUB_TOKEN ="])
def test_a_value_in_pass_env_is_refused_and_not_repeated_in_any_message(entry: str) -> None:
    agents = {"r": {"runner": "cli", "command": ["cat"], "pass_env": [entry]}}
    written = {"name": "w", "agents": agents, "steps": [{"id": "a", "task": "x", "agent": "r"}]}
    workflow = load_mapping(written).workflow
    assert workflow is not None
    told = report(workflow, Environment(environment=frozenset())).document()
    [problem] = told["errors"]
    assert (problem["code"], problem["path"]) == ("bad_env", "agents.r.pass_env[0]")
    assert problem["fix"] == "export GITHUB_TOKEN and write `pass_env: [GITHUB_TOKEN]`"
    assert "ghp_" not in json.dumps([told["errors"], told["warnings"]])
    pinned = report(workflow, Environment(is_pinned=True))  # a run of an older version goes on
    assert pinned.ok
