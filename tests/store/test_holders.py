"""One owner, whatever happens to the lock: who lost it writes not another byte, and who is named in the record is believed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from msgspec.structs import asdict

import pixirnb
from pixirnb import api
from pixirnb.errors import HeldByAnother, LogWriteFailed
from pixirnb.runners.processes.orphans import find_strays
from pixirnb.store.file_store import FileStore
from pixirnb.store.holders import read_lease
from pixirnb.store.lease import take
from pixirnb.testing.contracts.store import RUN, story

ROOT = Path(pixirnb.__file__).parents[1]

OWNER = """
import sys
from pathlib import Path
from pixirnb.store.file_store import FileStore
log = FileStore(Path(sys.argv[1])).acquire(sys.argv[2])
print("holds", flush=True)
sys.stdin.readline()
log.close()
"""


LEAVING = """
import os, subprocess, sys
from pathlib import Path
from pixirnb.store.file_store import FileStore
log = FileStore(Path(sys.argv[1])).acquire(sys.argv[2])
lock = os.stat(sys.argv[3]).st_ino
held = [fd for fd in map(int, os.listdir("/dev/fd")) if fd > 2 and os.path.exists(f"/dev/fd/{fd}")]
subprocess.Popen(["cat"], stdout=2, pass_fds=[fd for fd in held if os.fstat(fd).st_ino == lock])
os._exit(0)
"""


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    store = FileStore(tmp_path / ".pixirnb")
    log = store.create(RUN)
    log.append(story(3))
    log.close()
    return store


def without_lock(folder: Path) -> None:
    (folder / "lock").unlink()


def with_another_lock(folder: Path) -> None:
    (folder / "lock").unlink()
    (folder / "lock").touch()


def without_lock_and_record(folder: Path) -> None:
    (folder / "lock").unlink()
    (folder / "lease.json").unlink()


def with_anothers_record(folder: Path) -> None:
    lease = read_lease(folder)
    assert lease is not None
    (folder / "lease.json").write_text(json.dumps({**asdict(lease), "instance": "another"}))


def renamed(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


LOSSES: tuple[Callable[[Path], None], ...] = (
    without_lock,
    with_another_lock,
    without_lock_and_record,
    with_anothers_record,
    renamed,
)


def files(folder: Path) -> dict[str, bytes]:
    """Everything below a folder, the record apart, which its writer takes back."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "lease.json"
    }


@pytest.mark.parametrize("lose", LOSSES)
def test_an_owner_that_lost_its_lock_writes_not_another_byte(
    store: FileStore, lose: Callable[[Path], None]
) -> None:
    log = store.acquire(RUN)
    log.append(story(1, after=3))
    session = log.session("look.1")
    session.append(story(1))
    lose(store.folder(RUN))
    before = files(store.state)
    for write in (
        lambda: log.append(story(1, after=4)),
        lambda: log.append(story(2, after=4)),
        lambda: log.blobs.put(b"x" * 1000),
        log.require_hold,
    ):
        with pytest.raises(LogWriteFailed) as lost:
            write()
        assert lost.value.code == "lock_lost"
        assert "pixirnb resume" in lost.value.fix
    with pytest.raises(LogWriteFailed):
        session.append(story(1, after=1))
    log.close()
    assert files(store.state) == before


def test_what_is_lost_stays_lost_when_the_lock_comes_back(store: FileStore) -> None:
    log = store.acquire(RUN)
    lock = store.folder(RUN) / "lock"
    lock.rename(lock.with_name("aside"))
    with pytest.raises(LogWriteFailed):
        log.append(story(1, after=3))
    lock.with_name("aside").rename(lock)
    with pytest.raises(LogWriteFailed):
        log.append(story(1, after=3))
    log.close()
    assert store.read(RUN).events == story(3)


def test_a_record_that_was_only_touched_is_the_owners_still(store: FileStore) -> None:
    log = store.acquire(RUN)
    os.utime(store.folder(RUN) / "lease.json", (1.0, 1.0))
    log.append(story(1, after=3))
    log.close()
    assert read_lease(store.folder(RUN)) is None


def test_a_log_that_somebody_else_wrote_to_takes_no_more(store: FileStore) -> None:
    log = store.acquire(RUN)
    path = store.folder(RUN) / "log.jsonl"
    with path.open("ab") as other:
        other.write(b"{}\n")
    before = path.read_bytes()
    with pytest.raises(LogWriteFailed) as lost:
        log.append(story(1, after=3))
    assert lost.value.code == "lock_lost"
    log.close()
    assert path.read_bytes() == before


