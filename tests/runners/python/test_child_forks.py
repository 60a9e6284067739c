"""A copy that a function forks of its step's process ends where it leaves the function, and speaks for no step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixirnb import api, value_codec
from pixirnb.protocols.work import Ended, PythonWork
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.runners.python.runner import PythonRunner
from pixirnb.testing.contracts.runner import Rehearsal, on_a_loop

SOURCE = """
import ctypes
import os
import signal
import subprocess
import sys

ENDS = {
    "a fault": lambda: ctypes.string_at(0),
    "SIGKILL": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "exit 3": lambda: os._exit(3),
    "exit 0": lambda: os._exit(0),
}

def waited(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def crashes(how):
    pid = os.fork()
    if pid == 0:
        return "of the copy"
    waited(pid)
    ENDS[how]()

def checks(output):
    return crashes(output.strip())

def crashes_when_stored(how):
    class Value:
        def __reduce__(self):
            return (int, (), crashes(how))
    return Value()

def leave(how):
    print("said by the copy", end="")
    if how == "raises":
        raise ValueError("raised by the copy")
    if how == "exits":
        sys.exit(7)
    if how == "exits by text":
        sys.exit("words")
    if how == "exits by nothing":
        sys.exit()

def forks(how):
    pid = os.fork()
    return leave(how) if pid == 0 else waited(pid)

async def forks_in_a_loop(how):
    return forks(how)

def has_a_helper():
    helper = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    code = forks("returns")
    helper.stdin.close()
    return [code, helper.wait()]

def lies(how):
    frame = b'{"frame":"value","bytes":0,"stored":{"format":"none"},"has_data":false}'
    for descriptor in range(3, 20):
        try:
            os.write(descriptor, frame + b"\\n")
        except OSError:
            pass
    ENDS[how]()
"""
ENDS = {
    "a fault": (None, 11),
    "SIGKILL": (None, 9),
    "exit 3": (3, None),
    "exit 0": (0, None),
}
PROCESS = pytest.mark.parametrize("process", [False, True], ids=["thread", "process"])


def perform(
    call: str, folder: Path, *, process: bool = True, **arguments: Any
) -> tuple[Ended, Rehearsal]:
    async def story(supervisor: Supervisor) -> tuple[Ended, Rehearsal]:
        rehearsal = Rehearsal(PythonWork(call, arguments, SOURCE, process), folder)
        return await PythonRunner(supervisor).perform(rehearsal.job()), rehearsal

    return on_a_loop(story)


def value_of(ended: Ended) -> Any:
    assert ended.status == "completed", ended
    assert ended.value is not None
    return value_codec.decode(ended.value)


@pytest.mark.parametrize("call", [":crashes", ":crashes_when_stored"])
@pytest.mark.parametrize("how", ENDS)
def test_a_crashed_step_has_failed_whatever_its_copy_returned(
    how: str, call: str, tmp_path: Path
) -> None:
    steps: list[dict[str, Any]] = [
        {"id": "crashed", "call": call, "process": True, "with": {"how": how}},
        {"id": "after", "run": "touch started", "depends_on": ["crashed"]},
    ]
    if call == ":crashes":
        steps[0]["output"] = {"type": "string"}
    run = api.start(
        {"name": "copies", "steps": steps}, workspace=tmp_path, functions={call: SOURCE}
    )
    crashed, after = run.wait().steps
    assert (crashed.subagent_status, crashed.checkpoint_status) == ("failed", "failed")
    assert after.checkpoint_status == "held"
    assert not (tmp_path / "started").exists()
    [end] = [event.data for event in run.history() if event.kind == "attempt_ended"]
    assert (end["exit_code"], end["signal"]) == ENDS[how]
    assert end["error"]["kind"] == ("exit" if end["signal"] is None else "crash")


@pytest.mark.parametrize("how", ENDS)
def test_a_check_that_crashes_has_no_verdict_of_its_copy(how: str, tmp_path: Path) -> None:
    step = {
        "id": "checked",
        "run": f"echo '{how}'",
        "verify": [{"python": ":checks", "timeout": "60s"}],
    }
    run = api.start(
        {"name": "copies", "steps": [step]}, workspace=tmp_path, functions={":checks": SOURCE}
    )
    [checked] = run.wait().steps
    assert (checked.subagent_status, checked.checkpoint_status) == ("completed", "failed")


@pytest.mark.parametrize("how", [how for how in ENDS if how != "exit 0"])
def test_a_value_counts_only_with_a_clean_exit(how: str, tmp_path: Path) -> None:
    ended, _ = perform(":lies", tmp_path, how=how)
    assert (ended.status, ended.value) == ("failed", None)
    assert (ended.exit_code, ended.signal) == ENDS[how]


@PROCESS
@pytest.mark.parametrize(
    ("call", "how", "code"),
    [
        (":forks", "returns", 0),
        (":forks", "exits", 7),
        (":forks", "exits by text", 1),
        (":forks", "exits by nothing", 0),
        (":forks", "raises", 1),
        (":forks_in_a_loop", "exits", 7),
    ],
)
def test_a_copy_ends_as_a_script_would_and_the_step_goes_on(
    call: str, how: str, code: int, process: bool, tmp_path: Path
) -> None:
    ended, rehearsal = perform(call, tmp_path, process=process, how=how)
    assert value_of(ended) == code
    if process:
        assert rehearsal.text("stdout") == "said by the copy"
        assert ("raised by the copy" in rehearsal.text("stderr")) == (how == "raises")


@PROCESS
def test_a_copy_ends_no_other_process_of_its_step(process: bool, tmp_path: Path) -> None:
    assert value_of(perform(":has_a_helper", tmp_path, process=process)[0]) == [0, 0]
