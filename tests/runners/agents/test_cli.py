"""A coding agent's non-interactive mode: its text as it comes, its lines as a session, its end as what it was."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from pixirnb.protocols.work import AgentEvent, Output
from pixirnb.runners.agents.commands import ARGUMENT_LIMIT
from pixirnb.runners.processes import orphans
from pixirnb.testing.contracts.runner import RUN_ID
from pixirnb.testing.fakes.agent_stage import coding_agent, fake, session_events, staged


@pytest.fixture(autouse=True)
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Fakes that are read as claude and codex are, by tables of the user's own."""
    folder = tmp_path / "config" / "pixirnb"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder.parent))
    return folder / "agents.toml"


def as_named(named: Path, base: str, *acts: str) -> list[str]:
    """A command that is a name: the fake's own argv, the rules of `base`."""
    argv = json.dumps([*fake("cli", "--lines", base, *acts), "{prompt}"])
    named.write_text(
        f"[cli.{base}]\nargv = {argv}\nmodel = []\nmodes = {{ ask = [] }}\nlast = []\n"
    )
    return [base]


def asking_table(argv: list[str]) -> str:
    """A table of the user's own: an agent that keeps to `ask` by itself."""
    return f"[cli.mine]\nargv = {json.dumps(argv)}\nmodes = {{ ask = [] }}\n"


@pytest.mark.parametrize("prompt", ["$(touch x) {cwd}", "x" * (ARGUMENT_LIMIT + 1)], ids=len)
def test_an_agent_that_is_not_known_reads_its_prompt_on_standard_input(
    prompt: str, tmp_path: Path
) -> None:
    ended, rehearsal = staged(
        coding_agent("cli", fake("cli", "echo", "read"), tmp_path, prompt=prompt), tmp_path
    )
    assert ended.status == "completed"
    assert rehearsal.text() == f"{prompt}\nstandard input: 0\n"


def test_text_is_passed_on_as_it_is_and_the_prompt_of_a_known_agent_is_the_last_argument(
    named: Path, tmp_path: Path
) -> None:
    named.write_text(asking_table(fake("cli", "echo", "tty", "read")))
    work = coding_agent("cli", ["mine"], tmp_path, prompt="A 'prompt' {x}")
    ended, rehearsal = staged(work, tmp_path)
    assert ended.status == "completed"
    assert rehearsal.text() == "A 'prompt' {x}\nterminal: False\nstandard input: 0\n"
    assert session_events(rehearsal) == []


@pytest.mark.parametrize("prompt", ["x" * (ARGUMENT_LIMIT + 1), "a\0b", "half \ud800"], ids=len)
def test_a_prompt_that_can_be_no_argument_is_a_file_while_it_is_needed(
    prompt: str, named: Path, tmp_path: Path
) -> None:
    script = "import sys; p = sys.argv[-1].split()[6].rstrip('.'); print(p, len(open(p).read()))"
    named.write_text(asking_table([sys.executable, "-c", script]))
    work = coding_agent("cli", ["mine"], tmp_path, prompt=prompt)
    ended, rehearsal = staged(work, tmp_path)
    assert ended.status == "completed"
    path, length = rehearsal.text().split()
    assert int(length) == len(prompt)
    assert not Path(path).parent.exists()


def test_a_prompt_that_begins_as_an_option_does_is_none(named: Path, tmp_path: Path) -> None:
    named.write_text(asking_table(["printf", "%s"]))
    work = coding_agent("cli", ["mine"], tmp_path, prompt="--version\n- and more")
    assert staged(work, tmp_path)[1].text() == "\n--version\n- and more"


def test_a_shell_by_another_name_is_handed_no_task(tmp_path: Path) -> None:
    (tmp_path / "claude").symlink_to("/bin/sh")
    (tmp_path / "my-agent").symlink_to("/bin/sh")
    for command in (["claude", "-p"], ["my-agent", "-s"], ["timeout", "9", "my-agent"]):
        words = [str(tmp_path / word) if (tmp_path / word).exists() else word for word in command]
        work = coding_agent("cli", words, tmp_path, prompt="touch stolen")
        ended, _ = staged(work, tmp_path)
        assert (ended.status, ended.error_kind) == ("failed", "prompt_in_shell")
    assert not (tmp_path / "stolen").exists()


