"""Relay files run here: commands for real, agents by the name of their program, and to an end that their own runner misses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import pixirnb
from pixirnb import api
from pixirnb.errors import InvalidSpec
from pixirnb.notebook.cells.workflow_cell import define
from pixirnb.operations.run import Run
from pixirnb.testing.fakes.agent_stage import fake
from tests.stories.storyline import EFFECTS, ROOT, effects, mark

pytestmark = pytest.mark.story

NASTY = 'it\'s "$(touch owned)" `touch owned`; touch owned # *'


def shell(name: str, command: str, *after: str, **keys: Any) -> dict[str, Any]:
    return {
        "name": name,
        "type": "deterministic",
        "command": command,
        "dependsOn": list(after),
        **keys,
    }


def relay(*steps: dict[str, Any], **top: Any) -> dict[str, Any]:
    """A file without retries, but for what `top` says."""
    workflow = {"name": "w", "steps": list(steps), **top.pop("workflow", {})}
    head = {"version": "1.0", "name": "story", "swarm": {"pattern": "dag"}, "agents": []}
    return {**head, "errorHandling": {"strategy": "fail-fast"}, "workflows": [workflow], **top}


def saved(folder: Path, value: dict[str, Any], name: str = "relay.yaml") -> Path:
    path = folder / name
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")  # JSON is YAML
    return path


def ended(folder: Path, value: dict[str, Any]) -> Run:
    run = api.start(saved(folder, value))
    run.wait()
    return run


def standing(run: Run) -> dict[str, str | None]:
    """Every step's checkpoint status."""
    return {step.step_id: step.checkpoint_status for step in run.outcome.steps}


def test_commands_run_in_order_with_what_those_before_them_printed(tmp_path: Path) -> None:
    (tmp_path / "nasty").write_text(NASTY)
    steps = [
        shell("say", "cat nasty"),
        shell("quoted", "printf %s \"({{steps.say.output}})\" '[{{steps.say.output}}]'", "say"),
        shell("file", "cat > out.txt <<'E'\n$HOME {{steps.say.output}}\nE", "say",
              verification={"type": "file_exists", "value": "out.txt"}),
        shell("check", "echo said", "file",
              verification={"type": "custom", "value": "grep -qF \"{{steps.say.output}}\" out.txt"}),
        shell("fails", "echo before; exit 7", "say", failOnError=False),
        shell("braces", "printf %s '{{.State}}'", "fails"),
    ]  # fmt: skip
    run = ended(tmp_path, relay(*steps))
    assert run.outcome.status == "completed", run.outcome
    assert run.output("quoted") == f"({NASTY})[{NASTY}]"
    assert (tmp_path / "out.txt").read_text() == f"$HOME {NASTY}\n"
    assert run.output("braces") == "{{.State}}"
    assert not (tmp_path / "owned").exists()


def test_a_command_that_may_fail_leaves_how_it_ended(tmp_path: Path) -> None:
    run = ended(tmp_path, relay(shell("fails", "echo before; exit 7", failOnError=False)))
    assert run.outcome.status == "completed"
    assert run.value("fails") == "before"
    assert run.output("fails") == "before\nexited with 7, which this step allows\n"


def test_a_resume_runs_what_was_held_behind_a_failure(tmp_path: Path) -> None:
    """Its own runner leaves `c` skipped here, and says that the run is completed."""
    steps = [
        shell("a", mark("a")),
        shell("b", mark("b", "test -e fixed"), "a"),
        shell("c", mark("c"), "b"),
    ]
    run = ended(tmp_path, relay(*steps))
    assert run.outcome.status == "partial"
    assert standing(run)["c"] == "held"
    (tmp_path / "fixed").touch()
    again = api.resume(run.id, state=tmp_path / ".pixirnb")
    assert again.wait().status == "completed"
    assert effects(tmp_path) == ["a", "b", "b", "c"]


def test_no_more_steps_run_at_once_than_the_file_says(tmp_path: Path) -> None:
    """Its own runner starts all of them."""
    alone = f"mkdir busy && sleep 0.05 && echo x >> {EFFECTS} && rmdir busy"
    steps = [shell(f"s{number}", alone) for number in range(4)]
    run = ended(tmp_path, relay(*steps, swarm={"pattern": "fan-out", "maxConcurrency": 1}))
    assert run.outcome.status == "completed"
    assert len(effects(tmp_path)) == 4


def test_the_time_out_of_the_file_ends_commands_too(tmp_path: Path) -> None:
    """Its own runner lets them run for ever."""
    run = ended(
        tmp_path, relay(shell("slow", "sleep 600"), swarm={"pattern": "dag", "timeoutMs": 300})
    )
    assert run.outcome.status == "timed_out"


def test_a_file_that_says_nothing_of_errors_tries_three_times(tmp_path: Path) -> None:
    value = relay(shell("a", mark("a", "false")), shell("b", mark("b")))
    del value["errorHandling"]
    run = ended(tmp_path, value)
    assert run.outcome.status == "partial"
    assert sorted(effects(tmp_path)) == ["a", "a", "a", "b"]


