"""Steps that outlive everybody who knew them: found by their tag and ended before anything runs again, and nobody else is.

The owner, its supervisor and every reaper are stopped and then killed, so that none of them can clean up behind itself. What
the strays do is counted in a file: nothing of theirs may stand behind the first line of the resume.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import pixirnb
from pixirnb import api, ids
from pixirnb.history.codec import GENESIS
from pixirnb.history.events import Event
from pixirnb.operations.run import Run
from pixirnb.runners.processes import orphans
from pixirnb.store.blobs import FileBlobs
from pixirnb.store.log_encoding import decode_log, encode_group
from pixirnb.system import process_life, process_marks
from tests.headless import headless
from tests.stories.storyline import until

ROOT = Path(pixirnb.__file__).parents[1]

# Each beats until it is killed; politeness moves none of them. The names tell whose beat it is.
BEAT = "trap '' TERM INT HUP; while :; do echo {name} >> effects.txt; sleep 0.01; done"
STEP = f"""
if test -e fixed; then echo again >> effects.txt; sleep 0.2; exit 0; fi
setsid sh -c "{BEAT.format(name="session")}" &
( sh -c "{BEAT.format(name="daemon")}" & ) &
(setsid sh -c "(setsid sh -c \\"{BEAT.format(name="deep")}\\" &) &") &
{BEAT.format(name="child")}
"""
FUNCTION = """
def beat():
    import os, signal, time
    if os.path.exists("fixed"):
        with open("effects.txt", "a") as file:
            file.write("again\\n")
        time.sleep(0.2)
        return
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    names = ["session", "daemon", "deep"]
    name = "child"
    for each in names:
        if os.fork() == 0:
            name = each
            os.setsid()
            if each == "deep" and os.fork():
                os._exit(0)
            break
    while True:
        with open("effects.txt", "a") as file:
            file.write(name + "\\n")
        time.sleep(0.01)
"""
OWNER = """
import json, sys
from pixirnb import api
run = api.start(json.loads(sys.argv[1]), functions=json.loads(sys.argv[2]))
print(run.id, flush=True)
run.wait()
"""
BEATS = {"session", "daemon", "deep", "child"}
WORKS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "shell": ({"id": "a", "run": STEP}, {}),
    "python": ({"id": "a", "call": ":beat", "process": True}, {":beat": FUNCTION}),
}


def effects() -> list[str]:
    path = Path("effects.txt")
    return path.read_text().split() if path.exists() else []


def strand(owner: subprocess.Popen[str], run: str) -> list[psutil.Process]:
    """Kill all that knows of the run's steps, at once; what they leave."""
    supervisors = psutil.Process(owner.pid).children()
    reapers = [child for supervisor in supervisors for child in supervisor.children()]
    everybody = [psutil.Process(owner.pid), *supervisors, *reapers]
    assert supervisors
    assert reapers
    for process in everybody:
        process.suspend()
    for process in everybody:
        process.kill()
    owner.wait()
    until(lambda: not any(map(is_alive, everybody)))
    return strays_of(run)


def strays_of(run: str) -> list[psutil.Process]:
    found = []
    for pid in orphans.find_strays(run):
        try:
            found.append(psutil.Process(pid))
        except psutil.NoSuchProcess:
            continue  # a short sleep between two beats
    return found


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def bystanders() -> Iterator[list[subprocess.Popen[bytes]]]:
    """A step of another run, one whose run's id only begins alike, and a process of nobody's."""
    other = ids.run_id("20261121220344", os.urandom(6))
    started = [
        subprocess.Popen(["sleep", "60"], env={**os.environ, "PIXIRNB_STEP": f"{other}/a.1"}),
        subprocess.Popen(["sleep", "60"]),
    ]
    yield started
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize("kind", WORKS)
def test_strays_are_ended_before_anything_of_a_resume_runs(
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bystanders: list[subprocess.Popen[bytes]],
) -> None:
    monkeypatch.chdir(tmp_path)
    step, functions = WORKS[kind]
    flow = {"name": "stranded", "steps": [step]}
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, json.dumps(flow), json.dumps(functions)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert owner.stdout is not None
    run = owner.stdout.readline().strip()
    owner.stdout.close()
    bystanders.append(
        subprocess.Popen(["sleep", "60"], env={**os.environ, "PIXIRNB_STEP": f"{run}x/a.1"})
    )
    try:
        until(lambda: set(effects()) == BEATS)
        left = strand(owner, run)
        assert len(left) >= len(BEATS)
        for stray in filter(is_alive, left):
            with contextlib.suppress(psutil.NoSuchProcess):
                stray.terminate()  # they are deaf to it
        seen = len(effects())
        until(lambda: len(effects()) > seen + 20)
        assert api.open_run(run).outcome.reasons[0] == {"code": "owner_died", "step": None}
        Path("fixed").touch()
        assert api.resume(run).wait().status == "completed"
        assert not any(map(is_alive, left))
        assert orphans.find_strays(run) == []
        told = effects()
        assert told.count("again") == 1
        assert told[-1] == "again"
        assert all(process.poll() is None for process in bystanders)
    finally:
        orphans.end_strays(run)


