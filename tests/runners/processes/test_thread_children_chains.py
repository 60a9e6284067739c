"""A chain of processes, each of which starts the next one and exits, ends like all else that a step in a thread started.

None of them is there for long: a look that lists processes and then asks them may find none. All hold one lock on a file,
which is free when the last has ended. They end by themselves only when the test is over.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import psutil
import pytest

import pixirnb
from pixirnb import ids
from pixirnb.protocols.work import Ended, PythonWork
from pixirnb.runners.processes import orphans
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.runners.python.runner import PythonRunner
from pixirnb.system import process_marks
from pixirnb.testing.contracts.runner import Rehearsal, on_a_loop, wait_until
from tests.sweeps import first_of

FORKS = """
import os, sys, time
while not os.path.exists("go"):
    time.sleep(0.005)
while not os.path.exists("over"):
    if os.fork():
        os._exit(0)
    open("beats", "a").write(".")
    time.sleep(float(sys.argv[1]))
"""
SHELL = """
test -e over && exit
echo . >> beats
sleep "$2"
sh -c "$1" sh "$1" "$2" &
"""
SOURCE = f"""
import fcntl, os, subprocess, sys, time
def go(folder, kind, count, is_long):
    file = open(folder + "/lock", "w")
    fcntl.flock(file, fcntl.LOCK_EX)
    open(folder + "/go", "w").close()
    for _ in range(count):
        if kind == "shell":
            command = ["sh", "-c", {SHELL!r}, "sh", {SHELL!r}, "0.02"]
        else:
            command = [sys.executable, "-ISc", {FORKS!r}, "0.002"]
        subprocess.Popen(command, cwd=folder, pass_fds=[file.fileno()])
    file.close()
    while not os.path.exists(folder + "/beats") or os.path.getsize(folder + "/beats") < 10 * count:
        time.sleep(0.005)
    while is_long and not os.path.exists(folder + "/over"):
        time.sleep(0.005)
"""
pytestmark = pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    (tmp_path / "over").touch()


def is_gone(folder: Path) -> bool:
    """Whether no process holds the lock."""
    with (folder / "lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def has_begun(folder: Path, count: int = 1) -> bool:
    beats = folder / "beats"
    return beats.exists() and beats.stat().st_size >= 10 * count


def until(is_so: Callable[[], object]) -> None:
    """Wait until it is so; pytest's own time-out ends a wait in vain."""
    while not is_so():
        time.sleep(0.01)


def work(folder: Path, kind: str, count: int, *, is_long: bool) -> PythonWork:
    arguments = {"folder": str(folder), "kind": kind, "count": count, "is_long": is_long}
    return PythonWork(":go", arguments, SOURCE, False)


@pytest.mark.parametrize("kind", ["forks", "shell"])
def test_a_chain_ends_with_its_step(kind: str, folder: Path) -> None:
    async def story(supervisor: Supervisor) -> Ended:
        rehearsal = Rehearsal(work(folder, kind, 1, is_long=False), folder)
        return await PythonRunner(supervisor).perform(rehearsal.job())

    ended = on_a_loop(story)
    assert is_gone(folder)
    assert (ended.status, ended.survivors) == ("completed", None)
    assert ended.strays


@pytest.mark.parametrize("count", first_of([15, 24]))
def test_a_stop_ends_many_chains_at_once(folder: Path, count: int) -> None:
    async def story(supervisor: Supervisor) -> list[Ended]:
        rehearsal = Rehearsal(work(folder, "shell", count, is_long=True), folder)
        ends: list[Ended] = []

        async def go() -> None:
            ends.append(await PythonRunner(supervisor).perform(rehearsal.job()))

        async with anyio.create_task_group() as group:
            group.start_soon(go)
            await wait_until(lambda: has_begun(folder, count))
            rehearsal.stop.set("timed_out")
        assert is_gone(folder)
        (folder / "over").touch()
        await wait_until(lambda: bool(rehearsal.returned))
        return ends

    (ended,) = on_a_loop(story)
    assert (ended.status, ended.survivors) == ("detached", None)


