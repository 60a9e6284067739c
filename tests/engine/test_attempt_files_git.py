"""Git that an attempt calls ends with the attempt, and is found by whoever survives this process."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from shutil import which

import anyio
import psutil
import pytest

from pixirnb.engine.attempt_files import GitCalls
from pixirnb.engine.run_context import Attempt
from pixirnb.engine.services import in_thread
from pixirnb.errors import Cannot
from pixirnb.ids import attempt_tag
from pixirnb.runners.processes.thread_children import INSTANCE
from pixirnb.system import process_marks
from pixirnb.testing.contracts.runner import wait_until
from pixirnb.testing.fakes.memory_store import MemoryStore
from pixirnb.workspace.git.command import STOPPED, Git
from pixirnb.workspace.git.read_objects import reading
from pixirnb.workspace.git.store_folder import GitStore
from tests.engine.bench import plan_of, shell

RUN = "r-20261123-080000-abc123"
MARK = process_marks.mark_of(f"{attempt_tag(RUN, 'w', 1)}/git", INSTANCE)


class Watch:
    """A supervisor that only notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []

    async def guard(self, mark: int) -> None:
        self.told.append(("guard", mark))

    def release(self, mark: int) -> None:
        self.told.append(("release", mark))

    def stand_by(self) -> None:
        self.told.append(("stand_by", 0))


@pytest.fixture(params=["", "exit $?", "trap '' TERM; exit $?"])
def program(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A program named git: git itself, or a script that calls it."""
    if request.param:
        script = tmp_path_factory.mktemp("bin") / "git"
        deaf, _, last = request.param.rpartition(";")
        script.write_text(f'#!/bin/sh\n{deaf}\n{which("git")} "$@"\n{last}\n')
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")


@pytest.fixture
def blocked(program: None, tmp_path: Path) -> Callable[[], object]:
    """A call of git that never returns: a pipe stands in the place of a `.gitignore`."""
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "a.txt").write_text("a\n")
    os.mkfifo(tmp_path / ".gitignore")
    git = Git.theirs(tmp_path, is_top=True)
    return partial(git.run, "ls-files", "--others", "--exclude-standard")


def calls(watch: Watch) -> GitCalls:
    [step] = plan_of(shell("w")).steps
    return GitCalls(Attempt(step, 1, None), MemoryStore().create(RUN), in_thread, watch, stop_s=0.1)


def gits(folder: Path) -> list[int]:
    """Git that works in a folder, whoever started it."""
    found = []
    for each in psutil.process_iter():
        with suppress(psutil.Error):
            if each.name() == "git" and each.cwd() == str(folder):
                found.append(each.pid)
    return found


def test_git_that_waits_for_ever_ends_with_its_attempt(
    blocked: Callable[[], object], tmp_path: Path
) -> None:
    watch = Watch()
    git = calls(watch)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await wait_until(lambda: MARK in map(process_marks.worn, gits(tmp_path)))
            try:
                assert watch.told == [("guard", MARK)], "whoever outlives this process ends it"
                git.attempt.stop.set("timed_out")
                with anyio.move_on_after(20):
                    await wait_until(lambda: not gits(tmp_path))
                assert gits(tmp_path) == []
            finally:
                for pid in gits(tmp_path):
                    os.kill(pid, signal.SIGKILL)

    async def call() -> None:
        with pytest.raises(Cannot, match="stopped together with the step") as refused:
            await git.call(blocked)
        assert refused.value.code == STOPPED

    anyio.run(main)
    assert watch.told == [("guard", MARK), ("release", MARK)]


def test_an_attempt_waits_for_the_lock_of_another_as_long_as_it_has_time(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    store = GitStore(tmp_path / "trees", tmp_path)
    store.make("sha1")
    git = calls(Watch())

    def lock() -> None:
        with store.shared():
            pass

    async def main() -> None:
        with store.alone():
            git.attempt.stop.set("timed_out")
            with anyio.fail_after(20), pytest.raises(Cannot, match="stopped together") as refused:
                await git.call(lock)
            assert refused.value.code == STOPPED
        await git.call(lock)

    anyio.run(main)


def test_contents_of_a_git_that_hangs_end_with_the_attempt(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    script = tmp_path_factory.mktemp("bin") / "git"
    script.write_text(f"#!/bin/sh\nsleep 30\ntouch {tmp_path}/over\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    git = calls(Watch())
    before = set(psutil.Process().children(recursive=True))

    def read() -> None:
        with (
            reading(Git.ours(tmp_path / ".git"), tmp_path) as write,
            Path(os.devnull).open("wb") as sink,
        ):
            write("0" * 40, sink.fileno())

    async def main() -> None:
        git.attempt.stop.set("timed_out")
        with anyio.fail_after(20), pytest.raises(Cannot, match="stopped together") as refused:
            await git.call(read)
        assert refused.value.code == STOPPED

    anyio.run(main)
    assert not (tmp_path / "over").exists()
    left = set(psutil.Process().children(recursive=True)) - before
    assert not [each for each in left if each.status() != psutil.STATUS_ZOMBIE]


def test_a_stopped_attempt_may_still_call_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    git = calls(Watch())
    git.attempt.stop.set("timed_out")
    listing = partial(Git.theirs(tmp_path, is_top=True).run, "ls-files")
    found = []

    async def main() -> None:
        found.append(await git.call(listing))

    anyio.run(main)
    assert found[0].code == 0, "the files of a step that timed out are kept"


class Refusal(Watch):
    """A supervisor that no process can be started for."""

    async def guard(self, mark: int) -> None:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def test_where_nothing_can_end_git_with_this_process_it_is_not_called() -> None:
    called: list[bool] = []

    async def main() -> None:
        with pytest.raises(Cannot) as refused:
            await calls(Refusal()).call(partial(called.append, True))
        assert refused.value.code == "spawn_failed"

    anyio.run(main)
    assert called == []


def test_the_end_of_git_is_told_without_letting_go_of_a_thread_that_goes_on() -> None:
    watch = Watch()
    anyio.run(calls(watch).call, list)
    of_the_thread = process_marks.mark_of(attempt_tag(RUN, "w", 1), INSTANCE)
    assert ("release", of_the_thread) not in watch.told
    assert [what for what, _ in watch.told] == ["guard", "release"]
