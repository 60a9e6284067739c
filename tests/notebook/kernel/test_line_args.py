"""The words of a magic's line."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.error import UsageError

from pixirnb.notebook.kernel.line_args import WaitOptions, take_wait_options, words

NAMES: dict[str, Any] = {"run": SimpleNamespace(id="r-1"), "n": 3, "text": "two words"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("show {run.id} a", ["show", "r-1", "a"]),
        ("run x --input n=$n", ["run", "x", "--input", "n=3"]),
        ("run x --input t={text}", ["run", "x", "--input", "t=two words"]),
        ("run 'a b.yaml'", ["run", "a b.yaml"]),
        ("""run x --input o='{"a": 1}'""", ["run", "x", "--input", 'o={"a": 1}']),
        (
            """decide r s accept --value '{"n": 1}'""",
            ["decide", "r", "s", "accept", "--value", '{"n": 1}'],
        ),
        ("run x --input t=$$nope", ["run", "x", "--input", "t=$nope"]),
        ("run x --input t={{nope}}", ["run", "x", "--input", "t={nope}"]),
        (
            "decide r s accept --note 'see {nope} of it'",
            ["decide", "r", "s", "accept", "--note", "see {nope} of it"],
        ),
    ],
)
def test_values_of_the_notebook_stand_in_a_line_and_json_is_left_alone(
    line: str, expected: list[str]
) -> None:
    assert words(line, NAMES) == expected


def test_an_open_quote_is_a_mistake_in_the_line() -> None:
    with pytest.raises(UsageError, match="quotation"):
        words("run 'x", NAMES)


def test_what_says_to_stay_is_taken_out_of_the_verbs_words() -> None:
    options, rest = take_wait_options(
        ["run", "x", "--wait", "--expect", "partial,failed", "--as", "r", "--awaited", "--tail"]
    )
    assert options == WaitOptions(
        is_waiting=True, is_awaited=True, expect=("partial", "failed"), variable="r"
    )
    assert rest == ["run", "x", "--tail"]


@pytest.mark.parametrize(
    "line",
    [
        "run x --wait --expect done",
        "run x --expect partial",
        "run x --as 1a",
        "run x --as class",
        "run x --as",
        "runs --wait",
        "show r-1 --as r",
    ],
)
def test_staying_asked_wrongly_is_refused(line: str) -> None:
    with pytest.raises(UsageError):
        take_wait_options(line.split())
