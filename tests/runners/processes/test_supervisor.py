"""Whoever dies, however it comes, nothing survives and everybody is told within a second."""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio
import psutil
import pytest
from msgspec.structs import replace

from pixirnb import ids
from pixirnb.errors import Cannot
from pixirnb.ids import attempt_tag
from pixirnb.protocols.ports import Runner
from pixirnb.protocols.work import Ended, PythonWork, ScriptedWork, ShellWork, Started, Work
from pixirnb.runners.agents.runner import ScriptedRunner
from pixirnb.runners.processes import orphans
from pixirnb.runners.processes.supervisor import Supervisor, connected_pair
from pixirnb.runners.processes.thread_children import INSTANCE
from pixirnb.runners.python.runner import PythonRunner
from pixirnb.runners.shell import ShellRunner
from pixirnb.system import process_marks
from pixirnb.system.process_life import is_alive
from pixirnb.testing.contracts.runner import (
    RUN_ID,
    Rehearsal,
    on_a_loop,
    wait_until,
)

TREE = "setsid sleep 60 & (sleep 60 &) ; echo ready; sleep 60"
SOURCE = """
def hang():
    import subprocess, time
    subprocess.Popen(["setsid", "sleep", "60"])
    print("ready")
    time.sleep(60)
"""
HANGS: dict[str, tuple[Work, type[ShellRunner | PythonRunner | ScriptedRunner]]] = {
    "shell": (ShellWork(TREE), ShellRunner),
    "python": (PythonWork(":hang", {}, SOURCE, True), PythonRunner),
    "scripted": (ScriptedWork("", [{"say": "ready"}, {"hang": True}]), ScriptedRunner),
}
Blow = Callable[[Supervisor, int], None]
SUPERVISOR_OF_SH = "$(cut -d ' ' -f 4 /proc/$PPID/stat)"


def reaper_of(pid: int) -> int:
    return psutil.Process(pid).ppid()


def strike_supervisor(supervisor: Supervisor, _: int) -> None:
    assert supervisor.pid is not None
    os.kill(supervisor.pid, signal.SIGKILL)


def strike_reaper(_: Supervisor, pid: int) -> None:
    os.kill(reaper_of(pid), signal.SIGKILL)


def strike_both(supervisor: Supervisor, pid: int) -> None:
    reaper = reaper_of(pid)
    strike_supervisor(supervisor, pid)
    os.kill(reaper, signal.SIGKILL)