OWNER = """
import json, sys
from pixirnb import api
run = api.start(json.loads(sys.argv[1]), functions=json.loads(sys.argv[2]))
run.wait()
"""


@pytest.mark.parametrize("kind", ["forks", "shell"])
def test_a_chain_ends_with_its_kernel(kind: str, folder: Path) -> None:
    asked = work(folder, kind, 1, is_long=True)
    spec = {"name": "chain", "steps": [{"id": "a", "call": ":go", "with": asked.arguments}]}
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, json.dumps(spec), json.dumps({":go": asked.source})],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(pixirnb.__file__).parents[1])},
        start_new_session=True,
    ) as owner:
        until(lambda: has_begun(folder))
        owner.kill()
    until(lambda: is_gone(folder))


@contextlib.contextmanager
def chain(folder: Path, mark: int) -> Iterator[None]:
    """A chain of nobody's that bears a mark."""
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        command = [sys.executable, "-ISc", FORKS, "0.002"]
        first = subprocess.Popen(command, cwd=folder, pass_fds=[file.fileno()])
        process_marks.put_on(first.pid, mark)
    (folder / "go").touch()
    first.wait()
    until(lambda: has_begun(folder))
    yield


def test_each_search_for_strays_finds_a_chain_and_a_resume_ends_it(folder: Path) -> None:
    run = ids.run_id("20261121220344", os.urandom(6))
    with chain(folder, process_marks.mark_of(f"{run}/a.1", "gone")):
        assert all(orphans.find_strays(run) for _ in range(30))
        assert orphans.end_strays(run)
        assert is_gone(folder)
        assert orphans.find_strays(run) == []


def test_a_chain_that_is_met_when_the_limit_is_over_is_said_to_be_left(folder: Path) -> None:
    mark = process_marks.mark_of("r-1/a.1", os.urandom(6).hex())
    with chain(folder, mark):
        is_ours = process_marks.one_of((mark,))
        _, _, survivors = process_marks.stop(is_ours, 0.0, 0.0)
        assert survivors is not None
        process_marks.stop(is_ours, 0.0, 5.0)
        assert is_gone(folder)


def test_a_search_that_finds_nothing_has_asked_what_began_meanwhile() -> None:
    """Other processes come and go all the while: they delay no search to its limit."""
    busy = "while :; do sh -c :; done"
    with subprocess.Popen(["sh", "-c", busy]) as others:
        try:
            until(lambda: psutil.Process(others.pid).children())
            assert process_marks.search(lambda _: False) == ([], True)
        finally:
            others.kill()


@pytest.mark.parametrize(
    ("found", "told"), [(([], True), ()), (([], False), None), (([7], False), (7,))]
)
def test_a_search_that_was_given_up_is_not_told_as_one_that_found_nothing(
    found: tuple[list[int], bool], told: tuple[int, ...] | None
) -> None:
    assert orphans.search_strays("r-1", None, lambda _: found) == told


def test_a_stop_keeps_its_limit_while_new_processes_come() -> None:
    mark = process_marks.mark_of("r-1/a.1", os.urandom(6).hex())
    is_ours = process_marks.one_of((mark,))
    is_over = threading.Event()
    started: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        while not is_over.is_set() and len(started) < 3000:  # a stop without a limit ends then
            started.append(subprocess.Popen(["sleep", "60"]))
            process_marks.put_on(started[-1].pid, mark)

    others = threading.Thread(target=start)
    others.start()
    try:
        until(lambda: started)
        process_marks.stop(is_ours, 0.0, 0.5)
        assert others.is_alive()
    finally:
        is_over.set()
        others.join()
        process_marks.stop(is_ours, 0.0, 5.0)
        for each in started:
            each.kill()
            each.wait()
