"""A turn of a model: what it is sent, what it is believed, and how every fault of its provider ends. No engine, a real wire."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pixirnb.runners.agents.channel import Failed
from pixirnb.runners.agents.llm import program
from pixirnb.sessions.events import Pair
from pixirnb.sessions.state import SessionState
from pixirnb.testing.fakes.agent_lines import TapedLine
from pixirnb.testing.fakes.toolboxes import agent_work
from pixirnb.testing.wire.answers import Answer, Call, Plain, Refusal, ScriptedReply
from pixirnb.testing.wire.server import ModelServer

READY = Call(
    "report_checkpoint", {"checkpoint_status": "checkpoint_ready", "summary": "It is done."}
)
SAID = ("It ", "wor", "ks")


class Table:
    """A model at one end, an engine's stand-in at the other."""

    def __init__(self, workspace: Path, *replies: ScriptedReply, model: str = "openai:m") -> None:
        self.workspace = workspace
        self.server = ModelServer({"m": replies})
        self.line = TapedLine()
        self.model = model
        self.history: list[Pair] = []
        self.surface: list[dict[str, Any]] = []
        self.output: Any = None

    def take_turn(self, monkeypatch: pytest.MonkeyPatch) -> Failed | None:
        """How the turn ended: None for clean."""
        work = agent_work(self.workspace, model=self.model, timeout_ms=60_000)
        work |= {
            "prompt": "Do it.",
            "history": self.history,
            "surface": self.surface,
            "output": self.output,
            "secrets": [],
        }
        monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-tests")
        with self.server:
            monkeypatch.setenv("OPENAI_BASE_URL", self.server.base_url)
            try:
                program.run(work, self.line)
            except Failed as failed:
                return failed
        return None

    @property
    def sent(self) -> list[list[dict[str, Any]]]:
        """The conversation of every request."""
        return [request.messages for request in self.server.received]

    @property
    def state(self) -> SessionState:
        """How the session would stand."""
        state = SessionState()
        state.take("user_message", {"text": "Do it."})
        for kind, data in self.line.events:
            state.take(kind, data)
        return state


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    # The program sets it for its own process, which here is everybody's.
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "__all__")


def roles(messages: Sequence[dict[str, Any]]) -> list[str]:
    return [message["role"] for message in messages]


# --- clean turns --------------------------------------------------------------------------------------------------------


def test_a_whole_answer_is_shown_as_it_comes_and_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(tmp_path, Answer(SAID))
    assert table.take_turn(monkeypatch) is None
    assert [what for how, what in table.line.tape if how == "say"] == [*SAID, "\n"]
    [message] = table.line.of("assistant_message")
    assert message == {"text": "It works", "partial": False, "final": True, "model": "openai:m"}
    [usage] = table.line.of("provider_usage")
    assert (usage["input_tokens"], usage["output_tokens"]) == (11, 7)
    assert table.state.turn == "completed"


def test_what_the_model_said_is_on_disk_before_a_tool_acts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Call("write", {"path": "new.txt", "content": "x\n"})
    table = Table(tmp_path, Answer("Writing.", calls=(write,)), Answer(calls=(READY,)))
    seen: list[bool] = []
    kept_ask = table.line.ask

    def ask(question: str, data: dict[str, Any]) -> dict[str, Any]:
        if question == "commit":
            seen.append((tmp_path / "new.txt").exists())
        return kept_ask(question, data)

    table.line.ask = ask  # type: ignore[method-assign] # the fake is this test's own
    assert table.take_turn(monkeypatch) is None
    assert seen[:2] == [False, True]
    assert (tmp_path / "new.txt").read_text() == "x\n"


def test_a_tool_s_result_goes_back_and_nothing_of_what_was_sent_before_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("forty-two\n")
    table = Table(
        tmp_path,
        Answer("Looking.", calls=(Call("read", {"path": "a.txt"}),)),
        Answer(calls=(READY,)),
    )
    assert table.take_turn(monkeypatch) is None
    first, second = table.sent
    assert json.dumps(second[: len(first)]) == json.dumps(first)
    assert roles(second) == ["user", "assistant", "tool"]
    assert "forty-two" in second[2]["content"]


