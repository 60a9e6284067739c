"""What an agent printed is kept as cut off only where no message came for it, whichever of the two was read first."""

from __future__ import annotations

import pytest

from pixirnb.engine.agent_text import LIMIT, UnreportedText

CASES = {
    "printed, then told": (
        [("on_output", "one\n"), ("on_message", "one"), ("on_output", "tw")],
        "tw",
    ),
    "told, then printed": (
        [("on_message", "one"), ("on_output", "one"), ("on_output", "\ntw")],
        "\ntw",
    ),
    "told in the middle of it": (
        [("on_output", "on"), ("on_message", "one"), ("on_output", "e\ntw")],
        "\ntw",
    ),
    "printed in crumbs": ([("on_message", "one"), *(("on_output", c) for c in "one\ntw")], "\ntw"),
    "the same words again": (
        [("on_output", "one\n"), ("on_message", "one"), ("on_output", "one")],
        "one",
    ),
    "a message nobody printed": (
        [("on_message", "one"), ("on_output", "tw"), ("on_output", "o")],
        "two",
    ),
    "a partial one": (
        [("on_output", "It wor"), ("on_message", "It wor"), ("on_output", "\n")],
        "\n",
    ),
    "after the newline of the last": (
        [("on_output", "\ntw"), ("on_message", "two"), ("on_output", "o\n")],
        "\n",
    ),
    "printed on before it was told": (
        [("on_output", "one\ntw"), ("on_message", "one"), ("on_output", "o")],
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
        if how == "on_output":
            loose.on_output(text)
        else:
            loose.on_message(text)
    assert loose.text == left


def test_no_more_than_the_end_is_kept() -> None:
    loose = UnreportedText()
    for _ in range(3):
        loose.on_output("x" * LIMIT)
    loose.on_output("end")
    assert len(loose.text) == LIMIT
    assert loose.text.endswith("xend")
