"""What somebody who had not built it found when they resumed, moved and took along runs in ways nobody had thought of."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.errors import Cannot, InvalidArguments, InvalidSpec
from pixirnb.operations.export import export_run
from pixirnb.operations.prune import PruneFilter, prune_runs
from pixirnb.operations.run_list import row_of_live
from tests.stories.storyline import (
    effects,
    ended,
    facts,
    mark,
    python,
    shell,
    spec,
    statuses,
    until,
)

pytestmark = pytest.mark.story


def test_a_question_that_was_held_after_it_was_answered_is_asked_again(tmp_path: Path) -> None:
    def steps(number: str) -> list[dict[str, object]]:
        return [
            shell("make", mark("make", f"echo {number}")),
            {"id": "gate", "ask": {"question": "Ship it?"}, "depends_on": ["make"]},
            shell("ship", mark("ship"), "gate"),
        ]

    run, _ = ended(tmp_path, *steps("one"))
    assert run.decide("gate", "accept").wait().ok
    edited = spec(*steps("two"))
    left_out = api.resume(run.id, spec=edited, only="make", workspace=tmp_path).wait()
    assert left_out.step("gate").checkpoint_status == "held"
    again = api.resume(run.id, workspace=tmp_path)
    assert again.wait().status == "needs_orchestrator"
    assert again.decide("gate", "accept").wait().ok
    assert effects(tmp_path) == ["make", "ship", "make"]  # the answer is the same
    assert set(statuses(again.outcome).values()) == {"checkpoint_ready"}


def test_an_export_onto_a_folder_says_that_it_is_one(tmp_path: Path) -> None:
    run, _ = ended(tmp_path, shell("make", "echo made"))
    for place in (tmp_path, Path(), Path("/")):
        with pytest.raises(Cannot) as caught:
            export_run(run.store, run.id, place)
        assert caught.value.code == "file_unwritable"


def test_a_run_folder_under_another_name_is_diagnosed_as_what_it_is(tmp_path: Path) -> None:
    run, _ = ended(tmp_path, shell("make", "echo made"))
    moved = tmp_path / "elsewhere" / "r-20260101-000000-aaaaaa"
    shutil.copytree(run.folder, moved)
    assert api.open_run(moved).diagnose().document()["findings"] == []


def test_what_to_do_next_is_never_what_would_be_refused_or_change_nothing(tmp_path: Path) -> None:
    gate = {"id": "gate", "ask": {"question": "Ship it?"}}
    run, _ = ended(tmp_path, gate, shell("ship", mark("ship"), "gate"))
    run.decide("gate", "reject", resume=False)
    assert [each["action"] for each in run.outcome.next_actions] == ["resume_run"]
    assert [each["action"] for each in run.outcome.step("gate").next_actions] == ["resume_run"]
    rejected = api.resume(run.id, workspace=tmp_path).wait()
    again = rejected.next_actions[0]
    assert (again["action"], again["step"]) == ("rerun_step", "gate")
    assert "retry_failed_steps" not in [each["action"] for each in rejected.next_actions]


def test_what_was_asked_and_interrupted_is_not_done_later(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(
        "name: f\nsteps: [{id: a, run: 'echo a >> effects.txt; sleep 60'}]\n"
    )
    owner = python("-m", "pixirnb", "run", "flow.yaml", cwd=tmp_path)
    until(lambda: effects(tmp_path) or owner.poll() is not None)
    [folder] = (tmp_path / ".pixirnb" / "runs").iterdir()
    owner.send_signal(signal.SIGSTOP)
    try:
        asker = python("-m", "pixirnb", "checkpoint", folder.name, "here", cwd=tmp_path)
        until(lambda: list((folder / "inbox").glob("*.json")) or asker.poll() is not None)
        asker.send_signal(signal.SIGINT)
        asker.communicate()
        assert asker.returncode == 130
        assert [p.name for p in (folder / "inbox").iterdir() if p.name != "door"] == []
    finally:
        owner.send_signal(signal.SIGCONT)
        owner.send_signal(signal.SIGINT)
        owner.communicate()
    assert "here" not in {
        saved["name"] for saved in facts(api.open_run(folder), "checkpoint_saved")
    }


def test_a_run_that_was_removed_still_shows_itself(tmp_path: Path) -> None:
    run, _ = ended(tmp_path, shell("make", "echo made"))
    gone = api.open_run(run.folder)
    shutil.rmtree(run.folder)
    assert repr(gone) == f"<Run {run.id}: unknown_run>"
    assert "unknown_run" in gone._repr_mimebundle_()["text/plain"]


def nested(depth: int) -> object:
    value: object = None
    for _ in range(depth):
        value = [value]
    return value


def test_an_answer_that_no_log_can_hold_is_refused_and_the_run_lives_on(tmp_path: Path) -> None:
    gate = {"id": "gate", "ask": {"question": "Ship it?"}}
    run, _ = ended(tmp_path, gate, shell("ship", "echo {{ steps.gate.output }}", "gate"))
    for depth in (51, 129, 5000):
        with pytest.raises(InvalidArguments):
            run.decide("gate", "accept", value=nested(depth))
    assert run.decide("gate", "accept", value={1: nested(49)}).wait().ok
    assert run.value("gate") == {"1": nested(49)}


def test_a_value_that_nests_deep_is_kept_and_ends_no_run(tmp_path: Path) -> None:
    (tmp_path / "deepwork.py").write_text(
        "def make():\n    value = None\n    for _ in range(200):\n        value = [value]\n    return value\n"
    )
    run, outcome = ended(tmp_path, {"id": "make", "call": "deepwork:make"})
    assert outcome.ok
    assert run.value("make") == nested(200)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("array", nested(200)),
        ("object", {1: 2}),
        ("object", {"a": [{2: 3}]}),
        ("integer", 10**5000),
    ],
    ids=["deep", "number for a key", "number for a key inside", "endless"],
)
def test_an_input_that_no_log_can_hold_is_refused(tmp_path: Path, kind: str, value: object) -> None:
    with pytest.raises(InvalidSpec):
        ended(tmp_path, shell("a", "true"), inputs={"n": {"type": kind}}, given={"n": value})


def test_an_export_below_a_file_says_that_it_cannot_be_written(tmp_path: Path) -> None:
    run, _ = ended(tmp_path, shell("make", "echo made"))
    (tmp_path / "file").touch()
    with pytest.raises(Cannot) as caught:
        export_run(run.store, run.id, tmp_path / "file" / "run.zip")
    assert caught.value.code == "file_unwritable"


def test_an_answer_of_five_thousand_brackets_is_a_text_like_any_other(tmp_path: Path) -> None:
    run, _ = ended(tmp_path, {"id": "gate", "ask": {"question": "Ship it?"}})
    asked = python(
        "-m", "pixirnb", "decide", run.id, "gate", "accept", "--value", "[" * 5000, cwd=tmp_path
    )
    asked.communicate()
    assert asked.returncode == 0
    assert run.value("gate") == "[" * 5000


def test_a_preview_names_what_would_be_refused_and_counts_nothing_behind_a_link(
    tmp_path: Path,
) -> None:
    run, _ = ended(tmp_path, shell("make", "echo made"))
    lease = {"host": "elsewhere", "pid": 5, "started": 1.0, "instance": "x", "since": "then"}
    (run.folder / "lease.json").write_text(json.dumps(lease))
    (run.folder / "lease.json").chmod(0o600)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "large").write_text("x" * 5000)
    (run.folder.parent / "r-20260101-000000-aaaaaa").symlink_to(outside)
    wish = PruneFilter(statuses=("completed", "unreadable"))
    shown = prune_runs(run.store, row_of_live(run.store), wish)
    assert [each["run_id"] for each in shown["failed"]] == [run.id]
    assert shown["bytes"] == 0
    removed = prune_runs(run.store, row_of_live(run.store), wish, is_preview=False)
    assert [each["run_id"] for each in removed["failed"]] == [run.id]
    assert (outside / "large").is_file()


def test_a_seam_that_is_added_to_a_completed_workflow_is_open_and_no_step_runs_again(
    tmp_path: Path,
) -> None:
    run, outcome = ended(tmp_path, shell("till", mark("till")))
    assert outcome.status == "completed"
    edited = spec(shell("till", mark("till"), seams=["the till knows the prices"]))
    again = api.resume(run.id, spec=edited, workspace=tmp_path)
    assert again.wait().status == "needs_orchestrator"
    assert facts(again, "seam_opened")[0]["note"] == "the till knows the prices"
    assert effects(tmp_path) == ["till"]
    assert again.decide("s1", "accept", note="it does").wait().ok
    assert api.resume(run.id, spec=edited, workspace=tmp_path).is_no_op
