"""What a view is told of an agent's session: whole and in parts, live, cut off, of the past, and of a process that died."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.engine.broadcast import STEP_OUTPUT, STEP_SESSION, Live, News
from pixirnb.notebook.live.event_source import Source
from pixirnb.notebook.live.message_handlers import MessageHandlers
from pixirnb.notebook.live.session_followers import Transcripts
from pixirnb.operations.run import Run
from tests.stories.storyline import until

READ = {"tool": "read", "args": {"path": "a.py"}, "result": "x = 1"}
REPORT = {"checkpoint_status": "checkpoint_ready", "summary": "done"}
AGENT: dict[str, Any] = {
    "runner": "scripted",
    "script": {
        "talk": [[{"say": "I read.\n"}, READ, {"report": REPORT}]],
        "hang": [[{"say": "I begin and"}, {"hang": True}]],
    },
}
SPEC: dict[str, Any] = {
    "name": "spoken",
    "agents": {"worker": AGENT},
    "steps": [
        {"id": "talk", "task": "Read a.py.", "agent": "worker"},
        {
            "id": "hang",
            "task": "Hang.",
            "agent": "worker",
            "timeout": 1,
            "retry": {"max_attempts": 2, "delay": 0},
            "depends_on": ["talk"],
        },
        {"id": "plain", "run": "true"},
    ],
}
HANGING: dict[str, Any] = {
    "name": "hanging",
    "agents": {"worker": AGENT},
    "steps": [{"id": "hang", "task": "Hang.", "agent": "worker"}],
}


def asked(inquiries: MessageHandlers, step: str, **more: Any) -> dict[str, Any]:
    """The answer, which is there and is JSON."""
    reply = inquiries.answer({"id": 1, "ask": "session", "step": step, **more})
    assert json.loads(json.dumps(reply, allow_nan=False)) == reply
    assert reply["ok"], reply["error"]
    return dict(reply["answer"])


def refused(inquiries: MessageHandlers, step: str, **more: Any) -> str:
    """The code of the refusal."""
    reply = inquiries.answer({"id": 1, "ask": "session", "step": step, **more})
    assert not reply["ok"]
    return str(reply["error"]["code"])


def kinds(answer: dict[str, Any]) -> list[str]:
    """The entries, by kind."""
    return [entry["kind"] for entry in answer["entries"]]


@pytest.fixture(scope="module")
def rested(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with an agent that came to its end, and one that was cut off twice."""
    run = api.start(SPEC, workspace=tmp_path_factory.mktemp("spoken"))
    run.wait()
    return run


@pytest.fixture
def hanging(tmp_path: Path) -> Iterator[tuple[Run, Transcripts]]:
    """A run whose agent has said something and goes on for ever, heard as a view hears it."""
    heard = Transcripts()

    def hear(news: News) -> None:
        if isinstance(news, Live):
            heard.on_news(news)

    run = api.start(HANGING, workspace=tmp_path, listeners=[hear])
    until(lambda: heard.saying("hang.1"))
    yield run, heard
    if run.is_live_here:
        run.cancel()
        run.wait()


def test_a_session_is_told_whole_and_then_only_what_is_new(rested: Run) -> None:
    asking = MessageHandlers(rested)
    answer = asked(asking, "talk")
    assert (answer["session_id"], answer["attempts"]) == ("talk.1", [1])
    assert (answer["turn"], answer["is_running"], answer["sentence"]) == ("completed", False, "")
    assert kinds(answer) == ["started", "told", "said", "tool", "report", "said"]
    assert answer["entries"][-1]["text"] == REPORT["summary"]
    assert answer["count"] == 6
    again = asked(asking, "talk", since=answer["seq"])
    assert (again["entries"], again["count"]) == ([], 6)
    assert kinds(asked(asking, "talk", before=3)) == ["started", "told"]


def test_every_attempt_can_be_seen_and_what_was_cut_off_says_so(rested: Run) -> None:
    asking = MessageHandlers(rested)
    last = asked(asking, "hang")
    assert (last["attempt"], last["attempts"], last["turn"]) == (2, [1, 2], "timed_out")
    first = asked(asking, "hang", attempt=1)
    (said,) = (entry for entry in first["entries"] if entry["kind"] == "said")
    assert said["is_partial"]
    assert kinds(first)[-1] == "failed"


def test_a_step_without_a_session_has_none_and_an_attempt_that_was_not_is_refused(
    rested: Run,
) -> None:
    asking = MessageHandlers(rested)
    assert asked(asking, "plain")["session_id"] is None
    assert refused(asking, "talk", attempt=7) == "unknown_session"
    assert refused(asking, "nobody") == "unknown_step"
    mistakes: list[dict[str, Any]] = [
        *({"attempt": "1"}, {"since": -1}, {"before": True}, {"limit": []})
    ]
    for wrong in mistakes:
        assert refused(asking, "talk", **wrong) == "message_unreadable"


def test_words_on_their_way_are_told_until_they_are_a_message(
    hanging: tuple[Run, Transcripts],
) -> None:
    run, heard = hanging
    asking = MessageHandlers(run, transcripts=heard)
    answer = asked(asking, "hang")
    assert answer["is_running"]
    assert answer["saying"]["text"].split() == ["I", "begin", "and"]
    assert "said" not in kinds(answer)
    run.cancel()
    run.wait()
    answer = asked(asking, "hang")
    assert (answer["saying"], answer["is_running"], answer["turn"]) == (None, False, "interrupted")
    assert kinds(answer)[-2:] == ["said", "failed"]


