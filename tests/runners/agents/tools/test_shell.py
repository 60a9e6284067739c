"""`shell` of our own agents: bounded in time and in what is shown, and nothing it starts outlives it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from pixirnb.runners.agents.tools.excerpt import OUTPUT_LIMIT
from pixirnb.system.process_life import is_alive
from pixirnb.testing.fakes.toolboxes import toolbox


def shell(workspace: Path, command: str, **args: Any) -> dict[str, Any]:
    """What came of a command line."""
    return toolbox(workspace).use("shell", {"command": command, **args}, "c1")


def pids(workspace: Path) -> list[int]:
    """Who has left its id."""
    return [int(path.read_text()) for path in workspace.glob("pid*")]


def test_it_runs_where_the_agent_works_with_nothing_to_read(tmp_path: Path) -> None:
    result = shell(tmp_path, "pwd; cat; echo said >&2")
    assert result == {"ok": True, "output": f"{tmp_path}\nsaid\n"}


def test_silence_is_said(tmp_path: Path) -> None:
    assert shell(tmp_path, "true") == {"ok": True, "output": "[no output]"}


def test_a_command_that_fails_is_a_result(tmp_path: Path) -> None:
    result = shell(tmp_path, "echo half; exit 3")
    assert result["ok"] is False
    assert result["output"] == "half\n[The command exited with code 3.]"
    assert result["error"]["kind"] == "exit"
    assert result["error"]["details"] == {"exit_code": 3}


def test_a_command_that_is_killed_says_by_what(tmp_path: Path) -> None:
    error = shell(tmp_path, "kill -9 $$")["error"]
    assert (error["kind"], error["details"]) == ("crash", {"signal": 9})
    assert "SIGKILL" in error["message"]


def test_a_command_that_goes_on_is_ended_with_what_it_said(tmp_path: Path) -> None:
    result = shell(tmp_path, "echo begun; trap '' TERM; while :; do sleep 1; done", timeout=1)
    assert result["error"]["kind"] == "timeout"
    assert result["output"].startswith("begun\n[The command timed out after 1 s")


@pytest.mark.parametrize(
    "command",
    [
        "sleep 600 & echo $! > pid1",
        "(sleep 600 & echo $! > pid1; sleep 600 & echo $! > pid2)",
        "setsid sh -c 'echo $$ > pid1; exec sleep 600' & while ! [ -s pid1 ]; do sleep .02; done",
        "setsid sh -c '(sh -c \"echo \\$\\$ > pid1; exec sleep 600\" &)'; while ! [ -s pid1 ]; do sleep .02; done",
        "trap '' TERM; (trap '' TERM; sleep 600) & echo $! > pid1; while :; do sleep 1; done",
    ],
)
def test_nothing_outlives_it(command: str, tmp_path: Path) -> None:
    shell(tmp_path, command, timeout=3)
    left = pids(tmp_path)
    assert left
    while any(is_alive(pid) for pid in left):
        time.sleep(0.02)


def test_what_is_printed_without_end_is_cut_in_the_middle(tmp_path: Path) -> None:
    result = shell(tmp_path, "echo first; yes | head -c 3000000; echo last")
    assert result["output"].startswith("first\ny\n")
    assert result["output"].endswith("y\nlast\n")
    assert "of 3,000,011 bytes omitted" in result["output"]
    assert len(result["output"].encode()) <= OUTPUT_LIMIT


def test_what_is_no_text_is_shown_as_far_as_it_is(tmp_path: Path) -> None:
    result = shell(tmp_path, r"printf 'a\377\000b'")
    assert result == {"ok": True, "output": "a\ufffd\0b"}


def test_a_command_that_no_process_can_have_is_refused(tmp_path: Path) -> None:
    result = shell(tmp_path, "echo \0")
    assert result["error"]["kind"] == "spawn_failed"
    assert toolbox(tmp_path, cwd=tmp_path / "gone").use("shell", {"command": "true"}, "c1")[
        "error"
    ]["kind"] == ("spawn_failed")
