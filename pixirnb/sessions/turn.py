"""The next move in a turn of a model: a request, tools, or the end. A pure function of the session's events.

    while True:
        match next_move(events, limits):
            case ModelRequest(items, before):  log `before`, send `items`, log the response
            case Use(calls):              use each, in order, and log its result
            case TurnEnded(reason):           stop

The driver keeps no state of its own: the logged events decide the next move. Source: contract.md §7.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct

from pixirnb.history.events import Event
from pixirnb.json_types import JsonObject
from pixirnb.sessions.compaction import compact
from pixirnb.sessions.events import Pair, as_pairs, conversation_of
from pixirnb.sessions.provider_input import Item, Pairing, replay
from pixirnb.sessions.state import fold_session

REPORT_TOOL: Final = "report_checkpoint"
"""The report tool; a successful use ends the turn."""

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
"""`completed`: a whole final message.

`cut_off`: the model's output was partial, and no failure is recorded yet. Reasons of a `turn_failed` are its own.
`nothing_asked`: there is no user message to answer.
"""


_SPOKEN: Final = frozenset({"reasoning", "assistant_message", "tool_call"})


class TurnLimits(Struct, frozen=True):
    """The limits of a turn, and its model."""

    max_requests: int = 50
    """Maximum number of responses of the model in one turn."""
    compact_above: int = 400_000
    """Bytes of provider input above which the conversation is compacted."""
    keep: int = 100_000
    """Bytes at its end that are left unchanged."""
    model: str | None = None
    """Reasoning of this model is sent back to it."""


class ModelRequest(Struct, frozen=True):
    """Call the model."""

    items: list[Item]
    """Input for the provider, see `replay`; includes `before`."""
    before: tuple[Pair, ...] = ()
    """Events to log durably before the request: a compaction."""


class Use(Struct, frozen=True):
    """Use these tools, in this order, and log the result of each under its `call_id`."""

    calls: tuple[JsonObject, ...]
    """Calls as the model made them: `{call_id, name, args}`."""


class TurnEnded(Struct, frozen=True):
    """The end of the turn."""

    reason: EndReason


Move = ModelRequest | Use | TurnEnded


def next_move(events: Iterable[Event | Pair], limits: TurnLimits) -> Move:
    """Return the next move in the last turn of a session. Total."""
    pairs = as_pairs(events)
    state = fold_session(pairs)
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
    conversation = conversation_of(pairs)
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
    """Return how often the model has answered in the last turn, compacted or not."""
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
    """Return whether a report of this turn was accepted."""
    pairing = Pairing(conversation)
    for call in pairing.calls.values():
        if call.tool == REPORT_TOOL and call.turn == pairing.turn:
            _, result = pairing.results.get(call.unique, (-1, None))
            if result is not None and result.get("ok") is True:
                return True
    return False
