"""The first four scenarios that honest partial outcomes were asked to prove: ready, timed out beside ready, held, invalid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.errors import InvalidSpec
from tests.stories.storyline import ended, shell

pytestmark = pytest.mark.story

AGENTS: dict[str, Any] = {
    "worker": {
        "script": {
            "slow": [
                [{"report": {"checkpoint_status": "partial", "summary": "half"}}, {"hang": True}]
            ],
            "quick": [[{"report": {"checkpoint_status": "checkpoint_ready", "summary": "whole"}}]],
        }
    }
}


def task(step: str, *after: str, **fields: Any) -> dict[str, Any]:
    return {"id": step, "task": "do", "agent": "worker", "depends_on": list(after), **fields}


def test_all_steps_checkpoint_ready(tmp_path: Path) -> None:
    run, outcome = ended(tmp_path, shell("a", "echo one"), task("quick", "a"), agents=AGENTS)
    assert (outcome.status, outcome.ok, outcome.reasons) == ("completed", True, [])
    assert outcome.document()["usable_checkpoints"] == ["a", "quick"]
    assert outcome.proof_states[-1] == "completion_ready"
    for step in ("a", "quick"):
        bundle = run.bundle(step)
        assert bundle is not None
        assert bundle["dependent_safe"]


def test_one_step_times_out_while_others_have_usable_evidence(tmp_path: Path) -> None:
    late = task("slow", timeout=1, posture="read_only")
    _, outcome = ended(tmp_path, late, task("quick", posture="read_only"), agents=AGENTS)
    document = outcome.document()
    assert (document["status"], document["ok"]) == ("partial", False)
    assert document["timed_out_steps"] == ["slow"]
    assert document["partial_steps"] == ["slow"], "it left a report before its time was up"
    assert document["usable_checkpoints"] == ["quick"]
    assert document["proof_states"][-1] == "partial_outcome_ready"
    assert "raise_timeout" in [action["action"] for action in document["next_actions"]]
    assert "complete" not in document["summary"]


def test_dependents_of_what_is_not_ready_are_held(tmp_path: Path) -> None:
    _, outcome = ended(
        tmp_path,
        shell("breaks", "exit 1"),
        shell("after", "echo never > here", "breaks"),
        shell("later", "echo never > here", "after"),
    )
    assert not (tmp_path / "here").exists()
    assert outcome.status == "failed"
    assert outcome.document()["held_steps"] == ["after", "later"]
    assert outcome.held_dependents == {"breaks": ["after", "later"]}
    assert outcome.step("after").held_by == {"kind": "dependency", "step": "breaks"}


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        ([shell("a", "true", "b"), shell("b", "true", "a")], "cycle"),
        ([shell("a", "true", "nobody")], "unknown_dependency"),
        ([shell("a", "true"), shell("a", "true")], "duplicate_id"),
    ],
)
def test_invalid_graphs_are_errors_and_start_nothing(
    tmp_path: Path, steps: list[dict[str, Any]], code: str
) -> None:
    with pytest.raises(InvalidSpec) as refused:
        api.start({"name": "graph", "steps": steps}, workspace=tmp_path)
    assert refused.value.code == "invalid_spec"
    assert code in [problem.code for problem in refused.value.problems]
    assert not (tmp_path / ".pixirnb").exists()