def strike_child(_: Supervisor, pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


async def struck(
    supervisor: Supervisor, runner: Runner, work: Work, folder: Path, blow: Blow
) -> Ended:
    """Start, wait for `ready`, strike, and return the end; it must come soon."""
    rehearsal = Rehearsal(work, folder)
    ends: list[Ended] = []

    async def go() -> None:
        ends.append(await runner.perform(rehearsal.job()))

    async with anyio.create_task_group() as group:
        group.start_soon(go)
        await rehearsal.wait_for(lambda so_far: so_far.text() == "ready\n")
        started = rehearsal.events[0]
        assert isinstance(started, Started)
        assert started.pid is not None
        blow(supervisor, started.pid)
    assert orphans.find_strays(RUN_ID) == []
    return ends[0]


@pytest.mark.parametrize("kind", HANGS)
@pytest.mark.parametrize(
    ("blow", "error_kind"),
    [
        (strike_supervisor, "supervisor_lost"),
        (strike_reaper, "lost"),
        (strike_both, "supervisor_lost"),
        (strike_child, "crash"),
    ],
)
def test_a_death_ends_the_step_and_its_tree_and_the_next_step_runs(
    kind: str, blow: Blow, error_kind: str, tmp_path: Path
) -> None:
    work, runner_type = HANGS[kind]

    async def story(supervisor: Supervisor) -> tuple[Ended, Ended]:
        runner = runner_type(supervisor)
        ended = await struck(supervisor, runner, work, tmp_path, blow)
        shell = ShellRunner(supervisor)
        return ended, await shell.perform(Rehearsal(ShellWork("true"), tmp_path).job())

    ended, after = on_a_loop(story)
    assert (ended.status, ended.error_kind) == ("failed", error_kind)
    assert after.status == "completed"


def test_a_killed_reapers_tree_is_ended_even_where_it_shed_its_environment(tmp_path: Path) -> None:
    """The sweep by tag cannot see it: the supervisor inherits what the reaper had, and ends that."""

    async def story(supervisor: Supervisor) -> Ended:
        work = ShellWork("env -i setsid sleep 60 & echo $! > bare; echo ready; exec sleep 60")
        ended = await struck(supervisor, ShellRunner(supervisor), work, tmp_path, strike_reaper)
        bare = int((tmp_path / "bare").read_text())
        await wait_until(lambda: not is_alive(bare))
        return ended

    assert on_a_loop(story, limit_s=8).error_kind == "lost"


ENGINE = """
import sys, os, signal, time
from pathlib import Path
import anyio
from pixirnb.protocols.work import PythonWork, ScriptedWork, ShellWork
from pixirnb.runners.python.runner import PythonRunner
from pixirnb.runners.agents.runner import ScriptedRunner
from pixirnb.runners.shell import ShellRunner
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.testing.contracts.runner import Rehearsal

RUN_ID, FOLDER, FORK = sys.argv[1:]

async def main():
    async with Supervisor() as supervisor, anyio.create_task_group() as group:
        source = "def hang():\\n import time\\n time.sleep(60)"
        jobs = [
            (ShellRunner(supervisor), ShellWork("trap '' TERM; setsid sleep 60 & (sleep 60 &); sleep 60")),
            (ShellRunner(supervisor), ShellWork("sleep 0.3; kill -STOP $PPID; echo stopped; sleep 60")),
            (PythonRunner(supervisor), PythonWork(":hang", {}, source, True)),
            (ScriptedRunner(supervisor), ScriptedWork("", [{"hang": True}])),
        ]
        rehearsals = []
        for n, (runner, work) in enumerate(jobs):
            rehearsals.append(Rehearsal(work, Path(FOLDER), attempt=n, run_id=RUN_ID))
            group.start_soon(runner.perform, rehearsals[-1].job())
        for rehearsal in rehearsals:
            await rehearsal.wait_for(lambda so_far: bool(so_far.events))
        await rehearsals[1].wait_for(lambda so_far: so_far.text() == "stopped\\n")
        if FORK == "fork" and os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        if FORK == "stopped":
            os.kill(supervisor.pid, signal.SIGSTOP)
        print(supervisor.pid, flush=True)

anyio.run(main)
"""


@pytest.mark.parametrize("fork", ["alone", "fork", "stopped"])
def test_nothing_survives_the_death_of_the_engine(fork: str, tmp_path: Path) -> None:
    """Not even where a forked copy of the engine lives on and holds its descriptors open, or a step has stopped its reaper
    and the supervisor.
    """
    run_id = ids.run_id("20261121220344", os.urandom(6))
    engine = subprocess.Popen(
        [sys.executable, "-c", ENGINE, run_id, str(tmp_path), fork],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )
    assert engine.stdout is not None
    with engine.stdout:
        supervisor = int(engine.stdout.readline())
        assert orphans.find_strays(run_id)
        engine.kill()
        engine.wait()
        copies = [
            process
            for process in psutil.process_iter(["cmdline"])
            if run_id in (process.info["cmdline"] or ())
        ]
        assert bool(copies) == (fork == "fork")
        deadline = time.monotonic() + 8
        while (orphans.find_strays(run_id) or is_alive(supervisor)) and time.monotonic() < deadline:
            time.sleep(0.02)
        for copy in copies:
            copy.kill()
    assert orphans.find_strays(run_id) == []
    assert not is_alive(supervisor)


def test_strays_of_a_dead_owner_are_found_by_run_and_ended() -> None:
    other = ids.run_id("20261121220344", os.urandom(6))
    tag = {**os.environ, "PIXIRNB_STEP": f"{other}/make.2"}
    stray = subprocess.Popen(["sleep", "60"], env=tag, start_new_session=True)
    unrelated = subprocess.Popen(["sleep", "60"], env={**tag, "PIXIRNB_STEP": f"{other}x/make.2"})
    try:
        assert orphans.find_strays(other) == [stray.pid]
        assert orphans.find_strays(RUN_ID) == []
        assert orphans.end_strays(other) == [stray.pid]
        assert orphans.end_strays(other) == []
        assert stray.wait(10) == -signal.SIGKILL
        assert unrelated.poll() is None
    finally:
        unrelated.kill()
        unrelated.wait()


def test_a_forked_function_bears_its_tag_though_it_was_never_execed(tmp_path: Path) -> None:
    async def story(supervisor: Supervisor) -> None:
        rehearsal = Rehearsal(ScriptedWork("", [{"say": "ready"}, {"hang": True}]), tmp_path)
        async with anyio.create_task_group() as group:
            group.start_soon(ScriptedRunner(supervisor).perform, rehearsal.job())
            await rehearsal.wait_for(lambda so_far: so_far.text() == "ready\n")
            started = rehearsal.events[0]
            assert isinstance(started, Started)
            assert started.pid in orphans.find_strays(RUN_ID)
            rehearsal.stop.set("cancelled")

    on_a_loop(story)


def test_broker_bug_1_shutdown_returns_at_once_when_the_child_was_already_reaped(
    tmp_path: Path,
) -> None:
    """A status can be consumed once; whoever waits for it a second time waits for ever."""

    async def story(supervisor: Supervisor) -> None:
        await ShellRunner(supervisor).perform(Rehearsal(ShellWork("exit 1"), tmp_path).job())
        pid = supervisor.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)  # noqa: ASYNC222 - taking the status away is what this is about
        with anyio.fail_after(1):
            await supervisor.aclose()
            await supervisor.aclose()

    on_a_loop(story)


