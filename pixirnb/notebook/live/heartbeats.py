"""Signs of life of the steps that run: how long since each did anything, whether it seems stuck, how far it says it is."""

from __future__ import annotations

import re
import time
from typing import Final

from msgspec import Struct

from pixirnb.engine.broadcast import (
    STEP_HEARTBEAT,
    STEP_OUTPUT,
    STEP_PROGRESS,
    STEP_SESSION,
    STEP_STALLED,
    Live,
)
from pixirnb.json_types import PageObject
from pixirnb.views.basics.ansi import render_ansi
from pixirnb.views.basics.sanitize import line
from pixirnb.views.live.tape import Tape

_STIRRED_EVERY_MS: Final = 1_000
"""Interval at which the time of a step's last sign of life is sent again: its age is shown in seconds."""
_LINE_ENDS: Final = re.compile(r"[\r\n]+")
_LONGEST: Final = 400
"""Characters of a printed line that are kept."""
_ALIVE: Final = frozenset({STEP_OUTPUT, STEP_PROGRESS, STEP_SESSION})


class _Sign(Struct):
    attempt: int
    output_ms: int
    """Moment of its last output."""
    alive_ms: int
    """Time of its last sign of life: output, progress, an event of its session."""
    is_stalled: bool = False
    fraction: float | None = None
    note: str = ""
    printed: str = ""
    """The last line that it printed."""
    unended: str = ""
    """The text that it printed after its last line end."""

    def take_printed(self, chunk: str) -> None:
        """Take more of what it prints."""
        lines = _LINE_ENDS.split(self.unended + chunk)
        self.unended = lines[-1][-_LONGEST:]
        last = next((each for each in reversed(lines) if each.strip()), self.printed)
        self.printed = last[-_LONGEST:]


class Heartbeats:
    """Live news between two ticks. Moments are in ms since the run's first event."""

    def __init__(self) -> None:
        self._signs: dict[str, _Sign] = {}
        """By steps and items."""
        self._is_new = False
        self._sent_ms = 0
        self._has_stirred = False

    def take(self, news: Live, tape: Tape) -> None:
        """Take one piece of live news."""
        if tape.slot_of(news.step) < 0:
            return
        now = now_ms(tape)
        sign = self._signs.get(news.step)
        if sign is None or sign.attempt != news.attempt:
            sign = self._signs[news.step] = _Sign(news.attempt, now, now)
            self._is_new = True
        if news.topic in _ALIVE:
            self._is_new = self._is_new or sign.is_stalled
            sign.alive_ms, sign.is_stalled = now, False
            self._has_stirred = True
        match news.topic:
            case topic if topic == STEP_OUTPUT:
                sign.output_ms = now
                sign.take_printed(str(news.data["chunk"]))
            case topic if topic in {STEP_HEARTBEAT, STEP_STALLED}:
                sign.output_ms = now - int(news.data["last_output_age_ms"])
                sign.alive_ms = now - int(news.data["idle_ms"])
                sign.is_stalled = topic == STEP_STALLED or sign.is_stalled
                self._is_new = True
            case topic if topic == STEP_PROGRESS:
                sign.fraction = news.data.get("fraction")
                sign.note = line(news.data.get("message") or "", 120)
                self._is_new = True

    def pulse(self, tape: Tape) -> PageObject | None:
        """Return `{now, steps: {place: sign}}`, if there is news.

        A sign is `[attempt, output_ms, stalled, fraction, note, alive_ms, printed]`.
        """
        gone = [name for name, s in self._signs.items() if _is_over(tape, name, s.attempt)]
        for name in gone:
            del self._signs[name]
        now = now_ms(tape)
        is_due = self._has_stirred and now - self._sent_ms >= _STIRRED_EVERY_MS
        if not (self._is_new or gone or is_due):
            return None
        self._is_new = self._has_stirred = False
        self._sent_ms = now
        signs = self._signs.items()
        return {
            "now": now,
            "steps": {
                str(tape.slot_of(name)): [
                    s.attempt,
                    s.output_ms,
                    s.is_stalled,
                    s.fraction,
                    s.note,
                    s.alive_ms,
                    line(render_ansi(s.printed).text, 120),
                ]
                for name, s in signs
            },
        }


def now_ms(tape: Tape) -> int:
    """Return this moment, in ms since the run's first event; 0 before that."""
    if not tape.began_ms:
        return tape.ms
    # A clock that was set back must not show a run before its own last event.
    return max(tape.ms, round(time.time() * 1000) - tape.began_ms)


def _is_over(tape: Tape, name: str, attempt: int) -> bool:
    state = tape.run.steps.get(name)
    if state is None or state.attempt != attempt:
        return state is None or state.attempt > attempt
    # Output overtakes `step_started`, which waits for the disk.
    return state.stage not in {"scheduled", "running"}