def test_a_log_whose_name_leads_elsewhere_takes_no_more(store: FileStore) -> None:
    log = store.acquire(RUN)
    path = store.folder(RUN) / "log.jsonl"
    path.rename(path.with_name("aside"))
    path.write_bytes(path.with_name("aside").read_bytes())
    with pytest.raises(LogWriteFailed, match="the file was replaced"):
        log.append(story(1, after=3))
    log.close()
    assert store.read(RUN).events == story(3)


@pytest.fixture
def owner(store: FileStore) -> Iterator[subprocess.Popen[str]]:
    """A living process that has taken the run."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(store.state), RUN],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "holds"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("lose", [without_lock, with_another_lock])
def test_the_record_of_a_living_process_is_believed_though_its_lock_is_free(
    store: FileStore, owner: subprocess.Popen[str], lose: Callable[[Path], None]
) -> None:
    folder = store.folder(RUN)
    lose(folder)
    found = store.read(RUN).owner
    assert found is not None
    assert found.pid == owner.pid
    with pytest.raises(HeldByAnother) as held:
        store.acquire(RUN)
    assert held.value.details["pid"] == owner.pid
    assert str(owner.pid) in held.value.message
    assert "--take-over" in held.value.fix
    owner.kill()  # and not reaped: a process that only its parent remembers lives no more
    while psutil.Process(owner.pid).status() != psutil.STATUS_ZOMBIE:
        pass
    assert store.read(RUN).owner is None
    store.acquire(RUN).close()


def test_a_living_process_is_believed_though_a_clock_was_set(
    store: FileStore, owner: subprocess.Popen[str]
) -> None:
    folder = store.folder(RUN)
    without_lock(folder)
    lease = read_lease(folder)
    assert lease is not None
    moved = {**asdict(lease), "started": lease.started - 3600}
    (folder / "lease.json").write_text(json.dumps(moved))
    with pytest.raises(HeldByAnother) as held:
        store.acquire(RUN)
    assert held.value.details["pid"] == owner.pid


def test_a_person_may_set_aside_the_record_of_a_living_process_but_not_its_lock(
    store: FileStore, owner: subprocess.Popen[str]
) -> None:
    with pytest.raises(HeldByAnother):
        store.acquire(RUN, take_over=True)
    without_lock(store.folder(RUN))
    log = store.acquire(RUN, take_over=True)
    log.append(story(1, after=3))
    owner.communicate("go\n")  # it lets go, and leaves what is not its own
    log.append(story(1, after=4))
    log.close()
    assert store.read(RUN).events == story(5)
    assert store.read(RUN).damage is None


def test_the_record_of_a_living_process_says_nothing_of_a_copy_of_the_folder(
    store: FileStore, owner: subprocess.Popen[str], tmp_path: Path
) -> None:
    copy = tmp_path / "copies" / RUN
    copy.mkdir(parents=True)
    for name, data in files(store.folder(RUN)).items():
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_bytes(data)
    (copy / "lease.json").write_bytes((store.folder(RUN) / "lease.json").read_bytes())
    beside, _ = FileStore.of_folder(copy)
    assert beside.read(RUN).owner is None
    beside.acquire(RUN).close()
    assert owner.poll() is None


def test_a_lock_that_a_child_of_an_ended_process_holds_is_told_with_what_finds_it(
    store: FileStore,
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LEAVING, str(store.state), RUN, str(store.folder(RUN) / "lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as owner:
        owner.wait(30)
        with pytest.raises(
            HeldByAnother, match=f"a child of the ended process {owner.pid}"
        ) as told:
            store.acquire(RUN)
        assert (
            told.value.fix
            == f"find the child with `fuser {store.folder(RUN) / 'lock'}`, and end it"
        )


def test_this_process_knows_what_it_holds_itself(store: FileStore) -> None:
    folder = store.folder(RUN)
    first = take(folder, instance="first")
    without_lock(folder)
    with pytest.raises(HeldByAnother, match=f"process {os.getpid()}"):
        take(folder, instance="second")
    first.release()
    assert read_lease(folder) is None
    take(folder, instance="second").release()


def test_whoever_loses_the_race_for_a_lock_file_that_is_replaced_takes_the_new_one(
    store: FileStore,
) -> None:
    folder = store.folder(RUN)
    for _ in range(20):
        hold = take(folder, instance="one")
        assert hold.lost() is None
        with_another_lock(folder)
        assert hold.lost() is not None
        hold.release()


# --- a run under way -------------------------------------------------------------------------------------------------


FLOW = {
    "name": "long",
    "steps": [
        {"id": "a", "run": "echo a >> effects.txt"},
        {
            "id": "b",
            "run": "echo b >> effects.txt; touch begun; until test -e go; do sleep 0.02; done",
            "depends_on": ["a"],
        },
        {"id": "c", "run": "echo c >> effects.txt", "depends_on": ["b"]},
    ],
}


def test_a_course_whose_lock_is_taken_stops_its_steps_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = api.start(FLOW)
    while not Path("begun").exists():
        pass
    without_lock_and_record(run.folder)
    outcome = run.wait()
    log = (run.folder / "log.jsonl").read_bytes()
    assert outcome.status == "interrupted"
    assert outcome.reasons[0] == {"code": "lock_lost", "step": None}
    assert "has been removed" in outcome.summary
    assert find_strays(run.id) == []
    Path("go").touch()
    resumed = api.resume(run.id)
    assert resumed.wait().status == "completed"
    assert (run.folder / "log.jsonl").read_bytes().startswith(log)
    assert api.open_run(run.id).damage is None
    assert read_lease(run.folder) is None
    assert Path("effects.txt").read_text().split() == ["a", "b", "b", "c"]


def test_a_request_that_comes_after_the_loss_is_left_to_the_next_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = api.start(FLOW)
    # Once that `b` began is on disk too nothing is left to be written: only a look into the inbox can find out.
    while (run.folder / "log.jsonl").read_bytes().count(b'"attempt_started"') < 2:
        pass
    (run.folder / "lock").unlink()
    request = run.folder / "inbox" / "0123456789abcdef.json"
    request.write_text(
        json.dumps({"id": "0123456789abcdef", "verb": "cancel", "arguments": {}, "by": "x"})
    )
    while run.status == "running" and request.exists():
        pass
    is_left = request.exists()
    Path("go").touch()
    assert is_left
    assert run.wait().reasons[0]["code"] == "lock_lost"
    assert [path.name for path in request.parent.iterdir()] == [request.name]


@pytest.mark.parametrize("harm", ["rm -rf .pixirnb", "mv .pixirnb/runs/* ."])
def test_a_run_whose_folder_a_step_takes_away_writes_nothing_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    monkeypatch.chdir(tmp_path)
    prints = f"{harm}; until test -e go; do sleep 0.02; done; echo late"
    run = api.start({"name": "w", "steps": [{"id": "a", "run": prints}]})
    folder = run.folder
    # The owner may miss its folder, and end the step, before any further word of its script.
    while folder.exists():
        pass
    Path("go").touch()
    outcome = run.wait()
    assert not folder.exists()
    assert (outcome.status, outcome.next_actions) == ("interrupted", [])
    assert f"put its folder back, then run `pixirnb resume {run.id}`" in outcome.summary
    assert api.runs() == []


@pytest.mark.parametrize("kind", [{"posture": "read_only"}, {"workspace": "isolated"}])
@pytest.mark.parametrize(
    ("harm", "repair"),
    [
        ("mv state moved", "mv moved state"),
        ("mv state/runs . && rm -rf state/trees", "mv runs state"),
    ],
)
def test_an_owner_whose_state_folder_is_moved_makes_nothing_in_its_place(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: dict[str, str],
    harm: str,
    repair: str,
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    waits = f"touch {tmp_path}/begun; until test -e {tmp_path}/go; do sleep 0.02; done"
    state = tmp_path / "state"
    flow = {"name": "w", "steps": [{"id": "a", "run": waits, **kind}]}
    run = api.start(flow, state=state)
    while not (tmp_path / "begun").exists():
        pass
    subprocess.run(harm, shell=True, cwd=tmp_path, check=True)
    left = sorted(state.rglob("*"))
    (tmp_path / "go").touch()
    assert run.wait().reasons[0]["code"] == "lock_lost"
    assert sorted(state.rglob("*")) == left
    subprocess.run(repair, shell=True, cwd=tmp_path, check=True)
    assert api.resume(run.id, state=state).wait().status == "completed"


def test_a_step_that_removes_the_lock_of_its_run_gets_no_further_line_into_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prints = "rm .pixirnb/runs/*/lock; until test -e go; do sleep 0.02; done; echo late; sleep 30"
    run = api.start({"name": "w", "steps": [{"id": "a", "run": prints}]})
    # The owner may miss its lock, and end the step, before any further word of its script.
    while (run.folder / "lock").exists():
        pass
    Path("go").touch()
    outcome = run.wait()
    assert [path.name for path in run.folder.rglob("*.log")] == []
    assert [action["command"] for action in outcome.next_actions] == [f"pixirnb resume {run.id}"]


@pytest.mark.parametrize("harm", [lambda log: os.truncate(log, 300), os.unlink])
def test_a_course_whose_log_is_lost_offers_no_resume_that_could_not_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: Callable[[Path], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = api.start(FLOW)
    while not Path("begun").exists():
        pass
    harm(run.folder / "log.jsonl")
    Path("go").touch()
    outcome = run.wait()
    assert (outcome.status, outcome.next_actions) == ("interrupted", [])
    assert f"start the run again; `pixirnb doctor {run.id}`" in outcome.summary
