"""What a Python step starts in a thread belongs to the step: ended with it, and with its kernel, whatever it did to get away.

Trees are drawn: each process is a shell that writes down its id and is told how it comes to be (in a session of its own, with
an emptied environment, orphaned at once), and whether politeness moves it. The ids they wrote are the only witness.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import pixirnb
from pixirnb import api, ids
from pixirnb.protocols.work import Ended, PythonWork
from pixirnb.runners.processes import orphans, thread_starts
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.runners.processes.thread_children import (
    Children,
    children_of,
    has_no_children,
)
from pixirnb.runners.python.runner import PythonRunner
from pixirnb.system import process_marks
from pixirnb.system.process_life import is_alive
from pixirnb.testing.contracts.runner import Rehearsal, on_a_loop, wait_until
from tests.stories.storyline import until
from tests.sweeps import first_of

SOURCE = """
import os, shlex, subprocess, threading, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

KEPT = []  # a transport that is collected ends its process

def popen(text):
    subprocess.Popen(["sh", "-c", text], stdin=subprocess.DEVNULL)

def bare(text):
    subprocess.Popen(["/bin/sh", "-c", text], env={}, close_fds=False)

def group(text):
    # Of a process with one other id, such as of a program that is setgid, the system tells less.
    other = {"group": 65534} if os.geteuid() == 0 else {}
    subprocess.Popen(["/bin/sh", "-c", text], env={}, **other)

def spawn(text):
    os.posix_spawn("/bin/sh", ["sh", "-c", text], {})

def system(text):
    os.system("sh -c " + shlex.quote(text) + " &")

def fork(text):
    if os.fork() == 0:
        os.execv("/bin/sh", ["sh", "-c", text])

def forked(text):
    import multiprocessing
    multiprocessing.get_context("fork").Process(target=fork, args=(text,)).start()

def hooked(text):
    subprocess.Popen(["sh", "-c", text], preexec_fn=os.setsid)

def thread(text):
    each = threading.Thread(target=popen, args=(text,))
    each.start()
    each.join()

def raw(text):
    import _thread
    done = threading.Event()
    _thread.start_new_thread(lambda: (popen(text), done.set()), ())
    done.wait()

def builtin(text):
    import posix
    posix.posix_spawn("/bin/sh", ["sh", "-c", text], {})

def builtin_system(text):
    import posix
    posix.system("sh -c " + shlex.quote(text) + " &")

def pool(text):
    with ThreadPoolExecutor(1) as executor:
        executor.submit(popen, text).result()

def loop(text):
    import asyncio
    async def go():
        KEPT.append(await asyncio.create_subprocess_exec("sh", "-c", text))
    asyncio.run(go())

def go(way, text, count, then):
    globals()[way](text)
    while len([p for p in Path("PIDS").glob("*") if p.read_text()]) < count:
        time.sleep(0.005)
    if then == "raise":
        raise ValueError("as drawn")
    if then == "wait":
        while not Path("PIDS/../over").exists():
            time.sleep(0.005)
    return then
