"""A process below a step is known to be one, whatever it does to its environment and its parents."""

from __future__ import annotations

import _thread
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import pytest

import pixirnb
from pixirnb.ids import attempt_name
from pixirnb.protocols.work import ShellWork, Started
from pixirnb.runners.processes import thread_starts as starts
from pixirnb.runners.processes.ancestry import asking_step, is_loose, sender, tag_of
from pixirnb.runners.processes.process_tree import TAG
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.runners.processes.thread_children import Children
from pixirnb.runners.shell import ShellRunner
from pixirnb.system import process_marks
from pixirnb.testing.contracts.runner import RUN_ID, Rehearsal, on_a_loop, wait_until
from tests.headless import headless

ASK = f"{sys.executable} -c 'from pixirnb.runners.processes.ancestry import asking_step as a; print(a())'"
WORN = f"{TAG}=r-20200101-000000-aaaaaa/x.1"
LINE = f"pixirnb.runners.processes.supervisor_process {WORN}"
ROOT = Path(pixirnb.__file__).parents[1]
"""Of the package under test, which may be a copy with a bug."""


def said_below_a_step(command: str, folder: Path) -> str:
    """What a shell step prints."""

    async def story(supervisor: Supervisor) -> str:
        rehearsal = Rehearsal(ShellWork(command), folder, env={"PYTHONPATH": str(ROOT)})
        await ShellRunner(supervisor).perform(rehearsal.job())
        return rehearsal.text().strip()

    return on_a_loop(story)


def test_a_process_of_nobodys_is_below_no_step() -> None:
    env = {name: value for name, value in os.environ.items() if name != TAG}
    command = [sys.executable, "-c", ASK.split("'")[1]]
    said = subprocess.run(
        command, env={**env, "PYTHONPATH": str(ROOT)}, capture_output=True, check=True
    )
    assert said.stdout == b"None\n"


@pytest.mark.parametrize(
    "command",
    [
        ASK,
        f"env -u {TAG} {ASK}",
        f"env -i PYTHONPATH={ROOT} {ASK}",
        f"{TAG}= {ASK}",
        f"{TAG}=---- {ASK}",
        f"{WORN} {ASK}",
        f"{WORN} sh -c '{ASK.replace(chr(39), chr(34))}; :' {LINE}",
        # Its parent ends at once: it is the reaper's own now.
        f"(env -i PYTHONPATH={ROOT} setsid sh -c 'sleep 0.3; {ASK.replace(chr(39), chr(34))} > said' &); "
        "while ! [ -s said ]; do sleep 0.05; done; cat said",
    ],
    ids=["as it is", "unset", "emptied", "blank", "padded", "worn", "forged", "left alone"],
)
def test_a_step_is_found_whatever_its_process_did_to_itself(command: str, tmp_path: Path) -> None:
    assert said_below_a_step(command, tmp_path) == f"{RUN_ID}/{attempt_name('step', 1)}"


def test_who_runs_the_tests_is_below_the_step_it_was_told_it_is(
    request: pytest.FixtureRequest,
) -> None:
    before = os.environ.get(TAG)
    request.addfinalizer(
        lambda: os.environ.pop(TAG, None) if before is None else os.environ.update({TAG: before})
    )
    os.environ[TAG] = f"r-1/a.2{'-' * 10}"
    assert asking_step() == "r-1/a.2"


SENDER = "import sys; from pixirnb.runners.processes.ancestry import sender; print(sender(int(sys.argv[1])))"


