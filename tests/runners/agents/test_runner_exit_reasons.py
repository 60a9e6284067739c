"""Why a coding agent left is in its error, and a login that is missing is not tried again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pixirnb.machine.retry import retry_class
from pixirnb.protocols.work import Ended, Output
from pixirnb.runners.agents.runner import LastWords, kind_of_message
from pixirnb.testing.fakes.agent_stage import coding_agent, fake, staged

LOGIN = [
    "Invalid API key · Please run /login",
    "Not logged in · Please run /login",
    "unexpected status 401 Unauthorized: Missing bearer or basic authentication in header",
    "Please set an Auth method in your settings.json or specify one of the following environment "
    "variables before running: GEMINI_API_KEY",
    "Error: Authentication required. Please run 'agent login' first, or set CURSOR_API_KEY",
    "Error: No authentication information found.",
    "No auth type is selected. Please configure an auth type in settings.",
    "error: No provider configured. Run 'goose configure' first",
    'API Error: 401 {"type":"error","error":{"type":"authentication_error"}}',
    "ANTHROPIC_API_KEY is not set",
    "OAuth token has expired. Please obtain a new token or refresh your existing token",
    "API key not valid. Please pass a valid API key.",
]
BUSY = [
    "API Error: 529 overloaded_error",
    "stream disconnected before completion: error sending request",
    "HTTP 408 Request Timeout",
    "Error: 429 Too Many Requests",
    "connect ECONNREFUSED 127.0.0.1:9",
    "TypeError: fetch failed",
    "unexpected status 503 Service Unavailable",
]
OTHER = [
    "",
    "no such file: login.py",
    "I wrote src/auth.py, and 401 lines of tests.",
    "the test of the API key form fails",
    "quota is used up",
    "TypeError: undefined is not a function",
    "cannot open 429.txt",
]


@pytest.mark.parametrize("line", LOGIN)
def test_a_login_that_is_missing_is_told_from_what_another_try_may_mend(line: str) -> None:
    assert kind_of_message(line) == "auth_required"


@pytest.mark.parametrize("line", BUSY)
def test_a_provider_that_is_busy_is_told_from_an_agent_that_broke(line: str) -> None:
    assert kind_of_message(line) == "provider_transient"


@pytest.mark.parametrize("line", OTHER)
def test_other_words_leave_the_kind_as_it_was(line: str) -> None:
    assert kind_of_message(line) is None


def heard(*chunks: tuple[str, bytes], kind: str = "exit") -> Ended:
    words = LastWords()
    for stream, chunk in chunks:
        words.on_event(Output("stderr" if stream == "err" else "stdout", chunk))
    return words.explained(Ended("failed", kind, "the agent a exited with code 3.", {}))


def test_the_line_that_tells_something_stands_for_why() -> None:
    ended = heard(
        ("out", b"All is well.\n"),
        ("err", b"starting\n\x1b[31mError: the model is gone\x1b[0m\n    at main (cli.js:3)\n\n"),
    )
    assert ended.details == {"said": "Error: the model is gone"}
    assert (
        ended.message
        == "the agent a exited with code 3; its last message: Error: the model is gone"
    )


def test_without_standard_error_the_last_line_of_its_output_stands_for_why() -> None:
    assert heard(("out", b"thinking\ngiving up")).details == {"said": "giving up"}
    assert heard(("out", b"\n \n")).message == "the agent a exited with code 3."


def test_a_line_that_is_not_whole_is_not_told() -> None:
    assert heard(("err", b"x" * 9000)).details == {}
    assert heard(("err", b"x" * 9000 + b"\ngone\n")).details == {"said": "gone"}


def test_what_did_not_fail_or_has_said_why_is_left_as_it_is() -> None:
    words = LastWords()
    words.on_event(Output("stderr", b"Please run /login\n"))
    for ended in (
        Ended("completed"),
        Ended("cancelled", "cancelled", "stopped."),
        Ended("failed", "turn_limit", "too many."),
    ):
        assert words.explained(ended) is ended


@pytest.mark.parametrize("runner", ["cli", "pty", "acp"])
def test_an_agent_that_wants_a_login_is_not_tried_again(runner: str, tmp_path: Path) -> None:
    script = tmp_path / "agent.sh"
    script.write_text("echo 'Not logged in. Please run /login' >&2\nexit 41\n")
    place = ["{prompt_file}"] if runner == "pty" else []
    work = coding_agent(runner, ["sh", str(script), *place], tmp_path)
    ended, _ = staged(work, tmp_path)
    assert (ended.status, ended.error_kind) == ("failed", "auth_required")
    assert ended.message.endswith("its last message: Not logged in. Please run /login")
    assert ended.details["said"] == "Not logged in. Please run /login"
    assert retry_class("auth_required") == "provider_permanent"


def test_an_error_event_is_why_it_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "config" / "pixirnb"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder.parent))
    script = 'echo \'{"type":"error","error":{"data":{"message":"the disk is full"}}}\'; exit 3'
    argv = json.dumps(["sh", "-c", script])
    (folder / "agents.toml").write_text(f"[cli.codex]\nargv = {argv}\nmodel = []\nlast = []\n")
    ended, _ = staged(coding_agent("cli", ["codex"], tmp_path), tmp_path)
    assert (ended.error_kind, ended.details) == (
        "exit",
        {"exit_code": 3, "said": "the disk is full"},
    )
    argv = json.dumps(
        [*fake("cli", "--lines", "claude", "error:Invalid API key · Please run /login")]
    )
    (folder / "agents.toml").write_text(f"[cli.claude]\nargv = {argv}\n")
    ended, _ = staged(coding_agent("cli", ["claude"], tmp_path), tmp_path)
    assert ended.error_kind == "auth_required"
