"""The child session of one attempt, as the engine keeps it: the agent's events go to its log, its requests are answered.

Whatever becomes of the agent's process, its session is closed with evidence: `close` is called once, when nothing of the
process is left. Secrets are masked before anything is kept or shown.
Source: contract.md §7, docs/adr/0014-agents-are-sessions.md.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import anyio

from pixirnb.engine.agent_slots import Slot
from pixirnb.engine.agent_text import UnreportedText, with_markers, without_declaration
from pixirnb.engine.attempt_result import describe_stop
from pixirnb.engine.broadcast import STEP_SESSION, Live
from pixirnb.engine.run_context import Attempt, RunContext
from pixirnb.errors import LogWriteFailed, PixirnbError
from pixirnb.history.codec import storable
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event, SubagentEvent
from pixirnb.ids import attempt_name
from pixirnb.json_types import JsonObject
from pixirnb.planning.roots import WORKSPACE
from pixirnb.protocols.ports import Caller, Question
from pixirnb.protocols.work import AgentWork, Ended
from pixirnb.runners.output.mask import Mask
from pixirnb.runners.processes.eager_tasks import in_task
from pixirnb.runners.processes.worker_threads import surely
from pixirnb.sessions.json_values import plain_data, size_of
from pixirnb.sessions.state import SessionState
from pixirnb.sessions.unclean_end import closing, orphan_results

_WAITING_LIMIT: Final = 1024 * 1024
"""Bytes of events that may wait for the disk."""
_KEEP_EVERY_S: Final = 0.25
"""Seconds that events may wait for the disk where no commit was requested."""
_TERMINAL: Final = {
    "failed": "failed",
    "detached": "failed",
    "timed_out": "timed_out",
    "interrupted": "interrupted",
    "cancelled": "interrupted",
}
_DELEGATING: Final = frozenset({"run_workflow", "resume_workflow", "decide_step"})
"""Tools that wait for a run, which may need the slot of the waiting agent."""
_EVENT: Final = {"completed": "finished"}


class Session:
    """The child session of one attempt. Belongs to the engine's thread."""

    def __init__(
        self, attempt: Attempt, work: AgentWork, context: RunContext, mask: Mask, slot: Slot
    ) -> None:
        """Begin with `session_started`, the conversation it goes on with, and the prompt."""
        self.id = attempt_name(attempt.step.id, attempt.number)
        self.state = SessionState()
        self._attempt = attempt
        self._work = work
        self._context = context
        self._mask = mask
        self._slot = slot
        self._closed: EventDraft | None = None
        self._log = context.log.session(self.id)
        self._seq = self._log.count
        self._pending: list[Event] = []
        self._waiting_bytes = 0
        """Bytes of pending events, about."""
        self._arrived = anyio.Event()
        self._writing = anyio.Lock()
        self._unreported = UnreportedText()
        """Printed text of the agent that no message has covered yet, masked."""
        self.shown: frozenset[str] = frozenset()
        """Readiness that messages to the agent and its tools have shown it: see `agent_text.markers`."""
        self._unanswered: set[str] = set()
        """Ids of calls that wait for a person's permission."""
        self.tell("session_started", dict(work.session))
        for kind, data in work.history:
            self.tell(kind, data)
        origin = "prompt" if work.session["continues"] is None else "harness"
        self.tell("user_message", {"text": work.prompt, "origin": origin})
        self._unreported = UnreportedText()  # what a session goes on with was printed in another

    # --- what is told -------------------------------------------------------------------------------------------

    def tell(self, kind: str, data: JsonObject) -> None:
        """Take an event; it is on disk with the next `commit`, or soon."""
        kept = self._mask.value(plain_data(data))
        self._seq += 1
        event = Event(self._seq, self._context.clock.wall(), kind, storable(kept))
        # Open calls are remembered until they are answered, so without what they were given, which the log holds.
        self.state.take(kind, {**event.data, "args": None} if kind == "tool_call" else event.data)
        if kind == "assistant_message":
            self._unreported.on_message(str(kept.get("text", "")))
            self._attempt.unreported = self._unreported.text
        elif kind == "tool_result":
            self.shown = with_markers(self.shown, str(kept.get("output", "")))
        elif kind == "user_message":
            self.shown = with_markers(self.shown, str(kept.get("text", "")))
        self._pending.append(event)
        self._waiting_bytes += size_of(kept)
        self._arrived.set()
        news = {"session_id": self.id, "seq": event.seq, "kind": kind, "data": kept}
        step, number = self._attempt.step.id, self._attempt.number
        self._context.publish(Live(STEP_SESSION, step, number, news))

    def tell_tool(self, data: JsonObject) -> None:
        """Record a tool that a scripted agent pretends to have used."""
        call_id = f"c{self._seq}"
        name, result = str(data.get("name")), data.get("result")
        self.tell("tool_call", {"call_id": call_id, "name": name, "args": data.get("args")})
        text = result if isinstance(result, str) else "" if result is None else str(result)
        self.tell("tool_result", {"call_id": call_id, "ok": True, "output": text})

    def on_output(self, text: str) -> None:
        """Take printed text of the agent, masked already."""
        self._unreported.on_output(text)
        self._attempt.unreported = self._unreported.text

    @property
    def final_text(self) -> str | None:
        """Return the agent's final message; None for one that only prints, and for a scripted one."""
        return None if self._work.runner == "scripted" else self.state.final

    # --- what is asked ------------------------------------------------------------------------------------------

    async def answer(self, question: Question, data: JsonObject) -> JsonObject:
        """Answer a question of the agent: see `protocols.ports.Asking`."""
        try:
            if question == "commit":
                await self.commit()
                return {"ok": True}
            if question == "permit":
                return await self._permit(data)
            return await self._call(data)
        except PixirnbError as refused:
            return {**refused.document()}

    async def _permit(self, data: JsonObject) -> JsonObject:
        request = self._mask.value(plain_data(data))
        request["agent"] = self._work.session["agent"]
        waits = str(request.get("call_id"))
        self._unanswered.add(waits)  # stays there where the attempt ends before anybody answers
        answer = await self._context.permit(self._attempt.step.id, self._attempt.number, request)
        self._unanswered.discard(waits)
        request_id = answer["request_id"]
        self.tell(
            "permission_requested",
            {
                "request_id": request_id,
                "call_id": request.get("call_id"),
                "tool": str(request.get("tool")),
                "args": request.get("args"),
            },
        )
        words = {key: answer[key] for key in ("verdict", "by", "note")}
        self.tell("permission_decided", {"request_id": request_id, **words})
        await self.commit()
        return answer

    async def _call(self, data: JsonObject) -> JsonObject:
        delegate, context, session = self._context.delegate, self._context, self._work.session
        if delegate is None:
            return {"ok": False, "text": "This tool is not available here.", "data": {}}
        events: list[tuple[str, JsonObject]] = []
        """Events of the session meanwhile: the agent's own fold of it must have them too."""

        def tell(kind: str, data: JsonObject) -> None:
            events.append((kind, self._mask.value(plain_data(data))))
            self.tell(kind, data)

        caller = Caller(
            run_id=context.run.run_id,
            step=self._attempt.step.id,
            attempt=self._attempt.number,
            session_id=self.id,
            depth=context.depth,
            permission_mode=str(session["permission_mode"]),
            workspace=Path(self._work.roots.get(WORKSPACE, context.run.workspace)),
            state=context.state_folder,
            tell=tell,
        )
        tool, args = str(data.get("tool")), dict(data.get("args") or {})
        if tool not in _DELEGATING:
            return await delegate(tool, args, caller) | {"told": events}
        self._attempt.delegated += 1
        try:
            async with self._slot.released():
                return await delegate(tool, args, caller) | {"told": events}
        finally:
            self._attempt.delegated -= 1

    # --- keeping it ---------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Write events to the disk while the context is open, without a commit by the agent."""
        await in_task()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._keep)
                yield
                group.cancel_scope.cancel()
        except ExceptionGroup as raised:
            if len(raised.exceptions) == 1:  # what the runner raised is told by its own name
                raise raised.exceptions[0] from None
            raise

    async def pace(self) -> None:
        """Wait until few events wait for the disk: an agent sends no more than the disk takes."""
        if self._waiting_bytes >= _WAITING_LIMIT:
            with suppress(LogWriteFailed):  # `_keep` ends what cannot be kept
                await self.commit()

    async def commit(self) -> None:
        """Return when all events are on disk. Raises LogWriteFailed."""
        async with self._writing:
            events = list(self._pending)
            if events:
                await surely(self._context.offload)(self._log.append, events)
                del self._pending[: len(events)]  # not before: what is cancelled here is kept later
                self._waiting_bytes = 0 if not self._pending else self._waiting_bytes

    async def close(self, ended: Ended, text: str) -> EventDraft:
        """Record the evidence of the end, and return the event for the run's log. Raises LogWriteFailed."""
        state = self.state
        elapsed_ms = round((self._context.clock.now() - self._attempt.started) * 1000)
        if ended.status == "completed" and state.turn != "completed":
            for kind, data in orphan_results(state, "turn_ended", frozenset(self._unanswered)):
                self.tell(kind, data)
            # One whose last word was its report has said that: a final message is never empty for want of more.
            final = text if text.strip() else str((state.report or {}).get("summary") or text)
            self.tell("assistant_message", {"text": final, "partial": False, "final": True})
        elif ended.status != "completed":
            ended = describe_stop(ended, timeout_ms=self._attempt.timeout_ms, elapsed_ms=elapsed_ms)
            reason = str(ended.details.get("reason") or ended.error_kind or ended.status)
            drafts = closing(
                state,
                status=_TERMINAL[ended.status],
                error_kind=ended.error_kind or ended.status,
                message=ended.message,
                details=ended.details,
                reason=reason,
                partial_text=self._unreported.text,
                timeout_ms=self._attempt.timeout_ms,
                elapsed_ms=elapsed_ms,
                barred=frozenset(self._unanswered),
            )
            for kind, data in drafts:
                self.tell(kind, data)
        await self.commit()
        self._closed = self._terminal(ended, text, elapsed_ms)
        return self._closed

    async def break_off(self, ended: Ended) -> EventDraft:
        """Close the session like `close`, where it is open, and never raise: the run's log has the end in any case."""
        if self._closed is not None:
            return self._closed
        try:
            return await self.close(ended, "")
        except LogWriteFailed:
            elapsed_ms = round((self._context.clock.now() - self._attempt.started) * 1000)
            return self._terminal(ended, "", elapsed_ms)

    def give_back(self) -> None:
        """Close the log: no more events come."""
        self._log.close()

    def _terminal(self, ended: Ended, text: str, elapsed_ms: int) -> EventDraft:
        failed = self.state.failed or {}
        summary = str(
            (self.state.report or {}).get("summary") or without_declaration(text).strip()[-2000:]
        )
        data: SubagentEvent = {
            "event": _EVENT.get(ended.status, ended.status),
            "step": self._attempt.step.id,
            "attempt": self._attempt.number,
            "agent": self._work.session["agent"],
            "runner": self._work.runner,
            "session_id": self.id,
            "turn": self.state.turn,
            "status": ended.status,
            "summary": self._mask.text(summary)[:2000],
            "elapsed_ms": elapsed_ms,
            "timeout_ms": self._attempt.timeout_ms,
            "reason": failed.get("reason"),
            "next_actions": failed.get("next_actions", []),
            "usage": dict(self.state.usage),
        }
        return EventDraft("subagent_event", data)

    async def _keep(self) -> None:
        while True:
            try:
                await self.commit()
            except LogWriteFailed:
                # What goes on cannot be kept: it ends here, and `close` says why.
                self._attempt.stop.set("interrupted")
                return
            await self._arrived.wait()
            self._arrived = anyio.Event()
            await self._context.clock.sleep_until(self._context.clock.now() + _KEEP_EVERY_S)
