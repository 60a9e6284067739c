"""Where a step stands after some events: the auditor's own fold, one small value for each moment at which something changed.

    idle → under_way → ended → settled, with `retrying` and `asking` on the way

A Standing never changes; what follows from an event is another one. Nothing here judges: what a log says is taken as said.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Literal

CONFLICT: Final = "merge_conflict"
"""Kind of the error, and class of the retry, of a step whose files two sides want otherwise."""
BY_WORD: Final = frozenset({"permission_required", CONFLICT})
"""Classes of retries that a person's word makes possible: no failed attempt is repeated."""

Stage = Literal["idle", "under_way", "ended", "retrying", "asking", "settled"]


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of one step at one moment. Positions count events from 0."""

    stage: Stage = "idle"
    attempt: int = 0
    """The last that was scheduled or asked about."""
    tries: int = 0
    """Attempts scheduled in the present course."""
    status: str | None = None
    """Checkpoint status."""
    subagent: str = "queued"
    digest: str | None = None
    error: dict[str, Any] | None = None
    limitations: tuple[str, ...] = ()
    held_by: dict[str, Any] | None = None
    timeout_ms: int | None = None
    scheduled_at: int = -1
    """Position of the last intent or first question of the attempt; its result is a result of what was given then."""
    settled_at: int = -1
    """Position of the last verdict that was no reuse."""
    is_ask: bool = False
    """The last attempt is a question, asked before anything ran."""
    ended: dict[str, Any] | None = None
    checks: tuple[dict[str, Any], ...] = ()
    captured: dict[str, Any] | None = None
    """What the last attempt changed, where it had folders of its own."""
    brought: dict[str, Any] | None = None
    """What it brought into the user's files, as a merge step."""
    request: dict[str, Any] | None = None
    decision: dict[str, Any] | None = None
    """The first word on the open question."""
    is_decided: bool = False
    """A verdict followed that word."""
    retry: dict[str, Any] | None = None
    retry_at: int = -1
    """Position of the plan of its next attempt."""
    is_undone: bool = False
    """It was a merge, was taken back, and has not begun again."""
    is_permitted: bool = False
    """A person has allowed what it was parked for, and it has not begun again."""
    entry: tuple[str, str] | None = None
    """Action and reason of the present course."""
    is_in_doubt: bool = False
    """It was under way at a death, and nobody has said or done anything about it since."""
    kept: Standing | None = None
    """Worth it had before it was set back, and gets again if it turns out unchanged."""

    @property
    def has_worth(self) -> bool:
        """Whether a resume may reuse it: it is ready, or a person decided it."""
        return self.status == "checkpoint_ready" or self.is_by_word

    @property
    def is_by_word(self) -> bool:
        """Whether a person's word on it stands."""
        return self.decision is not None and (
            self.is_decided or self.stage in {"settled", "asking"}
        )

    @property
    def takes_a_word(self) -> bool:
        """Whether a person may decide it now."""
        if (self.decision is not None and not self.is_decided) or self.is_permitted:
            return False
        if self.stage == "asking":
            return True
        return self.stage == "settled" and self.status in {"partial", "needs_orchestrator"}

    @property
    def is_parked(self) -> bool:
        """Whether it came to rest for want of a permission, and nobody has decided it otherwise."""
        kind = (self.error or {}).get("kind")
        return self.stage == "settled" and kind == "permission_required" and self.decision is None

    @property
    def is_ready(self) -> bool:
        """Whether dependents may build on it."""
        return self.status == "checkpoint_ready" and self.stage == "settled"

    def is_left_by(self, attempt: int, place: int) -> bool:
        """Whether its changes are those of an attempt begun before `place`.

        What a person accepted in the place of a result that was lost has no changes, and an attempt that a damaged log has
        lost shares its number with a later one.
        """
        is_of_it = self.attempt == attempt and self.scheduled_at < place
        return is_of_it and self.captured is not None


NEW = Standing()


def left_out(before: Standing) -> Standing:
    """At the start of a run for which a person named other steps."""
    return replace(before, entry=("hold", "not_selected"))


def resumed(before: Standing, entry: dict[str, Any] | None) -> Standing:
    """At the beginning of a course that plans `entry` for the step."""
    if entry is None:
        return replace(before, tries=0, entry=None)
    planned = (entry["action"], entry["reason"])
    was_held = before.status == "held" and before.stage == "settled"
    if entry["action"] == "reuse" and was_held:
        return replace(
            before,
            stage="idle",
            status=None,
            held_by=None,
            subagent="queued",
            tries=0,
            entry=planned,
        )
    if entry["action"] == "reuse" or (entry["action"] == "hold" and planned[1] != "not_selected"):
        return replace(before, tries=0, entry=planned)
    kept = None
    if planned[1] in {"upstream_changed", "not_selected"} and was_held:
        kept = before.kept
    elif planned[1] in {"upstream_changed", "not_selected"} and before.stage != "idle":
        kept = before if before.has_worth else None
    elif planned[1] in {"upstream_changed", "not_selected", "held"}:
        kept = before.kept
    return Standing(
        attempt=before.attempt,
        scheduled_at=before.scheduled_at,
        settled_at=before.settled_at,
        entry=planned,
        kept=kept,
        is_in_doubt=before.stage == "under_way" or before.is_in_doubt,
    )


