"""What a view hears of its run: everything once, in order; and its clock before there is anything to hear."""

from __future__ import annotations

from pathlib import Path

import pixirnb
from pixirnb.history.events import Event
from pixirnb.notebook.live.event_source import Source
from pixirnb.notebook.live.heartbeats import now_ms
from pixirnb.notebook.live.session_followers import Transcripts
from pixirnb.views.live.tape import Tape


def test_who_joins_a_run_hears_its_past_before_its_next_event(tmp_path: Path) -> None:
    steps = [{"id": f"s{n}", "call": "builtins:dict", "posture": "read_only"} for n in range(150)]
    workflow = {"name": "w", "max_concurrency": 8, "steps": steps}
    run = pixirnb.start(workflow, state=tmp_path)

    # One view after another, each joining while the loop tells more.
    views: list[Source] = []
    while run.is_live_here:
        views.append(Source(run, Transcripts().join))
    run.wait()

    told = [event.seq for event in run.history()]
    for view in views:
        heard = [news.seq for news in view.poll() if isinstance(news, Event)]
        assert heard == told


def test_before_the_first_event_a_view_stands_at_zero(tmp_path: Path) -> None:
    run = pixirnb.start({"name": "w", "steps": [{"id": "a", "run": "true"}]}, state=tmp_path)
    run.wait()
    tape = Tape(run.compiled())
    assert now_ms(tape) == 0
    tape.extend(run.history())
    assert now_ms(tape) >= tape.ms
