"""A step is ready by its evidence: every kind of check, typed outputs, artifacts, and what an agent may say of itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.machine.outcome import RunOutcome
from tests.stories.storyline import ended, facts, shell

pytestmark = pytest.mark.story

PASSING: dict[str, dict[str, Any]] = {
    "exit_code": {"exit_code": 0},
    "file_exists": {"file_exists": "out/*.txt"},
    "command": {"command": "test -s out/a.txt"},
    "command argv": {"command": ["sh", "-c", "exit 3"], "exit_code": 3},
    "git_changes": {"git_changes": "out/**"},
    "output_contains": {"output_contains": "built"},
    "output_matches": {"output_matches": r"\d+ files"},
    "python": {"python": ":seen"},
    "schema": {"schema": {"type": "string", "pattern": "files"}},
}
FAILING: dict[str, dict[str, Any]] = {
    "exit_code": {"exit_code": 1},
    "file_exists": {"file_exists": "nowhere/*"},
    "command": {"command": "test -s nothing"},
    "command argv": {"command": ["sh", "-c", "exit 4"], "exit_code": 3},
    "git_changes": {"git_changes": "src/**"},
    "output_contains": {"output_contains": "ruined"},
    "output_matches": {"output_matches": "^x+$"},
    "python": {"python": ":unseen"},
    "schema": {"schema": {"type": "object"}},
}
FUNCTIONS = {
    ":seen": "def seen(output):\n    return 'built' in output\n",
    ":unseen": "def unseen(output):\n    return 'ruined' in output\n",
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    """One run with a step for each check, passing and failing."""
    place = tmp_path_factory.mktemp("judged")
    subprocess.run(["git", "init", "-q"], cwd=place, check=True)
    # Steps of this run make the same file, two at a time: renamed into place, it is never seen empty.
    make = "mkdir -p out; echo x > out/new.$$; mv out/new.$$ out/a.txt; echo built 3 files"
    steps: list[dict[str, Any]] = []
    for way, table in (("good", PASSING), ("bad", FAILING)):
        for number, check in enumerate(table.values()):
            steps.append(shell(f"{way}-{number}", make, verify=[check]))
    workflow = {"name": "judged", "max_concurrency": 2, "steps": steps}
    return api.start(workflow, workspace=place, functions=FUNCTIONS).wait()


@pytest.mark.parametrize("number", range(len(PASSING)), ids=list(PASSING))
def test_a_passing_check_makes_ready_and_leaves_what_it_saw(
    judged: RunOutcome, number: int
) -> None:
    step = judged.step(f"good-{number}")
    assert step.checkpoint_status == "checkpoint_ready", step.error
    assert step.checkpoint is not None
    [check] = step.checkpoint["verification"]
    assert check["passed"]
    assert check["check"] == list(PASSING.values())[number]
    assert check["evidence"]["saw"] or check["evidence"]["saw"] == ""


@pytest.mark.parametrize("number", range(len(FAILING)), ids=list(FAILING))
def test_a_failing_check_keeps_dependents_locked_and_says_what_it_saw(
    judged: RunOutcome, number: int
) -> None:
    step = judged.step(f"bad-{number}")
    if "exit_code" in list(FAILING.values())[number] and number == 0:
        assert step.subagent_status == "completed"
    assert step.checkpoint_status == "failed"
    assert step.error is not None
    assert step.error["kind"] == "verification"
    assert next(iter(list(FAILING.values())[number])) in step.error["message"]


def test_one_failing_check_does_not_spare_the_others(tmp_path: Path) -> None:
    run, _ = ended(
        tmp_path, shell("a", "echo x", verify=[{"file_exists": "no"}, {"output_contains": "x"}])
    )
    checks = next(e.data["checks"] for e in run.history() if e.kind == "verification_recorded")
    assert [check["passed"] for check in checks] == [False, True]


def test_a_declared_output_is_parsed_and_typed(tmp_path: Path) -> None:
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    run, outcome = ended(
        tmp_path,
        shell("good", """echo '{"n": 3}'""", output=schema),
        shell("wrong", """echo '{"n": "three"}'""", output=schema),
        shell("prose", "echo three", output=schema),
        shell("use", "echo {{ steps.good.output.n }}", "good"),
    )
    assert run.value("good") == {"n": 3}
    assert run.output("use") == "3\n"
    for step in ("wrong", "prose"):
        error = outcome.step(step).error
        assert outcome.step(step).checkpoint_status == "failed"
        assert error is not None
        assert error["kind"] == "output_invalid"
    bundle = run.bundle("good")
    assert bundle is not None
    assert bundle["payload"]["validation"]["passed"]
    assert bundle["payload"]["provenance"] == "harness_projection"


def test_a_declared_output_may_be_a_model_of_the_user_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shapes_of_story.py").write_text(
        "from pydantic import BaseModel\n\nclass Point(BaseModel):\n    x: int\n"
    )
    monkeypatch.chdir(tmp_path)
    run, outcome = ended(
        tmp_path,
        shell("good", """echo '{"x": 3}'""", output="shapes_of_story:Point"),
        shell("wrong", """echo '{"x": []}'""", output="shapes_of_story:Point"),
        shell("none", """echo '{"x": 1}'""", output="shapes_of_story:Line"),
    )
    assert outcome.step("good").checkpoint_status == "checkpoint_ready", outcome.step("good").error
    for step in ("wrong", "none"):
        error = outcome.step(step).error
        assert error is not None
        assert error["kind"] == "output_invalid"
    assert run.value("good") == {"x": 3}


@pytest.mark.parametrize(
    ("work", "kept"),
    [
        ("touch -d '2 days ago' found.txt", ["found.txt"]),  # as if the clock had jumped since
        ("true", []),
    ],
)
def test_what_a_cut_off_attempt_left_is_told_by_no_clock(
    tmp_path: Path, work: str, kept: list[str]
) -> None:
    stale = tmp_path / "stale.txt"
    stale.write_text("of another day")
    subprocess.run(["touch", "-d", "tomorrow", stale], check=True)
    run, outcome = ended(
        tmp_path, shell("cut", f"{work}; sleep 60", timeout="1s", artifacts=["*.txt"])
    )
    [ending] = facts(run, "attempt_ended")
    assert [each["path"] for each in ending.get("artifacts", ())] == kept
    assert outcome.step("cut").checkpoint_status == ("partial" if kept else "failed")


def test_artifacts_outlive_the_workspace(tmp_path: Path) -> None:
    run, outcome = ended(
        tmp_path, shell("a", "mkdir dist; echo wheel > dist/a.whl", artifacts=["dist/*.whl"])
    )
    (tmp_path / "dist" / "a.whl").unlink()
    checkpoint = outcome.step("a").checkpoint
    assert checkpoint is not None
    [artifact] = checkpoint["artifacts"]
    assert (artifact["path"], artifact["bytes"]) == ("dist/a.whl", 6)
    assert run.store.blobs(run.id).get(artifact["blob"]) == b"wheel\n"


def test_globs_read_alike_wherever_they_stand_and_never_find_our_own_files(tmp_path: Path) -> None:
    make = "mkdir -p d/s .git; touch d/a.x d/b.y d/c.z d/s/c.x .git/own; ln -s /etc d/out; echo ok"
    braces = ["d/*.{x,y}", "./d/s/"]
    checks = [
        {"file_exists": "d/*.{x,y}"},
        {"file_exists": "d/[ab].x"},
        {"file_exists": "d/**/c.x"},
    ]
    run, outcome = ended(
        tmp_path,
        shell("some", make, artifacts=braces, verify=checks),
        shell("all", "true", "some", artifacts=["**/*"]),
        shell("dot", "true", "some", verify=[{"file_exists": "."}]),
        shell("root", "true", "some", verify=[{"file_exists": "/etc/*"}]),
        shell("out", "true", "some", verify=[{"file_exists": "d/out/*"}]),
        shell("own", "true", "some", verify=[{"file_exists": ".pixirnb/**"}]),
    )

    def kept(step: str) -> list[str]:
        bundle = run.bundle(step)
        assert bundle is not None, outcome.step(step).error
        return [artifact["path"] for artifact in bundle["artifacts"]]

    assert kept("some") == ["d/a.x", "d/b.y", "d/s/c.x"]
    assert kept("all") == ["d/a.x", "d/b.y", "d/c.z", "d/s/c.x"]
    for step in ("dot", "root", "out", "own"):
        error = outcome.step(step).error
        assert error is not None
        assert error["kind"] == "verification"


AGENT = {"runner": "scripted"}


def said(*actions: dict[str, Any]) -> dict[str, Any]:
    """Agents whose one worker does this."""
    return {"w": {"runner": "scripted", "script": {"*": [list(actions)]}}}


@pytest.mark.parametrize(
    ("actions", "status", "kind"),
    [
        ([{"report": {"checkpoint_status": "checkpoint_ready", "summary": "s"}}], "checkpoint_ready", None),
        ([{"say": "all done, everything works"}], "partial", "readiness_not_declared"),
        ([{"say": "done\ncheckpoint_status: checkpoint_ready"}], "checkpoint_ready", None),
        ([{"marker": "partial"}], "partial", "agent_reported_partial"),
        ([{"report": {"checkpoint_status": "failed", "summary": "s"}}], "failed", "agent_reported_failure"),
        ([{"report": {"checkpoint_status": "needs_orchestrator", "summary": "?"}}], "needs_orchestrator", "agent_undecided"),
        ([{"say": "x"}, {"exit": 3}], "failed", "exit"),
        ([{"crash": 9}], "failed", "crash"),
        ([{"fail": "context_overflow", "message": "full"}], "failed", "context_overflow"),
        ([{"report": {"checkpoint_status": "partial", "summary": "half"}}, {"crash": 9}], "partial", "crash"),
    ],
)  # fmt: skip
def test_an_agent_is_ready_only_by_its_word_or_a_check(
    tmp_path: Path, actions: list[dict[str, Any]], status: str, kind: str | None
) -> None:
    _, outcome = ended(tmp_path, {"id": "a", "task": "Work.", "agent": "w"}, agents=said(*actions))
    step = outcome.step("a")
    assert step.checkpoint_status == status
    assert (step.error and step.error["kind"]) == kind
    assert outcome.ok == (status == "checkpoint_ready")


@pytest.mark.parametrize("status", ["needs_orchestrator", "failed"])
def test_an_agent_that_asks_or_has_failed_has_no_result_that_is_checked(
    tmp_path: Path, status: str
) -> None:
    says = {"checkpoint_status": status, "summary": "The database is gone."}
    run, outcome = ended(
        tmp_path,
        {"id": "checked", "task": "x", "agent": "w", "verify": [{"command": "touch checked"}]},
        {"id": "typed", "task": "x", "agent": "w", "output": {"type": "object"}},
        agents=said({"report": says}),
    )
    assert outcome.status == status
    for step in outcome.steps:
        assert step.error is not None
        assert "The database is gone." in step.error["message"]
    assert not (tmp_path / "checked").exists()
    assert not facts(run, "verification_recorded")


def test_the_line_that_declares_is_no_part_of_what_an_agent_said(tmp_path: Path) -> None:
    run, outcome = ended(
        tmp_path,
        {"id": "said", "task": "x", "agent": "w"},
        {"id": "bare", "task": "x", "agent": "bare"},
        shell("use", "printf '%s' {{ steps.said.output }}", "said"),
        agents={
            **said({"say": "Tabs or\nspaces\ncheckpoint_status: checkpoint_ready"}),
            "bare": {"script": {"*": [[{"say": "checkpoint_status: checkpoint_ready"}]]}},
        },
    )
    assert outcome.ok
    assert run.output("use") == "Tabs or\nspaces"
    assert outcome.step("said").summary == "spaces"
    assert (outcome.step("bare").summary, run.value("bare")) == ("", "")


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([], "the agent reported no `output`, but the step declares one"),
        ([{"say": "words"}], "the report has no `output`; the text of the agent is not JSON"),
    ],
)
def test_an_agent_that_gives_no_output_is_not_told_about_json(
    tmp_path: Path, actions: list[dict[str, Any]], message: str
) -> None:
    ready = {"report": {"checkpoint_status": "checkpoint_ready", "summary": "s"}}
    step = {"id": "a", "task": "x", "agent": "w", "output": {"type": "object"}}
    _, outcome = ended(tmp_path, step, agents=said(*actions, ready))
    error = outcome.step("a").error
    assert error is not None
    assert (error["kind"], error["message"]) == ("output_invalid", message)


def test_the_echo_of_a_task_never_counts_as_the_agent_s_word(tmp_path: Path) -> None:
    task = "Say this at the end:\ncheckpoint_status: checkpoint_ready"
    _, outcome = ended(tmp_path, {"id": "a", "task": task, "agent": "w"}, agents={"w": AGENT})
    assert outcome.step("a").checkpoint_status == "partial"


def test_an_agent_s_work_can_be_verified_instead(tmp_path: Path) -> None:
    _, outcome = ended(
        tmp_path,
        {"id": "a", "task": "Work.", "agent": "w", "verify": [{"file_exists": "a.txt"}]},
        agents=said({"write": "a.txt", "text": "x"}),
    )
    assert outcome.step("a").checkpoint_status == "checkpoint_ready"


def test_a_file_is_evidence_by_whatever_name(tmp_path: Path) -> None:
    name, long = os.fsdecode(b"caf\xe9.txt"), [os.fsdecode(b"\xe9" * 250)] * 8
    tmp_path.joinpath(*long).mkdir(parents=True)
    tmp_path.joinpath(*long, "far.txt").touch()
    (tmp_path / name).touch()
    run, outcome = ended(
        tmp_path,
        shell("near", "true", verify=[{"file_exists": "*.txt"}]),
        shell("far", "true", verify=[{"file_exists": "**/far.txt"}]),
        shell("named", "true", verify=[{"file_exists": "/".join(["*"] * 8) + "/far.txt"}]),
    )
    assert outcome.status == "completed"
    for fact in facts(run, "verification_recorded"):
        assert fact["checks"][0]["evidence"]["saw"] == "1 found"


def test_lenient_readiness_lets_a_clean_exit_count_and_says_so(tmp_path: Path) -> None:
    _, outcome = ended(
        tmp_path, {"id": "a", "task": "x", "agent": "w"}, agents={"w": AGENT}, readiness="lenient"
    )
    checkpoint = outcome.step("a").checkpoint
    assert checkpoint is not None
    assert checkpoint["known_limitations"] == ["readiness_not_declared"]


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (shell("a", "exit 3"), "exit"),
        (shell("a", "kill -9 $$"), "crash"),
        (shell("a", ["/no/such/program"]), "spawn_failed"),
        ({"id": "a", "call": "json:loads", "with": {"s": "{"}}, "exception"),
        ({"id": "a", "call": "os:_exit", "with": {}, "process": True}, "exception"),
        ({"id": "a", "call": "no_such_module:f"}, "function_missing"),
        ({"id": "a", "call": "json:no_such_function"}, "function_missing"),
    ],
)
def test_what_went_wrong_has_one_name(tmp_path: Path, step: dict[str, Any], kind: str) -> None:
    _, outcome = ended(tmp_path, step)
    error = outcome.step("a").error
    assert outcome.status == "failed"
    assert error is not None
    assert error["message"]
    assert error["kind"] == kind


COMMIT = "git -c user.name=t -c user.email=t@t commit --quiet -m done"
WORK = {
    "left as it is": ("echo 1 > src/x", 1),
    "staged": ("echo 1 > src/x; git add -A", 1),
    "committed": (f"echo 1 > src/x; git add -A; {COMMIT}", 1),
    "committed twice, and on": (
        f"echo 1 > src/x; git add -A; {COMMIT}; echo 1 > src/y; git add -A; {COMMIT}; echo > src/z",
        3,
    ),
    "committed and taken back": (
        f"echo 1 > src/x; git add -A; {COMMIT}; git reset --quiet --hard HEAD~",
        0,
    ),
    "a file gone": (f"git rm -q src/old; {COMMIT}", 1),
    "a file renamed": (f"git mv src/old src/new; {COMMIT}", 2),
    "a file renamed in the index": ("git mv src/old src/new", 2),
    "a file moved out that git is to know of": ("mv src/old other; git add -N other", 1),
    "another commit": (f"echo 1 > other; git add -A; {COMMIT}", 0),
    "nothing": ("true", 0),
}


@pytest.mark.parametrize("workspace", ["shared", "isolated"])
@pytest.mark.parametrize(("work", "count"), WORK.values(), ids=WORK)
def test_what_a_step_changed_counts_as_changed_though_it_committed_it(
    tmp_path: Path, work: str, count: int, workspace: str
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "old").write_text("long enough to be known again")
    (tmp_path / ".gitignore").write_text(".pixirnb/\n")
    for words in ("git init --quiet", "git add -A", COMMIT):
        subprocess.run(words.split(), cwd=tmp_path, check=True)
    step = shell("a", work, workspace=workspace, write_set=["**/*"])
    step["verify"] = [{"git_changes": "src/**"}]
    run = api.start({"name": "w", "steps": [step]}, workspace=tmp_path)
    outcome = run.wait()
    assert (outcome.status == "completed") == bool(count)
    [told] = [event.data for event in run.history() if event.kind == "verification_recorded"]
    [check] = told["checks"]
    assert len(check["evidence"]["files"]) == count, check["evidence"]
    assert check["evidence"]["saw"].startswith(f"{count} of ")


@pytest.mark.parametrize("cwd", ["", "sub"])
@pytest.mark.parametrize(
    ("work", "count"),
    [(f"echo 1 > src/x; git add -A; {COMMIT}", 1), ("echo 1 > src/x", 1), ("true", 0)],
    ids=["committed", "not committed", "nothing"],
)
def test_the_first_commit_of_a_repository_is_a_change(
    tmp_path: Path, work: str, count: int, cwd: str
) -> None:
    here = tmp_path / cwd
    (here / "src").mkdir(parents=True)
    for folder in (tmp_path, here):
        (folder / ".gitignore").write_text(".pixirnb/\n")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    step = {**shell("a", work), "verify": [{"git_changes": "repos.it:src/**"}]}
    step["cwd"] = "repos.it"
    spec = {"name": "w", "repos": {"it": "."}, "steps": [step]}
    run = api.start(spec, workspace=here)
    assert (run.wait().status == "completed") == bool(count)
    [told] = [event.data for event in run.history() if event.kind == "verification_recorded"]
    [check] = told["checks"]
    assert len(check["evidence"]["files"]) == count, check["evidence"]


def test_changes_in_a_folder_of_a_repository_are_those_of_the_step_s_own_copy(
    tmp_path: Path,
) -> None:
    for name in ("here", "cloud/sub"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("here", "cloud"):
        subprocess.run(["git", "init", "--quiet"], cwd=tmp_path / name, check=True)
    work = f"echo 1 > x; git add -A; {COMMIT}"
    step = shell("a", work, workspace="isolated", cwd="repos.cloud/sub")
    step["write_set"] = ["repos.cloud:**"]
    (tmp_path / "cloud" / "sub" / "there").touch()
    step["verify"] = [{"git_changes": "sub/x"}, {"git_changes": "repos.cloud:sub/*"}]
    spec = {"name": "w", "repos": {"cloud": "../cloud"}, "steps": [step]}
    assert api.start(spec, workspace=tmp_path / "here").wait().status == "completed"
    step["verify"] = [{"git_changes": "there"}]
    assert api.start(spec, workspace=tmp_path / "here").wait().status == "failed"


def test_caches_and_notebooks_are_no_changes_of_a_step_that_only_reads(tmp_path: Path) -> None:
    made = "__pycache__/a.pyc sub/.pytest_cache/v notes.ipynb sub/made"
    step = shell("a", f"mkdir -p __pycache__ sub/.pytest_cache; touch {made}", posture="read_only")
    _, outcome = ended(tmp_path, step)
    bundle = outcome.step("a").checkpoint
    assert bundle is not None
    assert bundle["known_limitations"] == [
        "writes_outside_write_set: sub/made changed while it ran"
    ]
