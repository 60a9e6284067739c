"""`show RUN --session`: what an agent said and did, in words or as its events."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verbs.command import Said, command, written

FLOW = """
name: spoken
agents:
  worker: {runner: scripted, script: {"*": [
    [{say: half a}, {exit: 3}], [{say: Done.}, {report: {checkpoint_status: checkpoint_ready}}]]}}
steps:
  - {id: talk, task: Do it., agent: worker, retry: {max_attempts: 2, delay: 0s, classes: [exit]}}
  - {id: plain, run: "true"}
"""


@pytest.fixture
def run_id(tmp_path: Path) -> str:
    """A run whose agent needed two attempts."""
    said = command("run", written(tmp_path, FLOW), "--json")
    return str(said.document()["run_id"])


def shown(run_id: str, session: str, *more: str) -> Said:
    """What `show` says of a session."""
    return command("show", run_id, "--session", session, *more)


def test_a_session_is_told_by_step_or_by_step_and_attempt(run_id: str) -> None:
    last, first = shown(run_id, "talk"), shown(run_id, "talk.1")
    assert (last.code, first.code) == (0, 0)
    assert "✓ completed · talk.2" in last.out
    assert "agent, cut off" in first.out
    assert "completed" not in first.out.splitlines()[0]


def test_its_document_holds_every_event(run_id: str) -> None:
    document = shown(run_id, "talk", "--json").document()
    assert (document["session_id"], document["turn"]) == ("talk.2", "completed")
    assert (document["is_live"], document["damage"]) == (False, None)
    assert document["events"][0]["kind"] == "session_started"
    assert [event["seq"] for event in document["events"]] == list(
        range(1, len(document["events"]) + 1)
    )


def test_a_session_that_is_none_says_which_there_are(run_id: str) -> None:
    for name, code in (("plain", 5), ("talk.9", 5), ("talk.x", 2), ("nobody", 2)):
        said = shown(run_id, name)
        assert said.code == code
        assert said.out == ""
        assert len(said.err.splitlines()) == 2
    assert "talk.1, talk.2" in shown(run_id, "plain").err


def test_an_editor_is_told_a_run_and_a_session_in_its_protocols_words(run_id: str) -> None:
    whole = command("show", run_id, "--acp", "--json").document()
    assert (whole["session_id"], whole["stopReason"]) == (None, "end_turn")
    assert [entry["status"] for entry in whole["updates"][0]["entries"]] == ["completed"] * 2
    last = shown(run_id, "talk", "--acp", "--json").document()
    assert (last["session_id"], last["stopReason"]) == ("talk.2", "end_turn")
    first = shown(run_id, "talk.1", "--acp").document()
    assert first["stopReason"] == "refusal"
    assert first["_meta"]["pixirnb"]["error_kind"] == "exit"
    assert "half a" not in str(first["updates"])
    refused = command("show", run_id, "talk", "--acp")
    assert (refused.code, "--session talk" in refused.err) == (2, True)
