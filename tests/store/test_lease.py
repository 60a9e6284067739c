"""One writer: whoever dies, however, gives the run free; whoever lives is named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import pytest
from msgspec.structs import asdict

import pixirnb.store.file_store
from pixirnb.errors import HeldByAnother, StateUnusable
from pixirnb.protocols.ports import Lease
from pixirnb.store.file_store import FileStore
from pixirnb.store.lease import _lock_patiently
from pixirnb.testing.contracts.store import RUN, story

ROOT = Path(pixirnb.store.file_store.__file__).parents[2]

HOLD = """
import sys
from pathlib import Path
from pixirnb.errors import HeldByAnother, StateUnusable
from pixirnb.store.file_store import FileStore
store = FileStore(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
try:
    log = store.acquire(sys.argv[2])
except HeldByAnother as held:
    print("held", held.details["pid"], flush=True)
else:
    EXTRA
    print("holds", flush=True)
sys.stdin.readline()
"""

# Each waits until the child is under way: before its first own instruction it has its parent's lock.
LEAVE_A_CHILD = {
    "forked": """
    import os, time
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, b"x")
        time.sleep(60)
    os.read(reader, 1)
""",
    "pool": """
    import multiprocessing
    pool = multiprocessing.get_context("fork").Pool(1)
    pool.apply(abs, (1,))
""",
    "executed": """
    import subprocess
    subprocess.Popen(["sleep", "60"], close_fds=False)
""",
}


def start(state: Path, extra: str = "pass") -> subprocess.Popen[str]:
    """A process that is about to acquire the run; it goes on at each line it is told."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD.replace("EXTRA", extra), str(state), RUN],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert line(process.stdout) == "ready"
    return process


def line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline().strip()


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def finish(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    store = FileStore(tmp_path / ".pixirnb")
    log = store.create(RUN)
    log.append(story(3))
    log.close()
    return store


def leave_lease(store: FileStore, **members: object) -> Lease:
    lease = Lease(
        host="elsewhere", pid=1, started=1.0, instance="x", since="2026-11-21T22:00:00.000000Z"
    )
    record = {**asdict(lease), **members}
    (store.folder(RUN) / "lease.json").write_text(json.dumps(record))
    return lease


def test_of_many_processes_one_wins_and_the_others_are_told_who(store: FileStore) -> None:
    processes = [start(store.state) for _ in range(4)]
    try:
        for process in processes:
            go(process)
        said = {process.pid: line(process.stdout) for process in processes}
        winners = [pid for pid, answer in said.items() if answer == "holds"]
        assert len(winners) == 1
        assert sorted(set(said.values())) == [f"held {winners[0]}", "holds"]
        owner = store.read(RUN).owner
        assert owner is not None
        assert owner.pid == winners[0]
        with pytest.raises(HeldByAnother) as held:
            store.acquire(RUN)
        assert held.value.details["pid"] == winners[0]
        assert str(winners[0]) in held.value.message
        assert "cancel" in held.value.fix
    finally:
        finish(*processes)


def test_a_killed_holder_gives_the_run_free(store: FileStore) -> None:
    process = start(store.state)
    try:
        go(process)
        assert line(process.stdout) == "holds"
        assert store.read(RUN).owner is not None
    finally:
        finish(process)
    assert (store.folder(RUN) / "lease.json").exists()
    assert store.read(RUN).owner is None
    log = store.acquire(RUN)
    log.append(story(1, after=3))
    log.close()


@pytest.mark.parametrize("how", LEAVE_A_CHILD)
def test_children_of_a_killed_holder_do_not_hold_on(store: FileStore, how: str) -> None:
    process = start(store.state, LEAVE_A_CHILD[how])
    try:
        go(process)
        assert line(process.stdout) == "holds"
        process.kill()
        process.wait()
        assert store.read(RUN).owner is None
        store.acquire(RUN).close()
    finally:
        finish(process)


def test_another_hosts_lease_is_believed_until_told_otherwise(store: FileStore) -> None:
    lease = leave_lease(store)
    assert store.read(RUN).owner == lease
    with pytest.raises(HeldByAnother) as held:
        store.acquire(RUN)
    assert held.value.details["host"] == "elsewhere"
    assert "--take-over" in held.value.fix
    assert store.read(RUN).owner == lease
    log = store.acquire(RUN, take_over=True)
    owner = store.read(RUN).owner
    assert owner is not None
    assert owner.pid == os.getpid()
    log.close()
    assert store.read(RUN).owner is None


def test_a_stale_lease_of_this_host_is_replaced(store: FileStore) -> None:
    mine = store.acquire(RUN)
    host = mine._hold.lease.host
    mine.close()
    leave_lease(store, host=host, pid=os.getpid())
    assert store.read(RUN).owner is None
    store.acquire(RUN).close()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"host": 1}', "null", "\x00" * 100])
def test_an_unreadable_lease_is_no_lease(store: FileStore, text: str) -> None:
    (store.folder(RUN) / "lease.json").write_text(text)
    assert store.read(RUN).owner is None
    store.acquire(RUN).close()


def test_readers_that_look_do_not_keep_a_writer_out(store: FileStore) -> None:
    mine = store.acquire(RUN)
    host = mine._hold.lease.host
    mine.close()
    stop = threading.Event()
    failures: list[BaseException] = []

    def look() -> None:
        while not stop.is_set():
            try:
                store.read(RUN)
            except BaseException as error:  # noqa: BLE001 - told to the test below
                failures.append(error)

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(20):
            leave_lease(store, host=host, pid=999_999)
            store.acquire(RUN).close()
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert failures == []


def test_a_forked_copy_of_a_log_may_not_write(store: FileStore) -> None:
    log = store.acquire(RUN)
    child = os.fork()
    if child == 0:
        try:
            log.append(story(1, after=3))
        except BaseException as error:  # noqa: BLE001 - its name is the child's answer
            log.close()
            os._exit(7 if type(error).__name__ == "LogWriteFailed" else 1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert store.read(RUN).owner is not None
    log.append(story(1, after=3))
    log.close()
    assert store.read(RUN).events == story(4)


def test_a_disk_without_locks_is_said_in_two_lines(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_PATH)  # a descriptor that cannot be locked
    try:
        with pytest.raises(StateUnusable) as refused:
            _lock_patiently(descriptor, tmp_path / "lock")
    finally:
        os.close(descriptor)
    assert refused.value.code == "locks_unsupported"
    assert str(refused.value).count("\n") == 1
    assert "--state" in refused.value.fix


def test_a_holder_that_left_no_record_is_still_a_holder(store: FileStore) -> None:
    log = store.acquire(RUN)
    (store.folder(RUN) / "lease.json").unlink()
    with pytest.raises(HeldByAnother) as held:
        store.acquire(RUN)
    assert held.value.details["pid"] is None
    log.close()
    store.acquire(RUN).close()


def test_a_lock_outliving_its_process_is_told_as_such(store: FileStore) -> None:
    log = store.acquire(RUN)
    leave_lease(store, host=log._hold.lease.host, pid=2**22 + 1)
    with pytest.raises(HeldByAnother) as held:
        store.acquire(RUN)
    assert "child of the ended process" in held.value.message
    assert store.read(RUN).owner is None
    log.close()


def test_an_owner_is_shown_with_the_local_time_since_when_it_holds_the_run(
    store: FileStore,
) -> None:
    leave_lease(store)
    with pytest.raises(HeldByAnother, match=r"since 2026-11-2\d \d\d:\d\d:00 \S+;") as caught:
        store.acquire(RUN)
    assert caught.value.details["since"] == "2026-11-21T22:00:00.000000Z"
