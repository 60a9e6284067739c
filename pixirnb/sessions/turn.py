"""What comes next in a turn of a model: a request, the use of tools, or the end. A pure function of the session's events.

    while True:
        match next_move(events, limits):
            case ModelRequest(items, before):  tell `before`, send `items`, tell what came back
            case Use(calls):              use each, in order, and tell its result
            case TurnEnded(reason):           stop

Whoever drives it keeps no state of its own: what it tells is what the next move follows from. Source: contract.md §7.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from pixirnb.history.events import Event
from pixirnb.sessions.compaction import compact
from pixirnb.sessions.events import Pair, as_pairs, conversation_of
from pixirnb.sessions.provider_input import Item, Pairing, replay
from pixirnb.sessions.state import fold_session

REPORT_TOOL: Final = "report_checkpoint"
"""A turn whose model has used it with success is over."""

EndReason = Literal[
    "completed",
    "reported",
    "turn_limit",
    "cut_off",
    "partial_failed",
    "failed",
    "interrupted",
    "timed_out",
    "nothing_asked",
]
"""`completed`: a whole final message. `cut_off`: what the model said was partial, and no failure is recorded yet. Those of a
`turn_failed` are its own words. `nothing_asked`: there is no user message to answer."""


_SPOKEN: Final = frozenset({"reasoning", "assistant_message", "tool_call"})


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """What a turn may take, and who is asked."""

    max_requests: int = 50
    """Responses of the model in one turn."""
    compact_above: int = 400_000
    """Bytes of provider input from which the conversation is compacted."""
    keep: int = 100_000
    """Bytes of its end that are left as they are."""
    model: str | None = None
    """Reasoning of this model is sent back to it."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Ask the model."""

    items: list[Item]
    """See `replay`; `before` is in it already."""
    before: tuple[Pair, ...] = ()
    """Events to tell, and to have on disk, before it is sent: a compaction."""


@dataclass(frozen=True, slots=True)
class Use:
    """Use these tools, in this order, and tell the result of each under its `call_id`."""

    calls: tuple[dict[str, Any], ...]
    """`{call_id, name, args}` as they were made."""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn is over."""

    reason: EndReason


Move = ModelRequest | Use | TurnEnded


def next_move(events: Iterable[Event | Pair], limits: TurnLimits) -> Move:
    """What to do next in the last turn of a session. Total."""
    told = as_pairs(events)
    state = fold_session(told)
    if state.failed is not None:
        # A failure's state is one of its own, never `running` or `completed`.
        return TurnEnded(state.turn)  # type: ignore[arg-type]
    if state.turns == 0:
        return TurnEnded("nothing_asked")
    if state.partial is not None and state.final is None:
        return TurnEnded("cut_off")
    waiting = tuple(
        {"call_id": call.call_id, "name": call.tool, "args": call.args}
        for call in state.calls.open.values()
        if call.turn == state.calls.turn
    )
    if waiting:
        return Use(waiting)
    conversation = conversation_of(told)
    if _has_reported(conversation):
        return TurnEnded("reported")
    if state.final is not None:
        return TurnEnded("completed")
    if responses(conversation) >= limits.max_requests:
        return TurnEnded("turn_limit")
    compaction = compact(
        conversation, limit=limits.compact_above, keep=limits.keep, model=limits.model
    )
    if compaction is None:
        return ModelRequest(replay(conversation, model=limits.model))
    after = [*conversation, compaction]
    return ModelRequest(replay(after, model=limits.model), (compaction,))


def responses(conversation: list[Pair]) -> int:
    """How often the model has answered in the last turn, by what is in the conversation, compacted or not."""
    count = 0
    previous = ""
    for kind, _ in conversation:
        if kind == "user_message":
            count = 0
        elif kind in _SPOKEN:
            # One message after another is two responses: else a model that never ends its turn would be asked for ever.
            again = kind == previous == "assistant_message"
            count += again or previous not in _SPOKEN
        if kind != "compaction":
            previous = kind
    return count


def _has_reported(conversation: list[Pair]) -> bool:
    """Whether a report of this turn has been taken."""
    pairing = Pairing(conversation)
    for call in pairing.calls.values():
        if call.tool == REPORT_TOOL and call.turn == pairing.turn:
            _, result = pairing.results.get(call.unique, (-1, None))
            if result is not None and result.get("ok") is True:
                return True
    return False
