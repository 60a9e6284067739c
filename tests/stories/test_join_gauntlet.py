"""The join of sessions, runs and presenters: ten cases, each from a real run to its log, its replay and every face of it.

Four runs are made: one that ends well, one whose agents break off in every way, one whose agents end clean and report that they
are not done, one that a person interrupts. A presenter is a face of ours that shows a run or a session; none may say that
something is `completed` that is not.
"""

from __future__ import annotations

import contextlib
import html
import io
import json
import re
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from pixirnb import api
from pixirnb.agent_tools.caller import Asker
from pixirnb.agent_tools.dispatch import use
from pixirnb.cli.app import perform
from pixirnb.cli.interrupts import SIGNALS
from pixirnb.machine.outcome import RunOutcome
from pixirnb.operations.run import Run
from pixirnb.sessions.provider_input import provider_bytes, replay
from pixirnb.sessions.state import fold_session
from pixirnb.store.file_store import FileStore
from pixirnb.testing.wire.answers import Answer
from pixirnb.testing.wire.server import ModelServer
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.run.outcome_view import outcome_blocks
from pixirnb.views.session.acp import acp_of_outcome, acp_stop_reason, acp_updates
from pixirnb.views.session.session_view import Sessions
from tests.stories.storyline import facts, spec

pytestmark = pytest.mark.story

READY: Final = {"report": {"checkpoint_status": "checkpoint_ready", "summary": "The answer is 42."}}
HALF: Final = "Half of the answer is"
CLAIM: Final = re.compile(r"completed|succe(?:ss|ed)", re.IGNORECASE)
UNREADY: Final = ("failed", "partial", "needs_orchestrator")
AUDIT: Final = {"turn_failed", "provider_usage", "checkpoint_reported", "permission_decided"}


@dataclass(frozen=True)
class Told:
    """A run that came to rest."""

    run: Run
    outcome: RunOutcome

    @property
    def document(self) -> Any:
        return self.outcome.document()

    def faces(self) -> dict[str, str]:
        """What every presenter of a run says of it, as a person or an agent reads it."""
        _, shown = printed("show", self.run.folder)
        return {
            "cli": shown,
            "repr": repr(self.outcome),
            "notebook": visible(mimebundle(outcome_blocks(self.document))["text/html"]),
            "view": visible(self.run._repr_mimebundle_()["text/html"]),
            "mcp": anyio.run(partial(_inspected, self.run)),
            "acp": self._acp_words(),
        }

    def _acp_words(self) -> str:
        """What an editor would show of the run; the protocol's word for a step of a plan is held to steps that are ready."""
        updates = acp_of_outcome(self.document)["updates"]
        ready = set(self.document["usable_checkpoints"])
        for update in updates:
            for entry in update.get("entries", ()):
                is_ready = entry["content"].split(":")[0] in ready
                assert (entry.pop("status") == "completed") is is_ready, entry
                entry["content"] = "" if is_ready else entry["content"]
                entry.pop("_meta", None)
        return json.dumps(updates)

    def session_faces(self, step: str) -> dict[str, str]:
        """What every presenter of a session says of it."""
        _, shown = printed("show", self.run.folder, "--session", step)
        session = self.run.session(step)
        return {
            "cli": shown,
            "repr": repr(session),
            "notebook": visible(session._repr_html_()),
            "acp": acp_words(session.events()),
        }


def printed(*tokens: str | Path) -> tuple[int, str]:
    """The exit code of `pixirnb TOKENS…`, and all it printed."""
    told = io.StringIO()
    kept = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            code = perform([str(token) for token in tokens])
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
    return code, told.getvalue()


async def _inspected(run: Run) -> str:
    asker = Asker(Path(run.state.workspace), FileStore(run.folder.parent.parent), "auto", "a test")
    result = await use("inspect_run", {"run_id": run.id}, asker)
    return result.text


def acp_words(events: Any) -> str:
    """What an editor would show of a session: a tool's own status is the protocol's, and says nothing of the turn."""
    updates = [update["update"] for update in acp_updates(events)]
    return json.dumps([{**update, "status": None} for update in updates])


def visible(page: str) -> str:
    """The words a person sees of a page: neither its style nor its markup."""
    without = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", " ", without))


def scripted(**attempts: list[dict[str, Any]]) -> Any:
    script = {step: [actions] for step, actions in attempts.items()}
    return {"worker": {"posture": "read_only", "script": script}}