def strikes_its_reaper() -> ShellWork:
    """Return work that waits until it is known to have started: a reaper must have told that."""
    waits = "echo ready; until test -e go; do sleep 0.02; done"
    return ShellWork(f"{waits}; kill -STOP $PPID; echo struck; exec sleep 60")


def test_what_struck_its_reaper_ends_with_whoever_waited_for_it(tmp_path: Path) -> None:
    async def story(supervisor: Supervisor) -> None:
        rehearsal = Rehearsal(strikes_its_reaper(), tmp_path)
        async with anyio.create_task_group() as group:
            group.start_soon(ShellRunner(supervisor).perform, rehearsal.job())
            await rehearsal.wait_for(lambda so_far: so_far.text() == "ready\n")
            (tmp_path / "go").touch()
            await rehearsal.wait_for(lambda so_far: so_far.text() == "ready\nstruck\n")
            group.cancel_scope.cancel()
        assert orphans.find_strays(RUN_ID) == []

    on_a_loop(story)


def test_what_stopped_its_reaper_before_it_was_known_ends_with_whoever_waited_for_it(
    tmp_path: Path,
) -> None:
    """Some of several strike before their reaper has told that they started."""
    places = [tmp_path / str(number) for number in range(4)]

    async def story(supervisor: Supervisor) -> None:
        async with anyio.create_task_group() as group:
            for place in places:
                place.mkdir()
                work = ShellWork("kill -STOP $PPID; touch struck; exec sleep 60")
                group.start_soon(
                    ShellRunner(supervisor).perform, Rehearsal(work, place, step=place.name).job()
                )
            await wait_until(lambda: all((place / "struck").exists() for place in places))
            group.cancel_scope.cancel()
        assert orphans.find_strays(RUN_ID) == []

    on_a_loop(story)


def test_what_stopped_its_reaper_before_it_was_known_has_started_all_the_same(
    tmp_path: Path,
) -> None:
    places = [tmp_path / str(number) for number in range(12)]

    async def story(supervisor: Supervisor) -> None:
        async with anyio.create_task_group() as group:
            for place in places:
                place.mkdir()
                work = ShellWork("kill -STOP $PPID; exec sleep 60")
                rehearsal = Rehearsal(work, place, step=place.name)
                group.start_soon(ShellRunner(supervisor).perform, rehearsal.job())
                group.start_soon(rehearsal.wait_for, has_started)
            await wait_until(lambda: len(begun) == len(places))
            for place in places:
                orphans.wake_tagged(attempt_tag(RUN_ID, place.name, 1))  # so that it ends at once
            group.cancel_scope.cancel()

    def has_started(rehearsal: Rehearsal) -> bool:
        begun.update([rehearsal.step] if rehearsal.events else [])
        return bool(rehearsal.events)

    begun = set[str]()
    on_a_loop(story, limit_s=20)


