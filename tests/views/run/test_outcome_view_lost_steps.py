"""After a death nothing runs: a step that was in flight does not look as if it still ran."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.run.outcome_view import outcome_blocks
from pixirnb.views.run.run_rows import run_list_blocks
from tests.views.pictures import opened
from tests.views.view_samples import run_row


def outcome(status: str) -> Any:
    step = {"kind": "shell", "checkpoint_status": None, "attempt": 1, "wave": 0}
    return {
        "ok": False,
        "run_id": "r-1",
        "workflow": "w",
        "status": status,
        "reasons": [],
        "steps": [{**step, "step_id": "train", "subagent_status": "running"}],
        "summary": "",
        "counts": {"running": 1},
    }


@pytest.mark.parametrize(
    ("status", "said"), [("interrupted", "was running"), ("running", "running")]
)
def test_a_step_runs_only_while_its_run_does(status: str, said: str) -> None:
    shown = mimebundle(outcome_blocks(outcome(status), []))
    runs = mimebundle(run_list_blocks([run_row(status=status, counts={"running": 1})]))
    assert f"train  {said}" in shown["text/plain"]
    assert f"1 {said}" in runs["text/plain"]
    for bundle in (shown, runs):
        painted = re.sub(r"<style>.*?</style>", "", opened(bundle["text/html"]))
        assert ("pixirnb-live" in painted) is (status == "running")
