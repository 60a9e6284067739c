"""Requests of agents for permissions while they work: recorded first, answered by a person, by an earlier approval, or not at
all.

    a person is there    the request is on disk before the person sees it, and the answer before the agent has it
    allowed before       an equal call of the step is allowed at once
    no person is there   the request stays open, and the agent gets `unattended`: it ends, and the step parks

The attempt is no stalled one while it waits. Source: contract.md §7 (permissions).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import anyio
from msgspec import Struct, field

from pixirnb.engine.run_context import Attempt
from pixirnb.errors import LogWriteFailed
from pixirnb.history.agent_events import PERMISSION_DECIDED, PERMISSION_REQUESTED
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event, SubagentEvent
from pixirnb.history.permission_state import prior_approvals
from pixirnb.history.run_state import RunState
from pixirnb.ids import attempt_name
from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import Clock

_LOOK_S: Final = 1.0
_TEXT_LIMIT: Final = 1000
"""Characters of one text of a request that are kept in the log; the digest is of all of it."""
_ITEMS: Final = 20
_DEPTH: Final = 5


class _Waiting(Struct, eq=False):
    changed: anyio.Event = field(default_factory=anyio.Event)
    is_recorded: bool = False
    decision: JsonObject | None = None


class PermissionRequests(Struct, eq=False):
    """The requests of one live run. Belongs to the engine's thread."""

    run: RunState
    clock: Clock
    record: Callable[[EventDraft], object]
    """Function that records a draft with the next group."""
    attempts: dict[str, Attempt]
    is_attended: bool
    _count: dict[str, int] = field(default_factory=dict)
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    _refused: LogWriteFailed | None = None

    async def ask(self, step: str, number: int, request: JsonObject) -> JsonObject:
        """Return `{request_id, verdict, by, note}` for a call `{tool, args, digest, why?}`. Raises LogWriteFailed."""
        digest = str(request.get("digest") or "")
        known = prior_approvals(self.run.permissions, step, self.run.step(step)).get(digest)
        if known is not None:
            return {key: known[key] for key in ("request_id", "verdict", "by", "note")}
        session_id = attempt_name(step, number)
        count = self._count[session_id] = self._count.get(session_id, 0) + 1
        request_id = f"{self.run.run_id}/{session_id}.{count}"
        waiting = self._waiting[request_id] = _Waiting()
        data: SubagentEvent = {
            "event": PERMISSION_REQUESTED,
            "step": step,
            "attempt": number,
            "session_id": session_id,
            "agent": request.get("agent"),
            "request_id": request_id,
            "tool": str(request.get("tool"))[:_TEXT_LIMIT],
            "args": truncate_arguments(request.get("args")),
            "digest": digest,
            "why": str(request.get("why") or "")[:_TEXT_LIMIT],
        }
        try:
            self.record(EventDraft("subagent_event", data))
            await self._until(lambda: waiting.is_recorded, waiting, step)
            if not self.is_attended:
                return {
                    "request_id": request_id,
                    "verdict": "unattended",
                    "by": "engine",
                    "note": "",
                }
            await self._until(lambda: waiting.decision is not None, waiting, step)
        finally:
            del self._waiting[request_id]
        decision = waiting.decision or {}
        return {
            "request_id": request_id,
            **{key: decision[key] for key in ("verdict", "by", "note")},
        }

    def heard(self, events: Sequence[Event]) -> None:
        """Take events that are on disk now."""
        for event in events:
            if event.kind != "subagent_event":
                continue
            waiting = self._waiting.get(event.data.get("request_id", ""))
            if waiting is None:
                continue
            waiting.is_recorded = waiting.is_recorded or event.data["event"] == PERMISSION_REQUESTED
            if event.data["event"] == PERMISSION_DECIDED and waiting.decision is None:
                waiting.decision = event.data
            _wake(waiting)

    def refuse(self, error: LogWriteFailed) -> None:
        """Refuse all requests as the log takes no more: no answer can come."""
        self._refused = error
        for waiting in self._waiting.values():
            _wake(waiting)

    async def _until(self, is_so: Callable[[], bool], waiting: _Waiting, step: str) -> None:
        while not is_so():
            if self._refused is not None:
                raise self._refused
            attempt = self.attempts.get(step)
            if attempt is not None:  # it is a person's turn: the agent's silence is none
                attempt.stir(self.clock.now())
            await self.clock.wait(waiting.changed, self.clock.now() + _LOOK_S)


def truncate_arguments(value: Any, depth: int = 0) -> Any:
    """Return the arguments of a call as a person sees them and the run's log keeps them: long texts and lists are cut."""
    if isinstance(value, str):
        rest = len(value) - _TEXT_LIMIT
        return value if rest <= 0 else f"{value[:_TEXT_LIMIT]}… [{rest} more characters]"
    if isinstance(value, dict | list) and depth >= _DEPTH:
        return "…"
    if isinstance(value, dict):
        kept = list(value.items())[:_ITEMS]
        shown = {str(key)[:_TEXT_LIMIT]: truncate_arguments(item, depth + 1) for key, item in kept}
        return shown if len(kept) == len(value) else {**shown, "…": f"{len(value) - _ITEMS} more"}
    if isinstance(value, list):
        items = [truncate_arguments(item, depth + 1) for item in value[:_ITEMS]]
        return items if len(value) <= _ITEMS else [*items, f"… {len(value) - _ITEMS} more"]
    return value


def _wake(waiting: _Waiting) -> None:
    waiting.changed.set()
    waiting.changed = anyio.Event()
