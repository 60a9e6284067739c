"""The answer to what a panel asks of an agent's session: whose it is, how its turn stands, and the entries that are wanted."""

from __future__ import annotations

from pixirnb.history.step_state import StepState
from pixirnb.ids import attempt_name
from pixirnb.json_types import PageObject
from pixirnb.notebook.live.session_followers import Transcripts
from pixirnb.notebook.live.snapshots import RunSnapshot
from pixirnb.views.basics.sanitize import line
from pixirnb.views.session.entries import PAGE, Dialogue


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
    """A page of the conversation of an attempt, of the last one that has a session where none is named.

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
    """Attempts that had begun at that moment and have a session, oldest first."""
    sessions = [name.rpartition(".") for name in seen.run.store.session_ids(seen.run.id)]
    return sorted(int(n) for whose, _, n in sessions if whose == step and int(n) <= state.attempt)
