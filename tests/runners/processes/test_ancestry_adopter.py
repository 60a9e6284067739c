"""Whoever adopts orphans is known, and what it has adopted since a step began is nobody's word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pixirnb
from pixirnb.runners.processes.process_tree import TAG

ROOT = Path(pixirnb.__file__).parents[1]
"""Of the package under test, which may be a copy with a bug."""

ADOPTS = "import ctypes; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0);"
BELOW = [sys.executable, "-c", f"{ADOPTS} import subprocess as s, sys; s.run(sys.argv[1:])"]
"""Command that starts another below a subreaper, as `tini -s` and `slurmstepd` do."""

OWNER = """
import os, subprocess, sys
from pixirnb.runners.processes.ancestry import adopter
from pixirnb.runners.processes.ancestry import is_loose
from pixirnb.system import process_life, process_marks

since = process_marks.now()
stays = subprocess.Popen(["sleep", "60"])
script = "setsid sleep 60 > /dev/null 2>&1 & echo $!"
leaves = int(subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE).stdout)
print("ready", flush=True)
job = int(sys.stdin.readline())
told = {
    "adopter": adopter() == process_life.look_up(leaves)[0],
    "own": is_loose(os.getpid(), since),
    "child": is_loose(stays.pid, since),
    "orphan": is_loose(leaves, since),
    "job": is_loose(job, since),
    "left": process_life.look_up(job)[0] == os.getppid(),
}
os.kill(leaves, 9)
stays.kill()
try:
    while os.waitpid(-1, 0)[0] in {stays.pid, leaves}:
        pass
    told["zombie"] = True
except ChildProcessError:
    pass
print(told)
"""


def told(command: list[str], program: str) -> dict[str, bool]:
    """What an owner says of what it started, of its orphan, and of a job that its own starter starts later."""
    env = {name: value for name, value in os.environ.items() if name != TAG}
    owner = subprocess.Popen(
        [*command, sys.executable, "-c", program],
        env={**env, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == "ready\n"
    job = subprocess.Popen(["sleep", "60"])
    try:
        out, _ = owner.communicate(f"{job.pid}\n")
    finally:
        job.send_signal(signal.SIGKILL)
        job.wait()
    said = eval(out)
    assert isinstance(said, dict)
    return said


@pytest.mark.parametrize("command", [[], BELOW], ids=["by whoever adopts here", "by a subreaper"])
def test_what_was_adopted_since_is_loose_and_a_job_of_an_older_shell_is_not(
    command: list[str],
) -> None:
    assert told(command, OWNER) == {
        "adopter": True,
        "own": False,
        "child": False,
        "orphan": True,
        "job": False,
        "left": not command,
    }


def test_an_owner_that_adopts_believes_no_child_and_leaves_no_zombie() -> None:
    said = told([], ADOPTS + OWNER)
    assert said["adopter"]
    assert said["orphan"]
    assert said["child"], "it cannot be told from an orphan"
    assert not said["job"]
    assert "zombie" not in said
