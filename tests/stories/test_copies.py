"""A run folder can be copied while its run is live: the copy is a run of its own, and the original notices nothing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.errors import HeldByAnother
from pixirnb.history.codec import GENESIS
from pixirnb.history.events import Event
from pixirnb.store.blobs import FileBlobs
from pixirnb.store.log_encoding import decode_log, encode_group
from tests.namespaces import in_namespaces
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


def after_a_clock_was_set(
    copy: Path, owner: Callable[[dict[str, Any]], dict[str, Any]] = dict
) -> None:
    """The log as if the clock had been put forward by an hour since: its owner seems to be younger than it."""
    blobs = FileBlobs(copy / "blobs")
    log = copy / "log.jsonl"
    events = decode_log(log.read_bytes(), get=blobs.get).events
    for number, event in enumerate(events):
        at = (datetime.fromisoformat(event.at) - timedelta(hours=1)).isoformat()
        data = dict(event.data)
        if "owner" in data:
            data["owner"] = owner(data["owner"])
        events[number] = Event(event.seq, at.replace("+00:00", "Z"), event.kind, data)
    log.write_bytes(encode_group(events, chain=GENESIS, after=0, put=blobs.put)[0])
    (copy / "seal.json").unlink()


def of_an_older_release(copy: Path) -> None:
    """As above, and without the birth of its owner: its supervisor still tells it."""
    names = ("host", "pid", "instance")
    after_a_clock_was_set(copy, lambda owner: {name: owner[name] for name in names})


def of_another_container(copy: Path) -> None:
    """The log as a container with a host name of its own writes it: its first process has another id and birth here."""
    there = {"host": "elsewhere", "pid": 1, "born": "this-boot/7"}
    after_a_clock_was_set(copy, lambda owner: {**owner, **there})


@pytest.mark.parametrize(
    "moved",
    first_of([of_another_container, as_it_is, after_a_clock_was_set, of_an_older_release]),
)
def test_resuming_a_copy_leaves_the_steps_of_the_live_original_alone(
    home: Path, moved: Callable[[Path], None]
) -> None:
    owner = python("-m", "pixirnb", "run", "flow.yaml", cwd=home)
    copy_goes_on_beside(owner, home, moved)


@pytest.mark.parametrize("words", in_namespaces("--pid", "--mount-proc"))
def test_resuming_a_copy_leaves_the_steps_of_an_owner_in_another_container_alone(
    home: Path, words: list[str]
) -> None:
    copy_goes_on_beside(python("-m", "pixirnb", "run", "flow.yaml", cwd=home, by=words), home)


def copy_goes_on_beside(
    owner: subprocess.Popen[str], home: Path, moved: Callable[[Path], None] = as_it_is
) -> None:
    """The steps of the owner and those of a resumed copy of its run end each once."""
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
