"""The dashboard refactoring, 23 steps and five agents: it fails at step 12, and what was done by then is never done again.

The resumes that matter are processes of their own. A step's effect is a file: one not written again kept its inode and time.
"""

from __future__ import annotations

import json
import shutil
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from storyline import ROOT, facts, python, until

from pixirnb import api

pytestmark = pytest.mark.story

SPEC = ROOT / "examples" / "dashboard_refactor.yaml"
STEPS = [step.id for step in api.load(SPEC).steps]
DONE, BROKEN, LATER = STEPS[:11], STEPS[11], STEPS[12:]
HUGE = (
    "[extract-components, extract-adapters, kit-index, review-kit, inventory-cloud, inventory-cli]"
)
SMALL = "[review-kit, inventory-cloud, inventory-cli]"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the workflow, which is its workspace."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(SPEC, tmp_path)
    return tmp_path


def said(home: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Exit code and document of a command in a process of its own."""
    out, err = (child := python("-m", "pixirnb", *words, "--json", cwd=home)).communicate()
    assert "Traceback" not in err
    return child.returncode, json.loads(out)


def broken(home: Path) -> str:
    """The first run, up to its honest end."""
    run = api.start(home / SPEC.name)
    assert run.wait().status == "partial"
    return run.id


def planned(run: str, **asked: Any) -> dict[str, tuple[str, str]]:
    """What a resume would do with each step, and why."""
    entries = api.plan_resume(run, **asked)
    return {entry["step_id"]: (entry["action"], entry["reason"]) for entry in entries}


def written(home: Path) -> dict[str, tuple[int, int]]:
    """Every file of the workspace, and which writing of it this is."""
    files = [path for path in home.rglob("*") if path.is_file() and ".pixirnb" not in path.parts]
    return {
        str(path.relative_to(home)): (path.stat().st_ino, path.stat().st_mtime_ns) for path in files
    }


def schedulings(run: str) -> Counter[str]:
    """How often each step was started, in all courses."""
    return Counter(fact["step"] for fact in facts(api.open_run(run), "step_scheduled"))


def test_its_plan_has_one_warning_and_that_is_the_step_that_fails() -> None:
    document = api.plan(SPEC).document()
    assert len(STEPS) == 23
    assert len(document["agents"]) == 5
    [warning] = document["warnings"]
    assert (warning["code"], warning["path"]) == ("decompose", "steps[11].depends_on")
    assert ["cloud-adopt", "cli-adopt", "dashboard-adopt"] in document["waves"]
    assert document["serialized"] == []


def test_it_fails_at_step_12_and_another_process_runs_12_to_23_and_nothing_else(home: Path) -> None:
    code, document = said(home, "run", SPEC.name)
    run = document["run_id"]
    assert (code, document["status"], document["ok"]) == (1, "partial", False)
    assert document["usable_checkpoints"] == DONE
    assert document["failed_steps"] == [BROKEN]
    assert document["steps"][11]["error"]["kind"] == "context_overflow"
    assert document["held_steps"] == LATER
    asked = {step.id: step.depends_on for step in api.load(SPEC).steps}
    for step in document["steps"][12:]:
        assert step["held_by"]["kind"] == "dependency"
        assert step["held_by"]["step"] in asked[step["step_id"]]
        assert step["held_by"]["step"] in {BROKEN, *LATER}
    assert sorted(document["held_dependents"][BROKEN]) == sorted(LATER)

    before = written(home)
    code, dry = said(home, "resume", run, "--dry-run")
    assert code == 0
    assert [(e["step_id"], e["action"], e["reason"]) for e in dry["steps"]] == [
        *((step, "reuse", "ready") for step in DONE),
        (BROKEN, "rerun", "failed"),
        *((step, "rerun", "held") for step in LATER),
    ]
    assert schedulings(run) == dict.fromkeys([*DONE, BROKEN], 1), "a dry run starts nothing"
    assert written(home) == before

    code, document = said(home, "resume", run)
    assert (code, document["status"]) == (0, "completed")
    assert document["usable_checkpoints"] == STEPS
    # cli-adopt meets its flake: the check finds it, and one retry mends it.
    twice = {BROKEN, "cli-adopt"}
    assert schedulings(run) == {step: 2 if step in twice else 1 for step in STEPS}
    [retry] = facts(api.open_run(run), "retry_planned")
    assert (retry["step"], retry["retry_class"]) == ("cli-adopt", "verification")
    after = written(home)
    again = {path for path in before if after[path] != before[path]}
    assert {path.split("/src/")[0] for path in again} == {
        "relay-cli",
        "relay-cloud",
        "relay-dashboard",
    }
    saved = [fact["name"] for fact in facts(api.open_run(run), "checkpoint_saved")]
    assert [name for name in saved if name != "end"] == ["inventory", "kit", "adopt", "approve"]


def test_killed_again_in_step_15_it_repeats_only_what_was_in_flight(home: Path) -> None:
    run = broken(home)
    first = written(home)
    adopting = STEPS[14]
    child = python("-m", "pixirnb", "resume", run, cwd=home)
    half_done = home / "relay-dashboard" / "src" / "components" / "chart.ts"
    until(lambda: "ui-kit" in half_done.read_text() or child.poll() is not None)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    dead = api.open_run(run).outcome
    assert dead.status == "interrupted"
    assert dead.reasons[0] == {"code": "owner_died", "step": None}
    before, ready = schedulings(run), set(dead.ids("checkpoint_ready"))
    assert {*DONE, BROKEN} <= ready
    assert adopting not in ready

    told = planned(run)
    assert {step for step, (action, _) in told.items() if action == "reuse"} == ready
    assert told[adopting] == ("rerun", "in_flight")
    resumed = api.resume(run)
    assert resumed.wait().status == "completed"
    after = schedulings(run)
    assert {step: after[step] for step in ready} == {step: before[step] for step in ready}
    assert all(after[step] == 1 for step in DONE)
    assert after[adopting] == 2
    assert adopting in {warning["step"] for warning in resumed.outcome.document()["warnings"]}
    kept = [path for path in first if "/src/" not in path or "/packages/" in path]
    assert len(kept) > 8
    assert {path: written(home)[path] for path in kept} == {path: first[path] for path in kept}


def test_an_edit_that_changes_no_result_runs_one_step_and_keeps_the_eleven_behind_it(
    home: Path,
) -> None:
    run = broken(home)
    assert api.resume(run).wait().ok
    before = schedulings(run)
    edited = home / "edited.yaml"
    edited.write_text(SPEC.read_text().replace(HUGE, SMALL))
    assert api.plan(edited).document()["warnings"] == []
    assert planned(run, spec=edited) == {
        **dict.fromkeys(DONE, ("reuse", "ready")),
        BROKEN: ("rerun", "spec_changed"),
        **dict.fromkeys(LATER, ("rerun", "upstream_changed")),
    }

    resumed = api.resume(run, spec=edited)
    assert resumed.wait().ok
    assert schedulings(run) - before == {BROKEN: 1}
    decided = facts(resumed, "checkpoint_decided")
    assert [fact["step"] for fact in decided if fact.get("reused")] == LATER

    events = len(api.open_run(run).history())
    assert api.resume(run).is_no_op
    assert len(api.open_run(run).history()) == events, "nothing to do leaves no trace"
