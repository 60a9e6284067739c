"""Child sessions as a view reads them: their logs, followed as they grow, and the words that are on the way to them.

    step:session, step:output ──▶ on_news ──▶ stirred(): steps whose session has more to show than was sent
    a browser's question      ──▶ dialogue ──▶ the conversation, or the part of it that is new

What is shown of a session is on disk; only the words of a message that is not yet whole come from the run's loop, and those are
known only where this kernel drives the run.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from pixirnb.engine.agent_text import UnreportedText
from pixirnb.engine.broadcast import STEP_OUTPUT, STEP_SESSION, Live
from pixirnb.errors import LogDamaged, StateUnusable
from pixirnb.history.events import Event
from pixirnb.history.step_state import StepState
from pixirnb.ids import attempt_name
from pixirnb.json_types import PageObject
from pixirnb.notebook.live.snapshots import RunSnapshot
from pixirnb.operations.run import Run
from pixirnb.store.log_follower import LogFollower
from pixirnb.views.basics.sanitize import line, plain
from pixirnb.views.session.entries import PAGE, Dialogue

WORDS: Final = 16_000
"""Characters of a message on its way that are shown: the last ones."""
_FOLLOWED: Final = 8
"""Sessions whose conversation is kept between two questions."""
_HEARD: Final = 256
_STIR_S: Final = 0.25
"""Minimum interval between news to a browser that a session has more; the engine writes a session as often."""


class _Followed(Struct):
    """One session that was asked about."""

    follower: LogFollower
    dialogue: Dialogue = field(default_factory=Dialogue)
    events: list[Event] = field(default_factory=list)
    damage: str = ""
    stirred_at: float = 0.0


class _Heard(Struct):
    """News of a session from the loop."""

    seq: int = 0
    loose: UnreportedText = field(default_factory=UnreportedText)
    answered: tuple[int, int] = (0, 0)
    """Its `seq`, and the number of characters heard, at the last answer to a browser."""
    characters: int = 0


class Transcripts:
    """The sessions of one run. `on_news` is called by the thread that ticks, the rest by the one that answers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._followed: OrderedDict[str, _Followed] = OrderedDict()
        self._heard: OrderedDict[str, _Heard] = OrderedDict()

    def join(self, texts: Mapping[str, str]) -> None:
        """Take the unreported text of agents before the first news, by the names of their sessions."""
        with self._lock:
            for name, words in texts.items():
                heard = self._of(name)
                heard.characters += len(words)
                heard.loose = UnreportedText()
                heard.loose.on_output(words)

    def on_news(self, news: Live) -> None:
        """Take one piece of live news."""
        if news.topic == STEP_OUTPUT:
            if news.data.get("stream") == "stdout":
                self._on_text(news)
        elif news.topic == STEP_SESSION:
            with self._lock:
                heard = self._of(attempt_name(news.step, news.attempt))
                heard.seq = int(news.data["seq"])
                if news.data["kind"] == "assistant_message":
                    heard.loose.on_message(str(news.data["data"].get("text", "")))

    def stirred(self) -> list[str]:
        """Return the names of sessions that a browser follows, and that have more to show than it was sent."""
        now, names = time.monotonic(), []
        with self._lock:
            for name, followed in self._followed.items():
                heard = self._heard.get(name)
                if heard is None or heard.answered == (heard.seq, heard.characters):
                    continue
                if now - followed.stirred_at >= _STIR_S:
                    followed.stirred_at = now
                    names.append(name)
        return names

    def dialogue(self, run: Run, name: str, until: str | None = None) -> tuple[Dialogue, str]:
        """Return the conversation of a session, and what is wrong with its log; `until`: as it stood at that time.

        Raises UnknownRun (`unknown_session`), StateUnusable.
        """
        with self._lock:
            followed = self._followed.pop(name, None)
        if followed is None:
            followed = _Followed(run.store.follow_session(run.id, name))
        try:
            while events := followed.follower.poll():
                followed.events += events
                for event in events:
                    followed.dialogue.take(event)
        except LogDamaged as damage:
            followed.damage = damage.message
        except StateUnusable:
            if not followed.events:
                raise  # else its folder is gone since, and what was read stays to be seen
        with self._lock:
            self._followed[name] = followed
            while len(self._followed) > _FOLLOWED:
                self._followed.popitem(last=False)
            heard = self._heard.get(name)
            if heard is not None and until is None:
                # What was told and is not on disk yet stays to be told.
                heard.answered = (min(heard.seq, followed.dialogue.seq), heard.characters)
        if until is None:
            return followed.dialogue, followed.damage
        return _as_it_stood(followed.events, until), ""

    def saying(self, name: str) -> PageObject | None:
        """Return `{text, cut}`: what an agent has said since its last whole message; None where nothing is known."""
        with self._lock:
            heard = self._heard.get(name)
            words = "" if heard is None else heard.loose.text.strip("\n")
        if not words.strip():
            return None
        return {"text": plain(words[-WORDS:], 2 * WORDS), "is_cut": len(words) > WORDS}

    def _on_text(self, news: Live) -> None:
        chunk = str(news.data.get("chunk", ""))
        with self._lock:
            heard = self._heard.get(attempt_name(news.step, news.attempt))
            if heard is None:
                return  # not an agent's: its session is told of before it says anything, or was joined
            heard.characters += len(chunk)
            heard.loose.on_output(chunk)

    def _of(self, name: str) -> _Heard:
        heard = self._heard.get(name)
        if heard is None:
            heard = self._heard[name] = _Heard()
            while len(self._heard) > _HEARD:
                self._heard.popitem(last=False)
        return heard


