"""A word in a script that is no action is named, with the action it most likely stands for."""

from __future__ import annotations

import pytest

from pixirnb.spec.loader import load_mapping


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
