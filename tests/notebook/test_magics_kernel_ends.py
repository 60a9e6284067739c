"""What cells promise when someone stops them: interrupts, restarts, and a kernel that is killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pixirnb.system.process_life import is_alive
from tests.notebook.kernel_cells import Notebook
from tests.sweeps import first_of

STORY = """%%workflow story --wait --as run
steps:
  - {id: ready, run: "echo once >> trace; echo made", write_set: [trace]}
  - {id: long, run: "echo began; sleep SECONDS", posture: read_only, read_set: [], depends_on: [ready]}
"""


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Notebook]:
    """A kernel of the test's own, to be interrupted, restarted or killed."""
    opened = Notebook(tmp_path)
    yield opened
    opened.close()


def until_the_long_step_runs(folder: Path) -> None:
    """The log says so: a cell that nobody watches shows nothing before its end."""
    while True:
        logs = folder.glob(".pixirnb/runs/*/log.jsonl")
        if any(log.read_text().count('"kind":"attempt_started"') == 2 for log in logs):
            return
        time.sleep(0.05)


def test_an_interrupt_ends_the_run_in_one_line_and_later_cells_do_not_run(fresh: Notebook) -> None:
    waiting = fresh.send(STORY.replace("SECONDS", "600"))
    later = fresh.send("print('reached')")
    until_the_long_step_runs(fresh.folder)
    fresh.interrupt()
    fresh.interrupt()
    cell, after = fresh.collect(waiting), fresh.collect(later)
    ((line,),) = cell.errors
    assert line.startswith("r-")
    assert "[interrupted]" in line
    assert "\n" not in line
    assert (after.status, after.printed) == ("aborted", "")
    assert fresh.run("print(run.status, run.history()[-1].kind)").printed == (
        "interrupted run_finished\n"
    )
    fresh.interrupt()
    assert fresh.run("print('alive')").printed == "alive\n"


def test_an_awaited_run_can_be_left_and_goes_on(fresh: Notebook) -> None:
    fresh.run(STORY.replace("--wait", "--run").replace("SECONDS", "600"))
    waiting = fresh.send("print('waiting', flush=True)\nawait run")
    fresh.wait_for("waiting")
    fresh.interrupt()
    assert fresh.collect(waiting).status == "error"
    said = fresh.run("print(run.status)\nif run.status != 'running': print(run.outcome.document())")
    assert said.printed == "running\n"


def test_a_restart_is_recorded_as_an_interrupt(fresh: Notebook) -> None:
    fresh.run(STORY.replace("--wait", "--run").replace("SECONDS", "600"))
    fresh.run("while run.outcome.step('ready').checkpoint_status is None: pass")
    fresh.restart()
    cell = fresh.run("import pixirnb\nrow, = pixirnb.runs()\nrun = pixirnb.open_run(row['run_id'])")
    assert cell.status == "ok"
    assert fresh.run("print(row['status'], run.history()[-1].kind)").printed == (
        "interrupted run_finished\n"
    )


def test_a_killed_kernel_leaves_a_run_that_a_new_one_finishes(fresh: Notebook) -> None:
    fresh.run(STORY.replace("--wait", "--run").replace("SECONDS", "2"))
    fresh.run("while run.outcome.step('long').subagent_status != 'running': pass")
    os.kill(fresh.pid, signal.SIGKILL)

    other = Notebook(fresh.folder)
    try:
        told = other.run("%pixir runs").shown[0]["text/plain"]
        assert "interrupted" in told
        other.run("import pixirnb\nrow, = pixirnb.runs()\nrun = pixirnb.open_run(row['run_id'])")
        assert "owner_died" in other.run("print(run.outcome.reasons)").printed
        dry = other.run("%pixir resume {run.id} --dry-run").shown[0]["text/plain"]
        assert "side effects may be incomplete" in dry

        cell = other.run("%pixir resume {run.id} --wait")
        assert cell.status == "ok"
        assert cell.saved[0]["text/plain"].startswith("✓ completed · story")
        assert (fresh.folder / "trace").read_text() == "once\n"
    finally:
        other.close()


THREAD = """%%workflow threaded --run --as run
steps:
  - {id: starts, call: "childless:start", with: {folder: "."}}
"""
MODULE = """
import subprocess, time
from pathlib import Path

def start(folder):
    bare = "echo $$ > bare; while :; do sleep 0.3; done"
    daemon = f"env -i PATH=$PATH setsid sh -c '{bare}' & echo $$ > tagged; exec sleep 600"
    subprocess.Popen(["sh", "-c", daemon])
    while not all(Path(name).exists() and Path(name).read_text() for name in ("bare", "tagged")):
        time.sleep(0.01)
    Path("began").touch()
    while not Path("over").exists():
        time.sleep(0.01)
"""


def started(folder: Path) -> list[int]:
    """Ids of what the step has started, once all of it is there."""
    while not (folder / "began").exists():
        time.sleep(0.05)
    return [int((folder / name).read_text()) for name in ("bare", "tagged")]


LAUNCH = """import os, signal, sys
from IPython.display import display
from pixirnb import api
def interrupted(real):
    def launch(*args, **kwargs):
        run = real(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGINT)
        return run
    return launch
api.start, api.resume = interrupted(api.start), interrupted(api.resume)
"""
QUICK = (
    "%%workflow quick{}\nsteps:\n  - {{id: a, run: 'sleep 0.2', posture: read_only, reuse: never}}"
)


@pytest.mark.parametrize(
    "launch",
    first_of(
        [
            QUICK.format(" --run --as run"),
            "%pixir run quick --as run",
            "%pixir resume earlier --as run",
        ]
    ),
)
def test_an_interrupt_of_a_launch_waits_until_the_run_can_be_seen(
    fresh: Notebook, launch: str
) -> None:
    earlier = fresh.run(QUICK.format(" --wait --as done")).errors
    assert not earlier
    fresh.run(LAUNCH)
    cell = fresh.run(launch.replace("earlier", "{done.id}"))
    assert ["KeyboardInterrupt" in "".join(lines) for lines in cell.errors] == [True]
    assert cell.shown != []
    assert fresh.run("print(run.wait().status)").printed == "completed\n"


def test_a_killed_kernel_leaves_nothing_that_a_thread_of_it_has_started(fresh: Notebook) -> None:
    (fresh.folder / "childless.py").write_text(MODULE)
    fresh.run(THREAD)
    pids = started(fresh.folder)
    os.kill(fresh.pid, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while (left := [pid for pid in pids if is_alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def test_a_process_of_the_person_lives_on_beside_a_threads_and_keeps_its_status(
    fresh: Notebook,
) -> None:
    (fresh.folder / "childless.py").write_text(MODULE)
    fresh.run(
        "import subprocess\nmine = subprocess.Popen('read word; exit 7', shell=True, stdin=subprocess.PIPE)"
    )
    fresh.run(THREAD)
    pids = started(fresh.folder)
    fresh.run("other = subprocess.Popen('read word; exit 8', shell=True, stdin=subprocess.PIPE)")
    (fresh.folder / "over").touch()
    fresh.run("import pixirnb\noutcome = run.wait()")
    assert [pid for pid in pids if is_alive(pid)] == []
    cell = fresh.run(
        "mine.communicate(b'x'), other.communicate(b'x'); print(mine.returncode, other.returncode)"
    )
    assert cell.printed == "7 8\n"
    assert (
        fresh.run("import os; print('PIXIRNB_STEP' in os.environ, run.status)").printed
        == "False completed\n"
    )