def test_placeholders_are_filled_in_once_and_only_where_they_stand(
    named: Path, tmp_path: Path
) -> None:
    script = "import sys; print(sys.argv[1:])"
    command = [sys.executable, "-c", script, "<{prompt}>", "{role}", "{cwd}", "${other} {a b}"]
    named.write_text(asking_table(command))
    work = coding_agent("cli", ["mine"], tmp_path, prompt="see {cwd}")
    _, rehearsal = staged(work, tmp_path)
    assert (
        rehearsal.text()
        == f"{['<see {cwd}>', 'You do things.', str(tmp_path), '${other} {a b}']}\n"
    )


def test_a_shell_is_handed_the_prompt_as_a_file_and_never_as_code(tmp_path: Path) -> None:
    prompt = '$(touch stolen); `touch stolen` "; touch stolen #'
    for text in ('cat "$PIXIRNB_PROMPT_FILE"', "cat {prompt_file}"):
        work = coding_agent("cli", ["sh", "-c", text], tmp_path, prompt=prompt)
        ended, rehearsal = staged(work, tmp_path)
        assert ended.status == "completed"
        assert rehearsal.text() == prompt
    work = coding_agent("cli", ["sh", "-c", "echo {prompt}"], tmp_path, prompt=prompt)
    ended, rehearsal = staged(work, tmp_path)
    assert (ended.status, ended.error_kind) == ("failed", "prompt_in_shell")
    assert list(tmp_path.glob("stolen")) == []


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"mode": "auto"}, "--act m"),
        ({"mode": "ask"}, "m"),
        ({"mode": "read_only"}, "--plan m"),
        ({"mode": "auto", "posture": "read_only"}, "--plan m"),
    ],
    ids=str,
)
def test_a_mode_is_handed_on_and_a_reader_is_never_told_to_act(
    limits: dict[str, Any], said: str, named: Path, tmp_path: Path
) -> None:
    named.write_text(
        """[cli.moded]
        argv = ["echo"]
        modes = { read_only = ["--plan"], ask = [], auto = ["--act"] }
        last = ["{prompt}"]
        """
    )
    _, rehearsal = staged(coding_agent("cli", ["moded"], tmp_path, prompt="m", **limits), tmp_path)
    assert rehearsal.text() == f"{said}\n"


def test_a_model_is_handed_on_where_the_table_says_how(named: Path, tmp_path: Path) -> None:
    named.write_text(
        '[cli.a]\nargv = ["echo"]\nmodel = ["--model", "{model}"]\nmodes = { ask = [] }\n'
    )
    for model, said in (("big", "--model big x\n"), (None, "x\n")):
        work = coding_agent("cli", ["a"], tmp_path, prompt="x", model=model)
        assert staged(work, tmp_path)[1].text() == said


@pytest.mark.parametrize("base", ["claude", "codex"])
def test_json_lines_become_a_session_and_their_text_is_shown(
    base: str, named: Path, tmp_path: Path
) -> None:
    acts = ["say:Looking.", "tool:ls:a.py", "noise", "say:checkpoint_status: checkpoint_ready"]
    ended, rehearsal = staged(coding_agent("cli", as_named(named, base, *acts), tmp_path), tmp_path)
    assert ended.status == "completed"
    assert rehearsal.text() == "Looking.\ncheckpoint_status: checkpoint_ready\n"
    assert "this is no JSON" in rehearsal.text("stderr")
    kinds = [kind for kind, _ in session_events(rehearsal) if kind != "provider_usage"]
    assert kinds == ["assistant_message", "tool_call", "tool_result", "assistant_message"]
    messages = [data["final"] for _, data in session_events(rehearsal, "assistant_message")]
    assert messages == [False, True]


def test_what_is_told_has_been_said_before(named: Path, tmp_path: Path) -> None:
    acts = [f"say:message {number}." for number in range(100)]
    command = as_named(named, "codex", *acts)
    _, rehearsal = staged(coding_agent("cli", command, tmp_path), tmp_path)
    said = ""
    for event in rehearsal.events:
        if isinstance(event, Output):
            said += event.chunk.decode()
        elif isinstance(event, AgentEvent):
            assert event.data["text"] in said
    assert len(session_events(rehearsal)) == 100