def test_the_log_alone_gives_every_byte_that_is_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Call("read", {"path": "a.txt", "limit": 1})
    table = Table(tmp_path, Answer("Looking.", calls=(read,)), Answer("So.", calls=(READY,)))
    assert table.take_turn(monkeypatch) is None
    # As a log keeps it: keys in order, audit events among the rest.
    kept = json.loads(json.dumps(table.line.events, sort_keys=True))
    other = Table(tmp_path, Answer("Yes."))
    other.history = [("user_message", {"text": "Do it.", "origin": "prompt"}), *kept]
    assert other.take_turn(monkeypatch) is None
    before = json.dumps(table.sent[1])
    assert json.dumps(other.sent[0])[: len(before) - 1] == before[:-1]


def test_what_the_engine_tells_a_session_while_a_tool_of_its_runs_is_sent_as_the_log_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(tmp_path, Answer(calls=(Call("inspect_run", {}),)), Answer("So."))
    ended = {"event": "finished", "session_id": "r-1", "agent": None, "status": "partial"}
    told = ["subagent_event", {**ended, "summary": "one of two"}]
    table.line = TapedLine({"call": lambda _: {"ok": True, "text": "seen", "told": [told]}})
    offered = {"name": "inspect_run", "description": "d", "parameters": {"type": "object"}}
    table.surface = [{**offered, "mutates": False}]
    assert table.take_turn(monkeypatch) is None
    assert roles(table.sent[1]) == ["user", "assistant", "tool", "user"]
    assert "> status: partial" in table.sent[1][-1]["content"]


