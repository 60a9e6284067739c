"""What each part of a relay file becomes here."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.errors import Problem
from pixirnb.runners.agents.presets import presets
from pixirnb.spec.loader import load_mapping
from pixirnb.spec.relay.agents import COMMANDS, PASSED
from pixirnb.spec.relay.reader import RelaySources
from pixirnb.spec.steps import AgentStep, ShellStep
from tests.spec.relay.relay_cases import (
    AGENT,
    STEPS,
    native,
    planned,
    read,
    refused,
    relay,
    shell,
    step_of,
    told,
)

CHECKS: dict[str, tuple[dict[str, Any], list[dict[str, Any]] | None]] = {
    "text": ({"type": "output_contains", "value": "OK"}, [{"output_contains": "OK"}]),
    "a number": ({"type": "output_contains", "value": 42}, [{"output_contains": "42"}]),
    "exit 0": ({"type": "exit_code", "value": "0"}, [{"exit_code": 0}]),
    "exit 2": ({"type": "exit_code", "value": "2"}, None),
    "a file": ({"type": "file_exists", "value": "./a/b.txt"}, [{"file_exists": "a/b.txt"}]),
    "a file with a star": (
        {"type": "file_exists", "value": "a*b"},
        [{"command": ["test", "-e", "./a*b"]}],
    ),
    "a file from the root": (
        {"type": "file_exists", "value": "/etc/hosts"},
        [{"command": ["test", "-e", "/etc/hosts"]}],
    ),
    "a command": (
        {"type": "custom", "value": "make check"},
        [{"command": "make check", "timeout": "30s"}],
    ),
    "a slow command": (
        {"type": "custom", "value": "make check", "timeoutMs": 90000},
        [{"command": "make check", "timeout": "90s"}],
    ),
    "no command": ({"type": "custom", "value": ""}, None),
    "a pull request": (
        {"type": "pr_url", "value": "ada/engine"},
        [{"output_matches": r"https://github\.com/ada/engine/pull/\d+"}],
    ),
    "any pull request": (
        {"type": "pr_url", "value": ""},
        [{"output_matches": r"https://github\.com/[^/\s]+/[^/\s]+/pull/\d+"}],
    ),
}


@pytest.mark.parametrize(("said", "expected"), CHECKS.values(), ids=CHECKS.keys())
def test_a_verification_becomes_a_check(
    said: dict[str, Any], expected: list[dict[str, Any]] | None
) -> None:
    assert step_of(shell(verification=said)).get("verify") == expected


def test_a_file_is_looked_for_where_its_runner_would_look() -> None:
    inside = shell(cwd="sub", verification={"type": "file_exists", "value": "sub/a.txt"})
    assert step_of(inside)["verify"] == [{"file_exists": "a.txt"}]
    beside = shell(cwd="sub/deep", verification={"type": "file_exists", "value": "a.txt"})
    assert step_of(beside)["verify"] == [{"command": ["test", "-e", "../../a.txt"]}]


ERRORS: dict[str, tuple[dict[str, Any], str, str]] = {
    "nothing said": ({}, "stop", "3, 1s"),
    "fail-fast": ({"errorHandling": {"strategy": "fail-fast"}}, "stop", "1, 10s"),
    "continue": ({"errorHandling": {"strategy": "continue"}}, "continue", "1, 10s"),
    "retry": (
        {"errorHandling": {"strategy": "retry", "maxRetries": 4, "retryDelayMs": 250}},
        "stop",
        "5, 250ms",
    ),
    "retry without a delay": (
        {"errorHandling": {"strategy": "retry", "maxRetries": 1, "retryDelayMs": 0}},
        "stop",
        "2, 0s",
    ),
}


@pytest.mark.parametrize(("top", "after", "retry"), ERRORS.values(), ids=ERRORS.keys())
def test_error_handling_says_what_is_tried_again_and_what_goes_on(
    top: dict[str, Any], after: str, retry: str
) -> None:
    value = relay(shell())
    del value["errorHandling"]
    workflow = load_mapping({**value, **top}).workflow
    assert workflow is not None
    assert workflow.on_failure == after
    found = workflow.defaults.canonical().get("retry", {"max_attempts": 1, "delay": "10s"})
    assert f"{found['max_attempts']}, {found['delay']}" == retry


@pytest.mark.parametrize(
    ("said", "after"),
    [("fail", "stop"), ("skip", "continue"), ("retry", "stop"), ("continue", "continue")],
)
def test_what_a_workflow_says_of_errors_stands_above_the_file(said: str, after: str) -> None:
    value = [{"name": "w", "onError": said, "steps": [shell()]}]
    top = {"errorHandling": {"strategy": "continue"}, "workflows": value}
    workflow = load_mapping(relay(**top)).workflow
    assert workflow is not None
    assert workflow.on_failure == after


def test_a_long_delay_is_not_cut_short() -> None:
    top = {"errorHandling": {"strategy": "retry", "maxRetries": 1, "retryDelayMs": 600_000}}
    retry = native(shell(), **top).defaults.retry
    assert retry is not None
    assert (retry.delay, retry.max_delay) == (600_000, 600_000)


def test_access_says_posture_and_leave() -> None:
    agents = [
        {**AGENT, "name": name, "permissions": {"access": name}}
        for name in ("readonly", "readwrite", "restricted", "full")
    ]
    found = native(shell(), agents=[*agents, AGENT]).agents
    assert {name: (agent.posture, agent.permission_mode) for name, agent in found.items()} == {
        "readonly": ("read_only", None),
        "readwrite": ("writer", "auto"),
        "restricted": ("writer", None),
        "full": ("writer", "auto"),
        "w": (None, None),
    }


def test_an_agent_may_take_its_permissions_from_a_profile() -> None:
    agent = {**AGENT, "permissions": {"profile": "quiet"}}
    top = {"agents": [agent], "permission_profiles": {"quiet": {"access": "readonly"}}}
    assert native(shell(), **top).agents["w"].posture == "read_only"
    # The old spelling of it, and by its name alone.
    old = {"permissions": {"profiles": {"quiet": {"access": "readonly"}}}}
    assert native(shell(), agents=[agent], **old).agents["w"].posture == "read_only"
    named = {**AGENT, "permissions": "quiet"}
    assert native(shell(), agents=[named], **old).agents["w"].posture == "read_only"
    top["permission_profiles"] = {}
    assert ("relay_profile_unknown", "agents[0].permissions.profile") in refused(
        relay(shell(), **top)
    )


def test_agents_that_say_nothing_may_do_what_the_file_says_for_all() -> None:
    for said, posture in {"readonly": "read_only", "hands": "writer"}.items():
        top = {"permissions": {"default": said, "profiles": {"hands": {"access": "full"}}}}
        assert native(shell(), agents=[AGENT], **top).agents["w"].posture == posture


def test_a_step_may_say_itself_what_it_may_do() -> None:
    agent = {**AGENT, "cwd": "ui", "permissions": {"access": "full", "files": {"write": ["**"]}}}
    step = {"name": "a", "agent": "w", "task": "x"}
    assert step_of(step, agents=[agent])["write_set"] == ["ui/**"]
    narrow = {**step, "permissions": {"access": "restricted", "files": {"write": ["./a/**"]}}}
    found = step_of(narrow, agents=[agent])
    assert (found["posture"], found["write_set"]) == ("writer", ["ui/a/**"])
    found = step_of({**step, "permissions": {"access": "readonly"}}, agents=[agent])
    assert (found["posture"], found.get("write_set")) == ("read_only", None)
    assert refused(relay({**step, "permissions": "nobody's"}, agents=[agent])) == [
        ("relay_profile_unknown", f"{STEPS}[0].permissions")
    ]


def test_every_agent_we_name_is_one_that_runner_cli_knows_and_gets_no_more_than_it_needs() -> None:
    known = presets()
    for name in COMMANDS.values():
        assert set(PASSED[name]) == set(known["cli", name].env), name


def test_an_agent_nobody_knows_is_told_and_one_without_a_program_is_refused() -> None:
    assert ("relay_differs", "agents[0].cli") in told(shell(), agents=[{**AGENT, "cli": "aider"}])
    assert refused(relay(shell(), agents=[{**AGENT, "cli": "api"}])) == [
        ("relay_unsupported", "agents[0].cli")
    ]


def test_what_an_agent_is_told_always_stands_before_each_of_its_tasks() -> None:
    step = {"name": "a", "agent": "w", "task": "Do it."}
    found = native(step, agents=[{**AGENT, "role": "Careful.", "task": "Always test."}])
    assert isinstance(found.steps[0], AgentStep)
    assert found.steps[0].task == "Always test.\n\nDo it."
    assert found.agents["w"].role == "Careful."


def test_a_name_that_is_no_id_gets_one_and_all_that_names_it_follows() -> None:
    steps = [
        shell("build it!"),
        shell("build-it"),
        shell("ü"),
        shell("長"),
        shell("x" * 80),
        {
            "name": "end",
            "agent": "der Agent",
            "task": "See {{steps.build it!.output}}.",
            "dependsOn": ["build it!", "ü", "長", "x" * 80],
        },
    ]
    found = native(*steps, agents=[{**AGENT, "name": "der Agent"}])
    assert [step.id for step in found.steps] == [
        "build-it-2",
        "build-it",
        "u",
        "unnamed",
        "x" * 64,
        "end",
    ]
    end = found.steps[-1]
    assert isinstance(end, AgentStep)
    assert (end.agent, end.depends_on) == ("der-Agent", ("build-it-2", "u", "unnamed", "x" * 64))
    assert end.task == "See {{ steps.build-it-2.output }}."
    renamed = [note.path for note in found.source_map.notes if note.code == "relay_renamed"]
    assert renamed == ["agents[0].name", *(f"{STEPS}[{place}].name" for place in (0, 2, 3, 4))]


def test_a_path_outside_becomes_a_repository_and_one_inside_stays() -> None:
    paths = [
        {"name": "kit", "path": "$KITS/kit"},
        {"name": "old", "path": "../old", "required": False},
    ]
    around = RelaySources(variables={"KITS": "../kits"})
    steps = [
        shell("a", workdir="kit"),
        shell("b", cwd="../kits/kit/sub"),
        shell("c", cwd="../other dir"),
        shell("d", cwd="./sub/"),
        shell("e", cwd="."),
    ]
    loaded = load_mapping(relay(*steps, paths=paths), None, around)
    assert loaded.workflow is not None
    assert loaded.workflow.repos == {"kit": "../kits/kit", "other-dir": "../other dir"}
    found = [step.cwd for step in loaded.workflow.steps]
    assert found == ["repos.kit", "repos.kit/sub", "repos.other-dir", "sub", None]
    assert refused(relay(*steps, paths=paths)) == [("relay_variable", "paths[0].path")]


def test_an_optional_path_is_there_once_something_uses_it() -> None:
    paths = [{"name": "old", "path": "../old", "required": False}]
    assert native(shell(), paths=paths).repos == {}
    assert ("relay_inert", "paths[0]") in told(shell(), paths=paths)
    assert native(shell(workdir="old"), paths=paths).repos == {"old": "../old"}


def test_a_preflight_runs_before_all_else_one_after_the_other_and_once() -> None:
    checks = [
        {"command": "git status --porcelain", "failIf": "non-empty", "description": "Clean"},
        {"command": "cat list", "failIf": "empty"},
        {"command": "node -v", "failIf": "v1[0-9]", "successIf": "^v"},
    ]
    steps = [shell("a"), shell("b", dependsOn=["a"]), shell("preflight-1")]
    value = [{"name": "w", "preflight": checks, "steps": steps}]
    workflow = native(workflows=value, errorHandling={"strategy": "retry", "maxRetries": 2})
    assert planned(workflow).levels == (
        ("preflight-1-2",), ("preflight-2",), ("preflight-3",), ("a", "preflight-1"), ("b",),
    )  # fmt: skip
    first, second, third = workflow.steps[:3]
    assert first.description == "Clean"
    assert first.retry is not None
    assert (first.timeout, first.retry.max_attempts) == (30_000, 1)
    assert [check.output_matches for check in first.verify] == [r"\A\s*\Z"]
    assert [check.output_matches for check in second.verify] == [r"\S"]
    assert [check.output_matches for check in third.verify] == [r"\A(?![\s\S]*(?:v1[0-9]))", "^v"]


def test_templates_become_references_and_other_braces_stay_text() -> None:
    task = "{{steps.b.output}} {{goal}} {{a.b}} {{run.id}} {{step.name}} {{steps.b.output | first}} {{ {{"
    step = {"name": "a", "agent": "w", "task": task, "dependsOn": ["b"]}
    workflow = native(shell("b"), step, agents=[AGENT])
    found = workflow.steps[1]
    assert isinstance(found, AgentStep)
    braces = "{{ inputs.open_braces }}"
    assert found.task == (
        "{{ steps.b.output }} {{ inputs.goal }} {{ inputs.a-b }} {{ run.id }} a "
        f"{braces}steps.b.output | first}}}} {braces} {braces}"
    )
    assert {name: each.default for name, each in workflow.inputs.items()} == {
        "goal": None, "a-b": None, "open_braces": "{{",
    }  # fmt: skip
    assert planned(workflow).ok


CUSTOM = """
steps:
  deploy:
    params:
      - {name: target, required: true}
      - {name: flags, default: --dry}
    type: deterministic
    command: ship {{target}} {{flags}} {{steps.a.output}}
    timeoutMs: 5000
