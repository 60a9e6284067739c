"""Where a thread's children cannot be told from others, a Python step runs as a process, and the plan says so."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.planning.environment import Environment
from pixirnb.planning.report import compile_plan, report
from pixirnb.spec.loader import load_mapping

CALL = "posixpath:join"
SPEC: dict[str, Any] = {
    "name": "w",
    "steps": [
        {"id": "plain", "call": CALL},
        {"id": "writer", "call": CALL, "write_set": ["a"]},
        {"id": "asked", "call": CALL, "process": True},
        {"id": "other", "call": CALL, "depends_on": ["plain"]},
    ],
}


@pytest.mark.parametrize("tells", [True, False])
def test_steps_that_would_run_in_a_thread_run_as_processes_and_are_named(tells: bool) -> None:
    workflow = load_mapping(SPEC).require()
    facts = Environment(tells_children=tells)
    plan = compile_plan(workflow, facts, {})
    moved = [w for w in report(workflow, facts).warnings if w.code == "children_not_told_apart"]
    assert {step.id for step in plan.steps if step.process} == (
        {"writer", "asked"} if tells else {"plain", "writer", "asked", "other"}
    )
    assert [w.message.split(" run")[0] for w in moved] == ([] if tells else ["`plain`, `other`"])