def test_a_pid_in_the_log_that_is_somebody_elses_now_is_never_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bystanders: list[subprocess.Popen[bytes]]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = api.start({"name": "x", "steps": [{"id": "a", "run": "true"}]})
    assert run.wait().ok
    _rewrite(run, bystanders[1].pid)
    reopened = api.open_run(run.id)
    assert reopened.history()[-1].data["pid"] == bystanders[1].pid
    assert reopened.status == "interrupted"
    assert api.resume(run.id).wait().ok
    assert all(process.poll() is None for process in bystanders)


def _rewrite(run: Run, pid: int) -> None:
    """The log of a process that died while its first attempt, of that id, was under way."""
    log = run.folder / "log.jsonl"
    blobs = FileBlobs(run.folder / "blobs")
    events = decode_log(log.read_bytes(), get=blobs.get).events[:3]
    last = events[2]
    assert last.kind == "attempt_started"
    events[2] = Event(last.seq, last.at, last.kind, {**last.data, "pid": pid})
    log.write_bytes(encode_group(events, chain=GENESIS, after=0, put=blobs.put)[0])
    (run.folder / "seal.json").unlink()


def test_ending_strays_tells_whom_it_ended_and_waits_until_they_are_gone() -> None:
    run = ids.run_id("20261121220344", os.urandom(6))
    tag = {**os.environ, "PIXIRNB_STEP": f"{run}/make.1"}
    breeds = "trap '' TERM; for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; sleep 60"
    parent = subprocess.Popen(["sh", "-c", breeds], env=tag, start_new_session=True)
    until(lambda: len(orphans.find_strays(run)) == 10)
    found = strays_of(run)
    ended = orphans.end_strays(run)
    assert sorted(ended) == sorted(process.pid for process in found)
    assert not any(map(is_alive, found))
    assert parent.wait(10) == -signal.SIGKILL


@pytest.mark.parametrize("sign", ["tag", "mark"])
def test_a_stray_whose_first_thread_has_exited_is_found_and_ended(sign: str) -> None:
    run = ids.run_id("20261121220344", os.urandom(6))
    code = "import time; print(flush=True); time.sleep(60)"
    env = {**os.environ, **({"PIXIRNB_STEP": f"{run}/a.1"} if sign == "tag" else {})}
    with subprocess.Popen(headless(code), env=env, stdout=subprocess.PIPE) as stray:
        assert stray.stdout is not None
        stray.stdout.readline()
        mark = process_marks.mark_of(f"{run}/a.1", "gone")
        if sign == "mark":
            process_marks.put_on(stray.pid, mark)
        assert orphans.find_strays(run) == [stray.pid]
        if sign == "tag":
            assert orphans.end_strays(run) == [stray.pid]
        else:
            seen, _, survivors = process_marks.stop(process_marks.one_of((mark,)), 0.0, 3.0)
            assert (seen, survivors) == ((stray.pid,), None)
        assert stray.wait(10) in {-signal.SIGKILL, -signal.SIGTERM}


def test_what_is_marked_like_a_dead_owners_is_spared_where_a_living_owners_is_too(
    bystanders: list[subprocess.Popen[bytes]],
) -> None:
    run = ids.run_id("20261121220344", os.urandom(6))
    other = bystanders[1].pid
    mark = process_marks.mark_of(f"{run}/a.1", "living")
    alike = next(f"{n}" for n in range(100_000) if process_marks.of_run(run, {f"{n}"})(mark))
    process_marks.put_on(bystanders[0].pid, mark)
    here = {"host": socket.gethostname(), "at": "2026-11-21T22:03:44.000000Z"}
    dead = {**here, "pid": 2**22 + 1, "instance": alike}
    living = {**here, "pid": other, "instance": "living", "born": process_life.birth_of(other)}
    assert orphans.find_strays(run, [dead, living]) == []
    assert orphans.find_strays(run, [dead]) == [bystanders[0].pid]


def test_a_later_process_with_an_owners_id_spares_nobody(
    bystanders: list[subprocess.Popen[bytes]],
) -> None:
    run = ids.run_id("20261121220344", os.urandom(6))
    process_marks.put_on(bystanders[0].pid, process_marks.mark_of(f"{run}/a.1", "gone"))
    later = {"host": socket.gethostname(), "pid": bystanders[1].pid, "instance": "gone"}
    owner = {**later, "at": "2999-11-21T22:03:44.000000Z", "born": "another-boot/1"}
    assert orphans.find_strays(run, [owner]) == [bystanders[0].pid]