def test_what_stopped_its_reaper_ends_with_its_stop(tmp_path: Path) -> None:
    async def story(supervisor: Supervisor) -> Ended:
        rehearsal = Rehearsal(strikes_its_reaper(), tmp_path)
        ended: list[Ended] = []

        async def perform() -> None:
            ended.append(await ShellRunner(supervisor).perform(rehearsal.job()))

        async with anyio.create_task_group() as group:
            group.start_soon(perform)
            await rehearsal.wait_for(lambda so_far: so_far.text() == "ready\n")
            (tmp_path / "go").touch()
            await rehearsal.wait_for(lambda so_far: so_far.text() == "ready\nstruck\n")
            rehearsal.stop.set("cancelled")
        assert orphans.find_strays(RUN_ID) == []
        return ended[0]

    assert on_a_loop(story).status == "cancelled"


def test_broker_bug_1_shutdown_of_a_frozen_supervisor_is_bounded(tmp_path: Path) -> None:
    async def story() -> int:
        supervisor = Supervisor(shutdown_limit_s=0.2)
        await ShellRunner(supervisor).perform(Rehearsal(ShellWork("true"), tmp_path).job())
        assert supervisor.pid is not None
        pid = supervisor.pid
        os.kill(pid, signal.SIGSTOP)
        with anyio.fail_after(10):
            await supervisor.aclose()
        return pid

    assert not is_alive(anyio.run(story))


def test_broker_bug_2_a_worker_killed_from_outside_is_noticed_and_blocks_no_new_spawn(
    tmp_path: Path,
) -> None:
    """Dead workers piled up unseen and took the places of new ones."""

    async def story(supervisor: Supervisor) -> list[str | None]:
        runner = ShellRunner(supervisor)
        kinds: list[str | None] = []
        for _ in range(60):  # more than may be on their way at once
            blow = strike_reaper if len(kinds) % 2 else strike_child
            ended = await struck(
                supervisor, runner, ShellWork("echo ready; sleep 60"), tmp_path, blow
            )
            kinds.append(ended.error_kind)
        assert supervisor.pid is not None
        process = psutil.Process(supervisor.pid)
        await wait_until(lambda: process.children() == [])
        return kinds

    assert on_a_loop(story) == ["crash", "lost"] * 30


def test_broker_bug_3_a_spawn_that_never_gives_a_pid_ends_and_starts_nothing_later(
    tmp_path: Path,
) -> None:
    async def story() -> tuple[Ended, Ended]:
        async with Supervisor() as supervisor:
            runner = ShellRunner(supervisor)
            await runner.perform(Rehearsal(ShellWork("true"), tmp_path).job())
            assert supervisor.pid is not None
            os.kill(supervisor.pid, signal.SIGSTOP)
            usual, supervisor.spawn_limit_s = supervisor.spawn_limit_s, 0.2
            never = await runner.perform(Rehearsal(ShellWork("touch late"), tmp_path).job())
            os.kill(supervisor.pid, signal.SIGCONT)
            supervisor.spawn_limit_s = usual
            later = await runner.perform(Rehearsal(ShellWork("true"), tmp_path).job())
            return never, later

    never, later = anyio.run(story)
    assert (never.status, never.error_kind) == ("failed", "spawn_failed")
    assert "did not start" in never.message
    assert later.status == "completed"
    assert not (tmp_path / "late").exists()


def test_what_was_frozen_past_the_limit_for_a_pid_goes_on_and_is_no_failure(tmp_path: Path) -> None:
    async def story(supervisor: Supervisor) -> Ended:
        runner = ShellRunner(supervisor)
        await runner.perform(Rehearsal(ShellWork("true"), tmp_path).job())
        assert supervisor.pid is not None
        os.kill(supervisor.pid, signal.SIGSTOP)
        supervisor.spawn_limit_s = 0.2
        ends: list[Ended] = []

        async def go() -> None:
            ends.append(
                await runner.perform(Rehearsal(ShellWork("echo ran >> ran"), tmp_path).job())
            )

        async with anyio.create_task_group() as group:
            group.start_soon(go)
            await anyio.sleep(0.5)
            os.kill(supervisor.pid, signal.SIGCONT)
        return ends[0]

    ended = on_a_loop(story)
    assert (ended.status, ended.message) == ("completed", "")
    assert (tmp_path / "ran").read_text() == "ran\n"


