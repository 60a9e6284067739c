"""An engine whose loop ends, or cannot begin: every run of it is ended and can be resumed, and the next one gets another."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LIMIT_S = 40.0
"""A process that hangs fails its test."""

STEPS = """
import os
import resource
import subprocess
from pathlib import Path

HELD = []

def close_all():
    if not Path("closed").exists():
        Path("closed").touch()
        os.closerange(3, 4096)
    return "v"

def take_all(left):
    subprocess.run(["true"], check=True)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    try:
        while True:
            HELD.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        for _ in range(left):
            os.close(HELD.pop())

def close_of_the_loop():
    while not (Path("pid").exists() and Path("pid").read_text()):
        pass
    if not Path("closed").exists():
        Path("closed").touch()
        for number in range(3, 100):
            if os.path.realpath(f"/proc/self/fd/{number}").endswith("[eventpoll]"):
                os.close(number)
    return "v"
"""

FLOW = "name: w\nsteps:\n  - {id: a, call: 'steps:close_all'}\n"

IN_ONE_PROCESS = """
import pixirnb
from pathlib import Path

run = pixirnb.start({"name": "w", "steps": [
    {"id": "s", "run": "test ! -e closed || exit 0; echo $$ > pid; sleep 600"},
    {"id": "a", "call": "steps:close_of_the_loop"},
]})
try:
    run.wait()
except pixirnb.PixirnbError as error:
    print(error.code)
print(run.status, Path("/proc", Path("pid").read_text().strip()).exists())
print(pixirnb.start({"name": "next", "steps": [{"id": "a", "run": "true"}]}).wait().status)
print(pixirnb.resume(run.id).wait().status)
"""

SHORT_OF_DESCRIPTORS = """
import os, resource, sys
import pixirnb
from pixirnb import PixirnbError

FLOW = {"name": "w", "steps": [{"id": "a", "run": "true"}]}
pixirnb.load(FLOW)
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
held = []
try:
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
for _ in range(int(sys.argv[1])):
    os.close(held.pop())
try:
    answer = pixirnb.start(FLOW).wait().status
except PixirnbError as error:
    answer = f"{error.code}: {error.message}: {error.fix}"
for each in held:
    os.close(each)
print(answer)
print(pixirnb.start(FLOW).wait().status)
"""

WITHOUT_DESCRIPTORS = """
import os, sys
import pixirnb

step = {"id": "a", "call": "steps:take_all", "with": {"left": int(sys.argv[1])}}
run = pixirnb.start({"name": "w", "steps": [step]})
outcome = run.wait()
import steps
for each in steps.HELD:
    os.close(each)
print(outcome.status, "its processes may still run" in str(run.bundle("a")))
"""


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "steps.py").write_text(STEPS)
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def test_a_step_that_closes_all_descriptors_ends_its_run_by_name_and_a_resume_goes_on(
    tmp_path: Path,
) -> None:
    (tmp_path / "w.yaml").write_text(FLOW)
    ended = python(tmp_path, "-m", "pixirnb", "run", "w.yaml")
    assert ended.returncode == 5
    assert "[engine_ended]" in ended.stderr
    assert "closed file descriptors" in ended.stderr
    assert "add `process: true` to that step, then run `pixirnb resume r-" in ended.stderr
    assert "Traceback" not in ended.stderr
    shown = python(tmp_path, "-m", "pixirnb", "show", "@last")
    assert "interrupted" in shown.stdout
    resumed = python(tmp_path, "-m", "pixirnb", "resume", "@last")
    assert resumed.returncode == 0, resumed.stderr


def test_a_process_whose_loop_has_ended_drives_its_next_runs_on_another(tmp_path: Path) -> None:
    done = python(tmp_path, "-c", IN_ONE_PROCESS)
    assert done.stdout.splitlines() == [
        "engine_ended",
        "interrupted False",
        "completed",
        "completed",
    ]
    assert done.stderr == ""


@pytest.mark.parametrize("left", range(2, 6))
def test_an_engine_without_descriptors_is_refused_by_name_and_begins_when_there_are_some(
    tmp_path: Path, left: int
) -> None:
    done = python(tmp_path, "-c", SHORT_OF_DESCRIPTORS, str(left))
    first, second = done.stdout.splitlines()
    assert first in {"partial", "failed", "completed"} or first.startswith(
        (
            "state_unusable: ",
            "spawn_failed: the engine cannot start: Too many open files (limit: 256 ",
        )
    )
    assert second == "completed"
    assert done.stderr == ""


@pytest.mark.parametrize("left", range(2))
def test_a_step_that_leaves_no_descriptor_ends_and_says_what_could_not_be_looked_for(
    tmp_path: Path, left: int
) -> None:
    done = python(tmp_path, "-c", WITHOUT_DESCRIPTORS, str(left))
    assert done.stdout == "completed True\n", done.stderr
