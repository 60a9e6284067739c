"""An error on one line: message and fix."""

from __future__ import annotations

from pixirnb.errors import Cannot


def test_an_error_says_what_happened_and_what_to_do() -> None:
    assert Cannot("the disk is full", fix="make room").one_line() == "the disk is full; make room"
    assert Cannot("the disk is full").one_line() == "the disk is full"
