"""A step's processes: heard as they speak, stopped to the last descendant, and told truthfully."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import anyio
import psutil
import pytest

from pixirnb.protocols.work import (
    Ended,
    Output,
    PythonWork,
    RunnerEvent,
    ShellWork,
    Started,
)
from pixirnb.runners.processes import orphans, process_tree
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.runners.python.runner import PythonRunner
from pixirnb.runners.shell import ShellRunner
from pixirnb.system.process_life import is_alive
from pixirnb.testing.contracts.runner import (
    RUN_ID,
    Rehearsal,
    on_a_loop,
)
from tests.careless_signals import careless_signals
from tests.headless import headless

DAEMONS = """
python3 - <<'EOF' &
import os, time
os.setsid()
open("setsid.pid", "w").write(str(os.getpid()))
time.sleep(60)
EOF
python3 - <<'EOF'
import os, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
open("daemon.part", "w").write(str(os.getpid()))
os.rename("daemon.part", "daemon.pid")
time.sleep(60)
EOF
while ! test -s setsid.pid || ! test -s daemon.pid; do sleep 0.01; done
"""
STUBBORN = "trap '' TERM; echo ready; while :; do sleep 0.05; done"


def perform(run: str | list[str], folder: Path, **changes: object) -> tuple[Ended, Rehearsal]:
    async def story(supervisor: Supervisor) -> tuple[Ended, Rehearsal]:
        rehearsal = Rehearsal(ShellWork(run), folder)
        for name, value in changes.items():
            setattr(rehearsal, name, value)
        return await ShellRunner(supervisor).perform(rehearsal.job()), rehearsal

    return on_a_loop(story)


def stopped_when_ready(run: str, folder: Path, grace_s: float) -> tuple[Ended, Rehearsal]:
    async def story(supervisor: Supervisor) -> tuple[Ended, Rehearsal]:
        rehearsal = Rehearsal(ShellWork(run), folder, grace_s=grace_s)
        ends: list[Ended] = []

        async def go() -> None:
            ends.append(await ShellRunner(supervisor).perform(rehearsal.job()))

        async with anyio.create_task_group() as group:
            group.start_soon(go)
            await rehearsal.wait_for(lambda so_far: "ready\n" in so_far.text())
            rehearsal.stop.set("timed_out")
        return ends[0], rehearsal

    return on_a_loop(story)


def pids_in(folder: Path) -> list[int]:
    return [int(path.read_text()) for path in folder.glob("*.pid")]


def test_the_two_streams_are_told_apart(tmp_path: Path) -> None:
    _, rehearsal = perform("echo out; echo err >&2", tmp_path)
    assert rehearsal.text("stdout") == "out\n"
    assert rehearsal.text("stderr") == "err\n"


def test_output_is_heard_while_the_step_goes_on(tmp_path: Path) -> None:
    async def story(supervisor: Supervisor) -> list[bytes]:
        os.mkfifo(tmp_path / "gate")
        rehearsal = Rehearsal(ShellWork("printf half; read line < gate; echo $line"), tmp_path)
        async with anyio.create_task_group() as group:
            group.start_soon(ShellRunner(supervisor).perform, rehearsal.job())
            await rehearsal.wait_for(lambda so_far: so_far.text() == "half")
            await anyio.Path(tmp_path / "gate").write_text("whole\n")
        return [event.chunk for event in rehearsal.events if isinstance(event, Output)]

    assert on_a_loop(story) == [b"half", b"whole\n"]


def test_bytes_that_are_no_text_pass_untouched(tmp_path: Path) -> None:
    data = bytes(range(256)) * 1000
    (tmp_path / "data").write_bytes(data)
    _, rehearsal = perform(["cat", "data"], tmp_path)
    chunks = [event.chunk for event in rehearsal.events if isinstance(event, Output)]
    assert b"".join(chunks) == data


def test_standard_input_is_empty(tmp_path: Path) -> None:
    ended, rehearsal = perform("cat; readlink /proc/self/fd/0", tmp_path)
    assert ended.status == "completed"
    assert rehearsal.text() == "/dev/null\n"


def test_nothing_of_ours_is_open_in_the_child(tmp_path: Path) -> None:
    _, rehearsal = perform(["ls", "/proc/self/fd"], tmp_path)
    assert rehearsal.text().split() == ["0", "1", "2", "3"]  # 3 is the folder `ls` reads


@pytest.mark.parametrize("starter", [nullcontext, careless_signals])
def test_signals_are_as_a_fresh_program_expects_them(
    tmp_path: Path, starter: Callable[[], AbstractContextManager[None]]
) -> None:
    with starter():
        _, rehearsal = perform(["cat", "/proc/self/status"], tmp_path)
    lines = [line.split() for line in rehearsal.text().splitlines() if line.startswith("Sig")]
    # 32 and 33 are the C library's own: whatever it spawns ignores them.
    sets = {name: int(mask, 16) & ~(3 << 31) for name, mask in lines if name != "SigQ:"}
    assert sets == {"SigPnd:": 0, "SigBlk:": 0, "SigIgn:": 0, "SigCgt:": 0}


BLOCKED_OR_IGNORED = """
def signals():
    import signal
    ignored = {n for n in signal.valid_signals() if signal.getsignal(n) is signal.SIG_IGN}
    return sorted(int(n) for n in ignored | signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""


def test_signals_of_a_function_are_as_a_fresh_python_expects_them(tmp_path: Path) -> None:
    async def story(supervisor: Supervisor) -> Ended:
        work = PythonWork(":signals", {}, BLOCKED_OR_IGNORED, process=True)
        return await PythonRunner(supervisor).perform(Rehearsal(work, tmp_path).job())

    with careless_signals():
        ended = on_a_loop(story)
    assert ended.value is not None
    assert ended.value["value"] == [signal.SIGPIPE, signal.SIGXFSZ]


def test_the_environment_is_the_jobs_own_and_bears_the_tag(tmp_path: Path) -> None:
    large = {f"PIXIRNB_REF_{n}": "x" * 65_536 for n in range(8)}
    odd = {"ODD": "caf\udce9"}
    _, rehearsal = perform(
        "printf '%s %s ' $PIXIRNB_STEP ${#PIXIRNB_REF_7}; printf %s $ODD | od -An -tx1",
        tmp_path,
        env=large | odd,
    )
    assert rehearsal.text().split() == [f"{RUN_ID}/step.1", "65536", "63", "61", "66", "e9"]


def test_an_exit_code_is_the_error(tmp_path: Path) -> None:
    ended, _ = perform("exit 3", tmp_path)
    assert (ended.status, ended.error_kind, ended.exit_code) == ("failed", "exit", 3)


def test_a_process_killed_from_outside_is_a_crash(tmp_path: Path) -> None:
    async def story(supervisor: Supervisor) -> Ended:
        rehearsal = Rehearsal(ShellWork(["sleep", "60"]), tmp_path)
        ends: list[Ended] = []

        async def go() -> None:
            ends.append(await ShellRunner(supervisor).perform(rehearsal.job()))

        async with anyio.create_task_group() as group:
            group.start_soon(go)
            await rehearsal.wait_for(lambda so_far: bool(so_far.events))
            started = rehearsal.events[0]
            assert isinstance(started, Started)
            assert started.pid is not None
            os.kill(started.pid, signal.SIGSEGV)
        return ends[0]

    ended = on_a_loop(story)
    assert (ended.status, ended.error_kind, ended.signal) == ("failed", "crash", signal.SIGSEGV)


@pytest.mark.parametrize(
    ("run", "env"),
    [
        (["no-such-command"], {}),
        (["/"], {}),
        (["./not-executable"], {}),
        (["echo", "nul\0byte"], {}),
        (["echo", "x" * 200_000], {}),
        ("true", {"NUL": "a\0b"}),
        ("true", {"": "empty name"}),
    ],
    ids=["missing", "folder", "not executable", "nul", "too long", "nul in env", "empty name"],
)
def test_what_cannot_be_run_says_so_in_a_sentence(
    run: str | list[str], env: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "not-executable").write_text("#!/bin/sh\n")
    ended, rehearsal = perform(run, tmp_path, env=env)
    assert (ended.status, ended.error_kind) == ("failed", "spawn_failed")
    assert not ended.message.endswith(".")
    assert rehearsal.events == []


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    ended, _ = perform("true", tmp_path / "gone")
    assert ended.error_kind == "spawn_failed"
    assert str(tmp_path / "gone") in ended.message


def test_descendants_that_outlive_the_command_are_ended_and_counted(tmp_path: Path) -> None:
    ended, _ = perform(DAEMONS, tmp_path)
    assert ended.status == "completed"
    assert ended.strays == 2
    assert len(pids_in(tmp_path)) == 2
    assert not any(map(is_alive, pids_in(tmp_path)))


def test_a_clean_command_leaves_no_strays(tmp_path: Path) -> None:
    assert perform("sleep 0.01 & wait; yes | head -1", tmp_path)[0].strays == 0


def test_a_descendant_that_keeps_the_pipe_open_does_not_hang_the_step(tmp_path: Path) -> None:
    ended, rehearsal = perform("trap '' TERM; (sleep 60; echo never) & echo done", tmp_path)
    assert ended.status == "completed"
    assert ended.strays >= 1
    assert rehearsal.text() == "done\n"


@pytest.mark.parametrize("grace_s", [0.0, 0.2])
def test_a_stop_ends_the_whole_tree_daemons_included(tmp_path: Path, grace_s: float) -> None:
    ended, _ = stopped_when_ready(DAEMONS + STUBBORN, tmp_path, grace_s)
    assert ended.status == "timed_out"
    assert len(pids_in(tmp_path)) == 2
    assert not any(map(is_alive, pids_in(tmp_path)))
    assert orphans.find_strays(RUN_ID) == []


LIVES_ON = shlex.join(
    headless(
        "import os, time; open('part', 'w').write(str(os.getpid())); os.rename('part', 'ghost.pid'); "
        "time.sleep(60)"
    )
)


@pytest.mark.parametrize("then", ["echo ready; wait", "exit 0"], ids=["stopped", "left behind"])
def test_a_process_whose_first_thread_has_exited_ends_with_its_step(
    tmp_path: Path, then: str
) -> None:
    run = f"{LIVES_ON} & until test -s ghost.pid; do sleep 0.01; done; {then}"
    if then == "exit 0":
        ended, _ = perform(run, tmp_path)
        assert (ended.status, ended.strays) == ("completed", 1)
    else:
        ended, _ = stopped_when_ready(run, tmp_path, 0.0)
        assert ended.status == "timed_out"
    [pid] = pids_in(tmp_path)
    assert not is_alive(pid)


def test_a_stop_is_polite_first(tmp_path: Path) -> None:
    script = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.02; done"
    ended, rehearsal = stopped_when_ready(script, tmp_path, 10)
    assert ended.status == "timed_out"
    assert rehearsal.text() == "ready\nbye\n"


def test_a_process_that_ignores_the_polite_stop_is_killed_after_the_grace(tmp_path: Path) -> None:
    ended, _ = stopped_when_ready(STUBBORN, tmp_path, 0.1)
    assert (ended.status, ended.signal) == ("timed_out", signal.SIGKILL)


def test_a_stopped_process_hears_the_stop_too(tmp_path: Path) -> None:
    ended, _ = stopped_when_ready("echo ready; kill -STOP $$", tmp_path, 10)
    assert (ended.status, ended.signal) == ("timed_out", signal.SIGTERM)


def test_a_tree_that_grows_while_it_is_ended_does_not_get_away(tmp_path: Path) -> None:
    grower = """trap '' TERM; echo ready; n=0
    while [ $n -lt 2000 ]; do n=$((n+1)); (trap '' TERM; setsid sleep 60 & exec sleep 60) & sleep 0.001; done"""
    stopped_when_ready(grower, tmp_path, 0.0)
    assert orphans.find_strays(RUN_ID) == []


def test_output_of_the_last_moment_is_not_lost(tmp_path: Path) -> None:
    _, rehearsal = perform("head -c 3000000 /dev/zero | tr '\\0' x", tmp_path)
    assert len(rehearsal.text()) == 3_000_000


def test_output_is_whole_even_when_the_end_is_heard_first(tmp_path: Path) -> None:
    """The loop was busy: when it looks again the step has spoken and ended, all at once."""

    class BusyOnce(Rehearsal):
        def _take(self, event: RunnerEvent) -> None:
            if isinstance(event, Started):
                time.sleep(0.3)
            super()._take(event)

    async def story(supervisor: Supervisor) -> str:
        rehearsal = BusyOnce(ShellWork("echo all of it"), tmp_path)
        await ShellRunner(supervisor).perform(rehearsal.job())
        return rehearsal.text()

    assert on_a_loop(story) == "all of it\n"


def test_no_descriptor_is_left_open_in_the_engine(tmp_path: Path) -> None:
    async def story(supervisor: Supervisor) -> tuple[int, int]:
        runner = ShellRunner(supervisor)
        counts = []
        for n in (1, 2, 3):
            for run in ("true", ["missing"], "sleep 60 & exit 1"):
                await runner.perform(Rehearsal(ShellWork(run), tmp_path, attempt=n).job())
            counts.append(psutil.Process().num_fds())
        return counts[0], counts[-1]

    before, after = on_a_loop(story)
    assert before == after


def test_hundreds_of_steps_at_once_all_end(tmp_path: Path) -> None:
    async def story(supervisor: Supervisor) -> list[str]:
        runner = ShellRunner(supervisor)
        statuses: list[str] = []

        async def go(n: int) -> None:
            rehearsal = Rehearsal(ShellWork(["sleep", "0.2"]), tmp_path, attempt=n)
            statuses.append((await runner.perform(rehearsal.job())).status)

        async with anyio.create_task_group() as group:
            for n in range(200):
                group.start_soon(go, n)
        return statuses

    assert on_a_loop(story) == ["completed"] * 200


LOOP = "while [ ! -e over ]; do /bin/true || echo ended >> ended; done"
ENDS = """
import os, subprocess, sys
from pathlib import Path
from pixirnb.runners.processes import process_tree as trees
spared = subprocess.Popen(["sh", "-c", sys.argv[1]])
for _ in range(400):
    trees.kill_descendants(os.getpid(), spare=frozenset({spared.pid}))
Path("over").touch()
spared.wait()
"""


def test_what_a_spared_tree_begins_while_others_are_ended_is_spared(tmp_path: Path) -> None:
    here = str(Path(process_tree.__file__).parents[3])
    env = {**os.environ, "PYTHONPATH": here}
    subprocess.run([sys.executable, "-c", ENDS, LOOP], cwd=tmp_path, env=env, check=True)
    assert not (tmp_path / "ended").exists()
