"""No task is read as code, however a shell is called; a program that nobody knows gets it as a file or as its input."""

from __future__ import annotations

import pytest

from pixirnb.runners.agents import presets
from pixirnb.spec.agent_commands import (
    SUBCOMMANDS,
    complete_command,
    find_misplaced,
    way_of,
    words_of,
)

PASTED = [
    ["sh", "-c", "echo {prompt}"],
    ["/bin/bash", "-lc", "echo '{role}'"],
    ["bash", "-o", "pipefail", "-c", "x | y {cwd}"],
    ["bash", "--norc", "-ec", "agent --model {model}"],
    ["env", "A=1", "zsh", "-c", "echo {prompt}"],
    ["timeout", "9", "dash", "-c", "echo ${prompt}"],
    ["fish", "--command=echo {prompt}"],
    ["python3.11", "-Ic", "print('{prompt}')"],
    ["perl", "-ne", "print '{prompt}'"],
    ["perl", "-e", "1", "-e", "print '{role}'"],
    ["node", "--eval", "console.log('{prompt}')"],
    ["awk", "{prompt}"],
    ["bash", "{prompt_file}"],
    ["bash", "-x", "{prompt_file}"],
    ["bash", "--rcfile", "{prompt_file}", "-c", "agent"],
    ["bash", "-c", "{prompt_file}"],
    ["env", "BASH_ENV={prompt_file}", "my-agent"],
    ["claude", "mcp", "add", "x", "--", "sh", "-c", "{prompt}"],
    ["codex", "exec", "bash", "-c", "{prompt}"],
]
HANDED_ON = [
    ["bash", "-c"],
    ["sh", "-c"],
    ["/usr/bin/env", "bash", "-lc"],
    ["ssh", "host", "agent", "-p"],
    ["/usr/bin/ssh", "host", "agent", "{prompt_file}"],
    ["script", "-c", "{prompt}"],
    ["watch", "{prompt}"],
    ["su", "-"],
    ["sudo", "-s"],
    ["nice", "sudo", "-u", "agent", "my-agent"],
    ["sudo", "-u", "agent", "my-agent", "{prompt_file}"],
    ["xargs", "-n1", "my-agent"],
    ["find", ".", "-exec", "sh", "-c", "{prompt}", ";"],
    ["tmux", "new", "{prompt}"],
    ["expect", "-c", "{prompt}"],
    ["env", "-S", "bash -c"],
    ["env", "-iS", "agent {prompt}"],
]
READS_ITS_INPUT = [
    ["bash"],
    ["sh", "-s"],
    ["bash", "-es", "x"],
    ["bash", "--"],
    ["zsh-5.9"],
    ["python3"],
    ["python", "-"],
    ["python", "-i", "agent.py"],
    ["node"],
    ["bash", "/dev/stdin"],
    ["busybox", "sh"],
    ["timeout", "9", "bash", "--login"],
    ["my-wrapper", "bash"],
    ["my-wrapper", "/bin/sh"],
    ["docker", "run", "-i", "image"],
    ["kubectl", "exec", "-i", "pod", "--", "sh"],
    ["nsenter", "-t", "1"],
]
UNKNOWN = [
    ["agent", "{prompt}"],
    ["agent", "-c", "{prompt}"],
    ["agent", "--prompt={prompt}"],
    ["sh", "-c", 'agent "$1"', "_", "{prompt}"],
    ["sh", "agent.sh", "-c", "{prompt}"],
    ["python", "-m", "agent", "{prompt}"],
    ["timeout", "9", "claude", "-p", "{prompt}"],
    ["npx", "-y", "claude", "-p", "{prompt}"],
    ["claude", "mcp", "add", "{prompt}"],
    ["claude", "-p", "--settings", "{prompt}"],
    ["claude", "-p", "--settings={prompt}"],
    ["codex", "exec", "-c", 'notify=["{prompt}"]'],
    ["codex", "sandbox", "linux", "{prompt}"],
    ["goose", "run", "--with-extension", "{prompt}"],
]
FINE = [
    ["sh", "-c", 'agent < "$PIXIRNB_PROMPT_FILE"'],
    ["sh", "-c", "agent < {prompt_file}"],
    ["sh", "-c", "ssh host agent < {prompt_file}"],
    ["sh", "-c", 'agent "$1" "$2"', "_", "{prompt_file}", "{role}"],
    ["bash", "-o", "pipefail", "agent.sh", "{prompt_file}"],
    ["bash", "--", "agent.sh"],
    ["sh", "-c", "agent -p"],
    ["python", "-m", "agent", "-c", "{prompt_file}"],
    ["python", "-m", "agent", "--plain"],
    ["python", "-c", 'x = 1; print(f"{x}")'],
    ["perl", "-pi", "-e", "s/a/b/", "{prompt_file}"],
    ["docker", "run", "-v", "{prompt_file}:/task", "image", "agent", "/task"],
    ["timeout", "9", "claude", "-p"],
    ["my-agent", "--dir", "/srv/python"],
    ["agent", "${HOME}", '{"a": 1}', "{}", "{a b}", "--to={cwd}", "{model}"],
    ["claude", "-p", "{prompt}", "--allowedTools", "bash"],
    ["/opt/bin/claude", "-p", "--model", "m", "{prompt}"],
    ["claude", "{prompt}"],
    ["copilot", "--prompt={prompt}"],
    ["codex", "exec", "--", "{prompt}"],
    ["claude", "--help"],
    ["goose", "run", "--text"],
]


