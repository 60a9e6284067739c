"""The dashboard refactoring, 23 steps and five agents: it fails at step 12, and what was done by then is never done again.

Its writers work in copies of three git repositories, which git itself is asked about: nothing arrives before the last step, all
of it does then, and nothing of ours is ever in a `.git`. The resumes that matter are processes of their own.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from tests.stories.storyline import ROOT, facts, python, until

pytestmark = pytest.mark.story

SPEC = ROOT / "examples" / "dashboard_refactor.yaml"
MAKER = ROOT / "examples" / "dashboard_repositories.sh"
STEPS = [step.id for step in api.load(SPEC).steps]
DONE, BROKEN, LATER = STEPS[:11], STEPS[11], STEPS[12:]
LAND = STEPS[22]
REPOS = ("relay-dashboard", "relay-cloud", "relay-cli")
HUGE = (
    "[extract-components, extract-adapters, kit-index, review-kit, inventory-cloud, inventory-cli]"
)
SMALL = "[review-kit, inventory-cloud, inventory-cli]"
KIT = "packages/ui-kit"
ARRIVED = {
    "relay-dashboard": [
        " M src/components/chart.ts",
        " M src/components/panel.ts",
        " M src/components/table.ts",
        f"?? {KIT}/package.json",
        f"?? {KIT}/src/adapters/http.ts",
        f"?? {KIT}/src/adapters/memory.ts",
        f"?? {KIT}/src/components/chart.ts",
        f"?? {KIT}/src/components/panel.ts",
        f"?? {KIT}/src/components/table.ts",
        f"?? {KIT}/src/index.ts",
    ],
    "relay-cloud": [" M src/page.ts"],
    "relay-cli": [" M src/view.ts"],
}
HOOKS = ("post-checkout", "post-commit", "post-index-change", "post-merge", "reference-transaction")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the workflow, which is its workspace, and three repositories beside it whose hooks would tell of a call."""
    folder = tmp_path / "relay"
    folder.mkdir()
    monkeypatch.chdir(folder)
    shutil.copy(SPEC, folder)
    subprocess.run(["sh", MAKER], check=True)
    for name in REPOS:
        for hook in HOOKS:
            path = tmp_path / name / ".git" / "hooks" / hook
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!/bin/sh\necho {name} {hook} >> {tmp_path}/called\n")
            path.chmod(0o755)
    return folder


def git(home: Path, name: str, *words: str) -> list[str]:
    """What git says in a repository, without leaving a trace of the question."""
    line = ["git", "--no-optional-locks", "-C", str(home.parent / name), *words]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout.splitlines()


def changed(home: Path) -> dict[str, list[str]]:
    """What git says has changed, repository by repository."""
    return {name: git(home, name, "status", "--porcelain", "-uall") for name in REPOS}


def private(home: Path) -> dict[str, tuple[int, bytes]]:
    """Every file of every `.git`: when it was written, and what it holds."""
    return {
        str(path.relative_to(home.parent)): (path.stat().st_mtime_ns, path.read_bytes())
        for name in REPOS
        for path in (home.parent / name / ".git").rglob("*")
        if path.is_file()
    }


def require_no_trace(home: Path, before: dict[str, tuple[int, bytes]]) -> None:
    """The repositories are as they were but for the files in them."""
    assert private(home) == before
    assert not (home.parent / "called").exists(), "a hook was called"
    for name in REPOS:
        assert len(git(home, name, "worktree", "list")) == 1
        assert git(home, name, "for-each-ref", "--format=%(refname)") == ["refs/heads/main"]
        assert git(home, name, "stash", "list") == []
        assert git(home, name, "diff", "--cached", "--name-only") == []


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
    """Every file of workspace and repositories, and which writing of it this is."""
    apart = {".pixirnb", ".git"}
    files = [p for p in home.parent.rglob("*") if p.is_file() and apart.isdisjoint(p.parts)]
    return {
        str(path.relative_to(home.parent)): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in files
    }


def schedulings(run: str) -> Counter[str]:
    """How often each step was started, in all courses."""
    return Counter(fact["step"] for fact in facts(api.open_run(run), "step_scheduled"))


