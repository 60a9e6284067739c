"""Nothing is filled in where it would be read as code, however a shell is called; and what looks so and is not, is let be."""

from __future__ import annotations

import pytest

from pixirnb.spec.agent_commands import misplaced, words_of

PASTED = [
    ["sh", "-c", "echo {prompt}"],
    ["/bin/bash", "-lc", "echo '{role}'"],
    ["bash", "-o", "pipefail", "-c", "x | y {cwd}"],
    ["bash", "--norc", "-ec", "agent --model {model}"],
    ["env", "A=1", "zsh", "-c", "echo {prompt}"],
    ["timeout", "9", "dash", "-c", "echo ${prompt}"],
    ["fish", "--command=echo {prompt}"],
    ["env", "-S", "agent {prompt}"],
    ["env", "-Sagent {prompt}"],
    ["python3.11", "-Ic", "print('{prompt}')"],
    ["perl", "-ne", "print '{prompt}'"],
    ["node", "--eval", "console.log('{prompt}')"],
]
FINE = [
    ["agent", "-c", "{prompt}"],
    ["sh", "-c", 'agent "$1"', "_", "{prompt}"],
    ["sh", "-c", 'agent < "$PIXIRNB_PROMPT_FILE"'],
    ["sh", "-c", "agent < {prompt_file}"],
    ["sh", "agent.sh", "-c", "{prompt}"],
    ["bash", "-o", "pipefail", "agent.sh", "{prompt}"],
    ["python", "-m", "agent", "-c", "{prompt}"],
    ["python", "-c", 'x = 1; print(f"{x}")', "{prompt}"],
    ["agent", "${HOME}", '{"a": 1}', "{}", "{a b}", "--to={cwd}"],
]


@pytest.mark.parametrize("words", PASTED, ids=" ".join)
def test_a_place_in_code_is_found(words: list[str]) -> None:
    assert [wrong.code for wrong in misplaced(words)] == ["prompt_in_shell"]


@pytest.mark.parametrize("words", FINE, ids=" ".join)
def test_a_place_that_is_an_argument_is_let_be(words: list[str]) -> None:
    assert list(misplaced(words)) == []


def test_a_place_that_there_is_none_of_is_told_with_the_nearest() -> None:
    [wrong] = misplaced(["agent", "--say={promt}"])
    assert (wrong.code, wrong.position) == ("placeholder_unknown", 1)
    assert "prompt" in wrong.fix


def test_a_text_is_parted_as_it_will_be() -> None:
    assert words_of("sh -c 'a {prompt}'") == ["sh", "-c", "a {prompt}"]
    assert words_of("agent 'open") == ["agent 'open"]
