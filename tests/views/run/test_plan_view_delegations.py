"""A plan says which task goes to whom, by what, with which leave and by whose role; and what each agent will be told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pixirnb
from pixirnb.errors import InvalidArguments
from pixirnb.planning.delegations import delegations
from pixirnb.planning.environment import Environment
from pixirnb.planning.report import PlanReport, report
from pixirnb.spec.loader import load_mapping
from pixirnb.spec.source_map import SourceMap
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.run.planned_view import planned_blocks

SPEC: dict[str, Any] = {
    "name": "w",
    "agents": {
        "ai": {"runner": "llm", "model": "openai:m", "posture": "read_only"},
        "hand": {"runner": "cli", "command": ["claude", "<b>"], "permission_mode": "auto"},
        "play": {},
    },
    "steps": [
        {"id": "look", "task": "Look <i>here</i>.", "agent": "ai", "output": {}},
        {"id": "mend", "task": "Mend.", "agent": "hand", "write_set": ["src/**"], "output": {}},
        {"id": "tell", "task": "Tell.", "agent": "play", "output": {}},
        {"id": "run", "run": "true", "posture": "read_only"},
    ],
}


def planned(**keys: Any) -> PlanReport:
    workflow = load_mapping({**SPEC, **keys}).require()
    return report(
        workflow.with_origins({"ai": SourceMap(source="shared/roles/ai.yaml")}), Environment()
    )


def test_a_plan_as_text_has_a_row_for_each_task() -> None:
    lines = mimebundle(planned_blocks(planned()))["text/plain"].splitlines()
    assert "  look  ai     llm openai:m    read                 shared/roles/ai.yaml" in lines
    assert "  mend  hand   cli claude <b>  write src/** (auto)  inline" in lines
    assert "  tell  play   scripted        write **/* (auto)    inline" in lines
    assert not any(line.startswith("  run ") for line in lines)
    silent = {"hand": {**SPEC["agents"]["hand"], "permission_mode": "ask"}}
    asked = planned(agents={**SPEC["agents"], **silent})
    told = mimebundle(planned_blocks(asked))["text/plain"]
    assert "write src/** (cannot ask)" in told


def test_a_plan_as_a_page_holds_the_prompts_and_nothing_of_it_is_markup() -> None:
    markup = mimebundle(planned_blocks(planned()))["text/html"]
    assert "<summary>Prompt of look</summary><pre>Look &lt;i&gt;here&lt;/i&gt;." in markup
    assert "claude &lt;b&gt;" in markup
    assert "<i>" not in markup
    assert "<b>" not in markup


def test_a_plan_without_tasks_says_nothing_of_agents() -> None:
    steps = [{"id": "run", "run": "true", "posture": "read_only"}]
    shown = mimebundle(planned_blocks(planned(agents={}, steps=steps)))
    assert "agent" not in shown["text/plain"]
    assert "Prompt" not in shown["text/html"]


def test_who_does_what_is_known_of_a_workflow_with_mistakes() -> None:
    steps = [{"id": "a", "task": "x", "agent": "nobody"}, {"id": "b", "task": "y"}]
    found = delegations(load_mapping({**SPEC, "steps": steps}).require())
    assert [(each.step, each.agent, each.runner) for each in found] == [
        ("a", "nobody", ""),
        ("b", None, ""),
    ]
    broken = planned(steps=steps)
    assert not broken.ok
    assert mimebundle(planned_blocks(broken))["text/plain"].startswith("✗ not valid")


def test_the_prompt_of_a_step_is_told_or_why_there_is_none() -> None:
    assert planned().prompt("tell").startswith("Tell.\n\nYou may read files that match: `**/*`.")
    for name, code in [("nope", "unknown_step"), ("run", "no_prompt")]:
        with pytest.raises(InvalidArguments) as caught:
            planned().prompt(name)
        assert caught.value.code == code


def test_a_role_file_is_named_by_the_plan_that_adopted_it(tmp_path: Path) -> None:

    (tmp_path / "roles").mkdir()
    path = tmp_path / "roles" / "ai.yaml"
    path.write_text("role: You look.\n")
    spec = {"name": "w", "steps": [{"id": "look", "task": "Look.", "agent": "ai", "output": {}}]}
    shown = mimebundle(planned_blocks(pixirnb.plan(spec, workspace=tmp_path)))
    assert "roles/ai.yaml" in shown["text/plain"]
    assert "You look." in shown["text/html"]
