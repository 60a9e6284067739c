"""Coding agents have names; what a name means is data that a user can override, and a mistake in it says where it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pixirnb.errors import Cannot
from pixirnb.runners.agents import presets
from pixirnb.runners.agents.json_lines import Transcript, wrong_rule
from pixirnb.runners.agents.presets import resolve


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tmp_path / "pixirnb" / "agents.toml"
    path.parent.mkdir()
    return path


def test_the_agents_that_come_with_us_are_known_by_runner() -> None:
    assert {"claude", "codex", "gemini", "opencode", "goose", "copilot", "qwen"} <= set(
        presets.known("acp")
    )
    assert {"claude", "codex", "gemini", "opencode"} <= set(presets.known("cli"))
    assert presets.known("pty")


def test_every_agent_that_comes_with_us_says_how_to_install_it_and_what_it_needs() -> None:
    for preset in presets.presets().values():
        assert preset.install
        assert preset.env
        assert preset.runner != "acp" or preset.output == "text"
        prompted = [word for word in (*preset.argv, *preset.last) if "{prompt}" in word]
        assert len(prompted) == (0 if preset.runner == "acp" else 1)


def test_no_agent_that_comes_with_us_is_fetched_as_it_is_called() -> None:
    fetching = {"npx", "bunx", "uvx", "pipx", "npm", "pnpm", "yarn", "docker", "sh", "bash"}
    assert not fetching & {preset.argv[0] for preset in presets.presets().values()}


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ('argv = ["sh", "-c", "agent {prompt}"]', "`{prompt}`"),
        ('argv = ["bash"]\nlast = ["-lc", "agent {role}"]', "`{role}`"),
        ('argv = ["sh"]\nmodes = {ask = ["-c", "agent {model}"]}', "`{"),
        ('argv = ["agent", "{promt}"]', "unknown placeholder `{promt}`: did you mean `{prompt}`?"),
    ],
)
def test_a_table_that_would_paste_into_a_shell_or_fills_in_nothing_is_refused(
    table: str, fault: str, own: Path
) -> None:
    own.write_text(f"[cli.mine]\n{table}\n")
    with pytest.raises(Cannot) as raised:
        resolve("cli", ["mine"])
    assert raised.value.code == "agents_file_invalid"
    assert f"[cli.mine] {fault}" in raised.value.message


def test_a_name_is_a_known_agent_and_a_longer_argv_is_taken_as_it_is() -> None:
    assert resolve("cli", ["claude"]).argv[:2] == ("claude", "-p")
    taken = resolve("cli", ["claude", "--help"])
    assert (taken.name, taken.argv, taken.output) == ("", ("claude", "--help"), "text")


def test_a_command_line_is_parted_into_words_as_a_shell_would() -> None:
    assert resolve("cli", ["agent --say 'two words'"]).argv == ("agent", "--say", "two words")


def test_a_program_with_a_blank_in_its_path_is_one_word(tmp_path: Path) -> None:
    program = tmp_path / "my agent"
    program.write_text("#!/bin/sh\n")
    assert resolve("cli", [str(program)]).argv == (str(program),)


def test_an_acp_argv_that_begins_like_a_known_agents_is_that_agent_with_more_arguments() -> None:
    found = resolve("acp", ["codex-acp", "-c", "model=x"])
    assert (found.name, found.argv) == ("codex", ("codex-acp", "-c", "model=x"))
    assert found.modes == resolve("acp", ["codex"]).modes
    assert resolve("acp", ["npx", "codex-acp"]).modes is None


def test_every_agent_that_comes_with_us_says_how_it_keeps_to_a_permission_or_is_named_here() -> (
    None
):
    silent = {
        (f"{preset.runner}.{preset.name}", mode)
        for preset in presets.presets().values()
        for mode in ("read_only", "ask")
        if mode not in (preset.modes or {})
    }
    # These are not started in such a mode: they have none that does what it says, or none that we know of.
    assert silent == {
        *(("acp.cursor", "ask"), ("acp.kimi", "ask"), ("acp.kimi", "read_only")),
        *(("acp.pi", "ask"), ("acp.pi", "read_only")),
        *(("cli.goose", "ask"), ("cli.goose", "read_only")),
    }


def test_one_that_takes_not_there_for_a_fault_is_not_offered_to_read_by_us() -> None:
    assert resolve("acp", ["gemini"]).files == ("write",)
    assert resolve("acp", ["claude"]).files == ("read", "write")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (None, "agent_command_missing"),
        ([], "agent_command_missing"),
        (["clade"], "agent_command_unknown"),
        (["agent 'open"], "agent_command_unknown"),
    ],
    ids=str,
)
def test_what_is_no_command_is_refused_with_the_names_that_are(
    command: list[str] | None, code: str
) -> None:
    with pytest.raises(Cannot) as raised:
        resolve("cli", command, "/nowhere")
    assert raised.value.code == code
    assert "`claude`" in raised.value.fix or "list" in raised.value.fix


def test_a_users_table_replaces_keys_and_adds_agents(own: Path) -> None:
    own.write_text(
        '[cli.claude]\nargv = ["/opt/claude", "{prompt}"]\n[pty.mine]\nargv = ["mine"]\n'
    )
    claude = resolve("cli", ["claude"])
    assert claude.argv == ("/opt/claude", "{prompt}")
    assert claude.output == "json-lines"
    assert resolve("pty", ["mine"]).argv == ("mine",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[cli.a]\nargs = []\n", "unknown key 'args'"),
        ("[shell.a]\nargv = ['a']\n", "unknown runner [shell]"),
        ("[cli.a]\n", "no `argv`"),
        ("[cli.a]\nargv = 'a'\n", "list of strings"),
        ("[cli.a]\nargv = ['a']\noutput = 'xml'\n", "json-lines"),
        ("[cli.a]\nargv = ['a']\noutput = 'json-lines'\n", "`lines`"),
        ("[cli.a]\nargv = ['a']\nmodes = { yolo = [] }\n", "read_only, ask or auto"),
        ("[cli.a]\nargv = ['a']\nmode_env = { yolo = {} }\n", "read_only, ask or auto"),
        ("[cli.a]\nargv = ['a']\nmode_env = { ask = { A = 1 } }\n", "variables with string values"),
        ("[cli.a]\nargv = ['a']\nmode_env = { ask = { 'A B' = 'x' } }\n", "variables with"),
        ("[acp.a]\nargv = ['a']\nfiles = ['delete']\n", "read or write"),
        ("[acp.a]\nargv = ['a']\nhello_s = 0\n", "seconds"),
        ("[cli.a]\nargv = ['a']\nlines = [{ kind = 'song' }]\n", "lines[0]: kind must be one of"),
        ("[cli.a\n", "line 1"),
    ],
    ids=str,
)
def test_a_mistake_in_the_users_table_says_where_it_is(own: Path, text: str, words: str) -> None:
    own.write_text(text)
    with pytest.raises(Cannot) as raised:
        resolve("cli", ["claude"])
    assert raised.value.code == "agents_file_invalid"
    assert words in raised.value.message
    assert str(own) in raised.value.message


def test_a_table_that_others_may_change_is_not_obeyed(own: Path) -> None:
    own.write_text("[cli.a]\nargv = ['a']\n")
    own.chmod(0o666)
    with pytest.raises(Cannot, match="other users"):
        resolve("cli", ["claude"])


# --- how their lines are read ---------------------------------------------------------------------------------------

CLAUDE: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init", "model": "m"},
    {
        "type": "assistant",
        "message": {
            "content": [
                {"type": "thinking", "thinking": "Hm."},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
            ]
        },
    },
    {
        "type": "user",
        "message": {
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "is_error": True,
                    "content": [{"type": "text", "text": "no such file"}],
                }
            ]
        },
    },
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "Done."}]}},
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "Done.",
        "usage": {"input_tokens": 10, "output_tokens": 5},
    },
]
CODEX: list[dict[str, Any]] = [
    {"type": "thread.started", "thread_id": "x"},
    {"type": "item.completed", "item": {"id": "0", "type": "reasoning", "text": "Hm."}},
    {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "Looking."}},
    {"type": "item.started", "item": {"id": "2", "type": "command_execution", "command": "ls"}},
    {
        "type": "item.completed",
        "item": {
            "id": "2",
            "type": "command_execution",
            "command": "ls",
            "aggregated_output": "no such file",
            "status": "failed",
        },
    },
    {"type": "item.completed", "item": {"id": "3", "type": "agent_message", "text": "Done."}},
    {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 5}},
]
GEMINI: list[dict[str, Any]] = [
    {"type": "init", "model": "m"},
    {"type": "message", "role": "user", "content": "Do it."},
    {"type": "message", "role": "assistant", "content": "Look", "delta": True},
    {"type": "message", "role": "assistant", "content": "ing.", "delta": True},
    {"type": "tool_use", "tool_name": "shell", "tool_id": "t1", "parameters": {"command": "ls"}},
    {"type": "tool_result", "tool_id": "t1", "status": "error", "output": "no such file"},
    {"type": "message", "role": "assistant", "content": "Done.", "delta": True},
    {"type": "result", "status": "success", "stats": {"input_tokens": 10, "output_tokens": 5}},
]
OPENCODE: list[dict[str, Any]] = [
    {"type": "step_start", "part": {"type": "step-start"}},
    {"type": "text", "part": {"type": "text", "text": "Looking."}},
    {
        "type": "tool_use",
        "part": {
            "tool": "bash",
            "callID": "t1",
            "state": {"status": "error", "input": {"command": "ls"}, "output": "no such file"},
        },
    },
    {"type": "text", "part": {"type": "text", "text": "Done."}},
    {"type": "step_finish", "part": {"tokens": {"input": 10, "output": 5}}},
]


def read(name: str, lines: list[dict[str, Any]], *, is_clean: bool = True) -> list[tuple[str, Any]]:
    transcript = Transcript(presets.presets()["cli", name].lines)
    events = [event for line in lines for event in transcript.take(line)]
    return [*events, *transcript.end(is_clean=is_clean)]


@pytest.mark.parametrize(
    ("name", "lines"),
    [("claude", CLAUDE), ("codex", CODEX), ("gemini", GEMINI), ("opencode", OPENCODE)],
)
def test_the_lines_of_each_agent_become_the_same_session(
    name: str, lines: list[dict[str, Any]]
) -> None:
    told = [(kind, data) for kind, data in read(name, lines) if kind != "say"]
    messages = [(d["text"], d["final"]) for kind, d in told if kind == "assistant_message"]
    assert messages == [("Looking.", False), ("Done.", True)]
    results = [data for kind, data in told if kind == "tool_result"]
    assert [(r["ok"], r["output"]) for r in results] == [(False, "no such file")]
    calls = [data["call_id"] for kind, data in told if kind == "tool_call"]
    assert calls == [r["call_id"] for r in results]
    usage = [data for kind, data in told if kind == "provider_usage"]
    assert [(u["input_tokens"], u["output_tokens"]) for u in usage] == [(10, 5)]


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode"])
def test_lines_of_any_shape_are_taken_without_a_fault(name: str) -> None:
    shapes: list[Any] = [None, 1, "x", [], [1], {}, {"type": None}]
    kinds = [
        "assistant",
        "user",
        "result",
        "item.completed",
        "tool_use",
        "text",
        "error",
        "message",
    ]
    for kind in kinds:
        for shape in shapes:
            line = {"type": kind, "message": shape, "item": shape, "part": shape, "content": shape}
            events = read(name, [{**line, "is_error": False, "role": "assistant"}])
            json.dumps(events)


def test_a_call_without_a_result_is_closed_when_the_turn_ends() -> None:
    told = read("claude", CLAUDE[:2])
    kinds = [kind for kind, _ in told]
    assert kinds[-1] == "tool_result"
    assert told[-1][1]["synthetic"] is True


def test_a_message_before_a_failure_is_not_final() -> None:
    told = read("codex", CODEX[:3], is_clean=False)
    assert [data["final"] for kind, data in told if kind == "assistant_message"] == [False]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("message", "a table"),
        ({"kind": "message", "match": {"a": 1}}, "needs 'text'"),
        ({"kind": "message", "text": "x", "match": {}}, "needs a `match`"),
        ({"kind": "message", "text": "x", "match": {"a": 1}, "name": "y"}, "unknown key 'name'"),
        ({"kind": "message", "text": 1, "match": {"a": 1}}, "paths must be strings"),
        ({"kind": "message", "text": "x", "match": []}, "a table of paths"),
        ({"kind": "message", "text": "x", "match": {"a": 1}}, ""),
    ],
    ids=str,
)
def test_a_rule_says_what_is_wrong_with_it(rule: object, words: str) -> None:
    assert words in wrong_rule(rule)
    assert bool(wrong_rule(rule)) == bool(words)