def set_back(before: Standing, action: str, reason: str) -> Standing:
    """An item, at the beginning of a course that plans its step again."""
    is_in_doubt = before.stage == "under_way" or before.is_in_doubt
    if is_in_doubt and (action, reason) == ("rerun", "upstream_changed"):
        reason = "in_flight"
    return resumed(before, {"action": action, "reason": reason})


def reused(before: Standing) -> Standing:
    """An item whose list was read again, and which is made of the same things as it was."""
    if before.kept is None:
        return before
    decided = before.kept.decision is not None
    later = replace(before.kept, stage="settled", is_decided=decided, held_by=None)
    return replace(later, entry=before.entry, tries=before.tries, kept=None)


def scheduled(before: Standing, data: dict[str, Any], at: int) -> Standing:
    """An intent to make an attempt."""
    return Standing(
        stage="under_way",
        attempt=data["attempt"],
        tries=before.tries + 1,
        timeout_ms=data["timeout_ms"],
        scheduled_at=at,
        settled_at=before.settled_at,
        entry=before.entry,
    )


def requested(before: Standing, data: dict[str, Any], at: int) -> Standing:
    """A question to a person: one of its own, or about what an attempt left."""
    if data["reason"] not in {"ask", "in_flight"}:
        return replace(before, request=data)
    return Standing(
        stage="asking",
        attempt=data["attempt"],
        tries=before.tries,
        status="needs_orchestrator",
        subagent="not_applicable",
        timeout_ms=data["timeout_ms"],
        scheduled_at=at,
        settled_at=before.settled_at,
        is_ask=True,
        request=data,
        entry=before.entry,
        is_in_doubt=before.is_in_doubt,
    )


def ended(before: Standing, data: dict[str, Any]) -> Standing:
    """An attempt ended, or nobody answered in time."""
    return replace(before, stage="ended", ended=data, subagent=data["status"])


def decided(before: Standing, data: dict[str, Any], at: int) -> Standing:
    """A verdict, or the word that what there was is kept."""
    if data.get("reused"):
        kept = before.kept or before
        return replace(
            kept,
            stage="settled",
            status=data["status"],
            is_decided=kept.decision is not None,
            entry=before.entry,
            tries=before.tries,
            kept=None,
            held_by=None,
        )
    worth = before if before.kept is None or before.stage != "idle" else before.kept
    return replace(
        worth,
        stage="settled",
        entry=before.entry,
        tries=before.tries,
        status=data["status"],
        subagent=data["subagent_status"],
        error=data["error"],
        limitations=tuple(data["limitations"]),
        digest=data["digest"],
        settled_at=at,
        is_decided=worth.decision is not None,
        held_by=None,
        retry=None,
        kept=None,
        is_in_doubt=False,
    )


def retried(before: Standing, data: dict[str, Any], at: int) -> Standing:
    """The plan of another attempt; one that a person's word makes possible costs none of the retries."""
    worth = before if before.stage != "idle" or before.kept is None else before.kept
    again = replace(worth, stage="retrying", retry=data, retry_at=at, entry=before.entry)
    again = replace(again, tries=before.tries, kept=None)
    if data["retry_class"] not in BY_WORD:
        return again
    again = replace(
        again, tries=max(0, before.tries - 1), status=None, request=None, is_permitted=False
    )
    if data["retry_class"] == CONFLICT:
        again = replace(again, decision=None, is_decided=False)
    return again


def taken_back(before: Standing) -> Standing:
    """What a merge step did is undone: it is to be done again."""
    if before.stage not in {"ended", "settled"} and before.kept is None:
        return replace(before, brought=None)
    return Standing(
        attempt=before.attempt,
        scheduled_at=before.scheduled_at,
        settled_at=before.settled_at,
        entry=before.entry,
        tries=before.tries,
        is_undone=True,
    )


def lost_again(before: Standing) -> Standing:
    """What a merge step found merged is so no more: one that was ready, or whose verdict a torn log lacks, is done again."""
    return taken_back(before) if has_result(before) else before


def has_result(stood: Standing) -> bool:
    """Whether it is ready, was when a course set it back, or has ended and may have lost its verdict."""
    worth = stood if stood.kept is None else stood.kept
    return stood.stage == "ended" or worth.status == "checkpoint_ready"


def permitted(before: Standing, data: dict[str, Any]) -> Standing:
    """A word on what the agent asked to be allowed; it matters here where the step was parked for it."""
    is_leave = data["event"] == "permission_decided" and data.get("verdict") == "allow"
    is_of_now = before.is_parked and data["attempt"] == before.attempt
    return replace(before, is_permitted=before.is_permitted or (is_leave and is_of_now))


def held(before: Standing, data: dict[str, Any]) -> Standing:
    """It will not start in this course. What it was worth before it was set back it may get again in the next."""
    kind = data["held_by"]["kind"]
    return Standing(
        stage="settled",
        attempt=before.attempt,
        status="held",
        subagent="cancelled" if kind == "cancelled" else "not_applicable",
        held_by=data["held_by"],
        scheduled_at=before.scheduled_at,
        settled_at=before.settled_at,
        entry=before.entry,
        kept=before.kept,
        is_in_doubt=before.is_in_doubt,
    )


def spoken(before: Standing, data: dict[str, Any]) -> Standing:
    """A person's word; only the first one on an open question counts."""
    if not before.takes_a_word:
        return before
    return replace(before, decision=data, is_decided=False, is_in_doubt=False)
