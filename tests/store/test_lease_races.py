"""Two to eight processes that want one run at the same moment: one gets it, the others learn who has it, and the log bears it.

The processes stay for all rounds, for starting them takes longer than what is looked at. They begin at one instant of the clock
they share.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pixirnb
from pixirnb import api
from pixirnb.store.file_store import FileStore
from pixirnb.store.seal import read_seal
from pixirnb.testing.contracts.store import RUN, story

ROOT = Path(pixirnb.__file__).parents[1]

RESUMER = """
import json, os, sys, time
from pixirnb import api
from pixirnb.errors import HeldByAnother
print("ready", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    while time.monotonic() < asked["at"]:
        pass
    try:
        run = api.resume(asked["run"], take_over=asked["take_over"])
    except HeldByAnother as held:
        said = {"pid": held.details["pid"], "host": held.details["host"], "message": held.message}
        print(json.dumps(said), flush=True)
    else:
        print(json.dumps({"won": os.getpid()}), flush=True)
        print(json.dumps({"status": run.wait().status}), flush=True)
"""

# Takes the run, leaves two events and dies with it in its hands, until everybody had a turn.
HEIR = """
import os, signal, sys
from pathlib import Path
from pixirnb.errors import HeldByAnother
from pixirnb.store.file_store import FileStore
from pixirnb.testing.contracts.store import RUN, story
store = FileStore(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
while True:
    try:
        log = store.acquire(RUN, take_over=True)
        break
    except HeldByAnother:
        pass
count = len(log.reading.events)
assert log.reading.damage is None
log.append(story(1, after=count))
log.append(story(1, after=count + 1))
os.write(1, b"%d\\n" % count)
os.kill(os.getpid(), signal.SIGKILL)
"""


class Peer:
    """One of the processes; told and heard by lines."""

    def __init__(self, text: str, cwd: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", text, *arguments],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, **said: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(said) + "\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def peers(tmp_path: Path) -> Iterator[list[Peer]]:
    """Eight processes that wait to be told which run to resume."""
    found = [Peer(RESUMER, tmp_path) for _ in range(8)]
    try:
        assert [peer.hear() for peer in found] == ["ready"] * len(found)
        yield found
    finally:
        for peer in found:
            peer.end()


STEPS = [
    {"id": "a", "run": "echo a >> effects.txt"},
    {"id": "b", "run": "echo b >> effects.txt; test -e ok || exit 1", "depends_on": ["a"]},
    {
        "id": "c",
        "run": "until test -e go; do sleep 0.01; done; echo c >> effects.txt",
        "depends_on": ["b"],
    },
]


def unfinished(workspace: Path) -> str:
    """A run that failed in its second step and would go on now, up to a gate."""
    for name in ("effects.txt", "ok", "go"):
        (workspace / name).unlink(missing_ok=True)
    run = api.start({"name": "wanted", "steps": STEPS}, workspace=workspace)
    assert run.wait().status == "partial"
    (workspace / "ok").touch()
    return run.id


def test_of_resumers_at_one_moment_one_wins_and_each_step_runs_once(
    tmp_path: Path, peers: list[Peer]
) -> None:
    for number, several in enumerate((2, 8, 3, 8, 5, 8, 4, 8, 2, 8)):
        run = unfinished(tmp_path)
        racing = peers[:several] if number % 2 else peers[-several:]
        at = time.monotonic() + 0.05
        for n, peer in enumerate(racing):
            # A lock that is held is not broken by wishing: some come with the wish.
            peer.tell(run=run, at=at, take_over=n % 3 == 0)
        said = [json.loads(peer.hear()) for peer in racing]
        [winner] = [peer for peer, answer in zip(racing, said, strict=True) if "won" in answer]
        for answer in said:
            if "won" in answer:
                continue
            assert (answer["pid"], answer["host"]) == (winner.process.pid, socket.gethostname())
            assert str(winner.process.pid) in answer["message"]
            assert socket.gethostname() in answer["message"]
        (tmp_path / "go").touch()
        assert json.loads(winner.hear()) == {"status": "completed"}
        opened = api.open_run(run, workspace=tmp_path)
        assert opened.damage is None
        assert opened.status == "completed"
        kinds = [event.kind for event in opened.history()]
        assert kinds.count("run_resumed") == 1
        assert kinds.count("run_finished") == 2
        assert (tmp_path / "effects.txt").read_text().split() == ["a", "b", "b", "c"]
        seal = read_seal(opened.folder)
        assert seal is not None
        assert seal.seq == len(kinds)


def test_holders_that_die_one_after_another_hand_the_log_on_whole(tmp_path: Path) -> None:
    store = FileStore(tmp_path / ".pixirnb")
    log = store.create(RUN)
    log.append(story(1))
    log.close()
    heirs = [Peer(HEIR, tmp_path, str(store.state)) for _ in range(6)]
    try:
        assert [heir.hear() for heir in heirs] == ["ready"] * 6
        for heir in heirs:
            heir.tell()
        turns = sorted(int(heir.hear()) for heir in heirs)
        assert turns == [1, 3, 5, 7, 9, 11]
        assert [heir.process.wait() for heir in heirs] == [-signal.SIGKILL] * 6
    finally:
        for heir in heirs:
            heir.end()
    reading = store.read(RUN)
    assert reading.damage is None
    assert reading.owner is None
    assert reading.events == story(13)
    seal = read_seal(store.folder(RUN))
    assert seal is not None
    assert seal.seq == 12, "the last one died before it could seal its second event"


def test_readers_at_work_never_take_a_writer_for_damage(tmp_path: Path) -> None:
    """A writer that opens, appends and closes again and again, and readers that look all the time."""
    store = FileStore(tmp_path / ".pixirnb")
    log = store.create(RUN)
    log.append(story(1))
    log.close()
    writer = Peer(WRITER, tmp_path, str(store.state))
    try:
        looked, count, followed = 0, 0, []
        follower = store.follow(RUN)
        while count < 301:
            reading = store.read(RUN)
            assert reading.damage is None
            assert len(reading.events) >= count
            count = len(reading.events)
            followed += follower.poll()
            looked += 1
        assert writer.process.wait() == 0
        assert followed + follower.poll() == story(301)
        assert looked > 20
    finally:
        writer.end()


WRITER = """
import sys
from pathlib import Path
from pixirnb.store.file_store import FileStore
from pixirnb.testing.contracts.store import RUN, story
store = FileStore(Path(sys.argv[1]))
count = 1
while count < 301:
    log = store.acquire(RUN)
    for _ in range(4):
        log.append(story(1, after=count))
        count += 1
    log.close()
"""
