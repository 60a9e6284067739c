"""A narrow terminal loses nothing: ids and commands stay whole, and what has no room stands below."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.cli.render import Screen
from pixirnb.verbs.answers import Answer
from pixirnb.verbs.run_answers import outcome_answer
from tests.verbs.command import written

FLOW = """name: narrow-terminal
steps:
  - {id: gate, ask: {question: "Ship it to every region at once, or to one of them first?"}}
  - {id: compile-everything, run: "exit 3", posture: read_only}
"""
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(answer: Answer) -> str:
    """The answer as a terminal shows it."""
    out = _Terminal()
    Screen(is_json=False, out=out).answer(answer)
    return out.getvalue()


@pytest.mark.parametrize("columns", [40, 60, 72, 80, 200])
@pytest.mark.parametrize("no_color", ["", "1"])
def test_ids_and_commands_are_never_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int, no_color: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm")
    run = api.start(written(tmp_path, FLOW), name="nightly-of-main", tags=["ci", "weekly-report"])
    run.wait(60)
    answer = outcome_answer(run)
    shown = drawn(answer)
    assert ("\x1b" in shown) == (not no_color)
    plain = _ESCAPES.sub("", shown)
    for action in run.outcome.next_actions:
        assert action["command"] in plain
    assert "…" not in plain
    listed = _ESCAPES.sub("", drawn(Answer("runs", {"runs": api.runs()})))
    for words in (run.id, "narrow-terminal", "nightly-of-main", "ci, weekly-report"):
        assert words in listed
    assert "…" not in listed


def test_a_terminal_without_colors_has_the_lines_of_one_with_colors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("TERM", "xterm")
    run = api.start(written(tmp_path, FLOW), state=tmp_path / "state")
    run.wait(60)
    monkeypatch.delenv("NO_COLOR", raising=False)
    painted = drawn(outcome_answer(run))
    monkeypatch.setenv("NO_COLOR", "1")
    assert drawn(outcome_answer(run)) == _ESCAPES.sub("", painted)