def test_a_session_that_was_asked_about_stirs_when_it_has_more(
    hanging: tuple[Run, Transcripts],
) -> None:
    run, heard = hanging
    assert heard.stirred() == [], "nobody asked about it yet"
    asked(MessageHandlers(run, transcripts=heard), "hang")
    heard.on_news(Live(STEP_OUTPUT, "hang", 1, {"stream": "stdout", "chunk": " more"}))
    assert heard.stirred() == ["hang.1"]
    assert heard.stirred() == [], "not again at once"
    heard.on_news(Live(STEP_OUTPUT, "hang", 1, {"stream": "stderr", "chunk": "noise"}))
    heard.on_news(Live(STEP_OUTPUT, "shell", 1, {"stream": "stdout", "chunk": "not an agent's"}))
    assert heard.saying("shell.1") is None
    words = asked(MessageHandlers(run, transcripts=heard), "hang")["saying"]["text"]
    assert words.split() == ["I", "begin", "and", "more"]


def test_what_was_told_and_is_not_on_disk_yet_goes_on_stirring(
    hanging: tuple[Run, Transcripts],
) -> None:
    run, heard = hanging
    asking = MessageHandlers(run, transcripts=heard)
    seq = asked(asking, "hang")["seq"]
    message = {"session_id": "hang.1", "seq": seq + 1, "kind": "reasoning", "data": {}}
    heard.on_news(Live(STEP_SESSION, "hang", 1, message))
    until(heard.stirred)
    asked(asking, "hang")
    until(heard.stirred)


def test_long_words_on_their_way_keep_their_end(tmp_path: Path) -> None:
    heard = Transcripts()
    opened = {"session_id": "a.1", "seq": 1, "kind": "session_started", "data": {}}
    heard.on_news(Live(STEP_SESSION, "a", 1, opened))
    heard.on_news(Live(STEP_OUTPUT, "a", 1, {"stream": "stdout", "chunk": "x" * 50_000 + "end"}))
    saying = heard.saying("a.1")
    assert saying is not None
    assert saying["is_cut"]
    assert saying["text"].endswith("end")
    assert len(saying["text"]) <= 16_000


def test_in_the_past_an_attempt_is_as_it_stood_and_a_later_one_was_not(rested: Run) -> None:
    asking, events = MessageHandlers(rested), rested.history()
    started = next(
        event.seq
        for event in events
        if event.kind == "attempt_started" and event.data["step"] == "hang"
    )
    then = asked(asking, "hang", at=started)
    assert (then["attempts"], then["is_running"]) == ([1], False)
    assert "failed" not in kinds(then)
    assert "State at that time" in then["sentence"]
    assert asked(asking, "hang", at=1)["session_id"] is None
    assert asked(asking, "talk", at=started)["turn"] == "completed"


def test_every_key_of_a_session_is_in_the_reference(rested: Run) -> None:
    page = (Path(__file__).parents[3] / "docs/internals/live-view.md").read_text(encoding="utf-8")
    answers = [asked(MessageHandlers(rested), "talk"), asked(MessageHandlers(rested), "hang")]
    names = {name for answer in answers for name in answer}
    names |= {name for answer in answers for entry in answer["entries"] for name in entry}
    assert sorted(name for name in names if f"`{name}`" not in page) == []


DYING = """
import json, os, sys, time
from pixirnb import api
run = api.start(json.loads(sys.argv[1]), workspace=sys.argv[2])
while not run.output("hang"):
    time.sleep(0.02)
time.sleep(0.5)
print(run.id, flush=True)
os.kill(os.getpid(), 9)
"""


def test_a_session_that_its_dead_process_left_open_is_shown_and_says_so(tmp_path: Path) -> None:
    words = [sys.executable, "-c", DYING, json.dumps(HANGING), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    run = api.open_run(done.stdout.strip(), state=tmp_path / ".pixirnb")
    answer = asked(MessageHandlers(run), "hang")
    assert (answer["turn"], answer["is_running"], answer["saying"]) == ("running", False, None)
    assert "resume closes it" in answer["sentence"]
    assert kinds(answer) == ["started", "told"]


def test_a_damaged_session_is_shown_up_to_the_damage(rested: Run, tmp_path: Path) -> None:
    moved = api.open_run(shutil.copytree(rested.folder, tmp_path / rested.id))
    log = moved.folder / "sessions" / "talk.1.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:2], lines[2].replace(b"read", b"rEad"), *lines[3:]]))
    answer = asked(MessageHandlers(moved), "talk")
    assert kinds(answer) == ["started", "told"]
    assert "damaged" in answer["sentence"]


def test_a_view_that_joins_late_knows_what_an_agent_was_saying(
    hanging: tuple[Run, Transcripts],
) -> None:
    run, _ = hanging
    late = Transcripts()
    Source(run, late.join, lambda: None).leave()
    assert asked(MessageHandlers(run, transcripts=late), "hang")["saying"]["text"] == "I begin and"


def test_a_message_takes_its_words_along_whichever_is_heard_first() -> None:
    message = {"text": "Whole.", "partial": False, "final": False}
    told = Live(
        STEP_SESSION,
        "a",
        1,
        {"session_id": "a.1", "seq": 2, "kind": "assistant_message", "data": message},
    )
    printed = Live(STEP_OUTPUT, "a", 1, {"stream": "stdout", "chunk": "Whole."})
    for order in ((printed, told), (told, printed)):
        heard = Transcripts()
        opened = {"session_id": "a.1", "seq": 1, "kind": "session_started", "data": {}}
        heard.on_news(Live(STEP_SESSION, "a", 1, opened))
        for news in order:
            heard.on_news(news)
        assert heard.saying("a.1") is None
