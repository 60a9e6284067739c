"""What somebody who had not built it found when they resumed, moved and took along runs in ways nobody had thought of."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from storyline import effects, ended, mark, shell, spec, statuses

from pixirnb import api, housekeeping
from pixirnb.errors import Cannot

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
    left_out = api.resume(run.id, spec=edited, only="ship", workspace=tmp_path).wait()
    assert left_out.step("gate").checkpoint_status == "held"
    again = api.resume(run.id, workspace=tmp_path)
    assert again.wait().status == "needs_orchestrator"
    assert again.decide("gate", "accept").wait().ok
    assert effects(tmp_path) == ["make", "ship", "make", "ship"]
    assert set(statuses(again.outcome).values()) == {"checkpoint_ready"}


def test_an_export_onto_a_folder_says_that_it_is_one(tmp_path: Path) -> None:
    run, _ = ended(tmp_path, shell("make", "echo made"))
    for place in (tmp_path, Path(), Path("/")):
        with pytest.raises(Cannot) as caught:
            housekeeping.export(run.store, run.id, place)
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
