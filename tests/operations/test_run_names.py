"""A run is named by its id, by a part that only it has, as the last one, or by its workflow."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.errors import InvalidArguments, UnknownRun
from pixirnb.verbs.options import with_last
from tests.stories.storyline import python, shell, spec


@pytest.fixture
def ids(tmp_path: Path) -> list[str]:
    """Three runs of two workflows, oldest first."""
    names = ["report", "deploy", "report"]
    runs = [api.run(spec(shell("a", "true"), name=name), workspace=tmp_path) for name in names]
    return [run.run_id for run in runs]


def named(name: str, workspace: Path) -> str:
    """The id of the run that a name opens."""
    return api.open_run(name, workspace=workspace).id


def test_a_run_is_opened_by_each_of_its_names(ids: list[str], tmp_path: Path) -> None:
    first, second, third = ids
    newest = max(ids)
    assert named("@last", tmp_path) == newest
    for run_id in ids:
        for name in (run_id, run_id[-6:], str(tmp_path / ".pixirnb" / "runs" / run_id)):
            assert named(name, tmp_path) == run_id
    assert named("deploy", tmp_path) == second
    assert named("report", tmp_path) == max(first, third)


@pytest.mark.parametrize("name", ["r-20", "20"])
def test_a_part_of_several_ids_is_no_name(ids: list[str], tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        named(name, tmp_path)
    assert refused.value.code == "run_ambiguous"
    assert all(run_id in refused.value.message for run_id in ids)


def test_the_end_of_an_id_is_no_name_unless_it_is_the_whole_last_part(
    ids: list[str], tmp_path: Path
) -> None:
    with pytest.raises(UnknownRun):
        named(ids[0][-4:], tmp_path)


def test_where_there_is_no_run_the_last_one_is_unknown(tmp_path: Path) -> None:
    for name in ("@last", "zzzz"):
        with pytest.raises(UnknownRun):
            named(name, tmp_path)


@pytest.mark.parametrize(
    ("name", "meant"), [("last", "@last"), ("@lst", "@last"), ("reprot", "report"), ("zzzz", "")]
)
def test_an_unknown_name_tells_the_newest_runs_and_what_it_may_have_meant(
    tmp_path: Path, name: str, meant: str
) -> None:
    for number in range(4):
        api.run(spec(shell("a", "true"), name="report"), workspace=tmp_path, name=f"try{number}")
    newest = [row["run_id"] for row in api.runs(workspace=tmp_path)]
    for unknown in (name, "r-20260101-000000-abcdef"):
        with pytest.raises(UnknownRun) as refused:
            named(unknown, tmp_path)
        assert refused.value.message.endswith(f"; newest: {', '.join(newest[:3])}")
        is_close = unknown == name and meant
        assert (refused.value.fix == f"did you mean `{meant}`?") == bool(is_close)


def test_verbs_take_the_names(ids: list[str], tmp_path: Path) -> None:
    for words in (["show"], ["show", "-"], ["show", "report"]):
        child = python("-m", "pixirnb", *words, cwd=tmp_path)
        out, _ = child.communicate(timeout=60)
        assert child.returncode == 0
        assert any(run_id in out for run_id in ids)
    assert with_last(["decide", "-", "s", "accept", "--value", "-"]) == [
        *("decide", "@last", "s", "accept", "--value", "-")
    ]
    flow = "{name: piped, steps: [{id: a, run: echo hi}]}"
    (tmp_path / "flow.yaml").write_text(flow)
    for source in (flow, flow.replace("run:", "runn:")):
        child = python("-m", "pixirnb", "run", "-", cwd=tmp_path, stdin=subprocess.PIPE)
        out, err = child.communicate(source, timeout=60)
        is_good = source == flow
        assert ("completed · piped" if is_good else "standard input: 1 error") in (
            out if is_good else err
        )
