"""A scripted agent does what is written, in order, as a real process, and never outside its directory."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from pixirnb.protocols.work import Ended, Report, ScriptedWork
from pixirnb.runners.agents.runner import ScriptedRunner
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.testing.contracts.runner import Rehearsal, on_a_loop


def perform(actions: list[dict[str, Any]], folder: Path) -> tuple[Ended, Rehearsal]:
    async def story(supervisor: Supervisor) -> tuple[Ended, Rehearsal]:
        rehearsal = Rehearsal(ScriptedWork("Refactor.", actions), folder)
        return await ScriptedRunner(supervisor).perform(rehearsal.job()), rehearsal

    return on_a_loop(story)


def test_an_empty_script_says_the_task_back_and_declares_nothing(tmp_path: Path) -> None:
    ended, rehearsal = perform([], tmp_path)
    assert ended == Ended("completed", exit_code=0)
    assert rehearsal.text() == "Refactor.\n"
    assert not any(isinstance(event, Report) for event in rehearsal.events)


def test_actions_come_in_order(tmp_path: Path) -> None:
    report = {"checkpoint_status": "checkpoint_ready", "summary": "done", "output": {"n": 1}}
    ended, rehearsal = perform(
        [
            {"say": "starting ✓"},
            {"sleep": 0.01},
            {"write": "src/a.py", "text": "x\n"},
            {"write": "src/b.py", "text": "y\n"},
            {"delete": "src/b.py"},
            {"tool": "read", "args": {"path": "src/a.py"}, "result": "x"},
            {"report": report},
            {"marker": "partial"},
        ],
        tmp_path,
    )
    assert ended.status == "completed"
    assert rehearsal.text() == "starting ✓\ncheckpoint_status: partial\n"
    assert [path.name for path in (tmp_path / "src").iterdir()] == ["a.py"]
    changes: list[tuple[str, dict[str, Any]]] = [
        ("write", {"path": "src/a.py", "content": "x\n"}),
        ("write", {"path": "src/b.py", "content": "y\n"}),
        ("delete", {"path": "src/b.py"}),
    ]
    assert [event for event in rehearsal.events if isinstance(event, Report)] == [
        *(Report("tool", {"name": name, "args": args, "result": None}) for name, args in changes),
        Report("tool", {"name": "read", "args": {"path": "src/a.py"}, "result": "x"}),
        Report("checkpoint", report),
    ]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ({"fail": "context_overflow", "message": "full"}, ("context_overflow", None, "full")),
        ({"crash": 9}, ("crash", signal.SIGKILL, "SIGKILL")),
        ({"crash": 15}, ("crash", signal.SIGTERM, "SIGTERM")),
        ({"exit": 3}, ("exit", None, "code 3")),
        ({"dance": True}, ("exception", None, "dance")),
        ({"delete": "not-there"}, ("exception", None, "not-there")),
    ],
    ids=str,
)
def test_ends_are_the_real_thing_and_nothing_follows_them(
    action: dict[str, Any], expected: tuple[str, int | None, str], tmp_path: Path
) -> None:
    ended, rehearsal = perform([action, {"say": "never"}], tmp_path)
    kind, number, words = expected
    assert (ended.status, ended.error_kind, ended.signal) == ("failed", kind, number)
    assert words in ended.message
    assert rehearsal.text() == ""


def test_exit_0_is_an_early_end_without_failure(tmp_path: Path) -> None:
    ended, rehearsal = perform([{"exit": 0}, {"say": "never"}], tmp_path)
    assert ended.status == "completed"
    assert rehearsal.text() == ""


@pytest.mark.parametrize(
    "path", ["../out.txt", "{outside}/out.txt", "link/out.txt", "file-link", "."]
)
@pytest.mark.parametrize("verb", ["write", "delete"])
def test_a_way_out_of_the_directory_is_refused_links_included(
    verb: str, path: str, tmp_path: Path
) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "out.txt").write_text("kept")
    (inside / "link").symlink_to(outside)
    (inside / "file-link").symlink_to(outside / "out.txt")
    ended, _ = perform([{verb: path.format(outside=outside), "text": "gone"}], inside)
    assert (ended.status, ended.error_kind) == ("failed", "exception")
    assert "must stay in its directory" in ended.message
    assert (outside / "out.txt").read_text() == "kept"
    assert not Path("{outside}/out.txt").exists()
