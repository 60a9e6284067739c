"""A run may end at any moment, politely or not: its log is true, nothing of it survives, and a resume goes on from there.

Told with real processes of the command line. What steps did is counted in a file, whatever the log says.
"""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from pixirnb import api
from pixirnb.errors import HeldByAnother
from tests.careless_signals import careless_signals
from tests.stories.storyline import effects, kinds, python, until

pytestmark = pytest.mark.story

FLOW = """
name: long
steps:
  - {id: before, run: "echo before >> effects.txt"}
  - id: during
    depends_on: [before]
    run: |
      echo during >> effects.txt
      test -e fixed && exit 0
      setsid sleep 7303 & sleep 7304 & wait
  - {id: beside, run: "echo beside >> effects.txt", depends_on: [during]}
  - {id: after, run: "echo after >> effects.txt", depends_on: [during]}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace, with a workflow that hangs in its second step."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flow.yaml").write_text(FLOW)
    return tmp_path


def begun(home: Path, *flags: str) -> tuple[subprocess.Popen[str], str]:
    """`pixirnb run` as a process, once its second step is under way on the disk."""
    child = python("-m", "pixirnb", "run", "flow.yaml", *flags, cwd=home)
    until(lambda: "during" in effects(home) or child.poll() is not None)
    [folder] = (home / ".pixirnb" / "runs").iterdir()
    until(lambda: kinds(api.open_run(folder.name)).count("attempt_started") == 2)
    return child, folder.name


def survivors(run: str) -> list[Any]:
    """Processes that bear the run's tag."""
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            env = process.environ()
        except psutil.Error:
            continue
        if env.get("PIXIRNB_RUN_ID") == run:
            found.append(words)
    return found