def test_its_plan_has_one_warning_and_that_is_the_step_that_fails(home: Path) -> None:
    document = api.plan(home / SPEC.name).document()
    assert document["ok"]
    assert len(STEPS) == 23
    assert len(document["agents"]) == 5
    [warning] = document["warnings"]
    assert (warning["code"], warning["path"]) == ("decompose", "steps[11].depends_on")
    assert ["cloud-adopt", "cli-adopt", "dashboard-adopt"] in document["waves"]
    assert document["serialized"] == []
    assert {name: fact["git"] for name, fact in document["repos"].items()} == {
        "dashboard": True,
        "cloud": True,
        "cli": True,
    }


def test_it_fails_at_step_12_and_another_process_runs_12_to_23_and_nothing_else(home: Path) -> None:
    untouched = private(home)
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
    assert changed(home) == {name: [] for name in REPOS}, "nothing arrives before it is approved"
    require_no_trace(home, untouched)

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
    assert {path: after[path] for path in before if "/src/" not in path} == {
        path: was for path, was in before.items() if "/src/" not in path
    }
    saved = [fact["name"] for fact in facts(api.open_run(run), "checkpoint_saved")]
    assert [name for name in saved if name != "end"] == ["inventory", "kit", "adopt", "approve"]


def test_all_of_it_arrives_at_once_and_an_edit_that_changes_no_result_runs_one_step_and_keeps_the_rest(
    home: Path,
) -> None:
    untouched = private(home)
    run = broken(home)
    assert api.resume(run).wait().status == "completed"
    opened = api.open_run(run)
    assert changed(home) == ARRIVED
    require_no_trace(home, untouched)
    assert {path.name for path in (home / "reviews").iterdir()} == {
        "kit.md",
        "apps.md",
        "approved.md",
    }
    [merge] = facts(opened, "merge_applied")
    assert merge["step"] == LAND
    assert {root["root"] for root in merge["roots"]} == {
        ".",
        "repos.dashboard",
        "repos.cloud",
        "repos.cli",
    }
    named = {file["path"] for file in merge["changes"]["files"]}
    assert {"repos.cloud:src/page.ts", "repos.cli:src/view.ts", "reviews/kit.md"} <= named
    assert opened.outcome.document()["seam_obligations"] == []
    assert sorted((home / ".pixirnb" / "isolated").iterdir()) == [], "no copy is left"

    before, arrived = schedulings(run), written(home)
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
    edited.unlink()
    assert written(home) == arrived, "nothing was merged twice"

    events = len(api.open_run(run).history())
    assert api.resume(run).is_no_op
    assert len(api.open_run(run).history()) == events, "nothing to do leaves no trace"

    report = opened.merge()
    assert report.status == "nothing"
    assert opened.merge(undo=True).status == "undone"
    assert changed(home) == {name: [] for name in REPOS}
    require_no_trace(home, untouched)


def test_killed_again_in_step_15_it_repeats_only_what_was_in_flight(home: Path) -> None:
    run = broken(home)
    untouched, first = private(home), written(home)
    adopting = STEPS[14]
    child = python("-m", "pixirnb", "resume", run, cwd=home)
    copy = home / ".pixirnb" / "isolated" / run / f"{adopting}.1" / "relay-dashboard"
    half_done = copy / "src" / "components" / "chart.ts"

    def is_half_done() -> bool:
        return (half_done.is_file() and "ui-kit" in half_done.read_text()) or bool(child.poll())

    until(is_half_done)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    dead = api.open_run(run).outcome
    assert dead.status == "interrupted"
    assert dead.reasons[0] == {"code": "owner_died", "step": None}
    before, ready = schedulings(run), set(dead.ids("checkpoint_ready"))
    assert {*DONE, BROKEN} <= ready
    assert adopting not in ready
    assert written(home) == first, "half of it lies in a copy"
    require_no_trace(home, untouched)

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
    assert changed(home) == ARRIVED
    require_no_trace(home, untouched)
    assert sorted((home / ".pixirnb" / "isolated").iterdir()) == []
