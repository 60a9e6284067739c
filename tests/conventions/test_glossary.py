"""The glossary says what the code says: one word for one thing, and every status there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from pixirnb.history.events import CheckpointStatus, RunStatus, SubagentStatus
from pixirnb.spec.steps import StepKind

PAGE = (Path(__file__).parents[2] / "docs" / "internals" / "glossary.md").read_text(
    encoding="utf-8"
)
ROWS = re.findall(r"^\| \*\*(.+?)\*\* \| (.+?) \| ?(.*?) ?\|$", PAGE, re.MULTILINE)


def statuses(of: str) -> set[str]:
    """The words in backticks of the first sentence about the statuses of something."""
    line = next(line for line in PAGE.splitlines() if line.startswith(f"Statuses of a {of}:"))
    return set(re.findall(r"`(\w+)`", line.split(". ")[0]))


def test_it_has_a_row_for_every_line_of_its_table() -> None:
    assert len(ROWS) == PAGE.count("\n| **") > 40


def test_every_status_of_a_run_is_named() -> None:
    assert statuses("run") == set(get_args(RunStatus))


def test_every_status_of_a_step_is_named() -> None:
    assert statuses("step") == set(get_args(CheckpointStatus))


def test_every_raw_status_of_an_attempt_is_in_the_json_reference() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reference" / "json.md").read_text("utf-8")
    assert " ".join(get_args(SubagentStatus)) in text


def test_every_kind_of_step_is_named() -> None:
    meaning = next(means for word, means, _ in ROWS if word == "step")
    assert [kind for kind in get_args(StepKind) if kind not in meaning] == []


def test_no_word_stands_twice() -> None:
    words = [word for row, _, _ in ROWS for word in row.split(", ")]
    assert len(words) == len(set(words))