"""
pytestmark = [
    pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:unclosed transport:ResourceWarning"),
]  # what the drawn steps leave behind they leave on purpose


@pytest.fixture(autouse=True)
def _collected_here() -> Iterator[None]:
    """What the drawn steps leave behind is collected under the filters above, and not in the midst of another test."""
    yield
    gc.collect()


WAYS = (
    "popen",
    "bare",
    "group",
    "spawn",
    "system",
    "fork",
    "forked",
    "hooked",
    "thread",
    "raw",
    "builtin",
    "builtin_system",
    "pool",
    "loop",
)


@dataclass(frozen=True)
class Node:
    """A process of a drawn tree."""

    is_session: bool
    is_bare: bool
    is_orphan: bool
    is_stubborn: bool
    below: tuple[Node, ...] = ()

    def count(self) -> int:
        """How many processes will write down their ids."""
        return 1 + sum(each.count() for each in self.below)

    def text(self, folder: Path, name: str = "n") -> str:
        """The shell text that this process runs."""
        parts = [f"echo $$ > {shlex.quote(str(folder / name))}"]
        if self.is_stubborn:
            parts.insert(0, "trap '' TERM INT HUP")
        for number, each in enumerate(self.below):
            command = f"sh -c {shlex.quote(each.text(folder, f'{name}{number}'))}"
            if each.is_bare:
                command = f"env -i PATH=$PATH {command}"
            if each.is_session:
                command = f"setsid {command}"
            parts.append(f"( {command} & ) &" if each.is_orphan else f"{command} &")
        return "\n".join([*parts, "while :; do sleep 0.3; done"])


def nodes(below: st.SearchStrategy[tuple[Node, ...]]) -> st.SearchStrategy[Node]:
    flag = st.booleans()
    return st.builds(Node, flag, flag, flag, flag, below)


TREES = nodes(
    st.lists(nodes(st.lists(nodes(st.just(())), max_size=1).map(tuple)), max_size=2).map(tuple)
)
"""At most five processes."""

WORST = Node(
    False, False, False, True, (Node(True, True, True, True, (Node(True, True, True, True),)),)
)
drawn = settings(
    max_examples=8,
    deadline=None,
    phases=[
        Phase.explicit,
        Phase.generate,
    ],  # a tree that is left behind takes the whole time limit to be found
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(autouse=True)
def nothing_is_left_of_a_failure(tmp_path: Path) -> Iterator[None]:
    """What a broken promise has left would disturb whoever comes next."""
    yield
    for path in tmp_path.glob("*/*/*"):
        text = path.read_text() if path.parent.name in {"pids", "seen"} else ""
        if text and is_alive(int(text)):
            os.kill(int(text), signal.SIGKILL)


def of_run() -> str:
    """A run of the test's own."""
    return ids.run_id("20261121220344", os.urandom(6))


def fresh(tmp_path: Path) -> Path:
    """A folder for one example, with a folder for ids in it."""
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    (folder / "pids").mkdir()
    return folder


def alive(folder: Path) -> list[int]:
    """Of the processes that wrote down their ids, those that can still act."""
    written = [path.read_text() for path in (folder / "pids").iterdir()]
    return [int(text) for text in written if text and is_alive(int(text))]


def work(folder: Path, way: str, tree: Node, then: str) -> PythonWork:
    pids = folder / "pids"
    arguments = {"way": way, "text": tree.text(pids), "count": tree.count(), "then": then}
    return PythonWork(":go", arguments, SOURCE.replace("PIDS", str(pids)), False)


def all_there(folder: Path, tree: Node) -> bool:
    return len(alive(folder)) == tree.count()


@drawn
@given(tree=TREES, way=st.sampled_from(WAYS), then=st.sampled_from(["return", "raise"]))
def test_nothing_that_a_thread_started_outlives_its_step(
    tmp_path: Path, tree: Node, way: str, then: str
) -> None:
    folder, run = fresh(tmp_path), of_run()

    async def story(supervisor: Supervisor) -> Ended:
        rehearsal = Rehearsal(work(folder, way, tree, then), folder, run_id=run)
        return await PythonRunner(supervisor).perform(rehearsal.job())

    ended = on_a_loop(story)
    assert (ended.status, ended.error_kind) == (
        ("completed", None) if then == "return" else ("failed", "exception")
    )
    assert ended.strays >= tree.count()
    assert alive(folder) == []
    assert orphans.find_strays(run) == []


@drawn
@given(tree=TREES, way=st.sampled_from(WAYS))
def test_a_stop_ends_what_a_thread_started_though_the_thread_goes_on(
    tmp_path: Path, tree: Node, way: str
) -> None:
    folder, run = fresh(tmp_path), of_run()

    async def story(supervisor: Supervisor) -> list[Ended]:
        rehearsal = Rehearsal(work(folder, way, tree, "wait"), folder, run_id=run)
        ends: list[Ended] = []

        async def go() -> None:
            ends.append(await PythonRunner(supervisor).perform(rehearsal.job()))

        async with anyio.create_task_group() as group:
            group.start_soon(go)
            await wait_until(lambda: all_there(folder, tree))
            rehearsal.stop.set("timed_out")
        assert alive(folder) == []
        (folder / "over").touch()
        await wait_until(lambda: bool(rehearsal.returned))
        return ends

    (ended,) = on_a_loop(story)
    assert (ended.status, ended.details) == ("detached", {"reason": "timed_out"})
    assert orphans.find_strays(run) == []


OWNER = """
import json, sys
from pathlib import Path
from pixirnb import api
run = api.start(json.loads(sys.argv[1]), functions=json.loads(sys.argv[2]))
print(run.id, flush=True)
run.wait()
"""


