"""Workflow files of agent-relay are known by their shape, and every mistake in them stands where it is in that file."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.errors import InvalidSpec
from pixirnb.planning.report import problems_of, require
from pixirnb.spec.loader import load_mapping, load_text
from pixirnb.views.blocks.html_renderer import draw_html
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.problem_list import error_blocks
from tests.spec.relay.relay_cases import (
    AGENT,
    STEPS,
    native,
    planned,
    read,
    refused,
    relay,
    shell,
    text_of,
    told,
)


def test_the_dashboard_has_the_levels_of_its_own_runner_behind_its_preflight() -> None:
    assert [list(level) for level in planned(read("dashboard")).levels] == [
        ["preflight-1"],
        ["preflight-2"],
        ["read-dashboard", "read-cloud", "read-local"],
        ["design"],
        ["adapter-types"],
        ["check-types"],
        ["adapter-messages", "adapter-agents", "adapter-channels"],
        ["adapter-index"],
        ["build-kit"],
        ["review-kit"],
        ["fix-kit"],
        ["cloud-client", "local-client"],
        ["cloud-pages", "local-pages"],
        ["cloud-check", "local-check"],
        ["changes"],
        ["lead-check-types", "lead-check-imports"],
        ["lead-approve"],
    ]


def test_its_agents_work_in_the_repositories_they_name() -> None:
    workflow = read("dashboard")
    assert workflow.repos == {
        "dashboard": "../relay-dashboard",
        "cloud": "../relay-cloud",
        "cli": ".",
    }
    assert {name: agent.cwd for name, agent in workflow.agents.items()} == {
        "lead": None,
        "reviewer": None,
        "dashboard-worker": "repos.dashboard",
        "cloud-worker": "repos.cloud",
        "local-worker": None,
    }
    steps = {step.id: step for step in workflow.steps}
    assert steps["check-types"].cwd == "repos.dashboard"
    assert steps["cloud-check"].cwd == "repos.cloud"
    assert steps["cloud-pages"].write_set == ("repos.cloud:apps/**",)
    assert workflow.agents["cloud-worker"].additional_paths == ("../relay-dashboard",)


def test_its_time_outs_and_retries_are_of_step_then_agent_then_file() -> None:
    timeouts = planned(read("dashboard")).timeouts
    assert timeouts["review-kit"] == (900_000, "step")
    assert timeouts["design"] == (900_000, "agent")
    assert timeouts["read-cloud"] == (1_800_000, "defaults")  # its own runner gives commands none
    workflow = read("dashboard")
    assert workflow.defaults.retry is not None
    assert (workflow.defaults.retry.max_attempts, workflow.defaults.retry.delay) == (2, 10_000)
    agents, steps = workflow.agents, {step.id: step for step in workflow.steps}
    assert agents["dashboard-worker"].retry is not None
    assert agents["dashboard-worker"].retry.max_attempts == 3
    retry = steps["cloud-pages"].retry
    assert retry is not None
    assert (retry.max_attempts, retry.backoff, retry.jitter) == (4, 1, 0)


def test_what_changes_nothing_is_a_warning_of_the_plan_once_with_path_and_line() -> None:
    warnings = planned(read("dashboard")).warnings
    inert = [(warning.path, warning.line) for warning in warnings if warning.code == "relay_inert"]
    assert inert == [
        ("swarm.pattern", 7),
        ("swarm.channel", 10),
        ("swarm.idleNudge", 11),
        ("agents[0].preset", 29),
        ("agents[0].channels", 30),
        ("agents[1].preset", 35),
        ("errorHandling.notifyChannel", 62),
    ]
    assert [warning.line for warning in warnings] == sorted(
        warning.line or 0 for warning in warnings
    )


def test_warnings_of_our_own_stand_on_the_lines_of_the_file() -> None:
    warnings = {each.code: each for each in planned(read("dashboard")).warnings}
    assert warnings["undeclared_writers"].path == "workflows[0].preflight[0]"
    assert warnings["undeclared_writers"].line == 68


def test_a_file_of_version_2_is_named_as_such() -> None:
    loaded = load_text(text_of("flow_v2"), "flow_v2.yaml")
    assert [(each.code, each.path, each.line) for each in loaded.problems] == [
        ("relay_v2", "version", 1)
    ]


def test_a_workflow_of_ours_is_never_taken_for_one() -> None:
    mine: dict[str, Any] = {"name": "w", "version": "1.0", "steps": [{"id": "a", "run": "true"}]}
    assert refused(mine) == [("unknown_key", "version")]
    mine = {"name": "w", "swarm": {}, "workflows": [], "steps": [{"id": "a", "run": "true"}]}
    assert refused(mine) == [("unknown_key", "swarm"), ("unknown_key", "workflows")]


def test_of_several_workflows_the_first_is_read_and_the_others_are_told() -> None:
    two = [{"name": "w", "steps": [shell()]}, {"name": "v", "steps": [shell("b")]}]
    loaded = load_mapping(relay(workflows=two))
    assert loaded.workflow is not None
    assert [step.id for step in loaded.workflow.steps] == ["a"]
    assert ("relay_differs", "workflows[1]") in told(workflows=two)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"swarm": {}}, [("missing_key", "name"), ("relay_no_workflow", "")]),
        (relay(), [("empty", "workflows[0].steps")]),
        (relay(workflows=[]), [("relay_no_workflow", "workflows")]),
        (relay(workflows="x"), [("wrong_type", "workflows"), ("relay_no_workflow", "workflows")]),
        (relay(workflows=[1]), [("wrong_type", "workflows[0]")]),
    ],
)
def test_a_file_without_a_workflow_says_so(
    value: dict[str, Any], found: list[tuple[str, str]]
) -> None:
    assert sorted(refused(value)) == sorted(found)


def test_reading_changes_nothing_of_what_a_native_file_would_say() -> None:
    asked = native(shell("a", "make"), shell("b", "make test", dependsOn=["a"]))
    same = load_mapping(
        {
            "name": "w",
            "readiness": "lenient",
            "undeclared_writers": "allow",
            "on_failure": "stop",
            "defaults": {"workspace": "shared"},
            "steps": [
                {"id": "a", "run": "make"},
                {"id": "b", "run": "make test", "depends_on": ["a"]},
            ],
        }
    ).workflow
    assert same is not None
    assert asked == same
    assert planned(asked).spec_digest == planned(same).spec_digest


def test_every_mistake_of_a_broken_file_is_told_at_once_where_it_stands() -> None:
    loaded = load_text(text_of("broken"), "broken.yaml")
    assert [(each.code, each.path, each.line) for each in problems_of(loaded)] == [
        ("reference_unknown_step", f"{STEPS}[0].command", 11),
        ("duplicate_id", f"{STEPS}[1].name", 12),
        ("agent_unknown", f"{STEPS}[2].agent", 16),
        ("reference_not_ancestor", f"{STEPS}[2].task", 17),
        ("quoted_reference", f"{STEPS}[3].command", 21),
        ("unknown_dependency", f"{STEPS}[3].dependsOn[0]", 22),
        ("relay_unsupported", f"{STEPS}[4].type", 24),
        ("cycle", f"{STEPS}[5].dependsOn", 30),
        ("wrong_type", f"{STEPS}[5].timeoutMs", 31),
    ]
    (fix,) = [each.fix for each in problems_of(loaded) if each.code == "reference_not_ancestor"]
    assert "depends_on" not in fix, "the key is another in such a file"


def test_a_key_that_nothing_reads_is_a_warning_that_says_which_was_meant() -> None:
    notes = native(shell(retrys=2), swarm={"pattern": "dag", "maxConcurency": 2}).source_map.notes
    found = {note.path: (note.code, note.fix) for note in notes if note.code != "relay_inert"}
    assert found == {
        "swarm.maxConcurency": ("relay_unknown_key", "did you mean `maxConcurrency`?"),
        f"{STEPS}[0].retrys": ("relay_unknown_key", "did you mean `retries`?"),
    }


@pytest.mark.parametrize(
    ("step", "found"),
    [
        ({"name": "a", "command": "true"}, ("missing_key", f"{STEPS}[0]")),
        ({"name": "a", "task": "x"}, ("agent_missing", f"{STEPS}[0].task")),
        ({"name": "a", "agent": "w"}, ("missing_key", f"{STEPS}[0].task")),
        ({"name": "a", "type": "deterministic"}, ("missing_key", f"{STEPS}[0].command")),
        ({"type": "deterministic", "command": "x"}, ("missing_key", f"{STEPS}[0].name")),
        ({"name": "a", "type": "detreministic"}, ("not_a_choice", f"{STEPS}[0].type")),
        ({"name": "a", "type": "worktree"}, ("missing_key", f"{STEPS}[0].branch")),
        ({"name": "a", "type": "waitFor"}, ("relay_unsupported", f"{STEPS}[0].type")),
        (shell(workdir="nowhere"), ("repo_unknown", f"{STEPS}[0].workdir")),
        (shell(cwd="a", workdir="b"), ("wrong_value", f"{STEPS}[0].workdir")),
        (shell(dependsOn="b"), ("wrong_type", f"{STEPS}[0].dependsOn")),
        (shell(timeoutMs=0), ("bad_duration", f"{STEPS}[0].timeoutMs")),
        (shell(timeoutMs=10**13), ("bad_duration", f"{STEPS}[0].timeoutMs")),
        (shell(retries=-1), ("out_of_range", f"{STEPS}[0].retries")),
        (shell(retries=100), ("limit_exceeded", f"{STEPS}[0].retries")),
        (shell(failOnError="no"), ("wrong_type", f"{STEPS}[0].failOnError")),
        (shell(verification={"type": "magic"}), ("not_a_choice", f"{STEPS}[0].verification.type")),
        (
            shell(verification={"type": "output_contains", "value": ""}),
            ("empty", f"{STEPS}[0].verification.value"),
        ),
        (
            shell(verification={"type": "file_exists", "value": "../x"}),
            ("path_escapes", f"{STEPS}[0].verification.value"),
        ),
        (shell(use="deploy"), ("relay_custom_step", f"{STEPS}[0].use")),
    ],
)
def test_a_mistake_in_a_step_has_its_place(step: dict[str, Any], found: tuple[str, str]) -> None:
    assert found in refused(relay(step, agents=[AGENT]))


@pytest.mark.parametrize("key", ["prompt", "instruction"])
def test_a_file_of_version_2_is_known_without_the_types_of_its_steps(key: str) -> None:
    steps = [{"id": "a", key: "do it"}, {"id": "b", key: "and this", "depends_on": ["a"]}]
    assert refused({"version": "0.1.0", "name": "w", "steps": steps}) == [("relay_v2", "version")]
    mine = {"version": "1", "name": "w", "steps": [{"id": "a", "run": "true", key: "x"}]}
    assert ("relay_v2", "version") not in refused(mine)


def test_a_mistake_hides_no_key_that_nothing_reads() -> None:
    written = relay(shell("a", dependsOn=["nobody"], colour="red"), trajectories={"enabled": True})
    with pytest.raises(InvalidSpec) as told_of:
        require(load_mapping(written))
    error = told_of.value
    assert [each.code for each in error.problems] == ["unknown_dependency"]
    noted = {("relay_unknown_key", "workflows[0].steps[0].colour"), ("relay_inert", "trajectories")}
    assert noted <= {(each.code, each.path) for each in error.warnings}
    said = error.document()["error"]["details"]["warnings"]
    assert [each["path"] for each in said] == [each.path for each in error.warnings]
    shown = draw_text(error_blocks(error.document()))
    assert shown.index("nobody") < shown.index("colour")
    assert "! workflows[0].steps[0].colour: " in shown
    assert "colour" in draw_html(error_blocks(error.document()))
    assert "warning relay_unknown_key: workflows[0].steps[0].colour" in str(error)


def test_a_workflow_of_ours_with_a_mistake_has_no_list_of_warnings() -> None:
    with pytest.raises(InvalidSpec) as told_of:
        require(load_mapping({"name": "w", "steps": []}))
    assert set(told_of.value.document()["error"]["details"]) == {"errors"}