"""


def test_a_custom_step_is_what_its_definition_says_with_its_parameters_filled_in() -> None:
    step = {
        "name": "b",
        "use": "deploy",
        "target": "staging",
        "dependsOn": ["a"],
        "timeoutMs": 9000,
    }
    loaded = load_mapping(relay(shell("a"), step), None, RelaySources(CUSTOM))
    assert loaded.workflow is not None
    found = loaded.workflow.steps[1].canonical()
    assert found == {
        "id": "b",
        "run": "ship staging --dry {{ steps.a.output }}",
        "depends_on": ["a"],
        "timeout": "9s",
    }
    assert "relay_unknown_key" not in {note.code for note in loaded.source_map.notes}


@pytest.mark.parametrize("definitions", [None, "steps: {}", "steps: [", "[]", "steps: {deploy: 1}"])
def test_a_custom_step_that_cannot_be_found_says_so_where_it_is_used(
    definitions: str | None,
) -> None:
    found = refused(relay({"name": "b", "use": "deploy"}), RelaySources(definitions))
    assert ("relay_custom_step", f"{STEPS}[0].use") in found


def test_a_custom_step_without_what_it_needs_is_refused() -> None:
    found = refused(relay({"name": "b", "use": "deploy"}), RelaySources(CUSTOM))
    assert ("relay_custom_step", f"{STEPS}[0].use") in found


def test_a_step_in_the_folder_of_a_worktree_goes_there_when_it_runs() -> None:
    steps = [
        {"name": "tree", "type": "worktree", "branch": "feature/{{ticket}}"},
        shell("a", "make", cwd=".worktrees/tree/sub", dependsOn=["tree"]),
    ]
    workflow = native(*steps)
    tree, inside = workflow.steps
    assert isinstance(tree, ShellStep)
    assert isinstance(inside, ShellStep)
    assert str(tree.run).startswith("branch=feature/{{ inputs.ticket }}\npath=.worktrees/tree\n")
    assert (inside.run, inside.cwd) == ("cd .worktrees/tree/sub || exit 1\nmake", None)


def test_a_problem_of_a_file_is_a_plain_problem() -> None:
    assert all(type(note) is Problem for note in read("release").source_map.notes)
