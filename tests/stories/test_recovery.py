"""A log that two owners have written, or that was damaged otherwise, goes on from what holds, and says so."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.auditor.audit import audit
from pixirnb import api, ids
from pixirnb.errors import LogDamaged, StateUnusable
from pixirnb.operations.run import Run
from pixirnb.store.recovery import SUFFIX
from tests.stories.storyline import facts, python, until
from tests.sweeps import first_of

FLOW: Any = {
    "name": "woven",
    "steps": [
        {"id": "a", "run": "echo a >> effects.txt"},
        {"id": "b", "run": "echo b >> effects.txt; echo from b", "depends_on": ["a"]},
        {"id": "c", "run": "echo c >> effects.txt", "depends_on": ["b"]},
    ],
}


def lines(run: Run) -> list[bytes]:
    """The log, line by line."""
    return (run.folder / "log.jsonl").read_bytes().splitlines(keepends=True)


def effects() -> list[str]:
    return Path("effects.txt").read_text().split()


@pytest.fixture
def woven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run as two owners leave it that both went on from the end of its first step."""
    monkeypatch.chdir(tmp_path)
    run = api.start(FLOW)
    assert run.wait().ok
    one = lines(run)
    [cut] = [
        e.seq for e in run.history() if e.kind == "checkpoint_decided" and e.data["step"] == "a"
    ]
    (run.folder / "log.jsonl").write_bytes(b"".join(one[:cut]))
    (run.folder / "seal.json").unlink()
    assert api.resume(run.id).wait().ok
    other = lines(run)
    assert other[:cut] == one[:cut]
    pairs = zip(one[cut:], other[cut:], strict=False)
    mixed = b"".join(line for pair in pairs for line in pair)
    (run.folder / "log.jsonl").write_bytes(b"".join(one[:cut]) + mixed)
    Path("effects.txt").write_text("a\n")
    return api.open_run(run.id)


def test_a_woven_log_is_refused_until_a_person_says_that_it_shall_go_on(woven: Run) -> None:
    before = (woven.folder / "log.jsonl").read_bytes()
    assert woven.status != "completed"
    with pytest.raises(LogDamaged) as refused:
        api.resume(woven.id)
    assert f"pixirnb resume {woven.id} --recover" in refused.value.fix
    forecast = api.plan_resume(woven.id, recover=True)
    assert [entry["action"] for entry in forecast] == ["reuse", "rerun", "rerun"]
    assert (woven.folder / "log.jsonl").read_bytes() == before
    assert not list(woven.folder.rglob(f"*{SUFFIX}")), "looking changes nothing"


def test_a_woven_log_goes_on_from_its_first_line_that_breaks_the_chain(woven: Run) -> None:
    damaged = lines(woven)
    assert woven.damage is not None
    held = woven.damage.line - 1
    resumed = api.resume(woven.id, recover=True)
    outcome = resumed.wait()
    assert outcome.status == "completed"
    assert effects() == ["a", "b", "c"], "what was reused is not run again"
    assert api.open_run(woven.id).damage is None
    now = lines(woven)
    assert now[:held] == damaged[:held]
    assert (woven.folder / "log.1.broken").read_bytes() == b"".join(damaged[held:])
    said = facts(resumed, "warning_raised")[0]
    assert said["code"] == "log_recovered"
    assert f"line {held + 1}" in said["message"]
    assert "log.1.broken" in said["message"]
    assert "`b`, `c`" in said["message"]
    assert "`a`" not in said["message"]
    assert "log_recovered" in [warning["code"] for warning in outcome.warnings]
    assert resumed.history()[held].kind == "warning_raised", "before anything else is done"
    assert audit(b"".join(now), outcome=api.open_run(woven.id).outcome.document()) == []


def test_a_recovery_repeated_after_a_kill_keeps_the_rest_once_and_removes_what_the_killed_left(
    woven: Run,
) -> None:
    assert woven.damage is not None
    rest = b"".join(lines(woven)[woven.damage.line - 1 :])
    (woven.folder / "log.1.broken").write_bytes(rest)
    left = [".log.jsonl.0badcafe", ".log.1.broken.0badcafe", "lease.json.123", "seal.json.123"]
    for name in left:
        (woven.folder / name).write_text("half")
    with pytest.raises(LogDamaged):
        api.resume(woven.id)
    assert all((woven.folder / name).exists() for name in left), "a refusal removes nothing"
    resumed = api.resume(woven.id, recover=True)
    assert resumed.wait().status == "completed"
    assert {path.name for path in woven.folder.iterdir()} == {
        *("log.jsonl", "log.1.broken", "seal.json", "lock"),
        *("blobs", "output", "sessions", "inbox"),
    }
    assert (woven.folder / "log.1.broken").read_bytes() == rest
    assert "log.1.broken" in facts(resumed, "warning_raised")[0]["message"]


