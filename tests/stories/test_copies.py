"""A run folder can be copied while its run is live: the copy is a run of its own, and the original notices nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.errors import HeldByAnother
from pixirnb.history.codec import GENESIS
from pixirnb.history.events import Event
from pixirnb.store.blobs import FileBlobs
from pixirnb.store.log_encoding import decode_log, encode_group
from tests.stories.storyline import effects, kinds, python, until
from tests.sweeps import first_of

pytestmark = pytest.mark.story

FLOW = """
name: copied
steps:
  - {id: a, run: "echo a >> effects.txt"}
  - {id: b, depends_on: [a], run: "echo b$$ >> effects.txt; until test -e go; do sleep 0.02; done; echo end$$ >> effects.txt"}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flow.yaml").write_text(FLOW)
    return tmp_path


def copied(run: Path, home: Path) -> Path:
    """A copy of a run folder, as somebody makes one with a file manager."""
    target = home / "copies" / run.name
    shutil.copytree(run, target, ignore=shutil.ignore_patterns("lock", "lease.json"))
    return target


def as_it_is(_copy: Path) -> None:
    pass


def after_a_clock_was_set(copy: Path, *, is_old: bool = False) -> None:
    """The log as if the clock had been put forward by an hour since: its owner seems to be younger than it."""
    blobs = FileBlobs(copy / "blobs")
    log = copy / "log.jsonl"
    events = decode_log(log.read_bytes(), get=blobs.get).events
    for number, event in enumerate(events):
        at = (datetime.fromisoformat(event.at) - timedelta(hours=1)).isoformat()
        data = dict(event.data)
        if is_old and "owner" in data:
            data["owner"] = {name: data["owner"][name] for name in ("host", "pid", "instance")}
        events[number] = Event(event.seq, at.replace("+00:00", "Z"), event.kind, data)
    log.write_bytes(encode_group(events, chain=GENESIS, after=0, put=blobs.put)[0])
    (copy / "seal.json").unlink()


def of_an_older_release(copy: Path) -> None:
    """As above, and without the birth of its owner: its supervisor still tells it."""
    after_a_clock_was_set(copy, is_old=True)


@pytest.mark.parametrize("moved", first_of([as_it_is, after_a_clock_was_set, of_an_older_release]))
def test_resuming_a_copy_leaves_the_steps_of_the_live_original_alone(
    home: Path, moved: Callable[[Path], None]
) -> None:
    owner = python("-m", "pixirnb", "run", "flow.yaml", cwd=home)
    until(lambda: len(effects(home)) == 2)
    [folder] = (home / ".pixirnb" / "runs").iterdir()
    until(lambda: kinds(api.open_run(folder)).count("attempt_started") == 2)
    copy = copied(folder, home)
    moved(copy)
    other = python("-m", "pixirnb", "resume", str(copy), cwd=home)
    until(lambda: len(effects(home)) == 3 or other.poll() is not None)
    (home / "go").touch()
    other.communicate()
    owner.communicate()
    assert (owner.returncode, other.returncode) == (0, 0)
    begun = [line[1:] for line in effects(home) if line.startswith("b")]
    ended = [line[3:] for line in effects(home) if line.startswith("end")]
    assert sorted(begun) == sorted(ended)
    assert len(begun) == 2
    assert effects(home).count("a") == 1


def test_one_process_does_not_drive_a_run_and_its_copy_at_once(home: Path) -> None:
    run = api.start(Path("flow.yaml"))
    until(lambda: len(effects(home)) == 2)
    copy = copied(run.folder, home)
    with pytest.raises(HeldByAnother):
        api.resume(str(copy))
    (home / "go").touch()
    assert run.wait().ok
    assert api.resume(str(copy)).wait().ok
