"""What a person asks from another process reaches the one that drives the run, once, and is answered."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.errors import Cannot, InvalidArguments
from pixirnb.machine.requests import Request
from pixirnb.operations.run import Run
from pixirnb.store.file_store import FileStore
from pixirnb.store.inbox import FileInbox
from pixirnb.store.lease import live_owner
from tests.stories.filestory import said
from tests.stories.storyline import effects, facts, kinds, python, until

pytestmark = pytest.mark.story

FLOW = """
name: asked
steps:
  - {id: gate, ask: {question: "Go?", choices: [now, later]}}
  - {id: slow, run: "echo slow >> effects.txt; until test -e go; do sleep 0.02; done"}
  - {id: beside, run: "echo beside >> effects.txt; sleep 600"}
  - {id: ship, run: "echo ship {{ steps.gate.output }} >> effects.txt", depends_on: [gate, slow]}
  - {id: last, run: "echo last >> effects.txt", depends_on: [beside]}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a workflow that waits for a person and for a file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flow.yaml").write_text(FLOW)
    return tmp_path


@pytest.fixture
def owner(home: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that drives the workflow; both of its long steps are under way."""
    child = python("-m", "pixirnb", "run", "flow.yaml", cwd=home)
    until(lambda: len(effects(home)) == 2 or child.poll() is not None)
    yield child
    end(child)


def driven(home: Path) -> Run:
    """Its run, opened here."""
    [folder] = (home / ".pixirnb" / "runs").iterdir()
    run = api.open_run(folder.name)
    until(lambda: "decision_requested" in kinds(run))
    return run


def left(run: Run) -> list[str]:
    """What lies in its inbox, but for the door."""
    return sorted(p.name for p in (run.folder / "inbox").iterdir() if p.name != "door")


def end(child: subprocess.Popen[str]) -> None:
    child.kill()
    if child.stdout is not None and not child.stdout.closed:
        child.communicate()


def test_every_mutating_verb_reaches_a_run_that_another_process_drives(
    home: Path, owner: subprocess.Popen[str]
) -> None:
    run = driven(home)
    run.checkpoint("here", note="before lunch")
    assert run.state.finished is None
    assert [c["name"] for c in run.state.checkpoints] == ["here"]
    run.decide("gate", "accept", value="now", note="looks good")
    assert run.outcome.step("gate").checkpoint_status == "checkpoint_ready"
    [word] = facts(run, "decision_recorded")
    assert (word["verdict"], word["value"], word["note"]) == ("accept", "now", "looks good")
    run.cancel("beside")
    until(lambda: run.outcome.step("beside").subagent_status == "cancelled")
    (home / "go").touch()
    out, _ = owner.communicate()
    assert owner.returncode == 1, out
    assert run.outcome.status == "partial"
    assert run.outcome.step("beside").subagent_status == "cancelled"
    assert effects(home)[-2:] == ["ship", "now"]
    assert left(run) == []


def test_a_terminal_is_answered_in_json_and_a_refusal_is_the_owners(
    home: Path, owner: subprocess.Popen[str]
) -> None:
    run = driven(home)
    code, told = said(home, "decide", run.id, "gate", "accept")
    assert (code, told["error"]["code"]) == (2, "not_a_choice")
    code, told = said(home, "cancel", run.id, "--drain")
    assert (code, told["ok"]) == (0, True)
    (home / "go").touch()
    run.cancel()
    owner.communicate()
    assert {r["code"] for r in run.outcome.reasons} >= {"cancelled"}
    assert "ship" not in effects(home)


def test_of_many_people_who_answer_at_once_one_is_heard_and_the_others_are_told(
    home: Path, owner: subprocess.Popen[str]
) -> None:
    run = driven(home)
    told: list[str] = []

    def answer(number: int) -> None:
        mine = api.open_run(run.id)
        try:
            mine.decide("gate", "accept", value=["now", "later"][number % 2])
            told.append("heard")
        except InvalidArguments as error:
            told.append(error.code)

    people = [threading.Thread(target=answer, args=(number,)) for number in range(6)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert told.count("heard") == 1
    assert set(told) <= {"heard", "decided_already", "nothing_to_decide"}
    assert len(facts(run, "decision_recorded")) == 1
    end(owner)


def test_a_request_left_twice_changes_nothing_the_second_time(
    home: Path, owner: subprocess.Popen[str]
) -> None:
    run = driven(home)
    inbox = FileInbox(run.folder / "inbox", run_id=run.id)
    asked = Request("0123456789abcdef", "checkpoint", {"name": "twice"}, "ada")
    for _ in range(2):
        inbox.leave(asked, live_owner(run.folder))
        until(lambda: inbox.reply(asked.id) == {"ok": True})
    assert len(facts(run, "checkpoint_saved")) == 1
    end(owner)
    api.open_run(run.id)
    assert len(facts(api.open_run(run.id), "checkpoint_saved")) == 1


def answered(inbox: FileInbox, request_id: str) -> dict[str, Any]:
    """The reply, once there is one."""
    while (reply := inbox.reply(request_id)) is None:
        time.sleep(0.02)
    return reply


def test_what_is_no_request_is_answered_and_harms_nobody(
    home: Path, owner: subprocess.Popen[str]
) -> None:
    run = driven(home)
    folder = run.folder / "inbox"
    inbox = FileInbox(folder)
    bad = {
        "0" * 16: b"{",
        "1" * 16: b"[]",
        "2" * 16: b'{"id":"2222222222222222","verb":7,"arguments":{},"by":"x"}',
        "3" * 16: b'{"id":"' + b"3" * 16 + b'","verb":"fly","arguments":{},"by":"x"}',
        "4" * 16: b'{"id":"'
        + b"4" * 16
        + b'","verb":"checkpoint","arguments":{"name":["x"]},"by":"x"}',
        "5" * 16: b"x" * 70_000,
        "6" * 16: b"[" * 60_000,
    }
    for name, data in bad.items():
        aside = folder / f".{name}"
        aside.write_bytes(data)
        aside.rename(folder / f"{name}.json")
    (folder / ("7" * 16 + ".json")).symlink_to(home / "flow.yaml")
    (folder / "notes.txt").write_text("not ours")
    codes = [answered(inbox, name)["error"]["code"] for name in sorted(bad)]
    assert codes == [
        *["request_unreadable"] * 3,
        "request_unknown",
        "bad_name",
        *["request_unreadable"] * 2,
    ]
    assert run.status == "running"
    end(owner)


def test_a_wish_left_for_a_course_that_is_over_is_not_obeyed_by_the_next(
    home: Path, owner: subprocess.Popen[str]
) -> None:
    run = driven(home)
    owner.kill()
    owner.communicate()
    inbox = FileInbox(run.folder / "inbox")
    inbox.leave(Request("fedcba9876543210", "cancel", {}, "ada"))
    old = run.folder / "inbox" / "fedcba9876543210.json"
    os.utime(old, (1, 1))
    (home / "go").touch()
    resumed = api.resume(run.id, until="slow")
    assert resumed.wait().step("slow").checkpoint_status == "checkpoint_ready"
    assert not old.exists()
    assert {r["code"] for r in resumed.outcome.reasons}.isdisjoint({"cancelled"})


def test_an_owner_that_stands_still_is_said_to_be_silent_and_the_request_is_taken_back(
    home: Path, owner: subprocess.Popen[str]
) -> None:
    run = driven(home)
    owner.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(Cannot) as caught:
            run.checkpoint("never")
        assert caught.value.code == "owner_silent"
        assert caught.value.details["pid"] == owner.pid
        assert left(run) == []
    finally:
        owner.send_signal(signal.SIGCONT)
    end(owner)
    assert facts(api.open_run(run.id), "checkpoint_saved") == []


def test_an_owner_that_dies_over_a_request_leaves_it_to_the_asker(
    home: Path, owner: subprocess.Popen[str]
) -> None:
    run = driven(home)
    owner.send_signal(signal.SIGSTOP)
    asking = threading.Thread(target=run.checkpoint, args=("after",))
    asking.start()
    until(lambda: any((run.folder / "inbox").glob("*.json")))
    owner.kill()
    owner.communicate()
    asking.join()
    assert [c["name"] for c in api.open_run(run.id).state.checkpoints] == ["after"]
    assert left(run) == []


@pytest.mark.parametrize("drain", [True, False])
@pytest.mark.parametrize("work", [{"run": "true"}, {"ask": {"question": "Go?"}}])
def test_a_run_that_comes_to_rest_over_a_cancel_was_not_cancelled(
    home: Path, work: dict[str, Any], *, drain: bool
) -> None:
    run = api.start({"name": "w", "steps": [{"id": "a", **work}]})
    run.wait()
    owner = FileStore(home / ".pixirnb").acquire(run.id)
    answers: list[BaseException | None] = []

    def cancel() -> None:
        try:
            api.open_run(run.id).cancel(drain=drain)
        except Cannot as refused:
            answers.append(refused)
        else:
            answers.append(None)

    asking = threading.Thread(target=cancel)
    asking.start()
    until(lambda: any((run.folder / "inbox").glob("*.json")))
    owner.close()
    asking.join()
    [answer] = answers
    assert isinstance(answer, Cannot)
    assert answer.code == "not_live"


def test_a_decision_may_be_recorded_on_one_day_and_taken_up_on_another(home: Path) -> None:
    (home / "go").touch()
    run = api.start(
        {
            "name": "days",
            "steps": [
                {"id": "gate", "ask": {"question": "Go?"}},
                {"id": "ship", "run": "echo ship >> effects.txt", "depends_on": ["gate"]},
            ],
        }
    )
    assert run.wait().status == "needs_orchestrator"
    words = ("gate", "accept", "--no-resume", "--note", "ok")
    assert said(home, "decide", run.id, *words)[0] == 4
    noted = api.open_run(run.id)
    assert noted.outcome.reasons[0] == {"code": "decided_not_resumed", "step": None}
    assert effects(home) == []
    assert said(home, "decide", run.id, "gate", "reject")[1]["error"]["code"] == "decided_already"
    assert said(home, "resume", run.id)[0] == 0
    assert effects(home) == ["ship"]


def test_two_live_runs_of_two_processes_that_may_write_the_same_files_both_say_so(
    home: Path,
) -> None:
    writer = {"id": "w", "run": "until test -e go; do sleep 0.02; done", "write_set": ["out/**"]}
    (home / "w.json").write_text(json.dumps({"name": "older", "steps": [writer]}))
    child = python("-m", "pixirnb", "run", "w.json", cwd=home)
    until(lambda: any((home / ".pixirnb" / "runs").glob("*/log.jsonl")))
    [folder] = (home / ".pixirnb" / "runs").iterdir()
    older = api.open_run(folder.name)
    until(lambda: "attempt_started" in kinds(older))
    newer = api.start({"name": "newer", "steps": [writer]})
    until(lambda: facts(older, "warning_raised") and facts(newer, "warning_raised"))
    for run, other in ((older, newer), (newer, older)):
        [warned] = facts(run, "warning_raised")
        assert warned["code"] == "workspace_shared"
        assert other.id in warned["message"]
    (home / "go").touch()
    assert newer.wait().ok
    child.communicate()
    assert older.outcome.ok
    assert left(older) == []