@pytest.mark.parametrize("words", [*PASTED, *HANDED_ON, *READS_ITS_INPUT], ids=" ".join)
def test_no_shell_is_handed_a_task(words: list[str]) -> None:
    assert {wrong.code for wrong in find_misplaced(words, "cli")} >= {"prompt_in_shell"}


@pytest.mark.parametrize("words", [*PASTED, *HANDED_ON], ids=" ".join)
def test_a_table_of_the_users_own_hands_none_a_task_either(words: list[str]) -> None:
    assert "prompt_in_shell" in {
        wrong.code for wrong in find_misplaced(words, "cli", is_known=True)
    }


@pytest.mark.parametrize("words", UNKNOWN, ids=" ".join)
def test_a_program_that_is_not_known_gets_no_prompt_as_a_word(words: list[str]) -> None:
    [wrong] = find_misplaced(words, "cli")
    assert (wrong.code, words[wrong.position].count("{prompt}")) == ("prompt_in_argv", 1)
    assert "{prompt_file}" in wrong.fix
    assert "standard input" in wrong.fix


@pytest.mark.parametrize("words", FINE, ids=" ".join)
def test_what_hands_its_task_over_as_it_is_is_let_be(words: list[str]) -> None:
    assert list(find_misplaced(words, "cli")) == []


@pytest.mark.parametrize(
    ("words", "way"),
    [
        (["my-agent"], "input"),
        (["timeout", "9", "claude", "-p"], "input"),
        (["sh", "-c", 'agent < "$PIXIRNB_PROMPT_FILE"'], "file"),
        (["my-agent", "{prompt_file}"], "file"),
        (["claude", "-p"], "argument"),
        (["codex", "exec", "--json"], "argument"),
        (["codex"], "input"),
        (["claude", "-p", "--settings"], "input"),
    ],
    ids=str,
)
def test_a_task_comes_as_an_argument_only_to_agents_that_are_known(
    words: list[str], way: str
) -> None:
    assert way_of(words, "cli") == way
    last = complete_command(words, "cli")[-1]
    assert (last == "{prompt}") == (way == "argument")


def test_at_a_terminal_an_agent_that_is_not_known_needs_a_file() -> None:
    assert [wrong.code for wrong in find_misplaced(["my-agent", "-x"], "pty")] == ["prompt_nowhere"]
    assert list(find_misplaced(["my-agent", "{prompt_file}"], "pty")) == []
    assert list(find_misplaced(["claude", "-p"], "pty")) == []


def test_an_agent_of_a_protocol_is_told_its_task_when_it_has_answered() -> None:
    assert list(find_misplaced(["ssh", "host", "agent", "--acp"], "acp")) == []
    assert list(find_misplaced(["docker", "run", "-i", "image"], "acp")) == []
    [wrong] = find_misplaced(["ssh", "host", "agent", "--model", "{model}"], "acp")
    assert (wrong.code, wrong.position) == ("prompt_in_shell", 4)


def test_every_agent_that_comes_with_us_is_known_by_its_program() -> None:
    for preset in presets.presets().values():
        if preset.runner != "acp":
            words = [*preset.argv, *preset.last]
            assert SUBCOMMANDS[words[0]] == (words[1] if words[1].isalpha() else "")
            assert list(find_misplaced(words, preset.runner)) == []


def test_a_place_that_there_is_none_of_is_told_with_the_nearest() -> None:
    [wrong] = find_misplaced(["agent", "--say={promt}"], "cli")
    assert (wrong.code, wrong.position) == ("placeholder_unknown", 1)
    assert "prompt" in wrong.fix


def test_a_text_is_parted_as_it_will_be() -> None:
    assert words_of("sh -c 'a {prompt}'") == ["sh", "-c", "a {prompt}"]
    assert words_of("agent 'open") == ["agent 'open"]
