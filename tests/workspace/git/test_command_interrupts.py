"""A kernel's interrupt, Ctrl+C and the end of a terminal go to a whole process group, and end no git of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pixirnb

GIT = f"""#!{sys.executable} -SE
import os, signal, sys, time
from pathlib import Path

here = Path(os.environ["HERE"])
if {{signal.SIGINT, signal.SIGHUP}} <= signal.pthread_sigmask(signal.SIG_BLOCK, []):
    (here / "blocked").touch()
(here / "began").touch()
while not (here / "interrupted").exists():
    time.sleep(0.01)
if sys.argv[-1] == "version":
    print("git version 2.50.0")
if "cat-file" in sys.argv:
    sys.stdout.write(sys.stdin.readline().strip() + " blob 3\\nyes\\n")
"""
SCRIPT = """
import os, signal, sys, threading, time
from pathlib import Path
from pixirnb.workspace.git import command, read_objects

here = Path(os.environ["HERE"])
sent = signal.Signals[sys.argv[2]]
signal.signal(sent, lambda *_: None)
results = []

def version():
    results.append(command.is_usable())

def call():
    results.append(command.Git.theirs(here).run("status").code == 0)

def read():
    with read_objects.reading(command.Git.theirs(here), here) as write:
        write("aa", os.open(here / "content", os.O_WRONLY | os.O_CREAT))
    results.append((here / "content").read_text() == "yes")

thread = threading.Thread(target=globals()[sys.argv[1]])
thread.start()
while not (here / "began").exists():
    time.sleep(0.01)
os.killpg(0, sent)
time.sleep(0.1)
(here / "interrupted").touch()
thread.join()
print(results)
"""


@pytest.mark.parametrize("sent", ["SIGINT", "SIGHUP", "SIGTERM"])
@pytest.mark.parametrize("asked", ["version", "call", "read"])
def test_a_signal_for_the_group_ends_no_git(asked: str, sent: str, tmp_path: Path) -> None:
    git = tmp_path / "git"
    git.write_text(GIT)
    git.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, asked, sent],
        env={
            "PATH": f"{tmp_path}:/usr/bin:/bin",
            "HERE": str(tmp_path),
            "PYTHONPATH": str(Path(pixirnb.__file__).parents[1]),
        },
        cwd=tmp_path,
        start_new_session=True,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[True]\n", "")
    assert (tmp_path / "blocked").exists()  # as for the moment before it has a session of its own