def task(step: str, *after: str, **fields: Any) -> Any:
    return {"id": step, "task": "Find it.", "agent": "worker", "depends_on": list(after), **fields}


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Told:
    tool = {"tool": "read", "args": {"path": "a"}, "result": "42"}
    agents = scripted(find=[tool, {"say": "It is 42."}, READY], tell=[READY])
    run = api.start(
        spec(task("find"), task("tell", "find"), agents=agents),
        workspace=tmp_path_factory.mktemp("clean"),
    )
    return Told(run, run.wait())


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """A stream cut after half a sentence, a turn out of time, one that failed without a word, one that is ready."""
    agents = scripted(
        late=[{"say": HALF}, {"hang": True}],
        mute=[{"fail": "provider_permanent", "message": "no such model"}],
        fine=[READY],
        after=[READY],
    )
    agents["model"] = {
        "runner": "llm",
        "model": "openai:cut",
        "posture": "read_only",
        "pass_env": ["OPENAI_API_KEY", "OPENAI_BASE_URL"],
    }
    steps = [
        {"id": "cut", "task": "Find it.", "agent": "model"},
        task("late", timeout="2s"),
        task("mute"),
        task("fine"),
        task("after", "late"),
    ]
    script = {"cut": [Answer((HALF, " fo", "rty"), cut_after=2)]}
    with ModelServer(script) as server, pytest.MonkeyPatch.context() as environment:
        environment.setenv("OPENAI_API_KEY", "sk-of-no-worth")
        environment.setenv("OPENAI_BASE_URL", server.base_url)
        run = api.start(spec(*steps, agents=agents), workspace=tmp_path_factory.mktemp("broken"))
        yield Told(run, run.wait())