def owner_of(folder: Path, way: str, tree: Node) -> subprocess.Popen[str]:
    """A process that drives a run whose only step starts the tree in a thread, and waits for ever."""
    asked = work(folder, way, tree, "wait")
    spec = {"name": "drawn", "steps": [{"id": "a", "call": ":go", "with": asked.arguments}]}
    return subprocess.Popen(
        [sys.executable, "-c", OWNER, json.dumps(spec), json.dumps({":go": asked.source})],
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )


@settings(drawn, max_examples=3)
@given(
    tree=TREES, way=st.sampled_from(WAYS), blow=st.sampled_from([signal.SIGKILL, signal.SIGTERM])
)
def test_nothing_that_a_thread_started_outlives_its_kernel(
    tmp_path: Path, tree: Node, way: str, blow: signal.Signals
) -> None:
    folder = fresh(tmp_path)
    with owner_of(folder, way, tree) as owner:
        until(lambda: all_there(folder, tree))
        owner.send_signal(blow)
    until(lambda: not alive(folder))


def test_where_the_supervisor_is_killed_too_the_strays_are_found_and_ended_before_a_rerun(
    tmp_path: Path,
) -> None:
    folder = fresh(tmp_path)
    with owner_of(folder, "popen", WORST) as owner:
        assert owner.stdout is not None
        run_id = owner.stdout.readline().strip()
        until(lambda: all_there(folder, WORST))
        below = [each.pid for each in psutil.Process(owner.pid).children(recursive=True)]
        everybody = [owner.pid, *(pid for pid in below if pid not in alive(folder))]
        for pid in everybody:
            os.kill(pid, signal.SIGSTOP)
        for pid in everybody:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # the sleep of a shell
    left = alive(folder)
    assert len(left) == WORST.count()
    run = api.open_run(run_id, state=folder / ".pixirnb")
    (finding,) = [each for each in run.diagnose().findings if each.code == "strays_alive"]
    assert set(left) <= set(finding.evidence["pids"])
    (folder / "over").touch()
    (folder / "pids").rename(folder / "seen")
    (folder / "pids").mkdir()
    outcome = api.resume(run_id, state=folder / ".pixirnb").wait()
    assert outcome.status == "completed"
    assert [pid for pid in left if is_alive(pid)] == []


def test_steps_that_run_at_once_do_not_end_each_others_children_and_nobody_ends_the_kernels_own(
    tmp_path: Path,
) -> None:
    """A thread of the kernel starts processes of its own all the while; they live on, bear nothing and keep their status."""
    folder, other = fresh(tmp_path), fresh(tmp_path)
    before = dict(os.environ)

    async def story(supervisor: Supervisor) -> list[subprocess.Popen[bytes]]:
        runner = PythonRunner(supervisor)
        long = Rehearsal(work(other, "pool", WORST, "wait"), other, step="long")
        short = Rehearsal(work(folder, "fork", WORST, "return"), folder, step="short")
        mine: list[subprocess.Popen[bytes]] = []

        def start_mine() -> None:
            while not (folder / "stop").exists():
                mine.append(
                    subprocess.Popen(["sh", "-c", "read word; exit 7"], stdin=subprocess.PIPE)
                )

        async with anyio.create_task_group() as group:
            group.start_soon(runner.perform, long.job())
            group.start_soon(anyio.to_thread.run_sync, start_mine)
            await wait_until(lambda: all_there(other, WORST))
            await runner.perform(short.job())
            (folder / "stop").touch()
            assert alive(folder) == []
            assert all_there(other, WORST)
            (other / "over").touch()
        assert alive(other) == []
        return mine

    mine = on_a_loop(story)
    for process in mine:
        environment = Path(f"/proc/{process.pid}/environ").read_bytes()
        assert b"PIXIRNB_STEP=" not in environment
        assert process_marks.worn(process.pid) == process_marks.worn(os.getpid())
    for process in mine:
        process.communicate(b"\n")
    assert {process.returncode for process in mine} == {7}
    assert dict(os.environ) == before


