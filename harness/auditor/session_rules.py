"""§7 of the contract: what a run's log says of its agents' sessions, and who allowed them what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from harness.auditor.breaches import Finding
from harness.auditor.facts import Fact
from harness.auditor.record import Record
from harness.auditor.standing import BY_WORD, CONFLICT, Standing
from pixirnb.history.codec import decode_data, decode_lines

_ENDS: Final = {
    "completed": "finished", "failed": "failed", "timed_out": "timed_out",
    "interrupted": "interrupted", "cancelled": "cancelled", "detached": "detached",
}  # fmt: skip
_ASKED: Final = "permission_requested"
_DECIDED: Final = "permission_decided"
_READING: Final = frozenset({"acp:read", "acp:search", "acp:think", "acp:fetch"})
"""What every mode lets an agent do."""
_AGENT: Final = "agent "
"""How the word of an agent is signed."""


def _told(record: Record, *events: str) -> Iterator[Fact]:
    """Every `subagent_event` of the log that is one of these."""
    for fact in record.facts:
        if fact.kind == "subagent_event" and fact.data["event"] in events:
            yield fact


def _ends(record: Record) -> dict[str, list[Fact]]:
    """How each session is said to have ended."""
    found: dict[str, list[Fact]] = {}
    for fact in _told(record, *_ENDS.values()):
        found.setdefault(fact.data["session_id"], []).append(fact)
    return found


def _junction(record: Record) -> int:
    """Place up to which the log is another run's history; 0 where it is none."""
    forks = [fact.place for fact in record.facts if fact.kind == "run_forked"]
    return max(forks, default=0)


def session_end_told(record: Record) -> Iterator[Finding]:
    """How a session ended is said once, and by the time its attempt has ended."""
    ends = _ends(record)
    for _, fact in record.of("attempt_ended"):
        session = fact.data.get("session_id")
        if session is None:
            continue
        if not any(end.place < fact.place for end in ends.get(session, ())):
            yield fact.seq, fact.step, f"Nothing says how the session {session} ended."
    for session, facts in ends.items():
        for again in facts[1:]:
            yield again.seq, again.step, f"The session {session} had ended before."


def session_end_agrees(record: Record) -> Iterator[Finding]:
    """A session ended as its attempt did; one that finished may have failed by what came after it."""
    attempts = {(each.step, each.number): each.ended for each in record.attempts}
    for facts in _ends(record).values():
        for fact in facts:
            event = fact.data["event"]
            ended = attempts.get((str(fact.step), fact.data["attempt"]))
            if ended is None:
                continue
            due = _ENDS.get(ended.data["status"])
            if event not in {"finished", due} or (due == "finished" and event != due):
                told = f"The session {event}; its attempt is {ended.data['status']}."
                yield fact.seq, fact.step, told


def readiness_by_turn(record: Record) -> Iterator[Finding]:
    """No session finished, and no step is ready by an attempt of its agent, without a completed turn."""
    ends = _ends(record)
    for facts in ends.values():
        for fact in facts:
            event, turn = fact.data["event"], fact.data.get("turn")
            if event == "finished" and turn != "completed":
                yield fact.seq, fact.step, f"It finished, and its turn is {turn}."
    for _, fact in record.of("checkpoint_decided"):
        if fact.data["status"] != "checkpoint_ready" or fact.data.get("reused"):
            continue
        stood = record.standing(fact.data["step"], fact.place)
        session = (stood.ended or {}).get("session_id")
        if session is None or stood.decision is not None or session not in ends:
            continue
        turn = ends[session][-1].data.get("turn")
        if turn != "completed":
            yield fact.seq, fact.step, f"It became ready, and the turn of {session} is {turn}."


def permission_by_person(record: Record) -> Iterator[Finding]:
    """What an agent asks to be allowed is answered once, after it was asked, and by no agent."""
    asked: dict[str, Fact] = {}
    answered: set[str] = set()
    for fact in _told(record, _ASKED, _DECIDED):
        request = str(fact.data.get("request_id"))
        if fact.data["event"] == _ASKED:
            if request in asked:
                yield fact.seq, fact.step, f"{request} was asked before."
            asked.setdefault(request, fact)
            continue
        by = fact.data.get("by")
        if request not in asked:
            yield fact.seq, fact.step, f"{request} was answered, and nobody had asked."
        elif request in answered:
            yield fact.seq, fact.step, f"{request} was answered before."
        elif fact.data.get("verdict") not in {"allow", "deny"}:
            yield fact.seq, fact.step, f"{fact.data.get('verdict')!r} is no answer to {request}."
        elif not isinstance(by, str) or not by or by == fact.data["session_id"] or _is_agent(by):
            yield fact.seq, fact.step, f"{request} was answered by {by!r}, which is no person."
        answered.add(request)


def word_of_no_step(record: Record) -> Iterator[Finding]:
    """A request that a step's process may have left decides, allows, resolves and merges nothing."""
    forged = {seen.detail for seen in record.sightings if seen.what == "forged"}
    for fact in record.facts:
        if fact.kind == "checkpoint_saved":
            continue  # a place to resume from may be marked by anybody
        words = {fact.data.get("request"), fact.data.get("request_id")}
        if any(isinstance(word, str) and word in forged for word in words):
            yield fact.seq, fact.step, "It followed from a request that a step may have left."