async def fill(supervisor: Supervisor) -> None:
    """Start the process, stop it, and send it marks until its channel takes no more."""
    await supervisor.guard(1)
    assert supervisor.pid is not None
    os.kill(supervisor.pid, signal.SIGSTOP)
    with suppress(BlockingIOError):
        for mark in itertools.count(2):
            supervisor.guard_now(mark)


def test_a_mark_waits_until_the_process_has_read_those_before_it() -> None:
    async def story(supervisor: Supervisor) -> None:
        await fill(supervisor)
        assert supervisor.pid is not None
        async with anyio.create_task_group() as group:
            for mark in range(1_000_000, 1_000_500):
                group.start_soon(supervisor.guard, mark)
            await anyio.wait_all_tasks_blocked()
            assert 1_000_499 not in supervisor.marks
            os.kill(supervisor.pid, signal.SIGCONT)
        assert 1_000_499 in supervisor.marks

    on_a_loop(story)


def test_a_step_in_a_thread_starts_a_process_once_the_supervisor_has_read_the_marks_before(
    tmp_path: Path,
) -> None:
    source = "def f():\n    import subprocess\n    return subprocess.run(['true']).returncode\n"

    async def story(supervisor: Supervisor) -> Ended:
        await fill(supervisor)  # continued by `stand_by`
        work = PythonWork(":f", {}, source, process=False)
        return await PythonRunner(supervisor).perform(Rehearsal(work, tmp_path).job())

    ended = on_a_loop(story)
    assert (ended.status, ended.value) == ("completed", {"format": "json", "value": 0, "bytes": 1})