def _as_it_stood(events: Sequence[Event], until: str) -> Dialogue:
    """Return a session as it stood at a moment of the run's log, by the times in both: the same process wrote them."""
    dialogue = Dialogue()
    for event in events:
        if event.at > until:
            break
        dialogue.take(event)
    return dialogue


def conversation(
    seen: RunSnapshot,
    transcripts: Transcripts,
    step: str,
    attempt: int | None,
    *,
    since: int = 0,
    before: int | None = None,
    limit: int = PAGE,
) -> PageObject:
    """Return a page of the conversation of an attempt, of the last one that has a session where none is named.

    Raises InvalidArguments for a step there is none of, UnknownRun (`unknown_session`) for an attempt without a session.
    """
    seen.plan_with(step)
    state = seen.moment.run.steps.get(step) or StepState()
    attempts = _attempts(seen, step, state)
    if attempt is None and not attempts:
        return _document(step, state.attempt, attempts, Dialogue().page(), Dialogue())
    number = attempts[-1] if attempt is None else attempt
    name = attempt_name(step, number)
    is_open = number == state.attempt and state.stage in {"scheduled", "running"}
    is_past = seen.moment.is_past and is_open
    until = seen.events[seen.moment.run.seq - 1].at if is_past else None
    talk, damage = transcripts.dialogue(seen.run, name, until)
    is_running = is_open and seen.is_live and not seen.moment.is_past
    sentence = ""
    if damage:
        sentence = f"The session log is damaged; only the part before the damage is shown: {damage}"
    elif is_past:
        sentence = "State at that time (by the times in both logs)."
    elif not is_running and talk.state.turn == "running":
        sentence = "The process of the run ended before it closed this session; a resume closes it."
    page = talk.page(since=since, before=before, limit=limit)
    answer = _document(step, number, attempts, page, talk)
    return {
        **answer,
        "session_id": name,
        "is_running": is_running,
        "sentence": line(sentence, 600),
        "saying": transcripts.saying(name) if is_running else None,
    }


def _document(
    step: str, attempt: int, attempts: list[int], page: PageObject, talk: Dialogue
) -> PageObject:
    return {
        "step": step,
        "attempt": attempt,
        "attempts": attempts,
        "session_id": None,
        "is_running": False,
        "sentence": "",
        "saying": None,
        **talk.about(),
        **page,
    }


def _attempts(seen: RunSnapshot, step: str, state: StepState) -> list[int]:
    """Return the attempts that had begun at that moment and have a session, oldest first."""
    sessions = [name.rpartition(".") for name in seen.run.store.session_ids(seen.run.id)]
    return sorted(int(n) for whose, _, n in sessions if whose == step and int(n) <= state.attempt)
