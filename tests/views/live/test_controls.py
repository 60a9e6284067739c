"""The head of a live view: what it says beside the counts of statuses."""

from __future__ import annotations

import pytest

from pixirnb.history.run_state import fold
from pixirnb.machine.outcome import outcome
from pixirnb.testing.generators.histories import Rehearsal, plan_of
from pixirnb.views.live.controls import heading

SPEC = "name: w\nsteps: [{id: made, run: make}, {id: sent, run: send, depends_on: [made]}]\n"


@pytest.mark.parametrize(("has_owner", "has_note"), [(True, False), (False, True)])
def test_the_head_says_whether_its_sentence_is_more_than_the_counts(
    has_owner: bool, has_note: bool
) -> None:
    play = Rehearsal(plan_of(SPEC)).begin()
    document = outcome(play.plan, fold(play.events), is_live=has_owner).document()
    head = heading(document, live="", now_ms=0)
    assert head["has_note"] is has_note
    assert ("died" in head["sentence"]) is has_note