def test_what_attempts_left_that_nobody_knows_of_any_more_is_kept_and_not_mixed_in(
    woven: Run,
) -> None:
    [first] = [path for path in (woven.folder / "output").iterdir() if path.name.startswith("b.")]
    first.write_text("from another history\n")
    cut = next(e.seq for e in woven.history() if e.kind == "checkpoint_decided")
    (woven.folder / "log.jsonl").write_bytes(b"".join(lines(woven)[:cut]) + b"{}\n")
    resumed = api.resume(woven.id, recover=True)
    assert resumed.wait().ok
    assert first.read_text() == "from b\n"
    kept = first.with_name(f"{first.name}.1{SUFFIX}")
    assert kept.read_text() == "from another history\n"


def test_a_step_that_was_only_held_in_the_lost_lines_has_not_run_and_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    a, b, c = FLOW["steps"]
    run = api.start({"name": "cut", "steps": [a, {**b, "run": "exit 3"}, c]})
    assert run.wait().status == "partial"
    [cut] = [
        e.seq for e in run.history() if e.kind == "checkpoint_decided" and e.data["step"] == "a"
    ]
    log = lines(run)
    assert any(b'"step_held"' in line for line in log[cut:])
    (run.folder / "log.jsonl").write_bytes(b"".join([*log[:cut], b"garbage\n", *log[cut:]]))

    resumed = api.resume(run.id, recover=True)

    resumed.wait()
    assert facts(resumed, "warning_raised")[0]["message"].endswith("; `b` may run again.")


def test_damage_that_comes_again_is_kept_beside_the_first(woven: Run) -> None:
    assert api.resume(woven.id, recover=True).wait().ok
    with (woven.folder / "log.jsonl").open("ab") as log:
        log.write(b"garbage\n")
    assert api.open_run(woven.id).status != "completed"
    again = api.resume(woven.id, recover=True)
    assert again.is_no_op, "all that was promised is there"
    assert again.outcome.status == "completed"
    assert (woven.folder / "log.2.broken").read_bytes() == b"garbage\n"
    codes = [warning["code"] for warning in again.outcome.warnings]
    assert codes.count("log_recovered") == 2


def test_lines_that_are_lost_are_said_to_be_lost(woven: Run) -> None:
    assert api.resume(woven.id, recover=True).wait().ok
    whole = lines(woven)
    (woven.folder / "log.jsonl").write_bytes(b"".join(whole[:-3]))
    assert woven.damage is not None
    assert woven.damage.code == "cut_short"
    again = api.resume(woven.id, recover=True)
    assert again.wait().status == "completed"
    assert any("is lost" in warning["message"] for warning in again.outcome.warnings)
    assert not (woven.folder / "log.2.broken").exists()


def test_a_sound_log_has_nothing_to_recover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = api.start(FLOW)
    assert run.wait().ok
    before = lines(run)
    assert api.resume(run.id, recover=True).is_no_op
    assert lines(run) == before


@pytest.mark.parametrize("first", [b"{}\n", b""])
def test_a_log_without_a_beginning_cannot_be_recovered(woven: Run, first: bytes) -> None:
    (woven.folder / "log.jsonl").write_bytes(first + b"".join(lines(woven)[1:]))
    for _ in range(2):
        with pytest.raises(LogDamaged) as refused:
            api.resume(woven.id, recover=True)
        assert "--recover" not in refused.value.fix
    assert not list(woven.folder.rglob(f"*{SUFFIX}"))


def test_what_a_later_release_wrote_is_not_cut_away(woven: Run) -> None:
    log = woven.folder / "log.jsonl"
    held = lines(woven)[:4]
    later = lines(woven)[4].replace(b'"v":1}', b'"v":2}').replace(b'"kind":"', b'"kind":"new_')
    log.write_bytes(b"".join(held) + later)
    with pytest.raises(LogDamaged) as refused:
        api.resume(woven.id, recover=True)
    assert refused.value.details["damage"] == "version"
    assert log.read_bytes() == b"".join(held) + later


def test_a_copy_that_is_called_like_another_run_is_shown_and_not_resumed(tmp_path: Path) -> None:
    run = api.start({"name": "w", "steps": [{"id": "a", "run": "exit 1"}]}, workspace=tmp_path)
    run.wait(30)
    other = ids.run_id("20261121220344", b"\1\2\3\4\5\6")
    shutil.copytree(run.folder, run.folder.with_name(other))
    before = (run.folder / "log.jsonl").read_bytes()
    with pytest.raises(StateUnusable) as refused:
        api.resume(other, state=run.folder.parents[1])
    assert refused.value.code == "run_misnamed"
    assert run.id in str(refused.value)
    assert (run.folder.with_name(other) / "log.jsonl").read_bytes() == before
    assert api.open_run(other, state=run.folder.parents[1]).outcome.status == "failed"