def sender_as_seen_elsewhere(pid: int) -> str:
    """What a process says of another that it did not start."""
    env = {name: value for name, value in os.environ.items() if name != TAG}
    command = [sys.executable, "-c", SENDER, str(pid)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**env, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_what_a_cell_of_the_owner_starts_is_a_persons_and_what_is_gone_proves_nothing() -> None:
    child = subprocess.Popen(["env", "-i", "sleep", "60"])
    try:
        assert sender(child.pid) == "person"
        assert sender_as_seen_elsewhere(child.pid) == "person"
    finally:
        child.kill()
        child.wait()
    assert sender(child.pid) == "unproven"


UNSEEN = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)"
"""Code after which nobody of the same user may read the memory of a process, as its environment is part of."""
UNPRIVILEGED = """
import ctypes, os, sys
for capability in range(64):  # root may read everything
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.mark.parametrize(
    ("way", "told"), [("tagged", "other_step"), ("plain", "person"), ("unseen", "unproven")]
)
def test_a_process_whose_first_thread_has_exited_is_known_by_another_or_proves_nothing(
    way: str, told: str
) -> None:
    env = {name: value for name, value in os.environ.items() if name != TAG}
    tag = {TAG: f"{RUN_ID}/a.1"} if way == "tagged" else {}
    code = f"{UNSEEN if way == 'unseen' else ''}\nimport time; print(flush=True); time.sleep(60)"
    unprivileged = [sys.executable, "-c", UNPRIVILEGED]
    command = [*unprivileged, *headless(code)[1:]]
    with subprocess.Popen(command, env={**env, **tag}, stdout=subprocess.PIPE) as ghost:
        assert ghost.stdout is not None
        ghost.stdout.readline()
        ask = [*unprivileged, "-c", SENDER, str(ghost.pid)]
        said = subprocess.check_output(ask, env={**env, "PYTHONPATH": str(ROOT)}, text=True)
        ghost.kill()
    assert said.strip() == told


DEEP = f"""
if [ $1 -gt 0 ]; then sh "$0" $(($1 - 1)); exit; fi
{ASK}
exit
"""


def test_who_has_too_many_above_to_be_followed_is_taken_for_a_step(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name != TAG}
    (tmp_path / "deep").write_text(DEEP)
    command = ["sh", str(tmp_path / "deep"), "260"]
    said = subprocess.check_output(command, env={**env, "PYTHONPATH": str(ROOT)}, text=True)
    assert said == "a step\n"


def test_what_took_off_its_mark_below_one_that_did_not_is_below_a_step(tmp_path: Path) -> None:
    children = Children(f"{RUN_ID}/make.1", guard=lambda _: None, release=lambda _: None)
    said: list[str] = []

    def step() -> None:
        starts.own(children)
        unmarked = f"(ulimit -S -x 0; {ASK}); :"
        bare = ["env", "-i", f"PYTHONPATH={ROOT}", "bash", "-c", unmarked]
        said.append(subprocess.check_output(bare, cwd=tmp_path, text=True).strip())
        children.close()

    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    assert said == ["a step"]


def test_a_tag_that_a_mark_contradicts_is_not_believed() -> None:
    children = Children(f"{RUN_ID}/make.1", guard=lambda _: None, release=lambda _: None)
    said: list[str] = []

    def step() -> None:
        starts.own(children)
        for worn in ("", f"env {WORN} ", f"env {TAG}={RUN_ID}/make.2 "):
            asked = subprocess.check_output(["sh", "-c", f"{worn}{ASK}"], cwd=ROOT, text=True)
            said.append(asked.strip())
        children.close()

    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    assert said == [f"{RUN_ID}/make.1", "a step", "a step"]


def test_what_a_step_in_a_thread_starts_is_never_a_persons_wherever_it_goes() -> None:
    children = Children(f"{RUN_ID}/make.1", guard=lambda _: None, release=lambda _: None)
    found: list[str] = []
    elsewhere: list[str] = []

    def step() -> None:
        starts.own(children)
        stays = subprocess.Popen(["env", "-i", "sleep", "60"])
        script = "env -i setsid sleep 60 > /dev/null 2>&1 & echo $!"
        leaves = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, check=True)
        for pid in (stays.pid, int(leaves.stdout)):
            found.append(sender(pid, {children.mark}))
            elsewhere.append(sender_as_seen_elsewhere(pid))
        children.close()
        stays.wait()

    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    assert found == ["own_step", "own_step"]
    assert elsewhere == ["other_step", "other_step"]


def test_who_has_nobody_above_that_was_there_before_may_have_been_orphaned() -> None:
    before = process_marks.now()
    script = "setsid sleep 60 > /dev/null 2>&1 & echo $!"
    stays = subprocess.Popen(["sleep", "60"])
    leaves = int(subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, check=True).stdout)
    try:
        assert not is_loose(stays.pid, before), "this process is older"
        assert is_loose(leaves, before)
        assert not is_loose(leaves, process_marks.now() + 1000), "it was there before"
        assert not is_loose(leaves, None)
    finally:
        os.kill(leaves, signal.SIGKILL)
        stays.kill()
        stays.wait()
    assert is_loose(stays.pid, before), "who is gone proves nothing"


def test_a_step_of_another_owner_is_known_by_its_reaper_when_it_hides_its_own_name(
    tmp_path: Path,
) -> None:
    async def story(supervisor: Supervisor) -> tuple[str, str]:
        rehearsal = Rehearsal(ShellWork("exec env -i sleep 60"), tmp_path)
        async with anyio.create_task_group() as group:
            group.start_soon(ShellRunner(supervisor).perform, rehearsal.job())
            await rehearsal.wait_for(lambda r: bool(r.events))
            [pid] = [e.pid for e in rehearsal.events if isinstance(e, Started)]
            assert pid is not None
            told = sender(pid), await anyio.to_thread.run_sync(sender_as_seen_elsewhere, pid)
            rehearsal.stop.set("cancelled")
        return told

    assert on_a_loop(story) == ("own_step", "other_step")


LEFT = """
import os, pathlib, time
from pixirnb.runners.processes.ancestry import asking_step
pathlib.Path("new").write_text(str(os.getpid()))
os.rename("new", "pid")
while not os.path.exists("killed"):
    time.sleep(0.01)
