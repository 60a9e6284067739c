"""The success metrics the project was asked for, each told end to end through the public interface."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.engine.broadcast import Live, News
from pixirnb.engine.services import Settings
from pixirnb.errors import InvalidSpec
from pixirnb.testing.repositories import git, traces
from tests.stories.filestory import repository
from tests.stories.storyline import effects, ended, kinds, mark, shell, spec, statuses

pytestmark = pytest.mark.story


def test_more_than_twenty_steps_complete_at_the_first_attempt_untouched(tmp_path: Path) -> None:
    """Metric 1."""
    layers = [[f"s{layer}-{n}" for n in range(6)] for layer in range(4)]
    before: list[str] = []
    steps = []
    for layer in layers:
        steps += [shell(name, mark(name), *before[:3]) for name in layer]
        before = layer
    add = {"id": "sum", "call": "builtins:dict", "with": {"a": 1}, "depends_on": before[:2]}
    steps.append(add)
    run, outcome = ended(tmp_path, *steps)
    assert outcome.status == "completed"
    assert outcome.ok
    assert len(outcome.steps) == 25
    assert {step.attempt for step in outcome.steps} == {1}
    assert sorted(effects(tmp_path)) == sorted(name for layer in layers for name in layer)
    assert "decision_recorded" not in kinds(run)
    assert outcome.proof_states[-1] == "completion_ready"


def test_resume_skips_what_is_done_and_runs_what_was_skipped(tmp_path: Path) -> None:
    """Metric 2."""
    steps = (
        shell("make", mark("make")),
        shell("test", mark("test", "test -e fixed"), "make"),
        shell("ship", mark("ship"), "test"),
        shell("aside", mark("aside")),
    )
    run, outcome = ended(tmp_path, *steps)
    assert statuses(outcome) == {
        "make": "checkpoint_ready",
        "test": "failed",
        "ship": "held",
        "aside": "checkpoint_ready",
    }
    assert outcome.held_dependents == {"test": ["ship"]}
    (tmp_path / "fixed").touch()
    planned = {
        e["step_id"]: (e["action"], e["reason"])
        for e in api.plan_resume(run.id, workspace=tmp_path)
    }
    assert planned == {
        "make": ("reuse", "ready"),
        "test": ("rerun", "failed"),
        "ship": ("rerun", "held"),
        "aside": ("reuse", "ready"),
    }
    resumed = api.resume(run.id, workspace=tmp_path)
    assert resumed.wait().status == "completed"
    assert sorted(effects(tmp_path)) == ["aside", "make", "ship", "test", "test"]
    assert resumed.id == run.id
    assert resumed.outcome.step("test").attempt == 2
    again = api.resume(run.id, workspace=tmp_path)
    assert again.is_no_op
    assert len(effects(tmp_path)) == 5


def test_a_dry_run_catches_everything_and_runs_nothing(tmp_path: Path) -> None:
    """Metric 3."""
    broken = spec(
        shell("one", mark("one"), "two"),
        shell("two", mark("two"), "one"),
        shell("two", mark("again"), "nobody"),
        {"id": "agent", "task": "do it", "agent": "ghost"},
        shell("bad", mark("bad"), cwd="../.."),
        shell("ref", "echo {{ steps.bad.output }}"),
        {"id": "both", "call": "os:getcwd", "posture": "read_only", "write_set": ["y"]},
    )
    with pytest.raises(InvalidSpec) as caught:
        api.load(broken)
    assert {problem.code for problem in caught.value.problems} >= {
        "agent_unknown",
        "cycle",
        "duplicate_id",
        "path_escapes",
        "read_only_writes",
        "reference_not_ancestor",
        "unknown_dependency",
    }
    assert all(problem.path and problem.fix for problem in caught.value.problems)
    with pytest.raises(InvalidSpec):
        api.start(broken, workspace=tmp_path)
    assert effects(tmp_path) == []
    assert not (tmp_path / ".pixirnb").exists()
    report = api.plan(
        spec(shell("one", mark("one")), shell("two", mark("two"), "one")), workspace=tmp_path
    )
    assert report.ok
    assert report.document()["waves"] == [["one"], ["two"]]
    assert effects(tmp_path) == []
    assert not (tmp_path / ".pixirnb").exists()


def test_agents_write_to_sibling_repositories_and_nobody_mails_a_patch(tmp_path: Path) -> None:
    """Metric 4: declared in the workflow, written to directly, each by an agent that works there."""
    names = ("dashboard", "cloud", "cli")
    for name in names:
        repository(tmp_path / f"relay-{name}", {"src/kit.ts": "old\n", "README.md": "as it was\n"})
    before = {name: traces(tmp_path / f"relay-{name}" / ".git") for name in names}
    home = tmp_path / "work"
    home.mkdir()
    flow = spec(
        *(
            {
                "id": name,
                "task": "Adopt the kit.",
                "agent": name,
                "write_set": [f"repos.{name}:src/**"],
                "verify": [{"git_changes": "src/kit.ts"}],
            }
            for name in names
        ),
        {"id": "land", "merge": list(names), "depends_on": list(names)},
        repos={name: f"../relay-{name}" for name in names},
        agents={
            name: {
                "cwd": f"repos.{name}",
                "additional_paths": ["repos.dashboard"],
                "permission_mode": "auto",
                "script": {
                    name: [
                        [
                            {"write": "src/kit.ts", "text": f"the kit, in {name}\n"},
                            {"report": {"checkpoint_status": "checkpoint_ready"}},
                        ]
                    ]
                },
            }
            for name in names
        },
    )
    assert api.plan(flow, workspace=home).document()["warnings"] == []
    run = api.start(flow, workspace=home)
    assert run.wait().status == "completed"
    for name in names:
        folder = tmp_path / f"relay-{name}"
        assert (folder / "src" / "kit.ts").read_text() == f"the kit, in {name}\n"
        assert traces(folder / ".git") == before[name]
        assert git(folder, "--no-optional-locks", "status", "--porcelain") == " M src/kit.ts"
    everywhere = [path for path in tmp_path.rglob("*") if ".pixirnb" not in path.parts]
    assert not [path for path in everywhere if path.suffix in {".patch", ".diff", ".orig", ".rej"}]


def test_output_is_live_while_the_step_still_runs(tmp_path: Path) -> None:
    """Metric 5, first half: the first line is heard before the step is allowed to end."""
    heard: list[str] = []

    def hear(news: News) -> None:
        if isinstance(news, Live) and news.topic == "step:output":
            heard.append(news.data["chunk"])
            if "ready?" in news.data["chunk"]:
                (tmp_path / "go").touch()

    run = api.start(
        spec(shell("talk", "echo 'ready?'; until test -e go; do sleep 0.02; done; echo done")),
        workspace=tmp_path,
        listeners=[hear],
    )
    assert run.wait().status == "completed"
    assert "".join(heard) == "ready?\ndone\n"
    assert run.output("talk") == "ready?\ndone\n"


def test_nothing_is_without_a_time_out(tmp_path: Path) -> None:
    """Metric 6: every step that runs something has one, written or not, and it is enforced."""
    report = api.plan(
        spec(
            shell("a", "true"),
            {"id": "b", "call": "os:getcwd"},
            {"id": "c", "task": "say", "agent": "w"},
            agents={"w": {"runner": "scripted", "timeout": "5m"}},
        ),
        workspace=tmp_path,
    )
    assert {k: v["ms"] for k, v in report.document()["timeouts"].items()} == {
        "a": 1_800_000,
        "b": 1_800_000,
        "c": 300_000,
    }
    _, outcome = ended(tmp_path, shell("hang", "sleep 600", timeout=0.3))
    assert outcome.status == "timed_out"
    step = outcome.step("hang")
    assert (step.subagent_status, step.checkpoint_status) == ("timed_out", "failed")
    assert step.error is not None
    assert step.error["kind"] == "timeout"
    assert step.next_actions[0]["action"] == "raise_timeout"


def test_a_stall_shows_within_a_minute_of_silence() -> None:
    """Metric 5, second half: the standard settings promise it; `tests/engine` turns the clock to see it."""
    settings = Settings()
    assert settings.stall_after_s + 1 <= 60
    assert settings.heartbeat_s == 30
