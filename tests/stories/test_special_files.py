"""A pipe among the files is named, is never opened, and holds nothing up: no copy, no check, no artifact, no digest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pixirnb.errors import StateUnusable
from tests.stories.storyline import ended, shell
from tests.sweeps import first_of


@pytest.mark.timeout(120)
def test_a_pipe_in_the_workspace_and_one_that_a_step_leaves_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    os.mkfifo(tmp_path / "mine")
    run, outcome = ended(
        tmp_path,
        shell(
            "a",
            "mkfifo its && echo b > b.txt",
            posture="writer",
            workspace="isolated",
            read_set=["**/*"],
            reuse="reads",
            artifacts=["*"],
            verify=[{"file_exists": "its"}, {"file_exists": "*.txt"}],
        ),
        shell("b", "true", posture="read_only", read_set=["**/*"], reuse="reads", artifacts=["*"]),
    )
    assert outcome.ok
    bundle = run.bundle("a")
    assert bundle is not None
    assert any("files_left_behind: its" in said for said in bundle["known_limitations"])
    warned = [event.data for event in run.history() if event.kind == "warning_raised"]
    assert [(said["code"], "mine" in said["message"]) for said in warned] == [("not_copied", True)]
    assert [change["path"] for change in bundle["changes"]["files"]] == ["b.txt"]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("place", first_of([".gitignore", ".gitattributes", "d/.gitignore"]))
def test_a_pipe_where_git_reads_ends_the_step_at_its_time_out(tmp_path: Path, place: str) -> None:
    (tmp_path / "a.txt").write_text("a")
    step = shell(
        "a",
        f"mkdir -p d && mkfifo {place} && echo b > d/b.txt",
        posture="writer",
        workspace="isolated",
        timeout="1s",
    )
    _, outcome = ended(tmp_path, step, shell("b", "true"))
    said = {each.step_id: each for each in outcome.steps}
    assert said["a"].subagent_status == "timed_out"
    assert said["a"].error is not None
    assert "stopped together with the step" in said["a"].error["message"]
    assert said["b"].checkpoint_status == "checkpoint_ready"


@pytest.mark.timeout(120)
@pytest.mark.parametrize("planted", ["ln -s $OLDPWD/mine", "ln $OLDPWD/mine", "mkfifo", "touch"])
def test_what_a_step_plants_in_the_place_of_anothers_output_is_replaced(
    tmp_path: Path, planted: str
) -> None:
    mine = tmp_path / "mine"
    mine.write_text("precious")
    mine.chmod(0o644)
    run, outcome = ended(
        tmp_path,
        shell("a", f"echo a; cd .pixirnb/runs/*/output && {planted} b.1.log"),
        shell("b", "echo from b", depends_on=["a"], timeout="20s"),
    )
    assert outcome.ok
    assert run.output("b") == "from b\n"
    assert mine.read_text() == "precious"
    assert mine.stat().st_mode & 0o777 == 0o644


@pytest.mark.timeout(120)
def test_no_output_goes_where_a_link_in_the_place_of_its_folder_leads(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    plant = "cd .pixirnb/runs/* && mv output old && ln -s ../../../elsewhere output"
    with pytest.raises(StateUnusable, match="symlink_refused"):
        ended(tmp_path, shell("a", plant), shell("b", "echo from b", depends_on=["a"]))
    assert not any((tmp_path / "elsewhere").iterdir())
