"""A plan reports every mistake at once: paths and functions next to mistakes of every other kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pixirnb
from pixirnb.errors import InvalidSpec

OTHERS: dict[str, dict[str, Any]] = {
    "unknown_dependency": {"run": "x", "depends_on": ["nope"]},
    "cycle": {"run": "x", "depends_on": ["b"]},
    "reference_unknown_input": {"run": "echo {{ inputs.n }}"},
    "agent_unknown": {"task": "x", "agent": "nobody"},
    "merge_unknown_step": {"merge": ["nope"]},
    "bad_schema": {"run": "x", "output": {"type": "dict"}},
    "bad_pattern": {"run": "x", "write_set": ["/o"]},
    # The text of these cannot become a workflow: what is left of it is surveyed.
    "unknown_key": {"run": "x", "rnu": "y"},
    "bad_duration": {"run": "x", "timeout": "soon"},
    "step_kind": {},
}
SURVEYED: dict[str, dict[str, Any]] = {
    "path_missing": {"run": "x", "cwd": "gone"},
    "function_missing": {"call": ":no_such_function"},
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("code", SURVEYED)
def test_no_mistake_hides_a_missing_path_or_function(code: str, other: str, tmp_path: Path) -> None:
    steps = [{"id": "a", **SURVEYED[code]}, {"id": "b", **OTHERS[other]}]
    with pytest.raises(InvalidSpec) as refused:
        pixirnb.plan({"name": "w", "steps": steps}, workspace=tmp_path)
    assert {each.code for each in refused.value.problems} == {code, other}
    with pytest.raises(InvalidSpec) as unloaded:
        pixirnb.load({"name": "w", "steps": steps}, workspace=tmp_path)
    assert unloaded.value.problems == refused.value.problems


def test_a_plan_whose_text_is_right_reports_what_is_missing_around_it(tmp_path: Path) -> None:
    steps = [{"id": "a", **SURVEYED["path_missing"]}]
    preview = pixirnb.plan({"name": "w", "steps": steps}, workspace=tmp_path)
    assert [each.code for each in preview.errors] == ["path_missing"]
