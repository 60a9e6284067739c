"""Who vouches for a request is looked at, not believed; nothing that knocks can hold the owner up or break it."""

from __future__ import annotations

import contextlib
import os
import select
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pixirnb.machine.requests import Request, Sender
from pixirnb.store.door import Door, _address, knock
from pixirnb.store.inbox import FileInbox
from tests.sweeps import examples

ID = "0123456789abcdef"
ASKED = Request(ID, "decide", {"step": "gate", "verdict": "accept"}, "ada")


def person(_pid: int) -> Sender:
    """A witness who knows everybody for a person."""
    return "person"


def taken(owner: FileInbox) -> list[tuple[str, Sender]]:
    return [(request.id, request.sender) for request in owner.take()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The inbox of a run."""
    (tmp_path / "inbox").mkdir(mode=0o700)
    return tmp_path / "inbox"


@pytest.fixture
def owner(folder: Path) -> Iterator[FileInbox]:
    """Of an owner who listens, and takes every process for a person's."""
    inbox = FileInbox(folder, person)
    assert inbox.take() == []
    yield inbox
    inbox.close()


@pytest.fixture
def asker(folder: Path) -> Iterator[FileInbox]:
    """Another who asks something of it."""
    inbox = FileInbox(folder)
    yield inbox
    inbox.wait_no_more()


def test_a_request_that_its_asker_vouches_for_is_judged_by_who_that_is(
    owner: FileInbox, asker: FileInbox
) -> None:
    assert asker.leave(ASKED, only_proven=True)
    assert taken(owner) == [(ID, "person")]


def test_a_file_alone_proves_nothing(owner: FileInbox, asker: FileInbox, folder: Path) -> None:
    asker.leave(ASKED)
    asker.wait_no_more()
    assert taken(owner) == [(ID, "unproven")]


def test_a_word_is_for_these_bytes_and_for_no_others(
    owner: FileInbox, asker: FileInbox, folder: Path
) -> None:
    asker.leave(ASKED)
    path = folder / f"{ID}.json"
    path.write_bytes(path.read_bytes().replace(b"accept", b"reject"))
    assert taken(owner) == [(ID, "unproven")]


def test_a_word_counts_once(owner: FileInbox, asker: FileInbox, folder: Path) -> None:
    asker.leave(ASKED)
    data = (folder / f"{ID}.json").read_bytes()
    assert taken(owner) == [(ID, "person")]
    (folder / f"{ID}.json").write_bytes(data)
    assert taken(owner) == [(ID, "unproven")]


def test_who_cannot_be_told_proves_nothing(folder: Path) -> None:
    owner, asker = FileInbox(folder), FileInbox(folder)
    owner.take()
    asker.leave(ASKED)
    assert taken(owner) == [(ID, "unproven")]
    asker.wait_no_more()
    owner.close()


def test_who_left_before_it_was_looked_at_proves_nothing(folder: Path) -> None:
    door = Door(folder, person)
    child = os.fork()
    if child == 0:
        knock(folder, ID, b"x")
        os._exit(0)
    os.waitpid(child, 0)
    door.listen()
    assert door.sender_of(ID, b"x") == "unproven"
    door.close()


def test_a_step_that_repeats_a_persons_word_takes_nothing_from_it(folder: Path) -> None:
    said: list[Sender] = ["own_step", "person", "other_step"]
    door = Door(folder, lambda _pid: said.pop(0))
    words = [knock(folder, ID, b"x") for _ in range(3)]
    door.listen()
    assert door.sender_of(ID, b"x") == "person"
    assert door.sender_of(ID, b"x") == "unproven"
    for word in words:
        assert word is not None
        word.close()
    door.close()


def test_elsewhere_the_socket_is_a_file_of_this_users_that_goes_with_its_owner(
    folder: Path,
) -> None:
    door = Door(folder, person, platform="darwin")
    path = Path(_address((folder / "door").read_text(), "darwin"))
    assert path.is_socket()
    assert path.stat().st_mode & 0o777 == 0o600
    door.close()
    door.close()
    assert not path.exists()
    assert not (folder / "door").exists()


@given(st.lists(st.binary(max_size=200), max_size=6))
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_garbage_at_the_door_breaks_it_or_is_a_word(folder: Path, said: list[bytes]) -> None:
    door = Door(folder, person)
    address = _address((folder / "door").read_text(), "linux")
    callers = []
    for data in said:
        caller = socket.socket(socket.AF_UNIX)
        caller.connect(address)
        caller.sendall(data)
        callers.append(caller)
    word = knock(folder, ID, b"x")
    door.listen()
    assert door.sender_of(ID, b"x") == "person"
    for caller in callers:
        caller.close()
    door.listen()
    assert word is not None
    word.close()
    door.close()


def test_a_thousand_who_say_nothing_keep_no_descriptors(folder: Path) -> None:
    door = Door(folder, person)
    before = len(list(Path("/proc/self/fd").iterdir()))
    address = _address((folder / "door").read_text(), "linux")
    for _ in range(1000):
        with socket.socket(socket.AF_UNIX) as caller, contextlib.suppress(BlockingIOError):
            caller.setblocking(False)
            caller.connect(address)
    for _ in range(5):
        door.listen()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    word = knock(folder, ID, b"x")
    door.listen()
    assert door.sender_of(ID, b"x") == "person"
    assert word is not None
    word.close()
    door.close()


def test_a_forked_child_keeps_no_door_open(folder: Path) -> None:
    door = Door(folder, person)
    reading, writing = os.pipe()
    born, birth = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.write(birth, b"x")
        select.select([reading], [], [], 60)
        os._exit(0)
    os.close(reading)
    os.read(born, 1)  # only then has it let go
    os.close(born)
    os.close(birth)
    told = (folder / "door").read_text()
    door.close()
    (folder / "door").write_text(told)
    (folder / "door").chmod(0o600)
    assert knock(folder, ID, b"x") is None
    os.close(writing)
    os.waitpid(child, 0)


@pytest.mark.parametrize(
    "planted", [b"", b"x" * 100, b"\xff" * 32, b"../../../../run/docker.sock", b"0" * 32]
)
def test_a_planted_door_leads_nowhere(folder: Path, planted: bytes) -> None:
    (folder / "door").write_bytes(planted)
    assert knock(folder, ID, b"x") is None


# --- clocks ---


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_request_is_heard_whatever_the_clock_of_the_disk_says(
    owner: FileInbox, asker: FileInbox, folder: Path, hours: int
) -> None:
    asker.leave(ASKED)
    at = (folder / f"{ID}.json").stat().st_mtime + hours * 3600
    os.utime(folder / f"{ID}.json", (at, at))
    assert taken(owner) == [(ID, "person")]
    owner.answer(ID, {"ok": True})
    os.utime(folder / f"{ID}.answer", (at, at))
    owner.take()
    assert asker.reply(ID) == {"ok": True}


def test_requests_are_heard_in_the_order_in_which_the_disk_got_them(
    owner: FileInbox, folder: Path
) -> None:
    ids = [f"{n:016x}" for n in (3, 1, 2)]
    for n, each in enumerate(ids):
        FileInbox(folder).leave(Request(each, "checkpoint", {"name": "a"}, is_awaited=False))
        os.utime(folder / f"{each}.json", (5000 + n, 5000 + n))
    assert [request.id for request in owner.take()] == ids


def test_what_lay_there_before_a_course_began_is_for_nobody(folder: Path) -> None:
    FileInbox(folder).leave(Request(ID, "cancel", {}, "ada", is_awaited=False))
    owner = FileInbox(folder, person)
    assert owner.take() == []
    assert not FileInbox(folder).is_left(ID)
    owner.close()


def test_a_request_that_somebody_removed_is_not_said_to_be_taken(
    owner: FileInbox, asker: FileInbox, folder: Path
) -> None:
    asker.leave(ASKED)
    (folder / f"{ID}.json").unlink()
    assert not asker.is_left(ID)
    assert not asker.withdraw(ID)
    assert not asker.is_taken(ID)
    asker.leave(ASKED)
    assert taken(owner) == [(ID, "person")]
    assert asker.is_taken(ID)


@pytest.mark.parametrize("harm", ["removed", "junk", "pipe", "folder", "with its folder"])
def test_a_door_whose_name_was_taken_away_is_found_again(folder: Path, harm: str) -> None:
    door = Door(folder, lambda _: "person")
    name = folder / "door"
    name.unlink()
    match harm:
        case "junk":
            name.write_text("nobody")
        case "pipe":
            os.mkfifo(name)
        case "folder":
            name.mkdir()
            door.listen()
            name.rmdir()
        case "with its folder":
            folder.rmdir()
        case _:
            pass
    door.listen()
    visit = knock(folder, "ab" * 8, b"{}")
    assert visit is not None
    visit.close()
    door.close()