@pytest.fixture(scope="module")
def modest(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Agents that end their turns clean: what they say of their work, or do not say, is another matter."""
    reports = {
        name: {"checkpoint_status": name, "summary": f"Which of two is {name}?"} for name in UNREADY
    }
    turns: dict[str, list[dict[str, Any]]] = {
        name: [{"say": "I looked."}, {"report": report}] for name, report in reports.items()
    }
    agents = scripted(**turns, silent=[{"say": "I looked."}], ready=[READY])
    steps = [task(name) for name in (*UNREADY, "silent", "ready")]
    run = api.start(spec(*steps, agents=agents), workspace=tmp_path_factory.mktemp("modest"))
    return Told(run, run.wait())


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Told:
    tool = {"tool": "read", "args": {"path": "a"}, "result": "42"}
    agents = scripted(find=[tool, {"say": HALF}, {"hang": True}])
    heard = Signal()
    run = api.start(
        spec(task("find"), agents=agents),
        workspace=tmp_path_factory.mktemp("stopped"),
        listeners=[heard.listen],
    )
    heard.wait()
    run.interrupt()
    return Told(run, run.wait())


class Signal:
    """Set when the agent has begun to speak."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def listen(self, news: Any) -> None:
        if HALF in str(getattr(news, "data", {}).get("chunk")):
            self._event.set()

    def wait(self) -> None:
        assert self._event.wait(60)


# --- the nine cases -----------------------------------------------------------------------------------------------------


def test_1_a_clean_turn_is_completed_by_a_whole_final_message(clean: Told) -> None:
    session = clean.run.session("find")
    assert session.state == "completed"
    (final,) = [e.data for e in session.events() if e.kind == "assistant_message"]
    assert (final["partial"], final["final"]) == (False, True)
    assert {"role": "assistant", "parts": [{"kind": "text", "text": "It is 42."}]} in replay(
        session.events()
    )
    assert acp_stop_reason(session.state, session.checkpoint_status)["stopReason"] == "end_turn"
    for face, told in clean.session_faces("find").items():
        assert face == "acp" or "completed" in told, face


def test_2_a_stream_that_breaks_after_text_keeps_it_as_partial_and_never_replays_it(
    broken: Told,
) -> None:
    session = broken.run.session("cut")
    assert session.state == "partial_failed"
    kept = [e.data for e in session.events() if e.kind == "assistant_message"]
    assert [(message["partial"], message["text"]) for message in kept] == [(True, f"{HALF} fo")]
    assert HALF.encode() not in provider_bytes(replay(session.events()))
    assert HALF not in json.dumps(acp_updates(session.events()))
    assert "cut off" in session_words(broken, "cut")


def test_3_an_interrupted_turn_says_so_and_a_timed_out_one_says_when(
    broken: Told, stopped: Told
) -> None:
    interrupted, late = stopped.run.session("find"), broken.run.session("late")
    assert (interrupted.state, late.state) == ("interrupted", "timed_out")
    for session, reason in ((interrupted, "interrupted"), (late, "timed_out")):
        (failed,) = [e.data for e in session.events() if e.kind == "turn_failed"]
        assert failed["reason"] == reason
        assert failed["message"]
        assert failed["child_session_id"] == session.session_id
        assert failed["elapsed_ms"] >= 0
        assert failed["next_actions"]
        assert HALF.encode() not in provider_bytes(replay(session.events()))
    (failed,) = [e.data for e in late.events() if e.kind == "turn_failed"]
    assert failed["timeout_ms"] == 2000
    stop = acp_stop_reason(interrupted.state, interrupted.checkpoint_status)
    assert stop["stopReason"] == "cancelled"


def test_4_a_subagent_that_completes_leaves_its_summary_with_its_run(clean: Told) -> None:
    ends = facts(clean.run, "subagent_event")
    assert [(end["event"], end["session_id"], end["summary"]) for end in ends] == [
        ("finished", "find.1", "The answer is 42."),
        ("finished", "tell.1", "The answer is 42."),
    ]


def test_5_a_subagent_out_of_time_leaves_evidence_of_when_and_what_to_do(broken: Told) -> None:
    (end,) = [e for e in facts(broken.run, "subagent_event") if e["step"] == "late"]
    assert (end["event"], end["reason"], end["session_id"]) == ("timed_out", "timed_out", "late.1")
    assert end["timeout_ms"] == 2000 <= end["elapsed_ms"] + 1
    assert "inspect_session" in end["next_actions"]


def test_6_a_workflow_whose_every_step_is_ready_is_completed_on_every_face(clean: Told) -> None:
    assert clean.outcome.status == "completed"
    code, document = printed("show", clean.run.folder, "--json")
    assert (code, json.loads(document)["ok"]) == (0, True)
    for face, told in clean.faces().items():
        assert "completed" in told.lower(), face


def test_7_a_partial_workflow_says_partial_on_every_face_and_completed_on_none(
    broken: Told,
) -> None:
    assert broken.outcome.status == "partial"
    assert broken.outcome.held_dependents == {"late": ["after"]}
    for face, told in broken.faces().items():
        assert "partial" in told.lower(), face
        assert not CLAIM.search(told), (face, CLAIM.findall(told))


def test_8_what_is_kept_for_audit_never_reaches_the_provider(broken: Told, stopped: Told) -> None:
    for told, step in ((broken, "cut"), (broken, "late"), (broken, "mute"), (stopped, "find")):
        events = told.run.session(step).events()
        assert AUDIT & {event.kind for event in events}
        conversation = [event for event in events if event.kind not in AUDIT]
        assert provider_bytes(replay(events)) == provider_bytes(replay(conversation))


@pytest.mark.parametrize("step", ["cut", "late", "mute"])
def test_9_no_presenter_of_a_session_says_completed_of_one_that_did_not(
    broken: Told, step: str
) -> None:
    assert fold_session(broken.run.session(step).events()).turn != "completed"
    for face, told in broken.session_faces(step).items():
        assert not CLAIM.search(told), (face, CLAIM.findall(told))


def test_9_an_interrupted_run_says_so_on_every_face(stopped: Told) -> None:
    assert stopped.outcome.status == "interrupted"
    for face, told in (stopped.faces() | stopped.session_faces("find")).items():
        assert not CLAIM.search(told), (face, CLAIM.findall(told))
    for face, told in stopped.faces().items():
        assert "interrupt" in told.lower() or "cancel" in told.lower(), face


@pytest.mark.parametrize("step", [*UNREADY, "silent"])
def test_10_a_turn_that_ended_clean_is_completed_on_no_face_where_its_step_is_not_ready(
    modest: Told, step: str
) -> None:
    session = modest.run.session(step)
    status = "partial" if step == "silent" else step
    assert (session.state, session.checkpoint_status) == ("completed", status)
    assert acp_stop_reason(session.state, session.checkpoint_status)["stopReason"] == "refusal"
    for face, told in modest.session_faces(step).items():
        assert not CLAIM.search(told), (face, CLAIM.findall(told))
        assert face == "acp" or "ended" in told, face


def test_10_neither_the_run_of_such_agents_nor_the_list_of_their_sessions_says_completed(
    modest: Told,
) -> None:
    assert modest.outcome.status == "needs_orchestrator"
    (listed,) = (row for row in repr(modest.run.sessions()).splitlines() if "ready.1" in row)
    assert "completed" in listed
    others = Sessions(modest.run.sessions()[:4])
    faces = modest.faces() | {
        "log": printed("log", modest.run.folder)[1],
        "sessions": repr(others),
        "sessions, drawn": visible(others._repr_mimebundle_()["text/html"]),
    }
    for face, told in faces.items():
        assert not CLAIM.search(told), (face, CLAIM.findall(told))
    for step in UNREADY:
        assert f"Which of two is {step}?" in faces["cli"], step


def session_words(told: Told, step: str) -> str:
    return told.run.session(step)._repr_html_()