def test_nothing_starts_behind_a_preflight_that_fails(tmp_path: Path) -> None:
    checks = [
        {"command": mark("first") + "; echo clean", "successIf": "^clean"},
        {"command": mark("second") + "; echo dirty", "failIf": "non-empty"},
        {"command": mark("third")},
    ]
    value = relay(shell("a", mark("a")), workflow={"preflight": checks})
    run = ended(tmp_path, value)
    assert standing(run) == {
        "preflight-1": "checkpoint_ready",
        "preflight-2": "failed",
        "preflight-3": "held",
        "a": "held",
    }
    assert effects(tmp_path) == ["first", "second"]


def test_a_worktree_is_made_once_and_later_steps_work_in_it(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        line = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
        return subprocess.run(line, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "-q", "-b", "main")
    (tmp_path / "a.txt").write_text("a\n")
    git("add", ".")
    git("commit", "-qm", "one")
    steps: list[dict[str, Any]] = [
        {"name": "tree", "type": "worktree", "branch": "feature/x y".replace(" ", "-")},
        shell("write", "echo b >> a.txt && git diff --stat && test -e ok", "tree", cwd=".worktrees/tree"),
    ]  # fmt: skip
    run = ended(tmp_path, relay(*steps))
    assert standing(run) == {"tree": "checkpoint_ready", "write": "failed"}
    assert run.value("tree") == str(tmp_path / ".worktrees/tree")
    assert "feature/x-y" in git("branch", "--list", "feature/*")
    assert (tmp_path / "a.txt").read_text() == "a\n"
    (tmp_path / ".worktrees/tree/ok").touch()
    again = api.resume(run.id, state=tmp_path / ".pixirnb", from_step="tree")
    assert again.wait().status == "completed"
    assert (tmp_path / ".worktrees/tree/a.txt").read_text() == "a\nb\nb\n"


def test_agents_are_started_by_the_name_of_their_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config" / "pixirnb"
    config.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config.parent))
    argv = json.dumps([*fake("cli", "echo"), "{prompt}"])
    tables = [f"[cli.{name}]\nargv = {argv}\noutput = 'text'\nmodel = []\nlast = []\nlines = []\n"
              "modes = { read_only = [], ask = [] }\n"
              for name in ("claude", "aider")]  # fmt: skip
    (config / "agents.toml").write_text("".join(tables))
    work = tmp_path / "work"
    work.mkdir()
    agents = [
        {
            "name": "lead",
            "cli": "claude",
            "role": "You lead.",
            "permissions": {"access": "readonly"},
        },
        {"name": "hand", "cli": "aider", "permissions": {"access": "full"}},
    ]
    steps: list[dict[str, Any]] = [
        {"name": "ask the lead", "agent": "lead", "task": "Plan of TOKEN-1."},
        {"name": "do", "agent": "hand", "task": "Do it.", "dependsOn": ["ask the lead"],
         "verification": {"type": "output_contains", "value": "TOKEN-1"}},
        shell("end", "printf %s \"{{steps.ask the lead.output}}\" | grep -c TOKEN-1", "ask the lead"),
    ]  # fmt: skip
    run = ended(work, relay(*steps, agents=agents))
    found = standing(run)
    assert found["ask-the-lead"] == "checkpoint_ready"
    bundle = run.bundle("ask-the-lead")
    assert bundle is not None
    assert "readiness_not_declared" in bundle["known_limitations"]
    # What it was told and says back is no evidence.
    assert found["do"] == "partial"


def test_custom_steps_and_variables_are_taken_from_around_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".relay").mkdir()
    definition = {"params": [{"name": "who", "required": True}], "type": "deterministic",
                  "command": "echo hello {{who}} > hello.txt"}  # fmt: skip
    (tmp_path / ".relay/steps.yaml").write_text(json.dumps({"steps": {"greet": definition}}))
    path = saved(tmp_path, relay({"name": "a", "use": "greet", "who": "you"}))
    assert pixirnb.run(path).status == "completed"
    assert (tmp_path / "hello.txt").read_text() == "hello you\n"
    monkeypatch.setenv("KITS", str(tmp_path))
    paths = [{"name": "kit", "path": "$KITS"}]
    assert pixirnb.load(saved(tmp_path, relay(shell("a", "true"), paths=paths))).repos == {
        "kit": str(tmp_path)
    }
    monkeypatch.delenv("KITS")
    with pytest.raises(InvalidSpec) as raised:
        pixirnb.load(saved(tmp_path, relay(shell("a", "true"), paths=paths)))
    assert [problem.code for problem in raised.value.problems] == ["relay_variable"]


def test_a_cell_takes_a_relay_file_and_warns_on_its_lines() -> None:
    text = (ROOT / "tests/spec/relay/relay_files/release.yaml").read_text()
    warnings = api.plan(define(text).workflow()).warnings
    # The magic is the first line of its cell.
    assert [(each.code, each.line) for each in warnings if each.code.startswith("relay_")] == [
        ("relay_renamed", 3),
        ("relay_inert", 4),
        ("relay_renamed", 13),
        ("relay_differs", 16),
        ("relay_differs", 34),
    ]


def test_a_template_nobody_fills_asks_for_an_input(tmp_path: Path) -> None:
    path = saved(tmp_path, relay(shell("a", 'echo "{{who}}" {{who}}')))
    run = api.start(path, {"who": NASTY})
    assert run.wait().status == "completed"
    assert run.value("a") == f"{NASTY} {NASTY}"
