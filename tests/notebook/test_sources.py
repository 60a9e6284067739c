"""What a view hears of its run: everything once, in order; and its clock before there is anything to hear."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pixirnb
from pixirnb.engine.broadcast import Broadcast, News
from pixirnb.handle import Run
from pixirnb.history.events import Event
from pixirnb.notebook.pulses import now_ms
from pixirnb.notebook.sources import Source
from pixirnb.views.tape import Tape


class HastyLoop:
    """A loop that tells its next event as soon as it has answered, before the one who asked can move."""

    def __init__(self, told: list[Event], coming: Event) -> None:
        self.durable = told
        self.broadcast = Broadcast()
        self.ended = threading.Event()
        self.attempts: dict[str, Any] = {}
        self._coming = coming

    def ask(self, question: Callable[[Any], Any]) -> Any:
        answer = question(self)
        self.durable.append(self._coming)
        self.broadcast.publish([self._coming])
        return answer


def test_who_joins_a_run_hears_its_past_before_its_next_event(tmp_path: Path) -> None:
    finished = pixirnb.start({"name": "w", "steps": [{"id": "a", "run": "true"}]}, state=tmp_path)
    finished.wait()
    first, second, third, *_ = finished.history()
    hasty = SimpleNamespace(
        id=finished.id, store=finished.store, live=HastyLoop([first, second], third)
    )

    source = Source(cast(Run, hasty))

    heard: list[News] = source.poll()
    assert heard == [first, second, third]


def test_before_the_first_event_a_view_stands_at_zero(tmp_path: Path) -> None:
    run = pixirnb.start({"name": "w", "steps": [{"id": "a", "run": "true"}]}, state=tmp_path)
    run.wait()
    tape = Tape(run.compiled())
    assert now_ms(tape) == 0
    tape.extend(run.history())
    assert now_ms(tape) >= tape.ms
