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
        views.append(Source(run, Transcripts().join, lambda: None))
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


def test_a_view_is_called_for_each_event_but_not_for_live_news(tmp_path: Path) -> None:
    step = {"id": "a", "run": "for n in 1 2 3; do echo $n; sleep 0.1; done", "posture": "read_only"}
    run = pixirnb.start({"name": "w", "steps": [step]}, state=tmp_path)
    calls: list[None] = []
    source = Source(run, Transcripts().join, lambda: calls.append(None))
    known = len(source.poll())
    run.wait()
    news = source.poll()
    assert len(calls) == len(run.history()) - known
    assert len(news) > len(calls), "its output is news too"