def test_a_thread_whose_process_is_ended_returns_and_is_no_detached_one(tmp_path: Path) -> None:
    source = "import subprocess\ndef f():\n    subprocess.run(['sleep', '600'])\n    return 1\n"

    async def story(supervisor: Supervisor) -> Ended:
        run = of_run()
        rehearsal = Rehearsal(PythonWork(":f", {}, source, False), tmp_path, run_id=run)
        ends: list[Ended] = []

        async def go() -> None:
            ends.append(await PythonRunner(supervisor).perform(rehearsal.job()))

        async with anyio.create_task_group() as group:
            group.start_soon(go)
            await wait_until(lambda: bool(orphans.find_strays(run)))
            rehearsal.stop.set("cancelled")
        return ends[0]

    ended = on_a_loop(story)
    assert (ended.status, ended.value, ended.strays) == ("cancelled", None, 0)


def test_what_serves_the_whole_interpreter_outlives_the_step_that_needed_it_first(
    tmp_path: Path,
) -> None:
    """Its workers do not: multiprocessing's tracker of resources and its fork server are nobody's, and end with the kernel."""
    script = tmp_path / "shared.py"
    script.write_text(SHARED)
    told = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    shared, workers = json.loads(told.stdout)
    assert shared == [True, True]
    assert workers == [False, False]


SHARED = """
import json, multiprocessing, time
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from pixirnb.runners.python.runner import PythonRunner
from pixirnb.system.process_life import is_alive
from pixirnb.testing.contracts.runner import Rehearsal, on_a_loop
from pixirnb.protocols.work import PythonWork

SOURCE = '''
import multiprocessing, time
def f():
    kinds = [multiprocessing.get_context(name) for name in ("spawn", "forkserver")]
    started = [kind.Process(target=time.sleep, args=(600,)) for kind in kinds]
    for each in started:
        each.start()
    return [each.pid for each in started]
'''

async def story(supervisor):
    ended = await PythonRunner(supervisor).perform(
        Rehearsal(PythonWork(":f", {}, SOURCE, False), Path.cwd()).job()
    )
    shared = [resource_tracker._resource_tracker._pid, forkserver._forkserver._forkserver_pid]
    return [is_alive(pid) for pid in shared], [is_alive(pid) for pid in ended.value["value"]]

if __name__ == "__main__":
    print(json.dumps(on_a_loop(story)))
"""


def test_a_process_that_nobody_would_find_is_not_started(tmp_path: Path) -> None:
    """The engine is gone, and a thread of a step that outlived it goes on: what it starts now would outlive the kernel."""
    source = f"""
import os, subprocess, time
from pathlib import Path
def f():
    while not Path({str(tmp_path / "gone")!r}).exists():
        time.sleep(0.005)
    try:
        subprocess.Popen(["sleep", "600"])
    except OSError as error:
        refused = error.strerror
    pid = os.fork()
    if pid == 0:
        time.sleep(600)
    Path({str(tmp_path / "told")!r}).write_text(f"{{refused}} {{os.waitpid(pid, 0)[1]}}")
"""
    rehearsals: list[Rehearsal] = []

    async def story(supervisor: Supervisor) -> Any:
        rehearsals.append(Rehearsal(PythonWork(":f", {}, source, False), tmp_path))
        return await rehearsals[0].stopped_by(
            PythonRunner(supervisor), "interrupted", lambda so_far: bool(so_far.events)
        )

    assert on_a_loop(story).status == "detached"
    (tmp_path / "gone").touch()
    until(lambda: rehearsals[0].returned)
    said = (tmp_path / "told").read_text()
    assert "has ended; its remaining threads cannot start processes" in said
    assert said.endswith(" 256")


def test_a_process_that_the_supervisor_does_not_guard_is_not_started() -> None:
    def refuse(mark: int) -> None:
        raise OSError(errno.ECANCELED, "no supervisor")

    refusals: list[str | None] = []

    def start() -> None:
        thread_starts.own(Children("r-1/s.1", refuse, lambda _: None))
        try:
            subprocess.Popen(["sleep", "600"]).kill()
        except OSError as error:
            refusals.append(error.strerror)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert refusals == ["no supervisor"]


def test_a_program_that_empties_its_environment_is_found_by_its_mark(tmp_path: Path) -> None:
    source = """
def leave():
    import subprocess
    text = "env -i setsid sleep 300 > /dev/null 2>&1 & echo $!"
    return int(subprocess.run(["bash", "-c", text], stdout=subprocess.PIPE).stdout)
"""
    spec = {"name": "bare", "steps": [{"id": "a", "call": ":leave"}]}
    run = api.start(spec, functions={":leave": source}, workspace=tmp_path)
    assert run.wait().ok
    assert not is_alive(run.value("a"))


