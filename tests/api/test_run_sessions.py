"""The sessions of a run's agents, as cells read them: live, after the end, from a moved folder, and nothing beyond the log."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pixirnb
from pixirnb import api
from pixirnb.errors import InvalidArguments, UnknownRun
from pixirnb.operations.run import Run
from pixirnb.sessions.provider_input import provider_bytes
from tests.stories.storyline import until

HOSTILE = "<script>alert(1)</script>\x1b[2J"
SPEC: dict[str, Any] = {
    "name": "spoken",
    "agents": {
        "worker": {
            "runner": "scripted",
            "script": {
                "*": [
                    [{"say": "I begin and"}, {"hang": True}],
                    [
                        {"tool": "read", "args": {"path": "a.py"}, "result": HOSTILE},
                        {"say": f"Done. {HOSTILE}"},
                        {"report": {"checkpoint_status": "checkpoint_ready", "summary": "fine"}},
                    ],
                ]
            },
        }
    },
    "steps": [
        {
            "id": "talk",
            "task": "Do it.",
            "agent": "worker",
            "timeout": 1,
            "retry": {"max_attempts": 2, "delay": 0},
        },
        {"id": "plain", "run": "true"},
    ],
}


@pytest.fixture(scope="module")
def rested(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose agent was cut off once and then came to its end."""
    run = api.start(SPEC, workspace=tmp_path_factory.mktemp("spoken"))
    assert run.wait().status == "completed"
    return run


def test_a_session_is_that_of_the_last_attempt_unless_one_is_named(rested: Run) -> None:
    last, first = rested.session("talk"), rested.session("talk", 1)
    assert isinstance(last, pixirnb.SessionView)
    assert (last.session_id, last.step, last.attempt) == ("talk.2", "talk", 2)
    assert (first.state, last.state) == ("timed_out", "completed")
    assert not last.is_live
    assert last.damage is None


def test_what_was_cut_off_is_shown_as_such_and_not_replayed(rested: Run) -> None:
    first = rested.session("talk", 1)
    assert "agent, cut off" in repr(first)
    assert b"I begin and" not in provider_bytes(first.replay())
    assert [item["role"] for item in rested.session("talk").replay()] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_it_shows_itself_as_text_and_as_markup_in_which_nothing_acts(rested: Run) -> None:
    session = rested.session("talk")
    assert "\x1b" not in repr(session)
    markup = session._repr_html_()
    assert "<script" not in markup
    assert "&lt;script&gt;" in markup
    assert session.conversation["turn"] == "completed"
    events = session.events()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert "tool_call" in repr(events)
    assert "<script" not in events._repr_mimebundle_()["text/html"]


def test_a_scripted_conversation_is_kept_in_the_order_in_which_it_was_held(tmp_path: Path) -> None:
    tool = {"tool": "read", "args": {"path": "a.py"}, "result": "x = 1"}
    report = {"report": {"checkpoint_status": "checkpoint_ready", "summary": "fine"}}
    scripts = {
        "a": [{"say": "FIRST"}, tool, {"say": "THEN"}, {"say": "AND"}, report],
        "b": [{"say": "FIRST"}, tool, report],
        "c": [{"say": "FIRST"}, report, {"say": "LAST"}],
        "d": [{"say": "FIRST"}, tool, {"say": "LAST"}, {"marker": "checkpoint_ready"}],
        "e": [{"say": "FIRST"}, tool, {"say": "LAST"}, {"exit": 0}],
    }
    agents = {"w": {"posture": "read_only", "script": {name: [s] for name, s in scripts.items()}}}
    steps = [{"id": name, "task": "Do it.", "agent": "w"} for name in scripts]
    spec = {"name": "said", "readiness": "lenient", "agents": agents, "steps": steps}
    run = api.start(spec, workspace=tmp_path)
    assert run.wait().status == "completed"
    told: dict[str, Callable[[dict[str, Any]], object]] = {
        "assistant_message": lambda data: (data["text"], data["final"]),
        "tool_call": lambda data: data["name"],
        "checkpoint_reported": lambda _: "report",
    }
    found = {
        name: [
            told[event.kind](event.data)
            for event in run.session(name).events()
            if event.kind in told
        ]
        for name in scripts
    }
    last = "LAST\ncheckpoint_status: checkpoint_ready"
    assert found == {
        "a": [("FIRST", False), "read", ("THEN\nAND", True), "report"],
        "b": [("FIRST", False), "read", "report", ("fine", True)],
        "c": [("FIRST", True), "report", ("LAST", True)],
        "d": [("FIRST", False), "read", (last, True)],
        "e": [("FIRST", False), "read", ("LAST", True)],
    }
    assert run.value("a") == "FIRST\nTHEN\nAND"
    assert run.value("d") == "FIRST\nLAST"
    assert all(run.session(name).state == "completed" for name in scripts)


def test_all_sessions_of_a_run_are_listed_in_the_order_of_its_steps(rested: Run) -> None:
    found = rested.sessions()
    assert [session.session_id for session in found] == ["talk.1", "talk.2"]
    assert "timed out" in repr(found)
    assert "talk.2" in found._repr_mimebundle_()["text/html"]
    assert isinstance(found[:1], type(found))


def test_a_session_that_is_not_there_is_refused_with_those_that_are(rested: Run) -> None:
    for step, attempt in (("plain", None), ("talk", 3)):
        with pytest.raises(UnknownRun) as caught:
            rested.session(step, attempt)
        assert caught.value.code == "unknown_session"
        assert "talk.1, talk.2" in caught.value.fix
    with pytest.raises(InvalidArguments) as unknown:
        rested.session("nobody")
    assert unknown.value.code == "unknown_step"


def test_a_moved_run_has_its_sessions_with_it(rested: Run, tmp_path: Path) -> None:
    moved = api.open_run(shutil.copytree(rested.folder, tmp_path / rested.id))
    assert repr(moved.session("talk")) == repr(rested.session("talk"))


def test_a_run_without_agents_has_no_sessions_and_says_so(tmp_path: Path) -> None:
    run = api.start({"name": "dry", "steps": [{"id": "a", "run": "true"}]}, workspace=tmp_path)
    run.wait()
    assert run.sessions() == []
    assert "No step of this run" in repr(run.sessions())
    with pytest.raises(UnknownRun):
        run.session("a")


def test_a_session_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    spec = {**SPEC, "steps": [{"id": "talk", "task": "Do it.", "agent": "worker"}]}
    run = api.start(spec, workspace=tmp_path)
    until(lambda: run.output("talk"))
    session = run.session("talk")
    until(lambda: len(session.events()) == 2)
    assert (session.state, session.is_live) == ("running", True)
    run.cancel()
    run.wait()
    assert (session.state, session.is_live) == ("interrupted", False)
