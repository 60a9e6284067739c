"""A message can stand alone as a sentence, and an error on one line with its fix."""

from __future__ import annotations

import pytest

from pixirnb.errors import Cannot, InvalidSpec, Problem, sentence


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("the disk is full", "The disk is full."),
        ("Nothing was changed.", "Nothing was changed."),
        ("r-2026 is held", "r-2026 is held."),
        ("`a` is gone!", "`a` is gone!"),
    ],
)
def test_a_message_is_a_sentence_where_a_text_goes_on(text: str, whole: str) -> None:
    assert sentence(text) == whole


def test_an_error_says_what_happened_and_what_to_do() -> None:
    assert Cannot("the disk is full", fix="make room").one_line() == "the disk is full; make room"
    assert Cannot("the disk is full").one_line() == "the disk is full"


def test_a_workflow_of_a_thousand_mistakes_is_a_text_that_can_be_read() -> None:
    problems = tuple(Problem("empty", f"steps[{n}].task", "is empty", line=n) for n in range(1_000))
    lines = str(InvalidSpec("workflow: 1,000 errors", problems=problems)).splitlines()
    assert len(lines) == 52
    assert lines[-1] == "  and 950 more"
