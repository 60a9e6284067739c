"""What only a disk can do to a run: fill up, be someone else's, lose a process in mid-write."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import pixirnb.store.file_store
from pixirnb.errors import LogDamaged, LogWriteFailed, StateUnusable, UnknownRun
from pixirnb.history.events import Event
from pixirnb.ids import run_id
from pixirnb.store.file_store import FileStore
from pixirnb.store.log import FileLog
from pixirnb.store.private_files import refuse_foreign
from pixirnb.testing.contracts.store import LATER, RUN, event, story

ROOT = Path(pixirnb.store.file_store.__file__).parents[2]

WRITE = """
import sys
from collections.abc import Callable
from pathlib import Path
from pixirnb.store.file_store import FileStore
from pixirnb.testing.contracts.store import RUN, story
log = FileStore(Path(sys.argv[1])).create(RUN)
print("made", flush=True)
for seq in range(0, int(sys.argv[2]), 3):
    if seq == 150 and sys.argv[2] == "300":
        sys.stdin.readline()
    log.append(story(3, after=seq))
    print(seq + 3, flush=True)
log.close()
"""

FILL = """
import resource, signal, sys
from collections.abc import Callable
from pathlib import Path
from pixirnb.errors import LogWriteFailed
from pixirnb.store.file_store import FileStore
from pixirnb.testing.contracts.store import RUN, story
log = FileStore(Path(sys.argv[1])).create(RUN)
log.append(story(2))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (500, resource.RLIM_INFINITY))
for _ in range(2):
    try:
        log.append(story(3, after=2))
    except LogWriteFailed as failed:
        print(str(failed).count(chr(10)), failed.code)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
try:
    log.blobs.put(b"x")
finally:
    log.close()