WRITING: dict[str, Callable[[Run], object]] = {
    "resume": lambda run: api.resume(run.folder),
    "take over": lambda run: api.resume(run.folder, take_over=True),
    "recover": lambda run: api.resume(run.folder, recover=True),
    "checkpoint": lambda run: run.checkpoint("here"),
    "decide": lambda run: run.decide("ask", "accept"),
    "decide, only recorded": lambda run: run.decide("ask", "accept", resume=False),
    "merge": lambda run: run.merge(),
}


@pytest.mark.parametrize("verb", WRITING.values(), ids=WRITING)
def test_a_copy_beside_its_original_is_written_by_no_verb_whatever_way_it_is_named(
    verb: Callable[[Run], object], tmp_path: Path
) -> None:
    made = "echo 1 > a.txt"
    steps = [
        {"id": "a", "run": made, "workspace": "isolated", "write_set": ["a.txt"]},
        {"id": "ask", "ask": {"question": "Go on?"}, "depends_on": ["a"]},
    ]
    run = api.start({"name": "w", "steps": steps}, workspace=tmp_path)
    run.wait(30)
    copied = run.folder.with_name(ids.run_id("20261121220344", b"\1\2\3\4\5\6"))
    shutil.copytree(run.folder, copied)
    before = [(each / "log.jsonl").read_bytes() for each in (run.folder, copied)]
    opened = api.open_run(copied)
    assert opened.outcome.status == "needs_orchestrator"
    with pytest.raises(StateUnusable) as refused:
        verb(opened)
    assert refused.value.code == "run_misnamed"
    assert [(each / "log.jsonl").read_bytes() for each in (run.folder, copied)] == before
    assert not (tmp_path / "a.txt").exists()


def waiting(home: Path, *words: str) -> tuple[subprocess.Popen[str], int]:
    """A process that drives the run whose step leaves its process id and waits, and that id."""
    pids = home.parent / "pids"
    known = len(pids.read_text().split()) if pids.is_file() else 0
    owner = python("-m", "pixirnb", *words, cwd=home)
    until(lambda: pids.is_file() and len(pids.read_text().split()) > known)
    return owner, int(pids.read_text().split()[-1])


@pytest.mark.parametrize("when", first_of(["while it runs", "between two owners"]))
def test_resumes_of_a_copied_folder_leave_what_the_original_runs_alone(
    when: str, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    step = "{id: a, run: 'echo $$ >> ../pids; exec sleep 600'}"
    (one / "w.yaml").write_text(f"name: w\nsteps: [{step}]\n")
    owner, live = waiting(one, "run", "w.yaml")
    (run,) = (each["run_id"] for each in api.runs(workspace=one))
    if when == "between two owners":
        owner.kill()
        owner.communicate()
        shutil.copytree(one, two)
        owner, live = waiting(one, "resume", run)
    else:
        shutil.copytree(one, two)
    for _ in range(2):
        other, _pid = waiting(two, "resume", run)
        other.kill()
        other.communicate()
    until(lambda: not psutil.pid_exists(_pid))
    assert psutil.pid_exists(live)
    found = api.open_run(run, workspace=two).diagnose().findings
    assert "strays_alive" not in {each.code for each in found}
    owner.kill()
    owner.communicate()
    until(lambda: not psutil.pid_exists(live))


def test_a_step_that_may_have_run_in_the_lost_lines_is_asked_about_if_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    a, b, c = FLOW["steps"]
    run = api.start({"name": "asked", "steps": [a, {**b, "rerun": "ask"}, {**c, "rerun": "ask"}]})
    assert run.wait().ok
    [cut] = [
        e.seq for e in run.history() if e.kind == "checkpoint_decided" and e.data["step"] == "a"
    ]
    (run.folder / "log.jsonl").write_bytes(b"".join(lines(run)[:cut]) + b"garbage\n")
    forecast = api.plan_resume(run.id, recover=True)
    assert [each["step_id"] for each in forecast if each.get("asks")] == ["b", "c"]

    parked = api.resume(run.id, recover=True)

    assert parked.wait().status == "needs_orchestrator"
    assert effects() == ["a", "b", "c"], "nothing ran again"
    [question] = facts(parked, "decision_requested")
    assert question["step"] == "b"
    commands = [action["command"] for action in parked.outcome.next_actions]
    assert f"pixirnb resume {run.id} --from b" in commands
    assert question["question"].startswith("The log was damaged: `b` may have run")
    assert audit(b"".join(lines(parked)), outcome=parked.outcome.document()) == []
    assert api.resume(run.id).wait().status == "needs_orchestrator", "it asks again"
    again = api.open_run(run.id).accept("b")
    assert again.wait().status == "needs_orchestrator"
    assert [each["step"] for each in facts(again, "decision_requested")] == ["b", "b", "c"]
    codes = {each["code"] for each in facts(again, "warning_raised")}
    assert codes == {"log_recovered"}, "no process died"
    assert api.resume(run.id, from_step="c").wait().status == "completed"
    assert effects() == ["a", "b", "c", "c"], "a person named it"
    assert audit(b"".join(lines(again))) == []
