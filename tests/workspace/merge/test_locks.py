"""One merge of a root at a time, whichever process and state folder it comes from."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from pixirnb.errors import Cannot
from pixirnb.testing.fakes.memory_trees import MemoryTrees
from pixirnb.workspace.git.command import CALLER, STOPPED, GitCaller
from pixirnb.workspace.merge.apply import Part, apply, finish_merge
from pixirnb.workspace.merge.locks import is_held, lock_roots


def test_a_root_held_by_another_process_is_busy(tmp_path: Path) -> None:
    held, hold, go, leave = *os.pipe(), *os.pipe()
    pid = os.fork()
    if pid == 0:
        with lock_roots([tmp_path]):
            os.write(hold, b"x")
            os.read(go, 1)
        os._exit(0)
    os.read(held, 1)
    try:
        with pytest.raises(Cannot) as caught, lock_roots([tmp_path], patience_s=0):
            pass
    finally:
        os.write(leave, b"x")
        os.waitpid(pid, 0)
    assert caught.value.code == "root_busy"
    assert caught.value.details["pid"] == pid
    assert f"process {pid}" in str(caught.value)
    with lock_roots([tmp_path]):
        assert is_held(tmp_path)
    for descriptor in (held, hold, go, leave):
        os.close(descriptor)


def test_who_waits_for_a_root_goes_on_waiting_while_its_holder_is_at_work(tmp_path: Path) -> None:
    held, hold = os.pipe()
    pid = os.fork()
    if pid == 0:
        with lock_roots([tmp_path]):
            os.write(hold, b"x")
            time.sleep(
                4
            )  # one long call of git: twice as long as the other is patient without a sign
        os._exit(0)
    os.read(held, 1)
    try:
        with lock_roots([tmp_path], patience_s=2):
            assert is_held(tmp_path)
    finally:
        os.waitpid(pid, 0)
    os.close(held)
    os.close(hold)


def test_who_waits_for_a_holder_that_is_stopped_gives_up(tmp_path: Path) -> None:
    held, hold = os.pipe()
    pid = os.fork()
    if pid == 0:
        with lock_roots([tmp_path]):
            os.write(hold, b"x")
            time.sleep(60)
        os._exit(0)
    os.read(held, 1)
    try:
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(Cannot) as caught, lock_roots([tmp_path], patience_s=1):
            pass
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert caught.value.code == "root_busy"
    os.close(held)
    os.close(hold)


def test_who_waits_for_a_root_gives_up_when_its_step_has_no_more_time(tmp_path: Path) -> None:
    found: list[str] = []

    def wait() -> None:
        CALLER.set(GitCaller({}, lambda _: None, lambda: True))
        with pytest.raises(Cannot) as caught, lock_roots([tmp_path]):
            pass
        found.append(caught.value.code)

    with lock_roots([tmp_path]):
        waiting = threading.Thread(target=wait)
        waiting.start()
        waiting.join()
    assert found == [STOPPED]


def test_a_root_is_one_by_whatever_path_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "link").symlink_to("root")
    with lock_roots([tmp_path / "link"]):
        assert is_held(tmp_path / "root")
        found: list[str] = []

        def try_it() -> None:
            try:
                with lock_roots([tmp_path / "root"], patience_s=0):
                    found.append("held")
            except Cannot as error:
                found.extend([error.code, error.message])

        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
    assert found[0] == "root_busy"
    assert "another step of this process" in found[1]


def test_a_thread_may_ask_again_for_what_it_holds(tmp_path: Path) -> None:
    with lock_roots([tmp_path]):
        with lock_roots([tmp_path, tmp_path], patience_s=0):
            assert is_held(tmp_path)
        assert is_held(tmp_path)
    assert not is_held(tmp_path)


def test_a_forked_child_does_not_keep_its_parents_lock(tmp_path: Path) -> None:
    go, leave = os.pipe()
    with lock_roots([tmp_path]):
        pid = os.fork()
        if pid == 0:
            os.read(go, 1)
            os._exit(0)
    try:
        with lock_roots([tmp_path], patience_s=0):
            assert is_held(tmp_path)
    finally:
        os.write(leave, b"x")
        os.waitpid(pid, 0)
    os.close(go)
    os.close(leave)


def test_two_who_merge_at_once_come_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "count").write_text("0")
    rounds = 8

    def work(name: str) -> None:
        store = MemoryTrees(tmp_path / "root")
        (tmp_path / name).mkdir()
        for number in range(rounds):
            with lock_roots([store.root]):
                before = store.taken()
                count = int((store.root / "count").read_text()) + 1
                files = {
                    "count": store.file(str(count).encode()),
                    f"{name}{number}": store.file(b""),
                }
                journal = tmp_path / name / "merge.json"
                apply([Part(store, before, store.edited(before, files))], journal, {})
                finish_merge(journal)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("x", "y")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "root" / "count").read_text() == str(2 * rounds)
    assert len(list((tmp_path / "root").iterdir())) == 2 * rounds + 1