@pytest.mark.parametrize("model", ["openai:m", "openai-responses:m"])
def test_a_tool_is_offered_as_it_is_with_what_may_be_left_out_and_what_may_hold_anything(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(tmp_path, Answer("Yes."), model=model)
    fields = {"inputs": {"type": "object"}, "wait": {"type": "boolean"}}
    parameters = {"type": "object", "properties": fields, "required": []}
    table.surface = [
        {"name": "run_it", "description": "d", "parameters": parameters, "mutates": True}
    ]
    assert table.take_turn(monkeypatch) is None
    [request] = table.server.received
    offered = [tool.get("function", tool) for tool in request.body["tools"]]
    [sent] = [tool["parameters"] for tool in offered if tool["name"] == "run_it"]
    assert sent["required"] == []
    assert "additionalProperties" not in {*sent, *sent["properties"]["inputs"]}
    assert not any(tool.get("strict") for tool in offered)


def test_a_report_ends_the_turn_with_its_summary_as_the_last_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(tmp_path, Answer(calls=(READY,)), Answer("never asked for"))
    assert table.take_turn(monkeypatch) is None
    assert table.line.reports == [
        {"checkpoint_status": "checkpoint_ready", "summary": "It is done."}
    ]
    assert table.state.final == "It is done."
    assert len(table.server.received) == 1


def test_a_continued_session_is_sent_what_was_said_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(tmp_path, Answer("Yes."))
    table.history = [
        ("user_message", {"text": "First.", "origin": "prompt"}),
        ("assistant_message", {"text": "half a senten", "partial": True, "final": False}),
        ("assistant_message", {"text": "Done.", "partial": False, "final": True}),
    ]
    assert table.take_turn(monkeypatch) is None
    [sent] = table.sent
    assert [message["content"] for message in sent] == ["First.", "Done.", "Do it."]


def test_thoughts_are_kept_and_no_part_of_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(tmp_path, Answer("So.", reasoning=("Hm, ", "well")))
    assert table.take_turn(monkeypatch) is None
    [thought] = table.line.of("reasoning")
    assert (thought["text"], thought["model"]) == ("Hm, well", "openai:m")
    assert table.line.text == "So.\n"


def test_the_other_interface_of_openai_is_spoken_where_the_model_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("forty-two\n")
    table = Table(
        tmp_path,
        Answer("Looking.", calls=(Call("read", {"path": "a.txt"}),)),
        Answer(calls=(READY,)),
        model="openai-responses:m",
    )
    assert table.take_turn(monkeypatch) is None
    assert {request.path for request in table.server.received} == {"/v1/responses"}
    assert table.server.received[1].has("forty-two")
    assert table.state.turn == "completed"


# --- what a model gets wrong --------------------------------------------------------------------------------------------

WRONG_CALLS: list[tuple[Call, str]] = [
    (Call("read", '{"path": '), "invalid_args"),
    (Call("read", "[1]"), "invalid_args"),
    (Call("read", '{"path":' + "[" * 3000 + "]" * 3000 + "}"), "invalid_args"),
    (Call("read", '{"path":' + "[" * 101 + "]" * 101 + "}"), "invalid_args"),
    (Call("fly", {}), "tool_unknown"),
    (Call("report_checkpoint", {"checkpoint_status": "done", "summary": "x"}), "invalid_args"),
    (Call("report_checkpoint", {"checkpoint_status": "partial"}), "invalid_args"),
    (
        Call("report_checkpoint", {**dict(READY.arguments), "limitations": "one"}),  # type: ignore[arg-type] # a mapping here
        "invalid_args",
    ),
]


@pytest.mark.parametrize(("call", "kind"), WRONG_CALLS)
def test_a_call_that_makes_no_sense_is_told_back_and_the_turn_goes_on(
    call: Call, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(tmp_path, Answer(calls=(call,)), Answer(calls=(READY,)))
    assert table.take_turn(monkeypatch) is None
    result = table.line.of("tool_result")[0]
    assert (result["ok"], result["error"]["kind"]) == (False, kind)
    assert result["output"] in json.dumps(table.sent[1], ensure_ascii=False).replace('\\"', '"')
    assert len(table.line.reports) == 1


def test_a_report_without_the_declared_output_is_refused_until_it_is_right_or_too_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = {"type": "object", "required": ["n"]}
    args = {"checkpoint_status": "checkpoint_ready", "summary": "Done."}
    none = Call("report_checkpoint", args)
    wrong = Call("report_checkpoint", {**args, "output": {}})
    right = Call("report_checkpoint", {**args, "output": {"n": 1}})
    table = Table(tmp_path, *(Answer(calls=(call,)) for call in (none, wrong, right)))
    table.output = schema
    assert table.take_turn(monkeypatch) is None
    refused = [result["output"] for result in table.line.of("tool_result")][:2]
    assert "`output` is missing" in refused[0]
    assert "'n' is a required property" in refused[1]
    assert table.line.reports == [{**args, "output": {"n": 1}}]
    stubborn = Table(tmp_path, *(Answer(calls=(none,)) for _ in range(9)))
    stubborn.output = "shapes:Point"
    assert stubborn.take_turn(monkeypatch) is None
    assert stubborn.line.reports == [args]
    assert len(stubborn.server.received) == 4


def test_a_question_needs_no_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asks = {"checkpoint_status": "needs_orchestrator", "summary": "Old or new?"}
    table = Table(tmp_path, Answer(calls=(Call("report_checkpoint", asks),)))
    table.output = {"type": "object"}
    assert table.take_turn(monkeypatch) is None
    assert table.line.reports == [asks]


def test_a_report_beside_a_call_that_fails_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = Call("read", {"path": "not-there.txt"})
    table = Table(tmp_path, Answer(calls=(missing, READY)), Answer("I cannot."))
    assert table.take_turn(monkeypatch) is None
    assert table.line.reports == []
    assert [result["ok"] for result in table.line.of("tool_result")] == [False, False]


def test_a_model_that_uses_tools_for_ever_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(tmp_path, Answer(calls=(Call("list", {"path": "."}),)))
    failed = table.take_turn(monkeypatch)
    assert failed is not None
    assert failed.kind == "turn_limit"
    assert len(table.server.received) == failed.details["requests"] == 50
    assert table.state.turn != "completed"


# --- what a provider gets wrong -----------------------------------------------------------------------------------------

FAULTS: list[tuple[str, ScriptedReply, str, int, str | None]] = [
    ("a reset after two frames", Answer(SAID, cut_after=2), "provider_stream_cut", 1, "It wor"),
    ("a reset before the first", Answer(SAID, cut_after=0), "provider_transient", 3, None),
    ("no word of the end", Answer(SAID, finish=None), "provider_stream_cut", 1, "It works"),
    ("an error in the stream", Answer(SAID, fault=(1, "oops")), "provider_stream_cut", 1, "It "),
    ("a frame that is no JSON", Answer(SAID, garbage_after=2), "provider_malformed", 1, "It wor"),
    ("a page of HTML", Plain(b"<html>log in</html>"), "provider_malformed", 1, None),
    ("a closed connection", Plain(), "provider_transient", 3, None),
    ("500 for ever", Refusal(500, "boom", retry_after=0), "provider_transient", 3, None),
    ("429 and an hour", Refusal(429, "later", retry_after=3600), "provider_transient", 1, None),
    ("408 for ever", Refusal(408, "too slow"), "provider_transient", 3, None),
    ("no money", Refusal(429, "broke", "insufficient_quota"), "provider_permanent", 1, None),
    ("401", Refusal(401, "who?"), "provider_denied", 1, None),
    ("403", Refusal(403, "not you"), "provider_denied", 1, None),
    ("404", Refusal(404, "what?"), "model_unknown", 1, None),
    ("400", Refusal(400, "no such thing"), "provider_permanent", 1, None),
    ("too long", Refusal(400, "x", "context_length_exceeded"), "context_overflow", 1, None),
    ("too long, in words", Refusal(400, "exceeds the context size"), "context_overflow", 1, None),
    ("out of tokens", Answer(SAID, finish="length"), "output_limit", 1, "It works"),
    ("a filter", Answer(SAID, finish="content_filter"), "provider_permanent", 1, "It works"),
]


@pytest.mark.parametrize(
    ("reply", "kind", "asked", "partial"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_a_fault_ends_the_turn_as_what_it_is_with_what_had_come(
    reply: ScriptedReply,
    kind: str,
    asked: int,
    partial: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = Table(tmp_path, reply)
    failed = table.take_turn(monkeypatch)
    assert failed is not None
    assert failed.kind == kind, failed.message
    assert "\n" not in failed.message
    assert len(table.server.received) == asked
    usages = table.line.of("provider_usage")
    assert [usage["error"]["kind"] for usage in usages] == [kind] * asked
    assert (table.state.partial, table.state.final) == (partial, None)
    assert table.state.turn == "running"  # the engine closes it, with this failure


@pytest.mark.parametrize(
    "passing",
    [Refusal(429, "later", retry_after=0.05), Refusal(503, "soon", retry_after=0), Plain()],
)
def test_what_passes_is_tried_again_while_nothing_was_shown_and_every_try_is_in_the_log(
    passing: ScriptedReply, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(tmp_path, passing, Answer(SAID))
    assert table.take_turn(monkeypatch) is None
    assert ["error" in usage for usage in table.line.of("provider_usage")] == [True, False]
    first, second = table.server.received
    assert first.raw == second.raw
    assert table.line.text == "It works\n"


def test_a_conversation_too_long_for_its_model_is_shortened_and_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(tmp_path, Refusal(400, "x", "context_length_exceeded"), Answer("Fine."))
    for number in range(40):
        table.history += [
            ("user_message", {"text": f"{number} " + "words " * 200, "origin": "prompt"}),
            ("assistant_message", {"text": "words " * 200, "partial": False, "final": True}),
        ]
    assert table.take_turn(monkeypatch) is None
    assert len(table.line.of("compaction")) == 1
    first, second = table.server.received
    assert len(second.raw) < 0.7 * len(first.raw)
    assert second.messages[-1] == first.messages[-1]


# --- what cannot even be asked ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "kind", "says"),
    [
        (
            "openai:m",
            "provider_key_missing",
            "set OPENAI_API_KEY where the run is started; the agent's `pass_env` must list it",
        ),
        ("deepseek:m", "provider_key_missing", "DEEPSEEK_API_KEY"),
        ("nobody:m", "model_unknown", "nobody:m; set `model`"),
        ("m", "model_unknown", "openai:NAME"),
        ("groq:m", "extra_missing", "pip install 'pydantic-ai-slim[groq]'"),
    ],
)
def test_a_model_that_cannot_be_asked_says_what_to_do(
    model: str, kind: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    work = agent_work(tmp_path, model=model, timeout_ms=1000)
    with pytest.raises(Failed) as caught:
        program.run({**work, "prompt": "p", "history": []}, TapedLine())
    assert (caught.value.kind, says in caught.value.message) == (kind, True)
