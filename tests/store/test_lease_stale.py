"""What a holder that is gone left behind: believed where it may be true, set aside where it cannot be, and said as it is."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from msgspec.structs import asdict

import pixirnb.store.file_store
from pixirnb import api
from pixirnb.errors import HeldByAnother
from pixirnb.operations.run import Run
from pixirnb.protocols.ports import Lease
from pixirnb.store.holders import read_lease
from tests.namespaces import in_namespaces
from tests.stories.storyline import python

ROOT = Path(pixirnb.store.file_store.__file__).parents[2]
SINCE = "2026-11-21T22:00:00.000000Z"
FLOW = {
    "name": "cut_off",
    "steps": [
        {"id": "a", "run": "echo a >> effects.txt"},
        {"id": "b", "run": "echo b >> effects.txt", "depends_on": ["a"]},
    ],
}


@pytest.fixture
def dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run as a process leaves it that was killed when its first step had ended."""
    monkeypatch.chdir(tmp_path)
    run = api.start(FLOW)
    assert run.wait().ok
    lines = (run.folder / "log.jsonl").read_bytes().splitlines(keepends=True)
    (run.folder / "log.jsonl").write_bytes(b"".join(lines[:6]))
    (run.folder / "seal.json").unlink()
    (tmp_path / "effects.txt").write_text("a\n")
    return api.open_run(run.id)


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with any of this."""
    process = subprocess.Popen(["sleep", "60"])
    yield process
    assert process.poll() is None, "it was ended, and had nothing to do with the run"
    process.kill()
    process.wait()


def leave(run: Run, **members: object) -> None:
    """The record of a holder."""
    lease = Lease(host=socket.gethostname(), pid=2**22 + 1, started=1.0, instance="x", since=SINCE)
    (run.folder / "lease.json").write_text(json.dumps({**asdict(lease), **members}))


def effects() -> list[str]:
    return Path("effects.txt").read_text().split()


def goes_on(run: Run) -> None:
    """The run is taken up without more words, and ends with a sound log that nobody holds."""
    resumed = api.resume(run.id)
    assert resumed.wait().status == "completed"
    assert effects() == ["a", "b"]
    opened = api.open_run(run.id)
    assert opened.damage is None
    assert [event.seq for event in opened.history()] == list(range(1, len(opened.history()) + 1))
    assert read_lease(run.folder) is None


def reads_as_dead(run: Run) -> None:
    """Everywhere, and in words."""
    outcome = api.open_run(run.id).outcome
    assert outcome.status == "interrupted"
    assert outcome.reasons[0] == {"code": "owner_died", "step": None}
    assert "the process that ran it died" in outcome.summary
    assert api.runs()[0]["status"] == "interrupted"
    for picture in api.open_run(run.id)._repr_mimebundle_().values():
        assert "the process that ran it died" in picture
        assert "interrupted" in picture


def test_the_record_of_a_dead_process_is_set_aside(dead: Run) -> None:
    leave(dead)
    reads_as_dead(dead)
    goes_on(dead)


def test_a_record_whose_pid_is_somebody_elses_now_is_set_aside(
    dead: Run, bystander: subprocess.Popen[bytes]
) -> None:
    leave(dead, pid=bystander.pid)
    reads_as_dead(dead)
    goes_on(dead)


def test_a_record_whose_pid_is_of_another_birth_is_set_aside_whatever_the_clock_says(
    dead: Run, bystander: subprocess.Popen[bytes]
) -> None:
    started = psutil.Process(bystander.pid).create_time()
    leave(dead, pid=bystander.pid, started=started, born="another-boot/1")
    reads_as_dead(dead)
    goes_on(dead)


@pytest.mark.parametrize("born", [None, 7])
def test_a_record_of_an_older_release_is_believed_by_the_clock(
    dead: Run, bystander: subprocess.Popen[bytes], born: object
) -> None:
    started = psutil.Process(bystander.pid).create_time()
    leave(dead, pid=bystander.pid, started=started, born=born)
    with pytest.raises(HeldByAnother):
        api.resume(dead.id)


def test_a_record_of_this_very_process_without_its_lock_is_set_aside(dead: Run) -> None:
    leave(dead, pid=os.getpid(), started=psutil.Process().create_time())
    reads_as_dead(dead)
    goes_on(dead)


def test_a_holder_in_another_container_lives_as_long_as_its_lock(dead: Run) -> None:
    leave(dead, pid_namespace=1)
    lock = os.open(dead.folder / "lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert api.open_run(dead.id).status == "running"
    codes = {finding.code for finding in api.open_run(dead.id).diagnose().findings}
    assert codes.isdisjoint({"strays_alive", "lock_left_behind", "blocked"})
    with pytest.raises(HeldByAnother, match="of another container on"):
        api.resume(dead.id)
    os.close(lock)
    goes_on(dead)


def test_another_hosts_word_is_taken_until_a_person_says_otherwise(dead: Run) -> None:
    leave(dead, host="elsewhere", pid=77)
    assert api.open_run(dead.id).status == "running"
    before = (dead.folder / "log.jsonl").read_bytes()
    with pytest.raises(HeldByAnother) as held:
        api.resume(dead.id)
    assert (held.value.details["pid"], held.value.details["host"]) == (77, "elsewhere")
    assert held.value.exit_code == 5
    assert "--take-over" in held.value.fix
    assert (dead.folder / "log.jsonl").read_bytes() == before
    lease = read_lease(dead.folder)
    assert lease is not None
    assert lease.host == "elsewhere"
    assert api.resume(dead.id, take_over=True).wait().status == "completed"
    assert effects() == ["a", "b"]
    assert read_lease(dead.folder) is None


def test_another_hosts_word_does_not_change_how_a_run_ended(dead: Run) -> None:
    goes_on(dead)
    leave(dead, host="elsewhere")
    assert api.open_run(dead.id).status == "completed"
    with pytest.raises(HeldByAnother):
        api.resume(dead.id, from_step="b")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[" * 50_000,
        "\0" * 4096,
        '{"host": "h", "pid": Infinity, "started": 1, "instance": "x", "since": "s"}',
        '{"host": "h", "pid": 1e300, "started": 1, "instance": "x", "since": "s"}',
        '{"host": "h", "pid": -1, "started": 1, "instance": "x", "since": "s"}',
        '{"host": "h", "pid": true, "started": 1, "instance": "x", "since": "s"}',
        '{"host": "h", "pid": 99999999999999999999, "started": 1, "instance": "x", "since": "s"}',
        '{"host": "\\ud800", "pid": 7, "started": 1, "instance": "x", "since": "s"}',
        '{"host": "\\u001b[2J", "pid": 7, "started": 1, "instance": "x", "since": "s"}',
        '{"host": {}, "pid": 7, "started": 1, "instance": "x", "since": "s"}',
        '{"host": "h", "pid": 7, "started": "x", "instance": "x", "since": "s"}',
        '{"host": "h", "pid": 7, "started": 1' + "1" * 5000 + "}",
    ],
    ids=range(15),
)
def test_a_record_that_is_no_record_is_set_aside(dead: Run, text: str) -> None:
    (dead.folder / "lease.json").write_text(text)
    reads_as_dead(dead)
    goes_on(dead)


@pytest.mark.parametrize("has_record", [True, False])
def test_a_lock_file_that_is_gone_is_made_anew(dead: Run, *, has_record: bool) -> None:
    (dead.folder / "lock").unlink()
    if has_record:
        leave(dead)
    reads_as_dead(dead)
    assert not (dead.folder / "lock").exists(), "looking changes nothing"
    goes_on(dead)


OWNER = """
import sys
from pathlib import Path
from pixirnb.store.file_store import FileStore
log = FileStore(Path(sys.argv[1])).acquire(sys.argv[2])
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("words", in_namespaces("--time", "--boottime", "1000"))
def test_an_owner_with_a_boot_time_of_its_own_lives_as_long_as_its_lock(
    dead: Run, words: list[str]
) -> None:
    owner = python("-c", OWNER, str(dead.folder.parents[1]), dead.id, cwd=ROOT, by=words, stdin=-1)
    assert owner.stdout is not None
    owner.stdout.readline()
    assert api.open_run(dead.id).status == "running"
    codes = {finding.code for finding in api.open_run(dead.id).diagnose().findings}
    assert codes.isdisjoint({"pid_reused", "lock_left_behind", "lease_stale"})
    with pytest.raises(HeldByAnother) as held:
        api.resume(dead.id)
    assert "child of the ended process" not in held.value.message
    owner.kill()
    owner.communicate()
    goes_on(dead)


# Forked below Python's hooks, as a library in C may do it: the child has its parent's lock, and outlives it.
HOLDER = """
import ctypes, os, sys, time
from pathlib import Path
from pixirnb.store.file_store import FileStore
log = FileStore(Path(sys.argv[1])).acquire(sys.argv[2])
child = ctypes.CDLL(None).fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
print(child, flush=True)
time.sleep(60)
"""


def test_a_lock_kept_by_the_child_of_a_dead_owner_is_never_broken_and_never_called_running(
    dead: Run,
) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(dead.folder.parents[1]), dead.id],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    with owner.stdout:
        child = int(owner.stdout.readline())
    try:
        assert api.open_run(dead.id).status == "running"
        owner.kill()
        owner.wait()
        reads_as_dead(dead)
        for take_over in (False, True):
            with pytest.raises(HeldByAnother) as held:
                api.resume(dead.id, take_over=take_over)
            assert held.value.details["pid"] == owner.pid
            assert "child of the ended process" in held.value.message
        assert effects() == ["a"]
    finally:
        os.kill(child, signal.SIGKILL)
    while True:  # init is to reap it; its lock goes with it
        try:
            goes_on(dead)
        except HeldByAnother:
            continue
        break
