"""Followers in other processes see each event once and in order, and are let go when the run ends or its owner dies."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest

from pixirnb import api
from pixirnb.history.events import Event
from pixirnb.runners.processes.orphans import find_strays
from tests.stories.storyline import ROOT, effects, python, until

pytestmark = pytest.mark.story

COUNT = 12
GATE = "until test -e go; do sleep 0.01; done; "
STEPS: list[dict[str, Any]] = [
    {
        "id": f"s{n}",
        "run": (GATE if n == COUNT // 2 else "") + f"echo s{n} >> effects.txt",
        "depends_on": [f"s{n - 1}"] if n else [],
    }
    for n in range(COUNT)
]
OWNER = """
import json, sys
from pixirnb import api
run = api.start({"name": "watched", "steps": json.loads(sys.argv[1])})
print(run.id, flush=True)
run.wait()
"""


@pytest.fixture
def owned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    """A process with a run that stops half-way at a gate."""
    monkeypatch.chdir(tmp_path)
    owner = python("-c", OWNER, json.dumps(STEPS), cwd=tmp_path)
    yield owner
    owner.kill()
    owner.communicate()


def id_of(owner: subprocess.Popen[str]) -> str:
    assert owner.stdout is not None
    return owner.stdout.readline().strip()


def is_at_the_gate(run: str) -> bool:
    """On the disk: what is only under way would run again after a death."""
    begun = [e.data["step"] for e in api.open_run(run).history() if e.kind == "attempt_started"]
    return begun[-1:] == [f"s{COUNT // 2}"]


def followed(run: str) -> list[int]:
    return [event.seq for event in api.open_run(run).follow()]


def heard(run: str) -> list[int]:
    """As `events()` tells it."""

    async def listen() -> list[int]:
        return [news.seq async for news in api.open_run(run).events() if isinstance(news, Event)]

    return anyio.run(listen)


def printed(run: str) -> list[int]:
    """As the command prints it, in its one document."""
    child = subprocess.run(
        [sys.executable, "-m", "pixirnb", "log", run, "--follow", "--json"],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [event["seq"] for event in json.loads(child.stdout)["events"]]


WAYS: tuple[Callable[[str], list[int]], ...] = (followed, heard, followed, printed, heard)


def watched(pool: ThreadPoolExecutor, run: str) -> list[Future[list[int]]]:
    return [pool.submit(way, run) for way in WAYS]


def test_each_of_several_followers_sees_every_event_once_and_is_let_go_at_the_end(
    owned: subprocess.Popen[str], tmp_path: Path
) -> None:
    run = id_of(owned)
    with ThreadPoolExecutor(len(WAYS)) as pool:
        told = watched(pool, run)
        until(lambda: is_at_the_gate(run))
        assert not any(each.done() for each in told), "the run is live"
        (tmp_path / "go").touch()
        ends = [each.result() for each in told]
    history = api.open_run(run).history()
    assert history[-1].kind == "run_finished"
    for end in ends:
        assert end == [event.seq for event in history] == list(range(1, len(history) + 1))
    assert followed(run) == ends[0], "an ended run is told from its first event to its last"


def test_followers_are_let_go_when_the_owner_dies_and_a_resume_is_told_whole(
    owned: subprocess.Popen[str], tmp_path: Path
) -> None:
    run = id_of(owned)
    patient = api.open_run(run).store.follow(run)
    seen: list[Event] = []
    with ThreadPoolExecutor(len(WAYS)) as pool:
        told = watched(pool, run)
        until(lambda: is_at_the_gate(run))
        seen += patient.poll()
        owned.send_signal(signal.SIGKILL)
        ends = [each.result() for each in told]
    dead = api.open_run(run)
    assert dead.outcome.reasons[0] == {"code": "owner_died", "step": None}
    left = [event.seq for event in dead.history()]
    assert ends == [left] * len(WAYS)
    until(lambda: not find_strays(run))  # the step at the gate would pass it
    (tmp_path / "go").touch()
    resumed = api.resume(run)
    # In this process, beside the driver, and from the log alone: nothing twice, nothing left out.
    assert followed(run) == [event.seq for event in resumed.history()]
    assert resumed.wait().status == "completed"
    whole = api.open_run(run).history()
    assert [event.seq for event in whole] == list(range(1, len(whole) + 1))
    assert heard(run) == followed(run) == [event.seq for event in whole]
    seen += patient.poll()
    assert seen == whole, "one that was held through the death and the resume"
    assert effects(tmp_path) == [f"s{n}" for n in range(COUNT)]
