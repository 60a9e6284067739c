"""What an outcome records of a run and its steps: edges, times, exit codes, output, inputs, and the command of each action."""

from __future__ import annotations

import pytest

from pixirnb.machine.outcome import outcome
from pixirnb.testing.generators.histories import RUN_ID, Rehearsal, plan_of

CHAIN = """
name: chain
inputs: {n: {type: integer, default: 3}, api_token: {type: string}, token_count: {type: integer}}
steps:
  - {id: make, run: "true"}
  - {id: use, run: "false", depends_on: [make]}
  - {id: after, run: "true", depends_on: [use]}
  - {id: gate, ask: {question: "Go?"}}
"""


@pytest.fixture
def story() -> Rehearsal:
    """`make` ready, `use` failed, `after` held, `gate` asked."""
    given = {"n": 3, "api_token": "sk-0123456789", "token_count": 12345678}
    return Rehearsal(plan_of(CHAIN)).begin(given).end("make").end("use", "failed", exit_code=3)


def test_an_outcome_names_the_edges_the_times_and_the_exit_code_of_each_step(
    story: Rehearsal,
) -> None:
    make, use, after, gate = story.outcome().document()["steps"]
    assert [step["depends_on"] for step in (make, use, after)] == [[], ["make"], ["use"]]
    assert make["started_at"] is not None
    assert make["ended_at"] is not None
    assert make["started_at"] <= make["ended_at"]
    assert use["exit_code"] == 3
    assert (after["started_at"], after["ended_at"], after["exit_code"]) == (None, None, None)
    assert gate["started_at"] is not None
    assert gate["ended_at"] is None


def test_an_outcome_names_when_and_where_it_ran_and_masks_the_secrets_among_its_inputs(
    story: Rehearsal,
) -> None:
    found = story.outcome().document()
    run = story.board.run
    assert (found["started_at"], found["ended_at"]) == (run.started_at, run.ended_at)
    assert found["workspace"] == run.workspace
    assert found["inputs"] == {"n": 3, "api_token": "***", "token_count": 12345678}
    assert (found["name"], found["tags"]) == (None, [])
    assert found["schema_version"] == 1


def test_output_is_named_where_the_attempt_printed_in_the_folder_of_the_run() -> None:
    story = Rehearsal(plan_of(CHAIN)).begin({"api_token": "x", "token_count": 1})
    log = {"path": "output/make.1.log", "bytes": 7, "truncated": False}
    story.end("make", output_log=log).end("use", output_log={**log, "bytes": 0})
    found = outcome(story.plan, story.board.run, is_live=False, folder="/runs/r-1")
    assert found.step("make").output_path == "/runs/r-1/output/make.1.log"
    assert found.step("use").output_path is None


def test_a_next_action_has_its_shell_command_next_to_its_cell(story: Rehearsal) -> None:
    actions = story.outcome().next_actions
    assert {"cell": f"%pixir resume {RUN_ID}", "command": f"pixirnb resume {RUN_ID}"} in [
        {"cell": action["cell"], "command": action["command"]} for action in actions
    ]
