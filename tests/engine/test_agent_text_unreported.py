"""What an agent printed is kept as cut off only where no message came for it, whichever of the two was read first."""

from __future__ import annotations

import pytest

from pixirnb.engine.agent_text import LIMIT, UnreportedText

CASES = {
    "printed, then told": ([("hear", "one\n"), ("on_message", "one"), ("hear", "tw")], "tw"),
    "told, then printed": ([("on_message", "one"), ("hear", "one"), ("hear", "\ntw")], "\ntw"),
    "told in the middle of it": (
        [("hear", "on"), ("on_message", "one"), ("hear", "e\ntw")],
        "\ntw",
    ),
    "printed in crumbs": ([("on_message", "one"), *(("hear", c) for c in "one\ntw")], "\ntw"),
    "the same words again": ([("hear", "one\n"), ("on_message", "one"), ("hear", "one")], "one"),
    "a message nobody printed": ([("on_message", "one"), ("hear", "tw"), ("hear", "o")], "two"),
    "a partial one": ([("hear", "It wor"), ("on_message", "It wor"), ("hear", "\n")], "\n"),
    "after the newline of the last": (
        [("hear", "\ntw"), ("on_message", "two"), ("hear", "o\n")],
        "\n",
    ),
    "printed on before it was told": (
        [("hear", "one\ntw"), ("on_message", "one"), ("hear", "o")],
        "two",
    ),
    "nothing at all": ([], ""),
}


@pytest.mark.parametrize(("events", "left"), CASES.values(), ids=CASES)
def test_what_is_left_over_is_what_no_message_came_for(
    events: list[tuple[str, str]], left: str
) -> None:
    loose = UnreportedText()
    for how, text in events:
        if how == "hear":
            loose.hear(text)
        else:
            loose.on_message(text)
    assert loose.text == left


def test_no_more_than_the_end_is_kept() -> None:
    loose = UnreportedText()
    for _ in range(3):
        loose.hear("x" * LIMIT)
    loose.hear("end")
    assert len(loose.text) == LIMIT
    assert loose.text.endswith("xend")
