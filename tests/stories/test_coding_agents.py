"""Coding agents in a run: each a session with its evidence, none with more of the environment than its list, no secret kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.operations.run import Run
from pixirnb.testing.fakes.agent_stage import fake
from tests.stories.storyline import spec

pytestmark = pytest.mark.story

SECRET = "s3cr3t-value-of-ours"
READY = "say:Done.\\ncheckpoint_status: checkpoint_ready"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run of a team of agents, some of whom fail."""
    home = tmp_path_factory.mktemp("team")
    with pytest.MonkeyPatch.context() as context:
        context.setenv("TEAM_TOKEN", SECRET)
        context.setenv("TEAM_LISTED", "listed")
        context.setenv("TEAM_UNLISTED", "unlisted")
        run = api.start(team(), workspace=home)
        run.wait()
    return run


def team() -> dict[str, Any]:
    listed = ["TEAM_TOKEN", "TEAM_LISTED", "PYTHONPATH"]
    commands: dict[str, tuple[str, list[str]]] = {
        "lister": (
            "cli",
            fake("cli", "env:TEAM_LISTED", "env:TEAM_UNLISTED", "env:TEAM_TOKEN", READY),
        ),
        "painter": ("pty", fake("pty", "say:painted", "say:checkpoint_status: checkpoint_ready")),
        "talker": (
            "acp",
            fake("acp", "env:TEAM_TOKEN", "tool:execute:$TEAM_TOKEN", "write:other/a.py:x", READY),
        ),
        "quiet": ("acp", fake("acp", "say:I am done, all is well.")),
        "quitter": ("acp", fake("acp", "say:half $TEAM_TOKEN", "end:refusal")),
        "absent": ("cli", ["./no-such-agent", "-p"]),
        "hanger": ("cli", fake("cli", "say:half way", "hang")),
    }
    agents = {
        name: {
            "runner": runner,
            "command": command,
            "posture": "writer",
            "permission_mode": "auto",
            "pass_env": listed,
        }
        for name, (runner, command) in commands.items()
    }
    steps: list[dict[str, Any]] = [
        {"id": name, "task": f"Work as {name}.", "agent": name, "write_set": [f"{name}/**"]}
        for name in commands
    ]
    steps[-1]["timeout"] = "5s"
    return spec(*steps, agents=agents, max_concurrency=3)


def session(run: Run, step: str) -> list[tuple[str, dict[str, Any]]]:
    """What the log of a step's session holds."""
    assert run.folder is not None
    path = run.folder / "sessions" / f"{step}.1.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return [(event["kind"], event["data"]) for event in events]


def test_those_who_are_ready_are_and_the_others_fail_alone(run: Run) -> None:
    outcome = run.outcome
    assert outcome.status == "partial"
    found = {
        step.step_id: (step.checkpoint_status, (step.error and step.error["kind"]))
        for step in outcome.steps
    }
    assert found == {
        "lister": ("checkpoint_ready", None),
        "painter": ("checkpoint_ready", None),
        "talker": ("checkpoint_ready", None),
        "quiet": ("partial", "readiness_not_declared"),
        "quitter": ("failed", "refused"),
        "absent": ("failed", "agent_missing_binary"),
        "hanger": ("failed", "timeout"),
    }


def test_an_agent_has_of_the_environment_what_its_list_names(run: Run) -> None:
    text = run.output("lister")
    assert "TEAM_LISTED=listed" in text
    assert "TEAM_UNLISTED=<unset>" in text


def test_a_secret_is_in_no_file_of_the_run_and_in_nothing_it_shows(run: Run) -> None:
    assert run.folder is not None
    for path in run.folder.rglob("*"):
        if path.is_file():
            assert SECRET not in path.read_text(errors="replace"), path.name
    assert "TEAM_TOKEN=***" in run.output("lister")
    shown = [run.outcome.document(), [event.data for event in run.history()]]
    assert SECRET not in json.dumps(shown, default=str)
    assert "half ***" in run.output("quitter")


def test_every_turn_ends_with_its_evidence(run: Run) -> None:
    for step, last in {"lister": True, "painter": True, "talker": True, "quiet": True}.items():
        messages = [data for kind, data in session(run, step) if kind == "assistant_message"]
        assert (messages[-1]["final"], messages[-1]["partial"]) == (last, False)
    kinds = [kind for kind, _ in session(run, "quitter")]
    assert kinds == ["session_started", "user_message", "assistant_message", "turn_failed"]
    told = dict(session(run, "quitter"))
    assert told["assistant_message"]["partial"] is True
    assert told["turn_failed"]["terminal_status"] == "partial_failed"
    assert told["turn_failed"]["error_kind"] == "refused"
    assert [kind for kind, _ in session(run, "absent")][-1] == "turn_failed"


def test_one_that_hangs_is_ended_at_its_deadline_with_all_that_belongs_to_it(run: Run) -> None:
    told = dict(session(run, "hanger"))
    failed = told["turn_failed"]
    assert (failed["terminal_status"], failed["timeout_ms"]) == ("timed_out", 5000)
    assert failed["elapsed_ms"] > 0
    assert failed["child_session_id"] == "hanger.1"
    assert failed["next_actions"]
    assert told["assistant_message"] == {"text": "half way", "partial": True, "final": False}
    assert run.outcome.step("hanger").subagent_status == "timed_out"


def test_a_refused_write_is_on_record_and_nothing_was_written(run: Run) -> None:
    [refused] = [
        data for kind, data in session(run, "talker") if kind == "tool_result" and not data["ok"]
    ]
    assert refused["error"]["kind"] == "outside_write_set"
    assert not (Path(run.state.workspace) / "other").exists()


def test_what_was_painted_is_kept_and_what_was_said_is_plain(run: Run) -> None:
    assert run.folder is not None
    kept = (run.folder / "output" / "painter.1.log").read_text()
    assert "\x1b[1;32mpainted\x1b[0m" in kept
    assert "painted" in run.value("painter")
    assert "\x1b" not in run.value("painter") + run.outcome.step("painter").summary
