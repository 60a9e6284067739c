"""A current folder that is deleted below us: what names its own workspace runs, the rest is refused by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.errors import InvalidArguments


@pytest.fixture
def gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    monkeypatch.syspath_prepend("")
    return folder


def test_a_workflow_runs_in_the_workspace_it_is_given(gone: Path, tmp_path: Path) -> None:
    steps = [{"id": "a", "run": "pwd"}, {"id": "b", "call": "os:getcwd", "process": True}]
    run = api.start({"name": "w", "steps": steps}, workspace=tmp_path)
    assert run.wait(60).status == "completed"
    assert run.value("b") == str(tmp_path)


@pytest.mark.parametrize("state", ["state", "gone/.pixirnb"])
def test_a_command_whose_folder_goes_meanwhile_says_how_its_run_ended(
    tmp_path: Path, state: str
) -> None:
    (folder := tmp_path / "gone").mkdir()
    step = f"{{id: d, run: 'rm -rf {folder}; sleep 0.5; false'}}"
    (folder / "a.yaml").write_text(f"name: w\nsteps: [{step}]\n")
    said = subprocess.run(
        [sys.executable, "-m", "pixirnb", "run", "a.yaml", "--state", str(tmp_path / state)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    status, code = ("failed", 3) if state == "state" else ("interrupted", 130)
    assert (said.returncode, status in said.stdout) == (code, True), said
    assert "internal_error" not in said.stderr


def test_what_would_work_in_it_is_refused(gone: Path) -> None:
    for verb in (lambda: api.start({"name": "w", "steps": [{"id": "a", "run": "true"}]}), api.runs):
        with pytest.raises(InvalidArguments) as refused:
            verb()
        assert refused.value.code == "workspace_missing"


def test_a_folder_whose_path_no_log_can_hold_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    with pytest.raises(InvalidArguments) as refused:
        api.start({"name": "w", "steps": [{"id": "a", "run": "true"}]}, workspace=folder)
    assert refused.value.code == "workspace_not_utf8"
    assert not (folder / ".pixirnb/runs").exists()