def test_a_program_that_takes_the_mark_off_is_found_by_its_tag(tmp_path: Path) -> None:
    # `su` and `runuser` do that, by way of PAM.
    source = """
def leave():
    import subprocess
    text = "ulimit -S -x unlimited; setsid sleep 300 > /dev/null 2>&1 & echo $!"
    return int(subprocess.run(["bash", "-c", text], stdout=subprocess.PIPE).stdout)
"""
    spec = {"name": "su", "steps": [{"id": "a", "call": ":leave"}]}
    run = api.start(spec, functions={":leave": source}, workspace=tmp_path)
    assert run.wait().ok
    assert not is_alive(run.value("a"))


def test_a_program_that_takes_the_mark_off_ends_with_the_kernel_all_the_same(
    tmp_path: Path,
) -> None:
    (tmp_path / "m.py").write_text(
        "import subprocess, time\n"
        "def leave():\n"
        "    text = 'ulimit -S -x unlimited; echo $$ > pid.new; mv pid.new pid; exec sleep 300'\n"
        "    subprocess.run(['setsid', 'bash', '-c', text])\n"
    )
    spec = {"name": "su", "steps": [{"id": "a", "call": "m:leave"}]}
    (tmp_path / "w.json").write_text(json.dumps(spec))
    here = str(Path(pixirnb.__file__).parents[1])
    owner = subprocess.Popen(
        [sys.executable, "-m", "pixirnb", "run", "w.json", "--json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": here},
        stdout=subprocess.DEVNULL,
    )
    while not (tmp_path / "pid").exists():
        time.sleep(0.02)
    pid = int((tmp_path / "pid").read_text())
    assert is_alive(pid)
    owner.kill()
    owner.wait()
    while is_alive(pid):  # pytest's own time-out ends a wait in vain
        time.sleep(0.02)


def test_strays_of_a_run_that_is_over_are_ended_by_what_doctor_says_ends_them(
    tmp_path: Path,
) -> None:
    spec = {"name": "over", "steps": [{"id": "a", "run": "true"}]}
    run = api.start(spec, workspace=tmp_path)
    assert run.wait().ok
    stray = subprocess.Popen(["sleep", "300"], env={"PIXIRNB_STEP": f"{run.id}/a.1"})
    try:
        assert "strays_alive" in {each.code for each in run.diagnose().findings}
        assert api.resume(run.id, workspace=tmp_path).wait().ok
        assert stray.wait() == -signal.SIGKILL
    finally:
        stray.kill()


def test_a_thread_that_a_step_leaves_behind_starts_nothing_once_the_step_has_ended(
    tmp_path: Path,
) -> None:
    source = f"""
import os, subprocess, threading, _thread
from pathlib import Path
over = threading.Event()
def late():
    over.wait()
    told = []
    for start in (lambda: subprocess.Popen(["sleep", "600"]), lambda: os.system("sleep 600 &")):
        try:
            start()
        except OSError as error:
            told.append(error.strerror)
    pid = os.fork()
    if pid == 0:
        os.execvp("sleep", ["sleep", "600"])
    told.append(str(os.waitpid(pid, 0)[1]))
    Path({str(tmp_path / "told.new")!r}).write_text("\\n".join(told))
    Path({str(tmp_path / "told.new")!r}).rename({str(tmp_path / "told")!r})
def f():
    subprocess.run(["true"])
    threading.Thread(target=late, daemon=True).start()
    threading.Timer(0.5, over.set).start()
"""

    async def story(supervisor: Supervisor) -> Ended:
        rehearsal = Rehearsal(PythonWork(":f", {}, source, False), tmp_path)
        ended = await PythonRunner(supervisor).perform(rehearsal.job())
        await wait_until((tmp_path / "told").exists)
        return ended

    assert on_a_loop(story).status == "completed"
    *refused, status = (tmp_path / "told").read_text().splitlines()
    assert len(refused) == 2
    assert all(words.endswith("cannot start processes") for words in refused)
    assert status == "256"


@pytest.mark.parametrize("way", ["popen", "pool"])
def test_the_environment_of_a_threads_child_names_the_attempt(way: str, tmp_path: Path) -> None:
    folder = fresh(tmp_path)
    text = f'printf %s "$PIXIRNB_STEP" > {folder}/tag; echo $$ > {folder}/pids/n'
    arguments = {"way": way, "text": text, "count": 1, "then": "return"}
    asked = PythonWork(":go", arguments, SOURCE.replace("PIDS", str(folder / "pids")), False)

    async def story(supervisor: Supervisor) -> str:
        rehearsal = Rehearsal(asked, folder, attempt=3)
        await PythonRunner(supervisor).perform(rehearsal.job())
        return rehearsal.run_id

    run_id = on_a_loop(story)
    assert (folder / "tag").read_text() == f"{run_id}/step.3"