def channels() -> set[str]:
    """Descriptors of sockets of this process."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            if entry.readlink().name.startswith("socket:"):
                found.add(entry.name)
    return found


@pytest.mark.parametrize("sent_as", ["mark", "step"])
def test_a_supervisor_that_dies_while_it_is_sent_to_is_followed_by_another(
    sent_as: str, tmp_path: Path
) -> None:
    async def story(supervisor: Supervisor) -> str:
        before = channels()
        await supervisor.guard(1)
        (channel,) = channels() - before
        with socket.socket(fileno=os.dup(int(channel))) as ours:
            ours.shutdown(socket.SHUT_WR)
        first = supervisor.pid
        if sent_as == "mark":
            await supervisor.guard(2)
            assert supervisor.marks == {1, 2}
        ended = await ShellRunner(supervisor).perform(Rehearsal(ShellWork("true"), tmp_path).job())
        assert supervisor.pid != first
        return ended.status

    assert on_a_loop(story) == "completed"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_for_the_group_of_whoever_starts_a_supervisor_does_not_end_it(
    sent: signal.Signals, tmp_path: Path
) -> None:
    async def story(supervisor: Supervisor) -> str:
        await supervisor.guard(1)
        first = supervisor.pid
        assert first is not None
        os.kill(first, sent)  # while its interpreter starts
        ended = await ShellRunner(supervisor).perform(Rehearsal(ShellWork("true"), tmp_path).job())
        assert supervisor.pid == first
        return ended.status

    assert on_a_loop(story) == "completed"


def test_the_time_out_of_the_users_sockets_is_not_one_of_ours() -> None:
    socket.setdefaulttimeout(30)
    try:
        ours, theirs = connected_pair()
    finally:
        socket.setdefaulttimeout(None)
    with ours, theirs:
        assert (ours.getblocking(), os.get_blocking(ours.fileno())) == (False, False)
        assert os.get_blocking(theirs.fileno())


class StoppedMeanwhile(Supervisor):
    """A supervisor whose step is stopped while it is handed over, and of an engine that then stands still for a moment."""

    job: Rehearsal | None = None

    async def hand_over(self, descriptors: list[int], *, is_python: bool) -> anyio.Event:
        """Hand over, and stop the step."""
        death = await super().hand_over(descriptors, is_python=is_python)
        if self.job is not None:
            asyncio.get_running_loop().call_soon(time.sleep, 0.5)
            self.job.stop.set("cancelled")
        return death


@pytest.mark.parametrize("moment", ["handed over", "requested"])
def test_a_stop_that_comes_before_the_process_starts_nothing(moment: str, tmp_path: Path) -> None:
    async def story() -> None:
        async with StoppedMeanwhile() as supervisor:
            runner = ShellRunner(supervisor)
            await runner.perform(Rehearsal(ShellWork("true"), tmp_path).job())
            late = Rehearsal(ShellWork("true"), tmp_path)
            ends: list[Ended] = []

            async def perform() -> None:
                ends.append(await runner.perform(late.job()))

            async with anyio.create_task_group() as group:
                if moment == "handed over":
                    supervisor.job = late
                    group.start_soon(perform)
                else:
                    assert supervisor.pid is not None
                    os.kill(supervisor.pid, signal.SIGSTOP)
                    group.start_soon(perform)
                    await anyio.wait_all_tasks_blocked()
                    late.stop.set("cancelled")
                    await anyio.wait_all_tasks_blocked()
                    os.kill(supervisor.pid, signal.SIGCONT)
            assert ends[0].status == "cancelled"
            assert late.events == []

    anyio.run(story)


class Standing(Supervisor):
    """A supervisor of an engine that stands still as soon as a step is asked for."""

    async def hand_over(self, descriptors: list[int], *, is_python: bool) -> anyio.Event:
        """Hand over, and give nobody a turn for a while."""
        death = await super().hand_over(descriptors, is_python=is_python)
        asyncio.get_running_loop().call_soon(time.sleep, 1)
        return death


def test_a_process_id_that_came_while_the_engine_stood_still_counts(tmp_path: Path) -> None:
    async def story() -> Ended:
        async with Standing(spawn_limit_s=0.5) as supervisor:
            job = Rehearsal(ShellWork("echo > ran"), tmp_path).job()
            return await ShellRunner(supervisor).perform(job)

    assert anyio.run(story).status == "completed"
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("kind", HANGS)
def test_what_lasts_too_long_is_ended_though_the_engine_says_nothing(
    kind: str, tmp_path: Path
) -> None:
    work, runner_type = HANGS[kind]

    async def story(supervisor: Supervisor) -> Ended:
        job = replace(Rehearsal(work, tmp_path).job(), limit_s=0.5)
        return await runner_type(supervisor).perform(job)

    assert on_a_loop(story, limit_s=20).status == "timed_out"
    assert orphans.find_strays(RUN_ID) == []


def test_a_supervisor_of_a_closed_loop_does_not_trouble_the_next_loop(tmp_path: Path) -> None:
    async def story(supervisor: Supervisor) -> str:
        return (
            await ShellRunner(supervisor).perform(Rehearsal(ShellWork("true"), tmp_path).job())
        ).status

    assert [on_a_loop(story) for _ in range(3)] == ["completed"] * 3


def test_a_closed_supervisor_can_start_again(tmp_path: Path) -> None:
    async def story(supervisor: Supervisor) -> str:
        runner = ShellRunner(supervisor)
        await runner.perform(Rehearsal(ShellWork("true"), tmp_path).job())
        await supervisor.aclose()
        assert supervisor.pid is None
        return (await runner.perform(Rehearsal(ShellWork("true"), tmp_path).job())).status

    assert on_a_loop(story) == "completed"


def test_windows_is_refused_in_one_line() -> None:
    with pytest.raises(Cannot) as refused:
        Supervisor(platform="win32")
    assert refused.value.code == "platform_unsupported"
    assert "\n" not in refused.value.message


def test_the_idle_supervisor_is_standard_library_only(tmp_path: Path) -> None:
    """Started lazily, small, and it never imports our packages' own `__init__` nor anybody else's code."""

    async def story(supervisor: Supervisor) -> str:
        assert supervisor.pid is None
        await ShellRunner(supervisor).perform(Rehearsal(ShellWork("true"), tmp_path).job())
        return await anyio.Path(f"/proc/{supervisor.pid}/maps").read_text()

    assert "site-packages" not in on_a_loop(story)


def test_no_lock_or_file_of_the_engine_is_open_in_the_supervisor(tmp_path: Path) -> None:
    """Held there, a lock would outlive the engine: not even what the engine made inheritable is passed on."""

    async def story(supervisor: Supervisor) -> list[str]:
        descriptor = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
        os.set_inheritable(descriptor, True)
        try:
            await ShellRunner(supervisor).perform(Rehearsal(ShellWork("true"), tmp_path).job())
        finally:
            os.close(descriptor)
        folder = anyio.Path(f"/proc/{supervisor.pid}/fd")
        return [str(await link.readlink()) async for link in folder.iterdir()]

    kinds = {target.partition(":")[0] for target in on_a_loop(story)}
    assert kinds <= {"/dev/null", "socket", "pipe", "anon_inode"}


class Refused(Supervisor):
    """A supervisor of a system that starts no process: out of memory, out of process ids."""

    async def hand_over(self, descriptors: list[int], *, is_python: bool) -> anyio.Event:
        """Refuse, as `fork` would."""
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def test_a_system_that_starts_no_process_is_told_as_spawn_failed(tmp_path: Path) -> None:
    async def story() -> Ended:
        async with Refused() as supervisor:
            return await ShellRunner(supervisor).perform(
                Rehearsal(ShellWork("true"), tmp_path).job()
            )

    ended = anyio.run(story)
    assert (ended.status, ended.error_kind) == ("failed", "spawn_failed")
    assert ended.details == {"errno": errno.EAGAIN}


def test_a_supervisor_that_a_step_has_stopped_is_continued() -> None:
    async def story(supervisor: Supervisor) -> None:
        await supervisor.guard(1)
        assert supervisor.pid is not None
        process = psutil.Process(supervisor.pid)
        process.suspend()
        await wait_until(lambda: process.status() == psutil.STATUS_STOPPED)
        supervisor.stand_by()
        await wait_until(lambda: process.status() != psutil.STATUS_STOPPED)

    on_a_loop(story)


def born_with(mark: int) -> subprocess.Popen[bytes]:
    before = process_marks.wear(mark)
    try:
        return subprocess.Popen(["sleep", "60"])
    finally:
        process_marks.wear(before)


@pytest.mark.parametrize("way", ["aclose", "end_without_loop"])
def test_a_supervisor_that_a_step_has_stopped_ends_what_it_guards_with_its_engine(way: str) -> None:
    async def story(supervisor: Supervisor) -> None:
        mark = process_marks.mark_of(f"{RUN_ID}/left.1", INSTANCE)
        guarded = born_with(mark)
        await supervisor.guard(mark)
        assert supervisor.pid is not None
        os.kill(supervisor.pid, signal.SIGSTOP)
        if way == "aclose":
            await supervisor.aclose()
        else:
            supervisor.end_without_loop()
        await wait_until(lambda: guarded.poll() is not None)

    on_a_loop(story)


STRIKES = """
import os, resource, signal, sys, time
from pathlib import Path
supervisor, reaper = map(int, sys.argv[1:])
most = resource.getrlimit(10)[1]
resource.setrlimit(10, (most, most))  # the mark off
Path("bare").write_text(str(os.getpid()))
os.kill(supervisor, signal.SIGSTOP)
os.kill(reaper, signal.SIGKILL)
time.sleep(60)
"""


def test_what_stopped_the_supervisor_and_killed_its_reaper_ends_with_the_step(
    tmp_path: Path,
) -> None:
    """No sweep can see it: the supervisor inherits it, and is continued to end it."""
    (tmp_path / "strikes.py").write_text(STRIKES)
    command = f"env -i setsid {sys.executable} strikes.py {SUPERVISOR_OF_SH} $PPID & sleep 60"

    async def story(supervisor: Supervisor) -> Ended:
        ended = await ShellRunner(supervisor).perform(Rehearsal(ShellWork(command), tmp_path).job())
        bare = int((tmp_path / "bare").read_text())
        await wait_until(lambda: not is_alive(bare))
        return ended

    assert on_a_loop(story, limit_s=20).error_kind == "lost"


def test_a_supervisor_that_is_stopped_again_whenever_it_is_continued_is_replaced() -> None:
    async def story(supervisor: Supervisor) -> None:
        await supervisor.guard(1)
        assert supervisor.pid is not None
        fought = psutil.Process(supervisor.pid)
        for _ in range(2):
            fought.suspend()
            await wait_until(lambda: fought.status() == psutil.STATUS_STOPPED)
            supervisor.stand_by()
        await wait_until(lambda: not is_alive(fought.pid))
        supervisor.stand_by()
        assert supervisor.pid != fought.pid

    on_a_loop(story)


FIGHTS = f"trap '' TERM HUP; kill -9 {SUPERVISOR_OF_SH}; while :; do kill -STOP $PPID; done"
"""Kills the supervisor, and stops the reaper again whoever continues it."""


def test_a_stopped_reaper_whose_supervisor_is_killed_ends_its_step_though_the_engine_says_nothing(
    tmp_path: Path,
) -> None:
    async def story(supervisor: Supervisor) -> Ended:
        work = ShellWork(f"s={SUPERVISOR_OF_SH}; kill -STOP $PPID; kill -9 $s; exec sleep 60")
        return await ShellRunner(supervisor).perform(Rehearsal(work, tmp_path).job())

    assert on_a_loop(story).error_kind == "supervisor_lost"
    assert orphans.find_strays(RUN_ID) == []


def test_a_step_that_kills_the_supervisor_and_keeps_its_reaper_stopped_is_ended_by_the_engine(
    tmp_path: Path,
) -> None:
    async def story(supervisor: Supervisor) -> Ended:
        ended: list[Ended] = []

        async def perform() -> None:
            job = Rehearsal(ShellWork(FIGHTS), tmp_path).job()
            ended.append(await ShellRunner(supervisor).perform(job))

        async with anyio.create_task_group() as group:
            group.start_soon(perform)
            while not ended:
                supervisor.stand_by()
                await anyio.sleep(0.1)
        assert supervisor.marks == frozenset()
        return ended[0]

    assert on_a_loop(story, limit_s=20).error_kind == "supervisor_lost"
    assert orphans.find_strays(RUN_ID) == []


FOUGHT = """
import sys
from pathlib import Path
import anyio
from pixirnb.protocols.work import ShellWork
from pixirnb.runners.shell import ShellRunner
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.testing.contracts.runner import Rehearsal

