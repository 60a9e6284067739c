"""A picture of a run that was live says so: a saved file must not look as if it knew the end."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.exports import page
from pixirnb.views.run.outcome_view import outcome_blocks
from tests.views.view_samples import RUN, outcome, release, step

STOOD = "Snapshot; follow it with"
LIVE: dict[str, Any] = {"design": {"status": None, "subagent_status": "running"}}
SAMPLES = {
    "small": outcome("running", [step("a"), step("b", "shell", None, subagent_status="running")]),
    "large": release("running", LIVE),
}


@pytest.mark.parametrize("name", list(SAMPLES))
def test_a_live_run_is_shown_with_the_cell_that_follows_it(name: str) -> None:
    found = mimebundle(outcome_blocks(SAMPLES[name]))
    assert found["text/plain"].split("\n")[2].strip() == f"{STOOD}: %pixir watch {RUN}"
    assert found["text/html"].count(STOOD) == 1
    assert f"<code>%pixir watch {RUN}</code>" in found["text/html"]
    assert STOOD in page(SAMPLES[name], [])


def test_a_terminal_is_told_the_command_instead() -> None:
    told = draw_text(outcome_blocks(SAMPLES["small"], command="pixirnb"))
    assert f"pixirnb watch {RUN}" in told
    assert "%pixir" not in told


@pytest.mark.parametrize("status", ["completed", "partial", "failed", "interrupted", "odd", None])
def test_a_run_at_rest_says_nothing_of_the_kind(status: Any) -> None:
    found = mimebundle(outcome_blocks(outcome(status, [step("a")])))
    assert not any(STOOD in shown for shown in found.values())
