"""Names and tags of runs: recorded at the start, used wherever RUN stands, listed and filtered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.auditor.audit import audit
from pixirnb import api
from pixirnb.errors import InvalidArguments, UnknownRun
from pixirnb.operations.start_options import checked_name, checked_tags

FLOW = (
    "name: flow\nsteps: [{id: a, run: 'true', read_set: [x]}, {id: b, run: 'true', read_set: [x]}]"
)


def test_a_run_is_found_by_its_name_and_the_newest_of_that_name_wins(tmp_path: Path) -> None:
    api.start(FLOW, workspace=tmp_path, name="nightly", tags=["ci"]).wait()
    run = api.start(FLOW, workspace=tmp_path, name="nightly", tags=["ci", "env=prod"])
    run.wait()
    opened = api.open_run("nightly", workspace=tmp_path)
    assert opened.id == run.id
    assert (opened.outcome.name, opened.outcome.tags) == ("nightly", ["ci", "env=prod"])
    with pytest.raises(UnknownRun):
        api.open_run("weekly", workspace=tmp_path)


def test_a_name_wins_over_a_workflow_and_an_id_over_a_name(tmp_path: Path) -> None:
    first = api.start(FLOW, workspace=tmp_path, name="flow")
    first.wait()
    second = api.start(FLOW, workspace=tmp_path, name=first.id.rpartition("-")[2])
    second.wait()
    assert api.open_run("flow", workspace=tmp_path).id == first.id
    assert api.open_run(first.id.rpartition("-")[2], workspace=tmp_path).id == first.id


def test_runs_are_listed_by_workflow_status_start_name_and_tag(tmp_path: Path) -> None:
    good = api.start(FLOW, workspace=tmp_path, name="one", tags=["x", "y"])
    good.wait()
    bad = api.start("name: other\nsteps: [{id: a, run: 'false'}]", workspace=tmp_path, tags=["x"])
    bad.wait()

    def ids(**only: Any) -> list[str]:
        return [row["run_id"] for row in api.runs(workspace=tmp_path, **only)]

    assert ids() == [bad.id, good.id]
    assert ids(workflow="flow") == [good.id]
    assert ids(status="failed") == [bad.id]
    assert ids(status=["failed", "completed"]) == [bad.id, good.id]
    assert ids(name="one") == [good.id]
    assert ids(tags=["x"]) == [bad.id, good.id]
    assert ids(tags=["x", "y"]) == [good.id]
    assert ids(since="1d") == ids(since="2000-01-01") == [bad.id, good.id]
    assert ids(since="2999-01-01T00:00:00") == []
    assert ids(tags=["x"], limit=1) == [bad.id]
    with pytest.raises(InvalidArguments, match="invalid --since `soon`") as refused:
        ids(since="soon")
    assert refused.value.code == "bad_duration"


def test_a_fork_keeps_the_tags_and_not_the_name(tmp_path: Path) -> None:
    run = api.start(FLOW, workspace=tmp_path, name="one", tags=["x"])
    run.wait()
    fork = api.resume(run.id, checkpoint="end", workspace=tmp_path)
    outcome = fork.wait()
    assert (outcome.name, outcome.tags) == (None, ["x"])


def test_the_log_of_a_run_of_targets_is_sound(tmp_path: Path) -> None:
    run = api.start(FLOW, workspace=tmp_path, name="one", tags=["x"], targets=["a"])
    assert run.wait().ids("held") == ["b"]
    assert audit((run.folder / "log.jsonl").read_bytes()) == []
    again = api.resume(run.id, workspace=tmp_path)
    assert again.wait().status == "completed"
    assert audit((run.folder / "log.jsonl").read_bytes()) == []


def test_nothing_is_left_of_a_run_whose_name_or_target_is_wrong(tmp_path: Path) -> None:
    wrongs: list[dict[str, Any]] = [{"name": "a b"}, {"tags": ["-x"]}, {"targets": ["z"]}]
    for wrong in wrongs:
        with pytest.raises(InvalidArguments):
            api.start(FLOW, workspace=tmp_path, **wrong)
    assert api.runs(workspace=tmp_path) == []


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", "x" * 65, "r-20261121-220344-7f3akq", 3])
def test_a_name_is_one_that_a_shell_a_file_and_a_person_can_take(name: object) -> None:
    with pytest.raises(InvalidArguments, match="invalid run name") as refused:
        checked_name(name)
    assert refused.value.code == "bad_name"


def test_a_secret_is_no_name_and_no_tag_and_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "hunter2hunter2")
    for wrong in (
        {"name": "hunter2hunter2"},
        {"name": "a hunter2hunter2"},
        {"tags": ["pw=hunter2hunter2"]},
    ):
        with pytest.raises(InvalidArguments) as refused:
            api.start(FLOW, workspace=tmp_path, **wrong)
        assert refused.value.code == "bad_name"
        assert "hunter2" not in str(refused.value.document())
    assert api.runs(workspace=tmp_path) == []


def test_tags_are_kept_once_and_bounded() -> None:
    assert checked_tags(["a", "b", "a", "team/x", "env=prod"]) == ["a", "b", "team/x", "env=prod"]
    with pytest.raises(InvalidArguments, match="invalid tag"):
        checked_tags(["a,b"])
    with pytest.raises(InvalidArguments, match="must be a list"):
        checked_tags("ab")
    with pytest.raises(InvalidArguments, match="limit of 32"):
        checked_tags([f"t{number}" for number in range(33)])