def test_a_killed_run_leaves_no_process_and_its_resume_repeats_only_what_was_in_flight(
    home: Path,
) -> None:
    child, run = begun(home)
    assert api.open_run(run).status == "running"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    until(lambda: not survivors(run))
    dead = api.open_run(run)
    assert dead.status == "interrupted"
    assert dead.outcome.reasons[0] == {"code": "owner_died", "step": None}
    planned = {s["step_id"]: (s["action"], s["reason"]) for s in api.plan_resume(run)}
    assert planned == {
        "before": ("reuse", "ready"),
        "during": ("rerun", "in_flight"),
        "beside": ("rerun", "held"),
        "after": ("rerun", "held"),
    }
    (home / "fixed").touch()
    resumed = python("-m", "pixirnb", "resume", run, "--json", cwd=home)
    out, err = resumed.communicate()
    assert resumed.returncode == 0, err
    document = json.loads(out)
    assert document["status"] == "completed"
    assert [w["code"] for w in document["warnings"]] == ["side_effects_may_be_partial"]
    assert effects(home)[:3] == ["before", "during", "during"]
    assert sorted(effects(home)[3:]) == ["after", "beside"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_polite_end_is_recorded_and_resumable(home: Path, number: signal.Signals) -> None:
    child, run = begun(home, "--json")
    child.send_signal(number)
    out, err = child.communicate()
    assert child.returncode == 130, err
    document = json.loads(out)
    assert document["status"] == "interrupted"
    assert not document["ok"]
    assert "Traceback" not in err
    assert survivors(run) == []
    opened = api.open_run(run)
    assert kinds(opened)[-1] == "run_finished"
    assert {"code": "interrupted", "step": None} in opened.outcome.reasons
    assert opened.outcome.step("during").subagent_status == "interrupted"
    assert opened.damage is None
    (home / "fixed").touch()
    assert api.resume(run).wait().status == "completed"
    assert effects(home).count("before") == 1


def test_a_polite_end_is_heard_whatever_whoever_started_it_blocked(home: Path) -> None:
    with careless_signals():
        child, run = begun(home, "--json")
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate()
    assert child.returncode == 130, err
    assert survivors(run) == []


def test_a_hangup_that_was_ignored_from_the_beginning_ends_nothing(home: Path) -> None:
    until_fixed = "until test -e fixed; do sleep 0.02; done"
    (home / "flow.yaml").write_text(
        FLOW.replace("test -e fixed && exit 0", until_fixed, 1).replace(
            "setsid sleep 7303 & sleep 7304 & wait", ""
        )
    )
    with careless_signals():
        child, _ = begun(home, "--json")
    child.send_signal(signal.SIGHUP)
    (home / "fixed").touch()
    out, err = child.communicate()
    assert child.returncode == 0, err
    assert json.loads(out)["status"] == "completed"


def test_a_run_that_is_live_elsewhere_can_be_read_followed_and_not_taken(home: Path) -> None:
    child, run = begun(home)
    try:
        opened = api.open_run(run)
        assert opened.status == "running"
        with pytest.raises(HeldByAnother) as caught:
            api.resume(run)
        assert caught.value.details["pid"] == child.pid
        told = python("-m", "pixirnb", "resume", run, "--json", cwd=home)
        out, _ = told.communicate()
        assert told.returncode == 5
        assert json.loads(out)["error"]["code"] == "held_by_another"
        follower = opened.follow()
        assert next(follower).kind == "run_started"
    finally:
        child.send_signal(signal.SIGINT)
        child.communicate()
    assert [event.kind for event in follower][-1] == "run_finished"
    assert opened.wait().status == "interrupted"


def test_a_supervisor_that_dies_ends_its_steps_and_the_run_says_so(home: Path) -> None:
    child, run = begun(home, "--json")
    [supervisor] = psutil.Process(child.pid).children()
    supervisor.kill()
    out, err = child.communicate()
    assert "Traceback" not in err
    document = json.loads(out)
    assert document["status"] != "completed"
    during = next(s for s in document["steps"] if s["step_id"] == "during")
    assert during["checkpoint_status"] == "failed"
    assert during["error"]["kind"] == "supervisor_lost"
    until(lambda: not survivors(run))


ENDS = """
import sys
from pixirnb import api
run = api.start({"name": "x", "steps": [{"id": "a", "run": "touch begun; sleep 7303"}]})
import pathlib, time
while not pathlib.Path("begun").exists():
    time.sleep(0.02)
print(run.id, flush=True)
%s
"""


@pytest.mark.parametrize("end", ["", "raise SystemExit(3)", "1 / 0"], ids=["end", "exit", "error"])
def test_a_process_that_ends_records_that_its_runs_were_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.chdir(tmp_path)
    child = python("-c", ENDS % end, cwd=tmp_path)
    out, _ = child.communicate()
    run = out.strip()
    assert survivors(run) == []
    opened = api.open_run(run)
    assert kinds(opened)[-1] == "run_finished"
    assert opened.status == "interrupted"


def test_a_kill_between_any_two_groups_is_survived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every prefix of a finished log, as a dead process would have left it, resumes to the same end."""
    monkeypatch.chdir(tmp_path)
    steps = [
        {"id": "a", "run": "echo a >> effects.txt"},
        {"id": "b", "run": "echo b >> effects.txt", "depends_on": ["a"], "verify": [{"exit_code": 0}]},
        {"id": "c", "run": "echo c >> effects.txt; test -e b.txt || touch b.txt", "depends_on": ["b"]},
    ]  # fmt: skip
    run = api.start({"name": "x", "steps": steps})
    assert run.wait().ok
    log = run.folder / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    for cut in range(1, len(lines)):
        kept = b"".join(lines[:cut])
        for tail in (b"", lines[cut][: len(lines[cut]) // 2]):
            log.write_bytes(kept + tail)
            (run.folder / "seal.json").unlink()  # a dead process leaves none that says more
            (tmp_path / "effects.txt").write_text("")
            done = [json.loads(line) for line in lines[:cut]]
            ended = {e["data"]["step"] for e in done if e["kind"] == "attempt_ended"}
            resumed = api.resume(run.id)
            outcome = resumed.wait()
            assert outcome.ok, (cut, outcome)
            assert set(effects(tmp_path)) == {"a", "b", "c"} - ended, (cut, bool(tail))
            assert len(effects(tmp_path)) == len(set(effects(tmp_path)))