RUN_ID, FOLDER, FIGHTS = sys.argv[1:]

async def main():
    async with Supervisor() as supervisor, anyio.create_task_group() as group:
        rehearsal = Rehearsal(ShellWork(FIGHTS), Path(FOLDER), run_id=RUN_ID)
        group.start_soon(ShellRunner(supervisor).perform, rehearsal.job())
        await rehearsal.wait_for(lambda so_far: bool(so_far.events))
        first = supervisor.pid
        Path(FOLDER, "go").touch()
        with anyio.move_on_after(4):
            while supervisor.pid == first:
                supervisor.stand_by()
                await anyio.sleep(0.1)
        print(flush=True)
        await anyio.sleep(60)

anyio.run(main)
"""


def test_what_fights_its_watchers_ends_with_an_engine_that_dies_before_it_has_ended_it(
    tmp_path: Path,
) -> None:
    """Another supervisor guards it as soon as the death of the first is known."""
    run_id = ids.run_id("20261121220344", os.urandom(6))
    known = f"while ! [ -e '{tmp_path}/go' ]; do sleep 0.02; done"  # the engine knows that it began
    engine = subprocess.Popen(
        [sys.executable, "-c", FOUGHT, run_id, str(tmp_path), f"{known}; {FIGHTS}"],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )
    assert engine.stdout is not None
    with engine.stdout:
        engine.stdout.readline()
        assert orphans.find_strays(run_id)
        engine.kill()
        engine.wait()
    try:
        deadline = time.monotonic() + 8
        while orphans.find_strays(run_id) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert orphans.find_strays(run_id) == []
    finally:
        orphans.end_strays(run_id)