def _is_agent(by: str) -> bool:
    return by.startswith(_AGENT)


def parked_goes_on_by_leave(record: Record) -> Iterator[Finding]:
    """A step that waits for leave, or a conflict's solution, begins again only once it has it, at no cost to its retries."""
    for _, fact in record.of("retry_planned"):
        if fact.data["retry_class"] not in BY_WORD:
            continue
        stood = record.standing(fact.data["step"], fact.place)
        is_over_files = fact.data["retry_class"] == CONFLICT
        has_leave = _is_to_try_again(stood) if is_over_files else stood.is_permitted
        if not has_leave:
            yield fact.seq, fact.step, "It was begun again for a word that nobody gave."
        elif fact.data["delay_ms"] or fact.data["attempt"] != stood.attempt + 1:
            yield fact.seq, fact.step, "It has its permission, and was made to wait or miscounted."


def _is_to_try_again(stood: Standing) -> bool:
    """Whether a person has said that the files it clashed over may be merged now."""
    stood = stood.kept if stood.stage == "idle" and stood.kept is not None else stood
    is_clash = (stood.error or {}).get("kind") == CONFLICT
    is_word = stood.decision is not None and not stood.is_decided
    return is_clash and is_word and (stood.decision or {})["verdict"] == "accept"


def session_log_agrees(record: Record) -> Iterator[Finding]:
    """The log of a session is whole and says what the run's log says of it: how it ended, and what it was allowed."""
    allowed = {
        (fact.data.get("request_id"), fact.step): fact.place
        for fact in _told(record, _DECIDED)
        if fact.data.get("verdict") == "allow"
    }
    since = _junction(record)
    recovered = [fact.place for fact in record.facts if fact.data.get("code") == "log_recovered"]
    begun = {
        f"{each.step}.{each.number}": each.place for each in record.attempts if not each.is_ask
    }
    for session, facts in _ends(record).items():
        data = None if record.sessions is None else record.sessions.get(session)
        if data is None:
            continue
        fact = facts[-1]
        decoded = decode_lines(data)
        if decoded.damage is not None:
            yield fact.seq, fact.step, f"The session {session} is damaged: {decoded.damage.message}"
            continue
        events = [(event.kind, _whole(record, event.data)) for event in decoded.events]
        turn = _turn(events)
        # Of a session that was damaged where a fork copied it from, the copy holds what is sound.
        # Nor could it be read where a blob of it was gone, and came back with a later attempt.
        unread = not fact.data.get("runner") and any("$blob" in e.data for e in decoded.events)
        if fact.place > since and turn != fact.data.get("turn") and not unread:
            told = f"The turn of {session} is {turn}, and is said to be {fact.data.get('turn')}."
            yield fact.seq, fact.step, told
        if any(begun.get(session, 0) < place < fact.place for place in recovered):
            continue  # who allowed it stood in the part of the log that a recovery keeps aside
        reads = {
            said.get("request_id")
            for kind, said in events
            if kind == _ASKED and said.get("tool") in _READING
        }
        for kind, said in events:
            is_leave = kind == _DECIDED and said.get("verdict") == "allow"
            if str(said.get("by")).startswith("mode ") and said.get("request_id") in reads:
                continue
            if is_leave and fact.place > since and not _is_said(allowed, said, fact):
                request = said.get("request_id")
                told = f"{request} counted as allowed, and nobody had said so."
                yield fact.seq, fact.step, told


def _is_said(allowed: dict[tuple[Any, str | None], int], said: dict[str, Any], fact: Fact) -> bool:
    """Whether a person allowed it, or the mode that is written; under `ask` a mode allows what a person did before."""
    by = said.get("by")
    if by == "mode auto":
        return True
    before = [(request, step) for (request, step), place in allowed.items() if place < fact.place]
    if by == "mode ask":
        return any(step == fact.step for _, step in before)
    return (said.get("request_id"), fact.step) in before


def _whole(record: Record, data: dict[str, Any]) -> dict[str, Any]:
    """The data of an event; where it was too large for a line it lies in a blob."""
    digest = data.get("$blob")
    found = record.read_blob(digest) if isinstance(digest, str) else None
    spilled = None if found is None else decode_data(found)
    return data if spilled is None else spilled


def _turn(events: list[tuple[str, dict[str, Any]]]) -> str:
    """How the last turn of a session stands, by its own log."""
    turn: list[tuple[str, dict[str, Any]]] = []
    calls: dict[str, int] = {}
    for kind, data in events:
        if kind == "user_message":
            turn = []
        turn.append((kind, data))
        if kind in {"tool_call", "tool_result"}:
            name = str(data.get("call_id"))
            calls[name] = calls.get(name, 0) + (1 if kind == "tool_call" else -1)
    failed = [data for kind, data in turn if kind == "turn_failed"]
    if failed:
        said = failed[-1].get("terminal_status")
        return said if said in {"partial_failed", "interrupted", "timed_out"} else "failed"
    words = [(kind, data) for kind, data in turn if kind in {"assistant_message", "tool_call"}]
    is_whole = bool(words) and words[-1][0] == "assistant_message"
    is_clean = is_whole and bool(words[-1][1].get("final")) and not words[-1][1].get("partial")
    return "completed" if is_clean and all(count <= 0 for count in calls.values()) else "running"
