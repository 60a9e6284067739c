"""A word in a script that is no action is named, with the action it most likely stands for."""

from __future__ import annotations

import pytest

from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report
from pixirnb.spec.loader import load_mapping, load_text


@pytest.mark.parametrize(
    ("written", "fix"),
    [
        ("sya", "did you mean `say`?"),
        ("reprot", "did you mean `report`?"),
        ("zzzz", "use `say`, "),
    ],
)
def test_an_unknown_action_is_named_with_the_one_that_was_meant(written: str, fix: str) -> None:
    script = {"p": [[{written: "hello"}]]}
    workflow = {
        "name": "t",
        "agents": {"d": {"runner": "scripted", "script": script}},
        "steps": [{"id": "p", "task": "go", "agent": "d"}],
    }
    (mistake,) = load_mapping(workflow).problems
    assert mistake.code == "script_action"
    assert f"`{written}`" in mistake.message
    assert mistake.fix.startswith(fix)


def test_every_wrong_action_of_a_script_is_told_at_its_place() -> None:
    text = """name: t
agents:
  d:
    script:
      a: [[{sleep: abc}, {say: fine}]]
      b: [{say: hello}]
      c: [[{say: fine}], [{say: fine}, {ask: "may I?"}]]
steps:
  - {id: a, task: go, agent: d}
"""
    told = [(each.path, each.line) for each in load_text(text).problems]
    assert told == [
        ("agents.d.script.a[0][0]", 5),
        ("agents.d.script.b", 6),
        ("agents.d.script.c[1][1]", 7),
    ]


def test_a_report_with_a_status_that_is_none_is_a_mistake_of_the_plan_and_none_in_an_old_run() -> (
    None
):
    script = {"a": [[{"report": {"checkpoint_status": "done"}}]]}
    steps = [{"id": "a", "task": "x", "agent": "b"}]
    workflow = load_mapping({"name": "t", "agents": {"b": {"script": script}}, "steps": steps})
    (error,) = report(workflow.require(), Environment()).errors
    assert (error.path, error.fix) == (
        "agents.b.script.a[0][0].report",
        "use `checkpoint_ready`, `partial`, `needs_orchestrator` or `failed`",
    )
    assert report(workflow.require(), Environment(is_pinned=True)).ok
