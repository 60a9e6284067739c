"""What a first user of a notebook stumbled over: a step left out without a reason, an answer that nobody gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.outcome_view import outcome_blocks
from tests.stories.storyline import ended, facts, shell

pytestmark = pytest.mark.story


def test_a_false_when_shows_the_values_it_was_asked_about(tmp_path: Path) -> None:
    big = shell("big", "echo big", "n", when="{{ steps.n.output }} > 3")
    run, outcome = ended(tmp_path, shell("n", "echo 5"), big)

    assert outcome.summary == "1 ready, 1 skipped."
    assert facts(run, "step_held")[0]["held_by"]["seen"] == '"5" (text) > 3'
    sentence = '`big` was skipped: `when` is false: "5" (text) > 3, from {{ steps.n.output }} > 3.'
    assert run.explain("big")[0] == sentence
    assert repr(run["big"]) == "<RunStep big: skipped>"
    assert '`when` is false: "5" (text) > 3' in draw_text(outcome_blocks(outcome.document()))


def test_a_secret_that_a_false_when_has_seen_is_in_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "hunter2hunter2")
    when = "{{ inputs.api_key }} == {{ inputs.plain }}"
    step: dict[str, Any] = shell("a", "echo a", when=when)
    inputs = {"api_key": {"type": "string"}, "plain": {"type": "string"}}
    given = {"api_key": "abcdefgh1234", "plain": "hunter2hunter2"}
    run, _ = ended(tmp_path, step, inputs=inputs, given=given)

    held = json.dumps(facts(run, "step_held"))
    assert "abcdefgh1234" not in held
    assert "hunter2hunter2" not in held
    assert "`when` is false: " in run.explain("a")[0]
