"""A link that leads to itself is no file: it is left out wherever files are looked for, and fails no step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.operations.run import Run


def ran(home: Path, *steps: dict[str, Any]) -> Run:
    run = api.start({"name": "w", "steps": list(steps)}, workspace=home)
    run.wait(60)
    return run


@pytest.mark.parametrize("workspace", ["shared", "isolated"])
def test_a_step_may_leave_links_in_a_circle_among_its_artifacts(
    tmp_path: Path, workspace: str
) -> None:
    made = "mkdir out; ln -s loop out/loop; ln -s ../out/in out/in; echo k > out/k"
    step = {"id": "a", "run": made, "workspace": workspace, "write_set": ["out/**"]}
    run = ran(tmp_path, {**step, "artifacts": ["out/**", "out/*", "out/loop"]})
    [kept] = (run.outcome.step("a").checkpoint or {})["artifacts"]
    assert kept["path"] == "out/k"


def test_a_check_for_files_finds_no_link_in_a_circle(tmp_path: Path) -> None:
    step = {"id": "a", "run": "ln -s loop loop", "write_set": ["*"]}
    run = ran(tmp_path, {**step, "verify": [{"file_exists": "*"}]})
    error = run.outcome.step("a").error
    assert error is not None
    assert error["kind"] == "verification"


def test_a_folder_to_work_in_that_became_a_link_in_a_circle_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    made = {"id": "a", "run": "rmdir sub; ln -s sub sub", "write_set": ["sub"]}
    run = ran(tmp_path, made, {"id": "b", "run": "true", "cwd": "sub", "depends_on": ["a"]})
    error = run.outcome.step("b").error
    assert error is not None
    assert error["kind"] == "path_missing"
