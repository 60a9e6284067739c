"""What starts past the wrappers, in a step's thread: the step's all the same, and never a person.

Each story is a script of its own: the wrappers are installed once a process, with its first step in a thread.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pixirnb.system.process_life import is_alive
from tests.stories.storyline import until

STEPS = """
import ctypes, multiprocessing, os, sys, time
from os import posix_spawn, system
from pathlib import Path

SLEEPS = "echo $$ > pid; exec sleep 300"

def by_name():
    system("setsid sh -c '" + SLEEPS + "' &")
    wait_for(Path("pid"))

def spawned_by_name():
    posix_spawn("/bin/sh", ["sh", "-c", "setsid sh -c '" + SLEEPS + "' &"], dict(os.environ))
    wait_for(Path("pid"))

def forked():
    multiprocessing.get_context("fork").Process(target=time.sleep, args=(300,)).start()
    time.sleep(300)

def by_c(run):
    command = f"sleep 1; '{sys.executable}' -m pixirnb decide {run} gate accept --value yes > said 2>&1; touch over"
    there = f"PATH='{os.environ['PATH']}' HOME='{os.environ['HOME']}' PYTHONPATH='{os.environ['PYTHONPATH']}'"
    ctypes.CDLL(None).system(f"(setsid env -i {there} sh -c \\"{command}\\" </dev/null &)".encode())
    wait_for(Path("over"))

def wait_for(path):
    while not (path.exists() and (path.name == "over" or path.read_text())):
        time.sleep(0.01)
"""
RUN = """
import sys, steps, pixirnb
run = pixirnb.run({"name": "w", "steps": [{"id": "a", "call": "steps:" + sys.argv[1]}]})
print(run.status, [(step.error or {}).get("message") for step in run.steps])
"""
SHORT_ONCE = """
import sys, pixirnb

class Short:
    def find_spec(self, name, path=None, target=None):
        if name == "multiprocessing.popen_forkserver":
            sys.meta_path.remove(self)
            raise OSError(24, "Too many open files")

sys.meta_path.insert(0, Short())
for _ in range(2):
    run = pixirnb.run({"name": "w", "steps": [{"id": "a", "call": "steps:by_name"}]})
    print(run.status, [(step.error or {}).get("message") for step in run.steps])
"""
HANGING = """
import os, time
from pathlib import Path

def hang():
    Path("pid").write_text(str(os.getpid()))
    time.sleep(300)

os.register_at_fork(after_in_child=hang)  # a library's, which waits for a lock that its parent's threads held
import pixirnb
pixirnb.start({"name": "w", "steps": [{"id": "a", "call": "steps:forked"}]}).wait()
"""
ASKING = """
import sys, pixirnb
gate = {"id": "gate", "ask": {"question": "?", "choices": ["yes", "no"]}}
step = {"id": "a", "call": "steps:by_c", "with": {"run": "{{ run.id }}"}, "placement": sys.argv[1]}
cluster = "local:1" if sys.argv[1] == "cluster" else None
run = pixirnb.run({"name": "w", "steps": [gate, step]}, cluster=cluster)
print([step.checkpoint_status for step in run.steps])
"""


def script(folder: Path, text: str, *words: str) -> subprocess.Popen[bytes]:
    """A process that runs a script beside the module of the steps."""
    (folder / "steps.py").write_text(STEPS)
    (folder / "script.py").write_text(text)
    with (folder / "out").open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "script.py", *words],
            cwd=folder,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
            start_new_session=True,
        )


def said_by(folder: Path, text: str, *words: str) -> str:
    """What a script says until it ends."""
    with script(folder, text, *words) as process:
        process.wait(90)
    return (folder / "out").read_text()


def is_gone(folder: Path) -> bool:
    return not is_alive(int((folder / "pid").read_text()))


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path: Path) -> Iterator[None]:
    """What a broken promise has left would disturb whoever comes next."""
    yield
    if (tmp_path / "pid").exists() and not is_gone(tmp_path):
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


@pytest.mark.parametrize("way", ["by_name", "spawned_by_name"])
def test_what_a_function_starts_that_was_imported_by_name_before_ends_with_the_step(
    tmp_path: Path, way: str
) -> None:
    said = said_by(tmp_path, RUN, way)
    assert said.startswith("completed"), said
    assert is_gone(tmp_path)


def test_a_shortage_of_file_descriptors_fails_one_step_and_leaves_no_later_one_unmarked(
    tmp_path: Path,
) -> None:
    [first, second] = said_by(tmp_path, SHORT_ONCE).splitlines()
    assert first == "failed ['OSError: [Errno 24] Too many open files']"
    assert second == "completed [None]"
    assert is_gone(tmp_path)


def test_a_fork_is_born_with_the_mark_though_what_comes_first_in_it_never_ends(
    tmp_path: Path,
) -> None:
    with script(tmp_path, HANGING) as owner:
        until(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()))
        owner.send_signal(signal.SIGKILL)
        until(lambda: is_gone(tmp_path))


@pytest.mark.parametrize(
    ("place", "code"), [("local", "sender_unproven"), ("cluster", "approval_by_agent")]
)
def test_what_c_code_started_in_a_thread_gives_no_persons_decision(
    tmp_path: Path, place: str, code: str
) -> None:
    said = said_by(tmp_path, ASKING, place)
    assert code in (tmp_path / "said").read_text(), said
    assert said.startswith("['needs_orchestrator', 'checkpoint_ready']"), said