NESTED = """
import subprocess, sys
from pathlib import Path

def inner():
    child = subprocess.Popen(["sh", "-c", "trap '' TERM HUP INT; while :; do sleep 0.3; done"])
    Path("pid").write_text(str(child.pid))
    child.wait()

def outer():
    run = [sys.executable, "-m", "pixirnb", "run", "inner.json", "--state", "inner"]
    subprocess.run(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""


@pytest.mark.parametrize("how", first_of(["killed", "timed out"]))
def test_what_a_kernel_below_a_thread_has_started_in_threads_ends_too(
    how: str, tmp_path: Path
) -> None:
    (tmp_path / "m.py").write_text(NESTED)
    for name in ("inner", "outer"):
        spec = {"name": name, "steps": [{"id": "a", "call": f"m:{name}"}]}
        if (how, name) == ("timed out", "outer"):
            spec["steps"] = [{"id": "a", "call": "m:outer", "timeout": "3s"}]
        (tmp_path / f"{name}.json").write_text(json.dumps(spec))
    with subprocess.Popen(
        [sys.executable, "-m", "pixirnb", "run", "outer.json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(pixirnb.__file__).parents[1])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as owner:
        until(lambda: (tmp_path / "pid").is_file() and (tmp_path / "pid").read_text())
        child = int((tmp_path / "pid").read_text())
        if how == "killed":
            owner.kill()
    until(lambda: not is_alive(child))


def test_a_supervisor_that_was_killed_is_followed_by_one_that_knows_what_it_guards(
    tmp_path: Path,
) -> None:
    folder = fresh(tmp_path)
    with owner_of(folder, "popen", WORST) as owner:
        until(lambda: all_there(folder, WORST))

        def supervisors() -> list[int]:
            found: list[int] = []
            for child in psutil.Process(owner.pid).children():
                with suppress(FileNotFoundError, ProcessLookupError):  # it is gone by now
                    words = Path(f"/proc/{child.pid}/cmdline").read_bytes()  # of a zombie: none
                    found += [child.pid] if b"supervisor_process" in words else []
            return found

        try:
            (first,) = supervisors()
            os.kill(first, signal.SIGKILL)
            until(lambda: supervisors() not in ([], [first]))
            time.sleep(0.5)  # it hears what it is to guard as it wakes
        finally:
            owner.kill()
    until(lambda: not alive(folder))


def test_a_thread_knows_of_a_child_that_c_code_made_on_it_and_of_no_other_threads() -> None:
    libc = ctypes.CDLL(None)
    seen: list[object] = []

    def make() -> None:
        seen.append(has_no_children())
        # Not a bare fork: its child would wait for ever for the lock of an interpreter whose other threads it lacks.
        made, arguments = ctypes.c_int(), (ctypes.c_char_p * 2)(b"true", None)
        assert libc.posix_spawn(ctypes.byref(made), b"/bin/true", None, None, arguments, None) == 0
        pid = made.value
        elsewhere = threading.Thread(target=lambda: seen.append(has_no_children()))
        elsewhere.start()
        elsewhere.join()
        seen.extend([has_no_children(), children_of(threading.get_native_id()) == [pid]])
        os.waitpid(pid, 0)
        seen.append(has_no_children())

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    assert seen == [True, True, False, True, True]


def test_a_child_that_c_code_made_on_a_steps_thread_ends_with_the_step(tmp_path: Path) -> None:
    source = (
        "import ctypes\n"
        "def work():\n"
        "    libc = ctypes.CDLL(None)\n"
        "    pid = libc.fork()\n"
        "    if pid == 0:\n"
        "        libc.sleep(60)\n"
        "        libc._exit(0)\n"
        "    return pid\n"
    )
    step = {"id": "a", "call": ":work"}
    spec = {"name": "n", "steps": [step]}
    run = pixirnb.start(spec, workspace=tmp_path, functions={":work": source})
    outcome = run.wait()
    assert outcome.status == "completed"
    assert not is_alive(run["a"].value)
