"""Files of steps that work in copies: what they are given, what they leave, what flows on, and what comes back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.auditor.audit import audit
from pixirnb import api
from pixirnb.errors import Cannot
from pixirnb.testing.repositories import git, traces
from tests.stories.filestory import (
    changes,
    isolated,
    kept,
    land,
    limitations,
    lines,
    plant,
    repository,
    said,
    tree,
)
from tests.stories.storyline import ended, facts, shell, started, statuses, until

pytestmark = pytest.mark.story

TEXT = lines("one", "two", "three", "four", "five")


def test_what_the_user_wrote_meanwhile_and_what_the_step_wrote_are_both_there(
    tmp_path: Path,
) -> None:
    home = repository(tmp_path / "home", {"a.txt": TEXT, "b.txt": "b\n"})
    go = tmp_path / "go"
    text = f"until test -e {go}; do sleep 0.02; done; sed -i 1s/one/ONE/ a.txt"
    run = started(home, isolated("edit", text, write_set=["a.txt"]), land("edit"))
    until(lambda: run.outcome.step("edit").subagent_status == "running")
    (home / "a.txt").write_text(TEXT.replace("five", "FIVE"))
    (home / "new.txt").write_text("mine\n")
    go.touch()
    assert run.wait().status == "completed"
    assert tree(home) == {
        "a.txt": lines("ONE", "two", "three", "four", "FIVE"),
        "b.txt": "b\n",
        "new.txt": "mine\n",
    }
    assert git(home, "status", "--porcelain").splitlines() == [" M a.txt", "?? new.txt"]


def test_a_dependent_begins_with_the_changes_of_all_before_it_and_nobody_else_sees_them(
    tmp_path: Path,
) -> None:
    home = plant(tmp_path / "home", {"base.txt": "base\n"})
    run, outcome = ended(
        home,
        isolated("left", "echo left > left.txt", write_set=["left.txt"]),
        isolated("right", "echo right > right.txt; rm base.txt", write_set=["*.txt"]),
        isolated("aside", "ls", read_set=["**/*"], posture="read_only"),
        isolated("both", "cat left.txt right.txt; ls > seen.txt", "left", "right", write_set=["*"]),
        shell("here", "ls", "left", posture="read_only"),
    )
    assert outcome.status == "completed"
    assert run.value("both") == "left\nright"
    assert run.value("aside") == "base.txt"
    assert run.value("here") == "base.txt"
    assert tree(home) == {"base.txt": "base\n"}
    assert changes(run, "both") == {"seen.txt": "added"}
    assert run.merge().status == "merged"
    assert tree(home) == {
        "left.txt": "left\n",
        "right.txt": "right\n",
        "seen.txt": lines("left.txt", "right.txt", "seen.txt"),
    }


def test_secrets_are_in_no_copy_and_in_nothing_that_is_kept(tmp_path: Path) -> None:
    home = repository(tmp_path / "home", {"a.txt": "a\n", "server.key": "committed by mistake\n"})
    plant(home, {".env": "TOKEN=hunter2\n", "deep/.env.local": "X=hunter2\n"})
    plant(home, {"id_rsa": "hunter2\n", "notes.private": "hunter2\n"})
    everything = "find . -path ./.git -prune -o -type f -print | sort"
    run, outcome = ended(
        home,
        isolated("look", f"{everything}; echo NEW=hunter2 > .env", write_set=["**/*"]),
        isolated("after", everything, "look", posture="read_only"),
        land("look"),
        never_copy=["*.private"],
    )
    assert outcome.status == "completed"
    assert run.output("look") == "./a.txt\n"
    assert run.output("after") == "./a.txt\n"
    assert "hunter2" not in kept(home / ".pixirnb")
    assert (home / ".env").read_text() == "TOKEN=hunter2\n"
    assert ".env" in limitations(run, "look")


def test_an_ignored_folder_flows_where_a_step_claims_it_and_stays_behind_where_none_does(
    tmp_path: Path,
) -> None:
    home = repository(tmp_path / "home", {".gitignore": "build/\ncache/\n", "a.txt": "a\n"})
    run, outcome = ended(
        home,
        isolated(
            "make",
            "mkdir build cache; echo made > build/out.txt; echo hot > cache/x",
            write_set=["build/**", "cache/x.txt"],
        ),
        isolated("use", "cat build/out.txt; ls", "make", posture="read_only"),
        land("make"),
    )
    assert outcome.status == "completed"
    assert run.value("use").splitlines()[0] == "made"
    assert changes(run, "make") == {"build/out.txt": "added"}
    assert "cache/x" in limitations(run, "make")
    assert tree(home) == {
        ".gitignore": "build/\ncache/\n",
        "a.txt": "a\n",
        "build/out.txt": "made\n",
    }


def test_what_is_carried_is_there_and_is_no_change(tmp_path: Path) -> None:
    home = repository(tmp_path / "home", {".gitignore": "modules/\n", "a.txt": "a\n"})
    plant(home, {"modules/lib.txt": "lib\n"})
    run, outcome = ended(
        home,
        isolated("without", "test ! -e modules", posture="read_only"),
        isolated(
            "with",
            "cat modules/lib.txt; echo broken > modules/lib.txt; echo b >> a.txt",
            carry=["modules"],
            write_set=["a.txt"],
        ),
        land("with"),
    )
    assert outcome.status == "completed"
    assert run.value("with") == "lib"
    assert changes(run, "with") == {"a.txt": "modified"}
    assert (home / "modules" / "lib.txt").read_text() == "lib\n", "what is carried is a copy"
    assert (home / "a.txt").read_text() == "a\nb\n"


def test_a_python_step_works_in_its_copy_too(tmp_path: Path) -> None:
    home = plant(tmp_path / "home", {"a.txt": "a\n"})
    plant(
        home,
        {
            "made.py": "from pathlib import Path\n\ndef write(text):\n    Path('a.txt').write_text(text)\n    return text\n"
        },
    )
    step = {
        "id": "write",
        "call": "made:write",
        "with": {"text": "b\n"},
        "workspace": "isolated",
        "write_set": ["a.txt"],
    }
    run, outcome = ended(home, step)
    assert outcome.status == "completed"
    assert run.value("write") == "b\n"
    assert (home / "a.txt").read_text() == "a\n"
    assert run.merge("write").status == "merged"
    assert (home / "a.txt").read_text() == "b\n"


def test_an_agent_works_in_a_copy_of_another_repository(tmp_path: Path) -> None:
    home = plant(tmp_path / "home", {"a.txt": "a\n"})
    cloud = repository(tmp_path / "cloud", {"src/page.txt": "old\n"})
    before = traces(cloud / ".git")
    script = [
        {"write": "src/page.txt", "text": "new\n"},
        {"report": {"checkpoint_status": "checkpoint_ready", "summary": "done"}},
    ]
    agents = {
        "worker": {"cwd": "repos.cloud", "permission_mode": "auto", "script": {"*": [script]}}
    }
    step = {
        "id": "adopt",
        "task": "Adopt it.",
        "agent": "worker",
        "write_set": ["repos.cloud:src/**"],
        "verify": [{"git_changes": "src/**"}, {"file_exists": "src/page.txt"}],
    }
    run, outcome = ended(home, step, agents=agents, repos={"cloud": "../cloud"})
    assert outcome.status == "completed"
    assert tree(cloud) == {"src/page.txt": "old\n"}
    assert changes(run, "adopt") == {"repos.cloud:src/page.txt": "modified"}
    assert run.merge().status == "merged"
    assert tree(cloud) == {"src/page.txt": "new\n"}
    assert tree(home) == {"a.txt": "a\n"}
    assert traces(cloud / ".git") == before
    assert git(cloud, "--no-optional-locks", "status", "--porcelain") == " M src/page.txt"


def test_what_lies_outside_its_sets_stops_an_isolated_step_until_a_person_accepts_it(
    tmp_path: Path,
) -> None:
    home = plant(tmp_path / "home", {"a.txt": "a\n"})
    run, outcome = ended(
        home,
        isolated("make", "echo b > a.txt; echo c > other.txt", write_set=["a.txt"]),
        isolated("use", "cat a.txt other.txt", "make", posture="read_only"),
    )
    assert statuses(outcome) == {"make": "needs_orchestrator", "use": "held"}
    assert outcome.status == "needs_orchestrator"
    error = outcome.step("make").error
    assert error is not None
    assert error["kind"] == "writes_outside_write_set"
    assert "other.txt" in str(error)
    assert run.merge().status == "nothing"
    assert tree(home) == {"a.txt": "a\n"}

    run.decide("make", "accept", note="it belongs together")
    assert run.wait().status == "completed"
    assert run.value("use") == "b\nc"
    assert "accepted_by_human" in limitations(run, "make")
    assert run.merge().status == "merged"
    assert tree(home) == {"a.txt": "b\n", "other.txt": "c\n"}


def test_a_shared_step_that_writes_elsewhere_is_ready_with_a_limitation(tmp_path: Path) -> None:
    home = plant(tmp_path / "home", {"a.txt": "a\n"})
    run, outcome = ended(
        home,
        shell("make", "echo b > a.txt; echo c > other.txt", write_set=["a.txt"]),
        shell("use", "cat a.txt other.txt", "make", posture="read_only"),
    )
    assert outcome.status == "completed"
    assert "other.txt" in limitations(run, "make")
    assert "a.txt" not in limitations(run, "make")


def test_a_secret_in_the_name_of_a_file_is_masked_by_whoever_merges_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "hunter2-abcdef")
    home = repository(tmp_path, {"a.txt": "a\n", ".gitignore": ".pixirnb\n"})
    run, outcome = ended(home, isolated("make", 'touch "n-$API_TOKEN.txt"', write_set=["n-*"]))
    assert outcome.status == "completed"
    clean = run.merge(preview=True)
    assert run.merge().status == "merged"
    undoing = run.merge(undo=True, preview=True)
    assert run.merge(undo=True).status == "undone"
    (home / "n-hunter2-abcdef.txt").write_text("mine\n")
    clash = run.merge(preview=True)
    assert [each.status for each in (clean, undoing, clash)] == ["clean", "clean", "conflict"]
    for report in (clean, undoing, clash):
        shown = f"{report} {json.dumps(report.document())}"
        assert "n-***.txt" in shown
        assert "hunter2-abcdef" not in shown
    assert b"hunter2-abcdef" not in (run.folder / "log.jsonl").read_bytes()


def test_a_conflict_in_a_file_with_a_secret_in_its_name_is_resolved_by_the_name_that_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "hunter2-abcdef")
    files = {"n-hunter2-abcdef.txt": "base\n", "b.txt": "base\n", ".gitignore": ".pixirnb\n"}
    home = repository(tmp_path, files)
    text = "for f in n-* b.txt; do echo %s > $f; done"
    run, outcome = ended(
        home,
        isolated("one", text % 1, write_set=["n-*", "b.txt"]),
        isolated("two", text % 2, write_set=["n-*", "b.txt"]),
        {"id": "bring", "merge": ["one", "two"], "depends_on": ["one", "two"]},
    )
    assert outcome.step("bring").checkpoint_status == "needs_orchestrator"
    run.accept("bring", {"n-***.txt": "one", "b.txt": "two"})
    assert run.wait().status == "completed"
    assert (home / "n-hunter2-abcdef.txt").read_text() == "1\n"
    assert (home / "b.txt").read_text() == "2\n"

    (home / "n-hunter2-abcdef.txt").write_text("base\n")
    run, outcome = ended(home, isolated("three", text % 3, write_set=["n-*", "b.txt"]))
    (home / "n-hunter2-abcdef.txt").write_text("mine\n")
    assert run.merge().status == "conflict"
    assert run.merge(sides={"n-***.txt": "three"}).status == "merged"
    assert (home / "n-hunter2-abcdef.txt").read_text() == "3\n"


def test_a_secret_in_a_file_is_masked_in_whatever_shows_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "BEGIN-abcdefgh\nijklmnop-END"
    monkeypatch.setenv("API_TOKEN", "hunter2-abcdef")
    monkeypatch.setenv("PRIVATE_KEY", key)
    home = repository(tmp_path, {"a.txt": "a\n", ".gitignore": ".pixirnb\n"})
    writes = 'echo "id $API_TOKEN" > "n-$API_TOKEN.txt"; echo "$API_TOKEN" > a.txt; echo "$PRIVATE_KEY" > k'
    run, outcome = ended(home, isolated("make", writes, write_set=["**"]))
    assert outcome.status == "completed"
    (home / "a.txt").write_text("other\n")
    conflict = run.merge(preview=True)
    assert conflict.status == "conflict"
    told = [str(run.diff()), repr(run.diff("make")), str(conflict), json.dumps(conflict.document())]
    told += [json.dumps(run.diff().document()), run.diff()._repr_mimebundle_()["text/html"]]
    for text in told:
        for secret in ("hunter2-abcdef", *key.split("\n")):
            assert secret not in text
    assert "+id ***" in told[0]
    assert run.merge(sides="make").status == "merged"
    assert (home / "a.txt").read_text() == "hunter2-abcdef\n", "what is merged is what was made"


@pytest.mark.parametrize("breaks", ["before", "meanwhile"])
def test_a_shared_step_whose_files_cannot_be_listed_runs_and_says_that_nobody_looked(
    tmp_path: Path, breaks: str
) -> None:
    secret = "hunter2-hunter2"
    home = repository(tmp_path / secret, {"a.txt": "a\n", ".gitignore": ".pixirnb\n"})
    text = "echo b > a.txt; echo c > other.txt"
    if breaks == "before":
        (home / ".git" / "HEAD").write_text("nothing that git knows")
    else:
        text += "; echo nothing that git knows > .git/HEAD"
    run, outcome = ended(
        home,
        shell("make", text, write_set=["a.txt"], env={"A_TOKEN": secret}),
        shell("claims_nothing", "cat a.txt", "make", read_set=["a.txt"]),
        undeclared_writers="allow",
    )
    assert outcome.status == "completed"
    told = limitations(run, "make")
    assert told.startswith("writes_not_checked: the git repository of ")
    assert told.endswith("; repair the repository (run `git status`), or write `workspace: shared`")
    assert ("\n" in told, secret in told, "***" in told) == (False, False, True)
    assert limitations(run, "claims_nothing") == ""
    [left] = [fact["outside"] for fact in facts(run, "attempt_ended") if "outside" in fact]
    assert (left["paths"], left["count"]) == ([], 0)
    log = (home / ".pixirnb" / "runs" / run.id / "log.jsonl").read_bytes()
    assert audit(log, outcome=run.outcome.document()) == []


def test_a_project_that_was_moved_goes_on_where_it_is_if_its_old_place_leads_there(
    tmp_path: Path,
) -> None:
    """Its trees lie beside it and are found by where they lie, and no longer by where it was."""
    old = repository(tmp_path / "old", {"a.txt": "a\n", ".gitignore": ".pixirnb\n"})
    run, outcome = ended(
        old,
        isolated("make", "echo b > a.txt", write_set=["a.txt"]),
        {"id": "gate", "ask": {"question": "Land it?"}, "depends_on": ["make"]},
        land("make", after=("gate",)),
    )
    assert outcome.status == "needs_orchestrator"
    new = tmp_path / "elsewhere" / "new"
    new.parent.mkdir()
    old.rename(new)
    old.symlink_to(new)
    code, document = said(new, "decide", run.id, "gate", "accept")
    assert (code, document["status"]) == (0, "completed")
    assert tree(new) == {"a.txt": "b\n", ".gitignore": ".pixirnb\n"}


def test_a_check_of_changes_that_finds_none_says_that_they_are_merged_already(
    tmp_path: Path,
) -> None:
    plant(tmp_path, {"a.txt": "a\n"})
    git(tmp_path, "init", "--quiet")
    step = isolated("a", "echo b > a.txt", verify=[{"git_changes": "*.txt"}])
    run, outcome = ended(tmp_path, step)
    assert outcome.status == "completed"
    assert run.merge().status == "merged"
    outcome = api.resume(run.id, from_step="a", workspace=tmp_path).wait()
    assert statuses(outcome)["a"] == "failed", "the check is no looser"
    [check] = facts(run, "verification_recorded")[-1]["checks"]
    assert "already merged (m1)" in check["evidence"]["saw"]
    assert run.merge(undo=True).status == "undone"
    outcome = api.resume(run.id, workspace=tmp_path).wait()
    assert statuses(outcome)["a"] == "checkpoint_ready"


def test_a_merge_by_hand_or_its_undoing_is_refused_while_a_step_may_touch_the_files(
    tmp_path: Path,
) -> None:
    home = plant(tmp_path / "home", {"a.txt": "a\n"})
    go = tmp_path / "go"
    text = f"until test -e {go}; do sleep 0.02; done"
    run = started(
        home,
        isolated("made", "echo b > a.txt", write_set=["a.txt"]),
        isolated("more", "echo c > c.txt", "made", write_set=["c.txt"]),
        land("made"),
        shell("busy", text, "land", "more", write_set=["**/*"]),
    )
    until(lambda: run.outcome.step("busy").subagent_status == "running")
    for undo in (True, False):
        with pytest.raises(Cannot, match="`busy` is running and may change the files") as refused:
            run.merge(undo=undo)
        assert refused.value.code == "merge_busy"
    assert tree(home) == {"a.txt": "b\n"}
    go.touch()
    assert run.wait().status == "completed"
    assert run.merge(undo=True).status == "undone"
    assert tree(home) == {"a.txt": "a\n"}


@pytest.mark.parametrize("init", [True, False])
def test_the_file_that_pixirnb_prints_to_is_no_write_of_a_step(tmp_path: Path, init: bool) -> None:
    flow = {"name": "w", "steps": [shell("a", "sleep 0.1; echo a", posture="read_only")]}
    (tmp_path / "w.json").write_text(json.dumps(flow))
    if init:
        git(tmp_path, "init", "--quiet")
    with (tmp_path / "build.log").open("wb") as log:
        words = [sys.executable, "-m", "pixirnb", "run", "w.json", "--tail"]
        subprocess.run(words, cwd=tmp_path, stdout=log, stderr=log, check=True)
    run = api.open_run("@last", state=tmp_path / ".pixirnb")
    assert run.bundle("a")["known_limitations"] == []  # type: ignore[index]
    assert "1 of 1 step ready" in (tmp_path / "build.log").read_text()


def test_a_merge_that_its_time_did_not_end_says_so(tmp_path: Path) -> None:
    """It is stopped before it touches a file, or not at all: of longer and longer times one ends between."""
    many = "mkdir many; i=0; while [ $i -lt 1500 ]; do echo $i > many/$i; i=$((i+1)); done"
    for limit_ms in (100, 150, 225, 340, 510, 760, 1_140, 1_700, 2_500, 3_800):
        home = repository(tmp_path / f"{limit_ms}", {"a.txt": TEXT})
        steps = [
            isolated("make", many, write_set=["many/**"]),
            {**land("make"), "timeout": f"{limit_ms}ms"},
        ]
        merged = started(home, *steps).wait().step(land("make")["id"])
        if merged.checkpoint_status == "checkpoint_ready":
            assert merged.checkpoint is not None
            assert any("time_out_missed" in each for each in merged.checkpoint["known_limitations"])
            return
        assert merged.subagent_status == "timed_out"
        assert not (home / "many").exists()
    pytest.fail("no merge came to its end")


def test_a_secret_that_is_part_of_a_name_in_the_workflow_changes_no_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = repository(tmp_path / "home", {"f.txt": "base\n", ".gitignore": ".pixirnb\n"})
    repository(tmp_path / "other", {"g.txt": "base\n"})
    monkeypatch.setenv("POSTGRES_PASSWORD", "postgres")
    run = started(
        home,
        isolated("port-postgres", "echo postgres >> f.txt", write_set=["f.txt"]),
        isolated("other", "echo 2 >> g.txt", cwd="repos.postgres", write_set=["repos.postgres:*"]),
        shell("check-postgres", "true", verify=[{"command": "false"}]),
        shell("deploy", "true", "check-postgres"),
        shell("skip-postgres", "true", when="{{ run.id }} == ''"),
        {
            "id": "bring",
            "merge": ["port-postgres", "other"],
            "depends_on": ["port-postgres", "other"],
        },
        repos={"postgres": "../other"},
    )
    outcome = run.wait()
    assert statuses(outcome) == {
        "port-postgres": "checkpoint_ready",
        "other": "checkpoint_ready",
        "check-postgres": "failed",
        "deploy": "held",
        "skip-postgres": "held",
        "bring": "checkpoint_ready",
    }
    assert (home / "f.txt").read_text() == "base\npostgres\n"
    assert (tmp_path / "other" / "g.txt").read_text() == "base\n2\n"
    assert run.merge().status == "nothing"
    assert run.merge(undo=True).status == "undone"
    assert b'"path":"f.txt"' in (run.folder / "log.jsonl").read_bytes()


@pytest.mark.parametrize("is_by_file", [False, True], ids=["all files", "by file"])
def test_a_side_of_a_conflict_whose_name_holds_a_secret_can_be_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_by_file: bool
) -> None:
    monkeypatch.setenv("POSTGRES_PASSWORD", "postgres")
    home = repository(tmp_path, {"f.txt": "base\n", ".gitignore": ".pixirnb\n"})
    run, _ = ended(
        home,
        isolated("port-postgres", "echo 1 > f.txt", write_set=["f.txt"]),
        isolated("two", "echo 2 > f.txt", write_set=["f.txt"]),
        land("port-postgres", "two"),
    )
    run.accept("land", {"f.txt": "port-postgres"} if is_by_file else "port-postgres")
    assert run.wait().status == "completed"
    assert (home / "f.txt").read_text() == "1\n"
