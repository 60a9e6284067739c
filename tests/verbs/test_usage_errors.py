"""A line that names no verb, or that its verb cannot take, is refused with the argument that is wrong and the fix."""

from __future__ import annotations

import pytest

from pixirnb.errors import InvalidArguments
from pixirnb.verbs.answers import Desk
from pixirnb.verbs.app import app, perform


@pytest.mark.parametrize(
    ("line", "message", "fix"),
    [
        ("run", "missing argument FILE", "usage: pixirnb run FILE [STEP…]"),
        ("resume", "missing argument RUN", "usage: pixirnb resume RUN"),
        ("decide r-1", "missing argument STEP", "usage: pixirnb decide RUN STEP VERDICT"),
        ("run x.yaml --input", "`--input` needs a value", "usage: pixirnb run FILE [STEP…]"),
        ("show a b c", "unexpected argument `c`", "usage: pixirnb show [RUN] [STEP]"),
        ("frob", "unknown verb `frob`", "see `pixirnb --help`"),
        ("--state x runs", "`--state` before the verb", "write `pixirnb VERB --state`"),
        ("pln", "unknown verb `pln`", "did you mean `plan`?"),
        ("rum st", "unknown verb `rum`", "did you mean `run`?"),
        ("resume --run @last", "unknown option `--run`", "usage: pixirnb resume RUN"),
        ("decide --step g", "unknown option `--step`", "usage: pixirnb decide RUN STEP VERDICT"),
        (
            "checkpoint @last --name x",
            "unknown option `--name`",
            "usage: pixirnb checkpoint RUN NAME",
        ),
        ("stop", "unknown verb `stop`", "did you mean `cancel`?"),
        ("events --tail", "unknown option `--tail`", "did you mean `--follow`?"),
        ("runs --last", "unknown option `--last`", "see `pixirnb runs --help`"),
        ("plan x --quiet", "unknown option `--quiet`", "see `pixirnb plan --help`"),
        ("run x.yaml --dry", "unknown option `--dry`", "did you mean `--dry-run`?"),
        (
            "run x.yaml --t",
            "unknown option `--t`",
            "did you mean `--tag` or `--tail` or `--take-over`?",
        ),
        ("run x.yaml --dri-run", "unknown option `--dri-run`", "did you mean `--dry-run`?"),
        (
            "runs --limit x",
            "`--limit` must be a whole number, got `x`",
            "see `pixirnb runs --help`",
        ),
        (
            "mcp --permission all",
            "`--permission` must be one of read_only, ask, auto, got `all`",
            "see `pixirnb mcp --help`",
        ),
    ],
)
def test_a_refused_line_names_the_argument_and_the_fix(line: str, message: str, fix: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        perform(Desk(), line.split())
    assert (caught.value.message, caught.value.fix) == (message, fix)


def test_the_fix_calls_the_verbs_as_the_surface_does() -> None:
    with pytest.raises(InvalidArguments) as caught:
        perform(Desk(), ["frob"], name="%pixir")
    assert caught.value.fix == "see `%pixir --help`"


def test_an_option_of_a_cell_is_suggested_in_a_cell() -> None:
    with pytest.raises(InvalidArguments) as caught:
        perform(Desk(), ["run", "x.yaml", "--wiat"], name="%pixir")
    assert (caught.value.message, caught.value.fix) == (
        "unknown option `--wiat`",
        "did you mean `--wait`?",
    )


def test_no_argument_of_a_verb_can_be_written_as_an_option() -> None:
    for name in app:
        if name.startswith("-"):
            continue
        for argument in app[name].assemble_argument_collection():
            names = [each for each in argument.names if each.startswith("-")]
            assert not (argument.field_info.is_positional and names), (name, names)


def test_exit_codes_of_a_help_page_have_a_line_each_that_a_narrow_terminal_holds() -> None:
    for verb in ("run", "plan", "smoke", "merge", "show"):
        codes = str(app[verb].help_epilogue).partition("Exit codes:\n")[2].splitlines()
        assert len(codes) >= 1
        assert all(row.startswith("  ") and row.split()[0].isdigit() for row in codes)
        assert max(map(len, codes)) <= 50
