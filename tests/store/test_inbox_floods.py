"""Whatever a step puts into an inbox, its run goes on, and a person is heard."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pixirnb.machine.requests import Request
from pixirnb.store.holders import own_lease
from pixirnb.store.inbox import FileInbox

ID = "f" * 16
CANCEL = Request(ID, "cancel", {}, "ada")
HERE = own_lease("here", Path("/"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The inbox of a run."""
    (tmp_path / "inbox").mkdir(mode=0o700)
    return tmp_path / "inbox"


@pytest.fixture
def owner(folder: Path) -> Iterator[FileInbox]:
    """Of an owner who takes every process for a person's."""
    inbox = FileInbox(folder, lambda _pid: "person", instance=HERE.instance)
    assert inbox.take() == []
    yield inbox
    inbox.close()


@pytest.mark.parametrize("name", [f"{ID}.json", "door", f"{ID}.answer"])
def test_a_pipe_whose_writer_is_silent_is_no_file(
    owner: FileInbox, folder: Path, name: str
) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    writer = os.open(folder / name, os.O_RDWR)
    asker = FileInbox(folder)
    assert asker.reply(ID) is None
    assert owner.take() == []
    assert asker.leave(CANCEL, HERE, only_proven=True)
    assert [(each.verb, each.sender) for each in owner.take()] == [("cancel", "person")]
    asker.wait_no_more()
    os.close(writer)


@pytest.mark.parametrize(("count", "size"), [(300, 0), (40, 60_000)], ids=["many", "large"])
def test_of_a_flood_one_look_takes_a_part_and_a_person_first(
    owner: FileInbox, folder: Path, count: int, size: int
) -> None:
    document = {"verb": "checkpoint", "by": "x", "arguments": {"name": "x" * size}}
    for number in range(count):
        name = f"{number:016x}"
        (folder / f"{name}.json").write_text(json.dumps({**document, "id": name}))
    asker = FileInbox(folder)
    asker.leave(CANCEL, HERE)
    first = owner.take()
    assert first[-1].id == ID
    assert len(first) <= 256
    assert sum(len(str(each.arguments)) for each in first) < 2**21
    taken = first
    while more := owner.take():
        taken += more
    assert sorted(each.id for each in taken) == [
        *(f"{number:016x}" for number in range(count)),
        ID,
    ]
    asker.wait_no_more()


def test_what_a_person_vouched_for_is_found_in_any_crowd(owner: FileInbox, folder: Path) -> None:
    owner.most_listed = 0
    asker = FileInbox(folder)
    asker.leave(CANCEL, HERE)
    assert [each.id for each in owner.take()] == [ID]
    asker.wait_no_more()
