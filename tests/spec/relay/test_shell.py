"""What a step printed never becomes part of a command: wherever a relay file writes it, its value arrives whole."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pixirnb.spec.expressions.references import shell_template
from pixirnb.spec.relay.shell import settle

VALUE = 'it\'s "$(touch owned)" `touch owned`; touch owned # ${HOME} \\n *\nline 2'
WORD = "{{ steps.a.output }}"

# script, then what it prints before and behind the value
WHOLE: dict[str, tuple[str, str, str]] = {
    "free": (f"printf %s {WORD}", "", ""),
    "part of a word": (f"printf %s a{WORD}b", "a", "b"),
    "double quotes": (f'printf %s "v: {WORD}."', "v: ", "."),
    "single quotes": (f"printf %s 'v: {WORD}.'", "v: ", "."),
    "a substitution": (f"printf %s $(printf %s {WORD} >&2)", "", ""),
    "a substitution in quotes": (f'printf %s "$(printf %s {WORD})"', "", ""),
    "quotes in a substitution in quotes": (f'printf %s "$(printf %s "{WORD}")"', "", ""),
    "a default": (f'printf %s "${{NOBODY:-{WORD}}}"', "", ""),
    "backticks": (f'printf %s "`printf %s {WORD}`"', "", ""),
    "a heredoc": (f"cat <<EOF\n{WORD}\nEOF\n", "", "\n"),
    "a heredoc with a quoted end": (
        f"cat <<'EOF'\n$HOME `x` \\n \\\n{WORD}\nEOF\n",
        "$HOME `x` \\n \\\n",
        "\n",
    ),
    "a heredoc behind tabs": (f'cat <<-"EOF"\n\t$HOME {WORD}\n\tEOF\n', "$HOME ", "\n"),
    "the second of two heredocs": (f"cat <<A - <<'B' 2>&1\n1\nA\n$ {WORD}\nB\n", "$ ", "\n"),
    "a heredoc in brackets": (f"(\ncat <<'E'\n{WORD}\nE\n)\n", "", "\n"),
    "twice in one word": (f'test "{WORD}" = "{WORD}" && printf %s "{WORD}"', "", ""),
    "behind a comment": (f"# see {WORD}\nprintf %s '{WORD}'", "", ""),
}

CODE = {
    "a shell": f"bash -c 'echo {WORD}'",
    "a shell with other flags": f'sh -euc "echo {WORD}"',
    "a shell by its path": f"/bin/sh -c 'echo {WORD}'",
    "a shell behind env": f"env A=b bash -c 'echo {WORD}'",
    "eval": f'eval "echo {WORD}"',
    "another host": f'ssh build "make {WORD}"',
    "python": f"python3 -c \"print('{WORD}')\"",
    "node": f"node --eval 'console.log(`{WORD}`)'",
    "a filter's program": f"sed 's/x/{WORD}/'",
    "a heredoc of a shell": f"bash <<EOF\necho {WORD}\nEOF\n",
    "a heredoc of python": f"python3 - <<'EOF'\nprint('{WORD}')\nEOF\n",
    "arithmetic": f"echo $(( {WORD} + 1 ))",
    "quotes in backticks": f"echo `printf '{WORD}'`",
}


def run(script: str, folder: Path) -> str:
    """What the settled script prints, the engine's part done by hand."""
    done = settle(script)
    assert done.refused == []
    made = shell_template(done.script)
    env = {**os.environ, **dict.fromkeys(done.env, VALUE)}
    env |= {f"PIXIRNB_REF_{number}": VALUE for number in range(1, len(made.references) + 1)}
    ran = subprocess.run(
        ["sh", "-c", made.script], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    return ran.stdout + ran.stderr


@pytest.mark.parametrize(("script", "before", "behind"), WHOLE.values(), ids=WHOLE.keys())
def test_a_value_arrives_whole_and_nothing_in_it_is_carried_out(
    script: str, before: str, behind: str, tmp_path: Path
) -> None:
    assert run(script, tmp_path) == before + VALUE + behind
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("script", CODE.values(), ids=CODE.keys())
def test_what_something_else_would_read_as_code_is_refused(script: str) -> None:
    done = settle(script)
    assert [text for text, _ in done.refused] == [WORD]


def test_text_that_is_no_template_may_stand_in_code() -> None:
    done = settle("bash -c 'docker inspect --format \"{{ inputs.open_braces }}.Id}}\"'")
    assert done.refused == []


def test_a_variable_of_the_author_keeps_its_name() -> None:
    done = settle(f'STEP_A_OUTPUT=mine; echo "$STEP_A_OUTPUT {WORD}"')
    assert done.env == {"STEP_A_OUTPUT_2": WORD}


def test_one_value_has_one_variable_and_two_values_have_two() -> None:
    done = settle('echo "{{ steps.a-b.output }} {{ steps.a_b.output }} {{ steps.a-b.output }}"')
    assert done.env == {
        "STEP_A_B_OUTPUT": "{{ steps.a-b.output }}",
        "STEP_A_B_OUTPUT_2": "{{ steps.a_b.output }}",
    }


def test_a_script_without_references_stays_as_it_is() -> None:
    script = "echo '$HOME' \"`date`\" $((1+1)) <<'EOF'\n\\ ` $\nEOF\n"
    assert settle(script).script == script


def test_a_command_of_more_references_than_can_be_looked_at_is_refused() -> None:
    done = settle("\n".join(f"echo '{WORD}'" for _ in range(102)))
    assert [place for _, place in done.refused] == ["after 100 others"]