pathlib.Path("new").write_text(str(asking_step()))
os.rename("new", "said")
time.sleep(60)
"""


@pytest.mark.parametrize(("tag", "line"), [("", ""), (WORN, LINE)], ids=["bare", "worn"])
def test_what_a_step_left_to_a_supervisor_that_it_stopped_is_the_steps_still(
    tag: str, line: str, tmp_path: Path
) -> None:
    (tmp_path / "left.py").write_text(LEFT)
    hidden = "exec < /dev/null > /dev/null 2>&1; ulimit -S -x 0"
    bare = f"{hidden}; exec env {tag} {sys.executable} left.py {line}"
    command = f"env -i PYTHONPATH={ROOT} setsid -f bash -c '{bare}'; sleep 60"

    async def story(supervisor: Supervisor) -> tuple[str, ...]:
        rehearsal = Rehearsal(ShellWork(command), tmp_path)
        async with anyio.create_task_group() as group:
            group.start_soon(ShellRunner(supervisor).perform, rehearsal.job())
            await wait_until((tmp_path / "pid").exists)
            pid = int((tmp_path / "pid").read_text())
            assert supervisor.pid is not None
            os.kill(supervisor.pid, signal.SIGSTOP)
            # From here the loop stands still: it would continue the supervisor.
            os.kill(psutil.Process(pid).ppid(), signal.SIGKILL)
            while psutil.Process(pid).ppid() != supervisor.pid:
                pass
            (tmp_path / "killed").touch()
            while not (tmp_path / "said").exists():
                pass
            told = sender(pid), sender_as_seen_elsewhere(pid), (tmp_path / "said").read_text()
            os.kill(supervisor.pid, signal.SIGCONT)
        return told

    assert on_a_loop(story) == ("own_step", "other_step", "a step")


@pytest.mark.parametrize("way", ["thread", "raw"])
def test_a_thread_that_a_step_starts_by_hand_is_the_steps_too(way: str) -> None:
    children = Children(f"{RUN_ID}/make.1", guard=lambda _: None, release=lambda _: None)
    found: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def ask() -> None:
        found.put(asking_step())

    def step() -> None:
        starts.own(children)
        if way == "raw":
            _thread.start_new_thread(ask, ())
        else:
            threading.Thread(target=ask).start()

    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    assert found.get(timeout=20) == f"{RUN_ID}/make.1"


def test_once_a_supervisor_was_killed_under_its_steps_nobody_is_proven(tmp_path: Path) -> None:
    async def story(supervisor: Supervisor) -> list[bool]:
        told = [supervisor.was_ever_lost]
        for step in ("a", "b"):
            await ShellRunner(supervisor).perform(
                Rehearsal(ShellWork("true"), tmp_path, step=step).job()
            )
            told.append(supervisor.was_ever_lost)
            if step == "a":
                assert supervisor.pid is not None
                os.kill(supervisor.pid, signal.SIGKILL)
                await wait_until(lambda: supervisor.was_ever_lost)
        return told

    assert on_a_loop(story) == [False, False, True]


def test_a_process_that_only_names_a_tag_bears_none() -> None:
    named = subprocess.Popen(["sh", "-c", "sleep 60; :", "pixirnb.runners", f"{TAG}={RUN_ID}/a.1"])
    try:
        assert tag_of(named.pid) in {None, os.environ.get(TAG)}
    finally:
        named.kill()
        named.wait()