"""


def child(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / ".pixirnb"


@pytest.fixture
def store(state: Path) -> FileStore:
    return FileStore(state)


@pytest.fixture
def folder(store: FileStore) -> Path:
    """The folder of a finished run of three events, one of them with a blob."""
    log = store.create(RUN)
    log.append([event(1), event(2, text="x" * 300_000), event(3)])
    log.close()
    return store.folder(RUN)


def test_folders_and_files_are_for_this_user_alone(folder: Path, state: Path) -> None:
    old = os.umask(0)
    try:
        log = FileStore(state).create(LATER)
        log.append([event(1, text="x" * 300_000)])
        log.close()
    finally:
        os.umask(old)
    for path in [state, *state.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
    assert (state / ".gitignore").read_text() == "*\n"
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {
        "blobs",
        "output",
        "sessions",
        "inbox",
    }


def test_nothing_is_made_before_the_first_run(store: FileStore, state: Path) -> None:
    assert store.run_ids() == []
    with pytest.raises(UnknownRun):
        store.read(RUN)
    assert not state.exists()


def test_a_group_of_any_size_costs_one_sync(store: FileStore) -> None:
    log = store.create(RUN)
    for after, count in ((0, 1), (1, 50), (51, 500)):
        before = log.syncs
        log.append(story(count, after=after))
        assert log.syncs == before + 1
    log.close()


@pytest.mark.parametrize(
    "name", ["log.jsonl", "blobs", "output", "sessions", "inbox", "lock", "lease.json", "other"]
)
def test_a_symlink_in_a_run_folder_is_refused(store: FileStore, folder: Path, name: str) -> None:
    path = folder / name
    if path.exists():
        path.rename(folder.parent / "aside")
    path.symlink_to(folder.parent / "aside")
    for verb in (store.read, store.acquire, store.follow, store.blobs):
        with pytest.raises(StateUnusable) as refused:
            verb(RUN)
        assert refused.value.code == "symlink_refused"
        assert name in refused.value.message


def test_a_run_folder_that_is_a_symlink_is_refused(store: FileStore, folder: Path) -> None:
    (folder.parent / LATER).symlink_to(folder)
    with pytest.raises(StateUnusable) as refused:
        store.read(LATER)
    assert refused.value.code == "symlink_refused"


def test_what_belongs_to_another_user_is_refused(store: FileStore, folder: Path) -> None:
    if os.geteuid() != 0:  # only root can give a file away; everyone else has the root folder
        with pytest.raises(StateUnusable) as refused:
            refuse_foreign(Path("/"))
        assert refused.value.code == "foreign_owner"
        return
    for path in (folder / "log.jsonl", folder / "inbox", folder, folder.parent.parent):
        os.chown(path, 12345, -1)
        for verb in (store.read, store.acquire):
            with pytest.raises(StateUnusable) as refused:
                verb(RUN)
            assert refused.value.code == "foreign_owner"
            assert "12345" in refused.value.message
        os.chown(path, 0, -1)
    store.acquire(RUN).close()


def test_a_file_in_place_of_the_state_folder_is_said_in_two_lines(state: Path) -> None:
    state.write_text("not a folder")
    for verb in (FileStore(state).create, FileStore(state).read):
        with pytest.raises(StateUnusable) as refused:
            verb(RUN)
        assert "file" in refused.value.message
        assert str(refused.value).count("\n") <= 1
    with pytest.raises(StateUnusable):
        FileStore(state).run_ids()


@pytest.mark.parametrize(
    ("name", "make", "what"),
    [("lease.json", os.mkdir, "a folder is"), ("log.jsonl", os.mkfifo, "a pipe, a socket or")],
)
def test_what_lies_in_the_place_of_a_file_is_named_and_nothing_is_left_behind(
    store: FileStore, folder: Path, name: str, make: Callable[[Path], None], what: str
) -> None:
    (folder / name).unlink(missing_ok=True)
    make(folder / name)
    there = set(folder.iterdir())
    with pytest.raises(StateUnusable, match=f"{name}: {what}") as refused:
        store.acquire(RUN)
    assert "away" in refused.value.fix
    assert set(folder.iterdir()) == there


def test_a_folder_that_cannot_be_written_is_said_in_two_lines() -> None:
    with pytest.raises(StateUnusable) as refused:  # even root may not write there
        FileStore(Path("/sys/pixirnb-test")).create(RUN)
    assert "is not writable" in refused.value.message
    assert "--state" in refused.value.fix
    assert str(refused.value).count("\n") == 1


def test_a_run_folder_without_a_log_is_an_unknown_run(store: FileStore, folder: Path) -> None:
    (folder / "log.jsonl").unlink()
    (folder / "seal.json").unlink()
    for verb in (store.read, store.acquire, store.follow):
        with pytest.raises(UnknownRun):
            verb(RUN)
    assert store.run_ids() == [RUN]


def test_a_log_torn_in_its_first_line_is_an_unknown_run(store: FileStore, folder: Path) -> None:
    (folder / "log.jsonl").write_bytes(b'{"at":"2026')
    (folder / "seal.json").unlink()
    damage = store.read(RUN).damage
    assert damage is not None
    assert (damage.code, damage.line) == ("torn_tail", 1)
    with pytest.raises(UnknownRun):
        store.acquire(RUN)
    assert (folder / "log.jsonl").read_bytes() == b'{"at":"2026'


def test_a_full_disk_stops_the_log_and_the_next_reading_decides(state: Path) -> None:
    process = child(FILL, str(state))
    answer, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    # The second refusal comes with room on the disk again: the log does not go on by itself.
    assert answer.splitlines() == ["1 log_write_failed"] * 2
    store = FileStore(state)
    reading = store.read(RUN)
    assert reading.events == story(2) or reading.events == story(3)
    log = store.acquire(RUN)
    assert log.torn is not None
    assert log.torn.code == "torn_tail"
    log.append(story(1, after=len(reading.events)))
    log.close()
    assert store.read(RUN).damage is None


def test_the_whole_of_every_cut_log_goes_on(store: FileStore, folder: Path) -> None:
    path = folder / "log.jsonl"
    data = path.read_bytes()
    first = data.index(b"\n") + 1
    (folder / "seal.json").unlink()  # as one whose holder was killed
    for end in range(first, len(data) + 1):
        path.write_bytes(data[:end])
        log = store.acquire(RUN)
        whole = data.count(b"\n", 0, end)
        assert len(log.reading.events) == whole
        assert (log.torn is None) == data[:end].endswith(b"\n")
        log.close()
        assert path.read_bytes() == data[: data.rfind(b"\n", 0, end) + 1]


def test_a_damaged_log_can_be_read_and_is_left_as_it_is(store: FileStore, folder: Path) -> None:
    path = folder / "log.jsonl"
    changed = path.read_bytes().replace(b'"code":"note"', b'"code":"nope"')
    path.write_bytes(changed)
    with pytest.raises(LogDamaged) as damaged:
        store.acquire(RUN)
    assert RUN in damaged.value.message
    assert path.read_bytes() == changed
    assert store.read(RUN).owner is None


def test_whatever_was_confirmed_survives_a_kill(state: Path) -> None:
    for number in range(3):
        run_state = state.with_name(f"state{number}")
        process = child(WRITE, str(run_state), "100000")
        assert process.stdout is not None
        confirmed = 0
        for answer in process.stdout:
            confirmed = int(answer) if answer.strip() != "made" else 0
            if confirmed >= 30 * (number + 1):
                process.send_signal(signal.SIGKILL)
                break
        rest = process.communicate()[0].split()
        confirmed = max([confirmed, *map(int, rest[:-1])])
        log = FileStore(run_state).acquire(RUN)
        assert len(log.reading.events) >= confirmed
        assert log.reading.events == story(len(log.reading.events))
        log.close()


def test_a_run_is_followed_while_another_process_writes_it(store: FileStore) -> None:
    process = child(WRITE, str(store.state), "300")
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "made\n"
    follower = store.follow(RUN)
    seen: list[Event] = []
    while len(seen) < 150:
        seen += follower.poll()
    assert follower.poll() == []
    assert store.read(RUN).owner is not None
    process.stdin.write("go on\n")
    process.stdin.flush()
    while len(seen) < 300:
        seen += follower.poll()
    process.communicate()
    assert seen == story(300)
    assert follower.poll() == []


def test_ten_thousand_runs_are_listed_by_name_alone(store: FileStore, state: Path) -> None:
    runs = state / "runs"
    runs.mkdir(parents=True)
    names = [run_id(f"20261121220344{n * 100:06}", b"\0\0\0") for n in range(10_000)]
    assert names == sorted(set(names)), "ids sort by time, within a second too"
    for name in names:
        (runs / name).mkdir()
    (runs / "not-a-run").mkdir()
    assert store.run_ids() == sorted(names, reverse=True)


def test_a_missing_blob_of_a_run_is_named(store: FileStore, folder: Path) -> None:
    (blob,) = (folder / "blobs").glob("*/*")
    blob.write_bytes(b"other")
    damage = store.read(RUN).damage
    assert damage is not None
    assert (damage.code, damage.line) == ("blob_damaged", 2)
    blob.unlink()
    damage = store.read(RUN).damage
    assert damage is not None
    assert (damage.code, damage.line) == ("blob_missing", 2)
    assert blob.name in damage.message


def test_a_run_folder_can_be_moved_and_read_elsewhere(
    store: FileStore, folder: Path, tmp_path: Path
) -> None:
    events = store.read(RUN).events
    other = FileStore(tmp_path / "elsewhere")
    other.create(LATER).close()
    folder.rename(other.state / "runs" / RUN)
    assert other.read(RUN).events == events


def test_a_failed_write_refuses_what_follows(store: FileStore) -> None:
    log = store.create(RUN)
    assert isinstance(log, FileLog)
    log.append(story(1))
    os.close(log._descriptor)
    for _ in range(2):
        with pytest.raises(LogWriteFailed):
            log.append(story(1, after=1))
    log._hold.release()
    assert store.read(RUN).events == story(1)


def test_an_event_is_confirmed_only_once_the_disk_has_confirmed_it(store: FileStore) -> None:
    log = store.create(RUN)
    assert isinstance(log, FileLog)
    reader, writer = os.pipe()
    os.dup2(writer, log._descriptor)  # takes the bytes, and cannot make them durable
    try:
        with pytest.raises(LogWriteFailed):
            log.append(story(1))
        assert os.read(reader, 10) == b'{"at":"202'
    finally:
        os.close(reader)
        os.close(writer)
        log.close()


def test_events_are_refused_after_an_interrupted_write(store: FileStore) -> None:
    log = store.create(RUN)
    log.append(story(1))

    def ring(*_: object) -> None:
        raise KeyboardInterrupt

    reader, writer = os.pipe()
    os.dup2(writer, log._descriptor)  # full after 64 KiB: the write waits, and is interrupted
    earlier = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            log.append([event(2, text="x" * 200_000)])
        with pytest.raises(LogWriteFailed):
            log.append(story(1, after=1))
    finally:
        signal.signal(signal.SIGALRM, earlier)
        os.close(reader)
        os.close(writer)
        log.close()
    assert store.read(RUN).events == story(1)


@pytest.mark.parametrize("name", ["", "../x", "r-1", "r-20261121-220344-7f3akq/.."])
def test_a_name_that_is_no_run_id_makes_no_folder(store: FileStore, state: Path, name: str) -> None:
    with pytest.raises(StateUnusable):
        store.create(name)
    assert not state.exists()


def test_an_event_whose_blob_finds_no_folder_is_a_write_that_failed(tmp_path: Path) -> None:
    log = FileStore(tmp_path / ".pixirnb").create(RUN)
    assert log.folder is not None
    (log.folder / "blobs").rmdir()
    (log.folder / "blobs").write_text("in the way")
    try:
        for _ in range(2):
            with pytest.raises(LogWriteFailed):
                log.append([event(1, text="x" * 300_000)])
    finally:
        log.close()


def test_a_log_that_was_deleted_under_its_holder_takes_no_more_events(tmp_path: Path) -> None:
    log = FileStore(tmp_path / "state").create(RUN)
    log.append([event(1)])
    assert log.folder is not None
    shutil.rmtree(log.folder)
    with pytest.raises(LogWriteFailed, match="deleted"):
        log.append([event(2)])
    log.close()
