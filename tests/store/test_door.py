"""Who vouches for a request is looked at, not believed; nothing that knocks can hold the owner up or break it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pixirnb.machine.requests import Request, Sender
from pixirnb.store.door import Door, Knock, _address, knock
from pixirnb.store.holders import own_lease
from pixirnb.store.inbox import FileInbox
from tests.sweeps import examples

ID = "0123456789abcdef"
ASKED = Request(ID, "decide", {"step": "gate", "verdict": "accept"}, "ada")
HERE = own_lease("here", Path("/"))
"""The lease of an owner in this process."""


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
    inbox = FileInbox(folder, person, run_id="r", instance=HERE.instance)
    assert inbox.take() == []
    yield inbox
    inbox.close()


@pytest.fixture
def asker(folder: Path) -> Iterator[FileInbox]:
    """Another who asks something of it."""
    inbox = FileInbox(folder, run_id="r")
    yield inbox
    inbox.wait_no_more()


def test_a_request_that_its_asker_vouches_for_is_judged_by_who_that_is(
    owner: FileInbox, asker: FileInbox
) -> None:
    assert asker.leave(ASKED, HERE, only_proven=True)
    assert taken(owner) == [(ID, "person")]


def test_a_file_alone_proves_nothing(owner: FileInbox, asker: FileInbox, folder: Path) -> None:
    asker.leave(ASKED, HERE)
    asker.wait_no_more()
    assert taken(owner) == [(ID, "unproven")]


def test_a_word_is_for_these_bytes_and_for_no_others(
    owner: FileInbox, asker: FileInbox, folder: Path
) -> None:
    asker.leave(ASKED, HERE)
    path = folder / f"{ID}.json"
    path.write_bytes(path.read_bytes().replace(b"accept", b"reject"))
    assert taken(owner) == [(ID, "unproven")]


@pytest.mark.parametrize(
    ("place", "run_id", "instance"),
    [("bait", "r", "here"), (".", "bait", "here"), (".", "r", "earlier")],
    ids=["folder", "run", "owner"],
)
def test_a_word_meant_for_another_owner_is_worth_nothing(
    owner: FileInbox, folder: Path, place: str, run_id: str, instance: str
) -> None:
    bait = folder.parent / place / "inbox"
    bait.mkdir(parents=True, exist_ok=True)
    (bait / "door").write_bytes((folder / "door").read_bytes())
    asker = FileInbox(bait, run_id=run_id)
    assert asker.leave(ASKED, replace(HERE, instance=instance), only_proven=True)
    (bait / f"{ID}.json").rename(folder / f"{ID}.json")
    assert taken(owner) == [(ID, "unproven")]
    asker.wait_no_more()


def test_a_request_of_an_older_release_is_taken_and_proves_nothing(
    owner: FileInbox, asker: FileInbox, folder: Path
) -> None:
    asker.leave(ASKED)
    document = json.loads((folder / f"{ID}.json").read_bytes())
    del document["to"]
    data = json.dumps(document).encode()
    (folder / f"{ID}.json").write_bytes(data)
    word = knock(folder, ID, data, HERE)
    assert word is not None
    assert taken(owner) == [(ID, "unproven")]
    word.close()


def test_a_word_is_given_to_the_owner_that_the_lease_names_only(folder: Path) -> None:
    door = Door(folder, person)
    for other in (replace(HERE, pid=os.getppid()), replace(HERE, host="elsewhere")):
        assert knock(folder, ID, b"x", other) is None
    door.close()


def test_a_reply_counts_if_the_owner_vouches_for_it(
    owner: FileInbox, asker: FileInbox, folder: Path
) -> None:
    forged = folder / f"{ID}.answer"
    asker.leave(ASKED, HERE)
    forged.write_text('{"ok": true}')
    assert asker.reply(ID) is None
    assert taken(owner) == [(ID, "person")]
    owner.answer(ID, {"ok": False})
    assert asker.reply(ID) == {"ok": False}
    asker.leave(ASKED, HERE)
    assert taken(owner) == [(ID, "person")]
    owner.answer(ID, {"ok": False})
    forged.write_text('{"ok": true}')
    assert asker.reply(ID) is None
    assert not asker.is_left(ID)


@pytest.mark.parametrize("reply", [None, {"ok": True}])
def test_no_request_keeps_a_descriptor_once_it_is_answered(
    owner: FileInbox, asker: FileInbox, folder: Path, reply: dict[str, bool] | None
) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    asker.leave(ASKED, HERE)
    (folder / f"{ID}.answer").mkdir()
    assert taken(owner) == [(ID, "person")]
    owner.answer(ID, reply)
    asker.wait_no_more()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("was_there", [True, False])
def test_without_an_owner_that_vouches_only_a_refusal_counts(
    owner: FileInbox, asker: FileInbox, folder: Path, was_there: bool
) -> None:
    asker.leave(ASKED, HERE if was_there else None)
    (folder / f"{ID}.json").unlink()
    owner.close()
    for ok in (True, False):
        (folder / f"{ID}.answer").write_text(json.dumps({"ok": ok}))
        assert asker.reply(ID) == (None if ok else {"ok": False})
        assert not asker.is_left(ID)


def test_a_word_counts_once(owner: FileInbox, asker: FileInbox, folder: Path) -> None:
    asker.leave(ASKED, HERE)
    data = (folder / f"{ID}.json").read_bytes()
    assert taken(owner) == [(ID, "person")]
    (folder / f"{ID}.json").write_bytes(data)
    assert taken(owner) == [(ID, "unproven")]


def test_who_cannot_be_told_proves_nothing(folder: Path) -> None:
    owner, asker = FileInbox(folder), FileInbox(folder)
    owner.take()
    asker.leave(ASKED, HERE)
    assert taken(owner) == [(ID, "unproven")]
    asker.wait_no_more()
    owner.close()


def test_who_left_before_it_was_looked_at_proves_nothing(folder: Path) -> None:
    door = Door(folder, person)
    child = os.fork()
    if child == 0:
        knock(folder, ID, b"x", HERE)
        os._exit(0)
    os.waitpid(child, 0)
    door.listen()
    assert door.sender_of(ID, b"x") == "unproven"
    door.close()


def test_a_step_that_repeats_a_persons_word_takes_nothing_from_it(folder: Path) -> None:
    said: list[Sender] = ["own_step", "person", "other_step"]
    door = Door(folder, lambda _pid: said.pop(0))
    words = []
    for _ in range(3):
        words.append(knock(folder, ID, b"x", HERE))
        door.listen()  # each look asks anew who that is
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
    word = knock(folder, ID, b"x", HERE)
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
    word = knock(folder, ID, b"x", HERE)
    door.listen()
    assert door.sender_of(ID, b"x") == "person"
    assert word is not None
    word.close()
    door.close()


def fill(door: Door) -> list[socket.socket]:
    """Connect until no more can wait."""
    callers = []
    with contextlib.suppress(BlockingIOError):
        while True:
            caller = socket.socket(socket.AF_UNIX)
            callers.append(caller)
            caller.setblocking(False)
            caller.connect(_address((door.folder / "door").read_text(), "linux"))
    return callers


def end(door: Door, callers: list[socket.socket], word: Knock | None) -> None:
    for caller in callers:
        caller.close()
    assert word is not None
    word.close()
    door.close()


def test_steps_at_the_door_send_no_person_away(folder: Path) -> None:
    said: list[Sender] = ["person", "own_step", "own_step"]
    door = Door(folder, lambda _pid: said.pop(0))
    word = knock(folder, ID, b"x", HERE)
    callers: list[socket.socket] = []
    for _ in range(2):
        callers += fill(door)
        door.listen()
    assert said == []  # of one process one look is enough
    assert door.sender_of(ID, b"x") == "person"
    end(door, callers, word)


@pytest.mark.parametrize("limit_s", [None, 30.0], ids=["", "with a time-out of all sockets"])
def test_who_is_last_of_all_that_wait_is_heard(
    folder: Path, limit_s: float | None, request: pytest.FixtureRequest
) -> None:
    socket.setdefaulttimeout(limit_s)
    request.addfinalizer(lambda: socket.setdefaulttimeout(None))
    door = Door(folder, person)
    callers = fill(door)
    door.listen()
    callers += fill(door)
    waiting: list[Knock | None] = []
    asking = threading.Thread(target=lambda: waiting.append(knock(folder, ID, b"x", HERE)))
    asking.start()
    asking.join(0.3)  # it waits for its turn by now, or has gone away
    while asking.is_alive():
        door.listen()
    door.listen()
    assert door.sender_of(ID, b"x") == "person"
    end(door, callers, waiting[0])


def test_all_that_wait_are_heard_in_one_look(folder: Path) -> None:
    door = Door(folder, person)
    address = _address((folder / "door").read_text(), "linux")
    callers = [socket.socket(socket.AF_UNIX) for _ in range(256)]
    for caller in callers:
        caller.connect(address)
    word = knock(folder, ID, b"x", HERE)
    door.listen()
    assert door.sender_of(ID, b"x") == "person"
    end(door, callers, word)


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
    assert knock(folder, ID, b"x", HERE) is None
    os.close(writing)
    os.waitpid(child, 0)


@pytest.mark.parametrize(
    "planted", [b"", b"x" * 100, b"\xff" * 32, b"../../../../run/docker.sock", b"0" * 32]
)
def test_a_planted_door_leads_nowhere(folder: Path, planted: bytes) -> None:
    (folder / "door").write_bytes(planted)
    assert knock(folder, ID, b"x", HERE) is None


# --- clocks ---


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_request_is_heard_whatever_the_clock_of_the_disk_says(
    owner: FileInbox, asker: FileInbox, folder: Path, hours: int
) -> None:
    asker.leave(ASKED, HERE)
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
    asker.leave(ASKED, HERE)
    (folder / f"{ID}.json").unlink()
    assert not asker.is_left(ID)
    assert not asker.withdraw(ID)
    assert not asker.is_taken(ID)
    asker.leave(ASKED, HERE)
    assert taken(owner) == [(ID, "person")]
    assert asker.is_taken(ID)


@pytest.mark.parametrize(
    "harm",
    [
        "removed",
        "junk",
        "pipe",
        "folder",
        "with its folder",
        "a file for its folder",
        "a link for its folder",
    ],
)
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
        case "a file for its folder":
            folder.rmdir()
            folder.touch()
        case "a link for its folder":
            folder.rename(folder.with_name("elsewhere"))
            folder.symlink_to("elsewhere")
        case _:
            pass
    door.listen()
    visit = knock(folder, "ab" * 8, b"{}", HERE)
    assert visit is not None
    visit.close()
    door.close()
