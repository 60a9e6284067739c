"""A current folder that is deleted below us: what names its own workspace runs, the rest is refused by name."""

from __future__ import annotations

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


def test_what_would_work_in_it_is_refused(gone: Path) -> None:
    for verb in (lambda: api.start({"name": "w", "steps": [{"id": "a", "run": "true"}]}), api.runs):
        with pytest.raises(InvalidArguments) as refused:
            verb()
        assert refused.value.code == "workspace_missing"
