"""`show RUN STEP` says once what a step left, and how to go on with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from tests.verbs.command import command, written

FLOW = """
name: shown
agents:
  ag:
    script:
      half: [[{report: {checkpoint_status: checkpoint_ready, summary: done}}]]
      quest: [[{report: {checkpoint_status: needs_orchestrator, summary: "Which region?"}}]]
steps:
  - {id: ok, run: "true", posture: read_only}
  - {id: bad, run: "false", posture: read_only}
  - {id: half, task: half, agent: ag, posture: read_only, verify: [{file_exists: no.txt}]}
  - {id: quest, task: quest, agent: ag, posture: read_only}
"""


def test_a_step_that_is_not_ready_has_its_own_next_actions(tmp_path: Path) -> None:
    run = command("run", written(tmp_path, FLOW), "--json").document()["run_id"]
    shown = {
        step: command("show", run, step).out.partition("  next\n")
        for step in ("ok", "bad", "half", "quest")
    }
    assert f"pixirnb resume {run} --from bad" in shown["bad"][2]
    assert f"pixirnb resume {run} --from half" in shown["half"][2]
    assert "accept half as it is, or reject it" in shown["half"][2]
    assert f"pixirnb decide {run} quest accept" in shown["quest"][2]
    assert "answer the agent in the task of quest in <FILE>" in shown["quest"][2]
    assert "Question: the agent needs a decision: “Which region?”" in shown["quest"][0]
    assert shown["ok"][1] == ""
    table = [line for line in shown["half"][0].splitlines() if "✗ failed" in line]
    assert len(table) == 1, "its checks are listed once"


def test_a_step_says_below_its_heading_only_what_the_heading_does_not(tmp_path: Path) -> None:
    command("run", written(tmp_path, FLOW), "--json")
    for step in ("ok", "quest"):
        heading, first, *_ = command("show", "@last", step).out.splitlines()
        assert step in heading
        assert f"`{step}`" not in first
    assert "`bad` failed: " in command("show", "@last", "bad").out, "a reason is news"


@pytest.mark.parametrize("printed", ["42", "1\n42", '{"n": 42}'])
def test_the_card_of_a_step_shows_its_value_once(tmp_path: Path, printed: str) -> None:
    flow = {"name": "once", "steps": [{"id": "a", "run": ["printf", "%s", printed]}]}
    step: Any = api.run(flow).step("a")
    shown = step._repr_mimebundle_()["text/plain"]
    assert shown.count("42") == 1
