"""A pipe among the files is named, is never opened, and holds nothing up: no copy, no check, no artifact, no digest."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
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
@pytest.mark.parametrize("folder", ["output", "blobs", "sessions"])
def test_nothing_goes_where_a_link_in_the_place_of_a_folder_leads_and_the_outcome_says_so(
    tmp_path: Path, folder: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    plant = f"cd .pixirnb/runs/* && mv {folder} old && ln -s ../../../elsewhere {folder}"
    run, outcome = ended(tmp_path, shell("a", plant), *_each_kind("a"), **_WITH_AGENT)
    assert (outcome.status, outcome.step("a").checkpoint_status) == ("partial", "checkpoint_ready")
    failed = [step.error for step in outcome.steps if step.error is not None]
    assert {error["kind"] for error in failed} == {"output_not_kept"}
    assert outcome.warnings[-1]["code"] == "symlink_refused"
    assert f"{folder} is a symbolic link" in outcome.warnings[-1]["message"]
    assert not any((tmp_path / "elsewhere").iterdir())
    with pytest.raises(StateUnusable, match="symlink_refused"):
        run.output("b")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("folder", ["output", "blobs", "sessions"])
def test_a_file_in_the_place_of_a_folder_fails_the_steps_that_need_it(
    tmp_path: Path, folder: str
) -> None:
    plant = f"cd .pixirnb/runs/* && mv {folder} old && echo x > {folder}"
    run, outcome = ended(tmp_path, shell("a", plant), *_each_kind("a"), **_WITH_AGENT)
    assert (outcome.status, outcome.step("a").checkpoint_status) == ("partial", "checkpoint_ready")
    failed = [step.error for step in outcome.steps if step.error is not None]
    assert {error["kind"] for error in failed} == {"output_not_kept"}
    assert run.history()[-1].kind == "run_finished"


_SCRIPT = {"s": [[{"say": "hello"}, {"say": "checkpoint_status: checkpoint_ready"}]]}
_WITH_AGENT: dict[str, Any] = {"agents": {"w": {"runner": "scripted", "script": _SCRIPT}}}


def _each_kind(after: str) -> list[dict[str, Any]]:
    """Steps that write an output log, a blob and a session."""
    agent = {"id": "s", "task": "Do.", "agent": "w", "posture": "read_only", "workspace": "shared"}
    return [shell("b", "seq 9000", after), {**agent, "depends_on": [after]}]


def test_an_output_log_that_is_longer_than_any_step_leaves_is_refused_and_not_read(
    tmp_path: Path,
) -> None:
    run, _ = ended(tmp_path, shell("a", "echo said"))
    with run.output_path("a").open("ab") as file:
        file.truncate(1 << 40)
    with pytest.raises(StateUnusable, match="larger than pixirnb writes it"):
        run.output("a")


def test_a_line_that_no_run_writes_is_damage_and_is_not_read_to_its_end(tmp_path: Path) -> None:
    run, _ = ended(tmp_path, shell("a", "echo said"), shell("b", "echo more", "a"))
    size = 1 << 40
    os.truncate(run.folder / "log.jsonl", size)

    seen = api.open_run(run.folder)
    assert [seen.outcome.step(step).checkpoint_status for step in "ab"] == ["checkpoint_ready"] * 2
    assert "chain_broken" in {found.code for found in seen.diagnose().findings}
    with pytest.raises(StateUnusable, match="larger than pixirnb writes it"):
        api.resume(run.id, workspace=tmp_path)
    assert (run.folder / "log.jsonl").stat().st_size == size