@pytest.mark.parametrize(
    ("acts", "kind", "details"),
    [
        (["say:part", "exit:3"], "exit", {"exit_code": 3, "said": "part"}),
        (["say:part", "kill:9"], "crash", {"signal": "SIGKILL", "said": "part"}),
    ],
    ids=str,
)
def test_an_end_that_is_no_clean_one_says_how(
    acts: list[str], kind: str, details: dict[str, Any], tmp_path: Path
) -> None:
    ended, rehearsal = staged(coding_agent("cli", fake("cli", *acts), tmp_path), tmp_path)
    assert (ended.status, ended.error_kind, ended.details) == ("failed", kind, details)
    assert rehearsal.text() == "part\n"


def test_an_error_in_its_own_words_is_a_failure_whatever_its_exit_code(
    named: Path, tmp_path: Path
) -> None:
    command = as_named(named, "codex", "say:part", "error:quota is used up")
    ended, rehearsal = staged(coding_agent("cli", command, tmp_path), tmp_path)
    assert (ended.status, ended.error_kind) == ("failed", "agent_failed")
    assert "quota is used up" in ended.message
    assert [data["final"] for _, data in session_events(rehearsal, "assistant_message")] == [False]


def test_a_flood_on_standard_error_holds_nothing_up(tmp_path: Path) -> None:
    work = coding_agent("cli", fake("cli", "flood:1024", "say:through"), tmp_path)
    ended, rehearsal = staged(work, tmp_path)
    assert (ended.status, rehearsal.text()) == ("completed", "through\n")
    assert len(rehearsal.text("stderr")) == 1024 * 1024


def test_a_missing_program_says_how_to_install_it(named: Path, tmp_path: Path) -> None:
    named.write_text(
        "[cli.mine]\nargv = ['no-such-agent']\ninstall = 'ask the cook'\nmodes = { ask = [] }\n"
    )
    ended, _ = staged(coding_agent("cli", ["mine"], tmp_path), tmp_path)
    assert (ended.status, ended.error_kind) == ("failed", "agent_missing_binary")
    assert "'no-such-agent' is not on PATH" in ended.message
    assert "ask the cook" in ended.message


@pytest.mark.parametrize(
    ("program", "next_step"),
    [("no-such-agent", "install it"), ("./no-such-agent", "correct the path")],
)
def test_a_program_that_nobody_can_find_says_what_to_do(
    program: str, next_step: str, tmp_path: Path
) -> None:
    ended, _ = staged(coding_agent("cli", [program, "x"], tmp_path), tmp_path)
    assert ended.error_kind == "agent_missing_binary"
    assert next_step in ended.message


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["no-such-agent"], "agent_command_unknown"),
        (["./no-such-agent", "x"], "agent_missing_binary"),
        (["printf", "{model}"], "agent_command_incomplete"),
        (None, "agent_command_missing"),
    ],
    ids=str,
)
def test_a_command_that_cannot_be_run_is_an_end_with_a_code(
    command: list[str] | None, code: str, tmp_path: Path
) -> None:
    ended, _ = staged(coding_agent("cli", command, tmp_path), tmp_path)
    assert (ended.status, ended.error_kind) == ("failed", code)
    assert ended.message


def test_a_pipe_that_a_descendant_keeps_open_does_not_hold_up_the_end(tmp_path: Path) -> None:
    ended, rehearsal = staged(
        coding_agent("cli", fake("cli", "exec:exec sleep 300", "say:left"), tmp_path), tmp_path
    )
    assert (ended.status, rehearsal.text()) == ("completed", "left\n")
    assert ended.strays == 1
    assert orphans.find_strays(RUN_ID) == []


def test_a_stop_ends_the_whole_tree_in_sessions_of_their_own_too(tmp_path: Path) -> None:
    before = {process.pid for process in psutil.process_iter()}
    command = fake("cli", "exec:trap '' TERM; sleep 301", "say:ready", "hang")
    ended, _ = staged(
        coding_agent("cli", command, tmp_path),
        tmp_path,
        stop_at="ready",
        reason="timed_out",
        grace_s=0.5,
    )
    assert ended.status == "timed_out"
    assert orphans.find_strays(RUN_ID) == []
    new = [each for each in psutil.process_iter(["cmdline"]) if each.pid not in before]
    assert not [each for each in new if "sleep 301" in shlex.join(each.info["cmdline"] or [])]


def test_an_agent_is_told_of_the_folder_it_works_in_by_its_environment_too(tmp_path: Path) -> None:
    work = coding_agent("cli", fake("cli", "env:PWD"), tmp_path)
    _, rehearsal = staged(work, tmp_path, env={"PWD": "/elsewhere"})
    assert f"PWD={tmp_path}" in rehearsal.text()
