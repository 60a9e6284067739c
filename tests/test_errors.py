"""What is said of an error can stand alone, and in the middle of a text."""

from __future__ import annotations

import pytest

from pixirnb.errors import Cannot, sentence


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
    assert Cannot("it is full", fix="make room").sentences() == "It is full. Make room."
    assert Cannot("It is full.").sentences() == "It is full."
