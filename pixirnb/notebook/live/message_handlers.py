"""Answers what a browser asks about one run, and does what a person clicks there.

    message ──▶ MessageHandlers.answer ──▶ {re, ok: True, answer} | {re, ok: False, error}

Asks read, wishes act; both go through the same doors as cells and the command line. One worker thread calls it: neither the
kernel's loop nor the run waits. Who clicks is there to be asked for permissions. Nothing raises: a browser can be old, broken
or hostile. The shapes stand in docs/internals/live-view.md.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from pixirnb import api
from pixirnb.errors import InternalError, InvalidArguments, PixirnbError, sentence
from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.machine.requests import spell_answers
from pixirnb.notebook.cells.registry import REGISTRY
from pixirnb.notebook.live.file_details import (
    conflict_of,
    merge_document,
    patch_of,
    requested_sides,
)
from pixirnb.notebook.live.session_followers import Transcripts, conversation
from pixirnb.notebook.live.snapshots import SnapshotReader
from pixirnb.notebook.rendering import in_cell
from pixirnb.operations.run import Run
from pixirnb.runners.output.mask import mask_here, secret_values
from pixirnb.views.basics.sanitize import line, plain
from pixirnb.views.basics.status_marks import run_mark
from pixirnb.views.live.controls import controls, forecast_document, log_document
from pixirnb.views.live.items import items_document
from pixirnb.views.live.panel import panel
from pixirnb.views.session.entries import PAGE

NAME_LIMIT: Final = 200
NAMES: Final = 10_000
"""Steps that a merge may name."""
TEXT_LIMIT: Final = 64 * 1024
"""Characters of a note or of a decision's value; what the run itself takes is less, and it says so."""
EVENTS: Final = 200
MOST_EVENTS: Final = 500

_ID: Final = re.compile(r"[ -~]{0,64}")
_CHOICE: Final = {"from": "from_step", "only": "only", "until": "until", "checkpoint": "checkpoint"}

Follow = Callable[[Run], None]


class MessageHandlers:
    """Answers about one run."""

    def __init__(
        self,
        run: Run,
        *,
        on_taken_up: Follow | None = None,
        on_forked: Follow | None = None,
        transcripts: Transcripts | None = None,
    ) -> None:
        """`on_taken_up`: called with the run once a wish has made this process drive it (again); `on_forked`: with a new run
        that a wish has begun from a checkpoint. Both on the thread that called `answer`, before it returns.
        `transcripts`: where live news of the run's sessions is heard, if anywhere.
        """
        self.run = run
        self.on_taken_up = on_taken_up
        self.on_forked = on_forked
        self._readings = SnapshotReader()
        self._transcripts = transcripts or Transcripts()
        self._lock = threading.Lock()
        self._asks: dict[str, Callable[[JsonMapping], JsonObject]] = {
            "step": self._step,
            "items": self._items,
            "output": self._output,
            "value": self._value,
            "session": self._session,
            "changes": self._changes,
            "conflict": self._conflict,
            "merge": self._preview,
            "run": self._controls,
            "forecast": self._forecast,
            "events": self._events,
        }
        self._wishes: dict[str, Callable[[JsonMapping], Run]] = {
            "cancel": self._cancel,
            "drain": self._drain,
            "checkpoint": self._checkpoint,
            "decide": self._decide,
            "approve": self._approve,
            "deny": self._deny,
            "resume": self._resume,
            "merge": self._merge,
        }
        self._merged: JsonObject | None = None

    def answer(self, message: JsonMapping) -> JsonObject:
        """Answer one message, in plain JSON. Never raises."""
        with self._lock:
            return reply(message, self._answered)

    def _answered(self, message: JsonMapping) -> JsonObject:
        if not isinstance(message, Mapping):
            raise _unreadable("it is not an object")
        ask, request = message.get("ask"), message.get("do")
        if isinstance(ask, str) and ask in self._asks and request is None:
            return self._asks[ask](message)
        if isinstance(request, str) and request in self._wishes and ask is None:
            return self._done(self._wishes[request], message)
        raise _unreadable("unknown `ask` or `do`")

    # --- asks ---------------------------------------------------------------------------------------------------

    def _step(self, message: JsonMapping) -> JsonObject:
        step, seen = _name(message, "step"), self._readings.at(self.run, _ordinal(message, "at"))
        plan = seen.plan_with(step)
        return panel(
            plan,
            seen.moment.run,
            seen.moment.attempts,
            step,
            is_live=seen.is_live,
            is_past=seen.moment.is_past,
            damage=seen.damage,
            printed=seen.printed(step),
            secrets=secret_values(os.environ),
            spec=plan.workflow.name if plan.workflow.name in REGISTRY.workflows else None,
        )

    def _items(self, message: JsonMapping) -> JsonObject:
        step, seen = _name(message, "step"), self._readings.at(self.run, _ordinal(message, "at"))
        return items_document(seen.plan_with(step), seen.moment.run, step, mask_here({}))

    def _output(self, message: JsonMapping) -> JsonObject:
        seen = self._readings.at(self.run, _ordinal(message, "at"))
        is_click = _flag(message, "load", default=False)
        return seen.output(_name(message, "step"), _ordinal(message, "attempt"), load=is_click)

    def _value(self, message: JsonMapping) -> JsonObject:
        step, is_click = _name(message, "step"), _flag(message, "load", default=False)
        seen = self._readings.at(self.run, None)
        return {"step": step, **seen.value(step, load=is_click)}

    def _session(self, message: JsonMapping) -> JsonObject:
        seen = self._readings.at(self.run, _ordinal(message, "at"))
        return conversation(
            seen,
            self._transcripts,
            _name(message, "step"),
            _ordinal(message, "attempt"),
            since=_ordinal(message, "since") or 0,
            before=_ordinal(message, "before"),
            limit=_ordinal(message, "limit") or PAGE,
        )

    def _changes(self, message: JsonMapping) -> JsonObject:
        return patch_of(
            self._readings.at(self.run, _ordinal(message, "at")), _name(message, "step")
        )

    def _conflict(self, message: JsonMapping) -> JsonObject:
        return conflict_of(
            self._readings.at(self.run, _ordinal(message, "at")), _name(message, "step")
        )

    def _preview(self, message: JsonMapping) -> JsonObject:
        steps, undo = _names(message, "steps"), _flag(message, "undo", default=False)
        report = self.run.merge(*steps, preview=True, undo=undo, sides=requested_sides(message))
        return merge_document(report)

    def _controls(self, message: JsonMapping) -> JsonObject:
        seen = self._readings.at(self.run, _ordinal(message, "at"))
        return controls(
            REGISTRY.with_cells(seen.outcome().document()),
            seen.moment.run,
            live=seen.live,
            is_past=seen.moment.is_past,
            folder=str(self.run.folder),
        )

    def _forecast(self, message: JsonMapping) -> JsonObject:
        choice = _choice(message)
        steps = api.plan_resume(self.run.folder, **self._edit(choice), **choice)
        return forecast_document(self.run.id, steps, choice)

    def _events(self, message: JsonMapping) -> JsonObject:
        first, limit = _ordinal(message, "from"), _ordinal(message, "limit")
        events = self._readings.at(self.run, None).events
        return log_document(
            events, first or 1, min(EVENTS if limit is None else limit, MOST_EVENTS)
        )

    # --- wishes -------------------------------------------------------------------------------------------------

    def _done(self, request: Callable[[JsonMapping], Run], message: JsonMapping) -> JsonObject:
        before = self.run.state.seq
        driven = self.run.live
        after = request(message)
        is_new = after.id != self.run.id
        if is_new and self.on_forked is not None:
            self.on_forked(after)
        if not is_new and after.live is not driven and self.on_taken_up is not None:
            self.on_taken_up(after)
        outcome = after.outcome
        text = after.nothing_done(before) if after.is_no_op else outcome.summary
        merged, self._merged = self._merged, None
        return {
            **({} if merged is None else {"merge": merged}),
            "run_id": after.id,
            "cell": f"%pixir show {after.id}",
            "mark": run_mark(outcome.status).document(),
            "sentence": line(text, 600),
            "is_live": after.is_live_here,
            "is_new": is_new,
        }

    def _cancel(self, message: JsonMapping) -> Run:
        step = None if message.get("step") is None else _name(message, "step")
        self.run.cancel(step)
        return self.run

    def _drain(self, _message: JsonMapping) -> Run:
        self.run.cancel(drain=True)
        return self.run

    def _checkpoint(self, message: JsonMapping) -> Run:
        self.run.checkpoint(_name(message, "name"), _text(message, "note"))
        return self.run

    def _decide(self, message: JsonMapping) -> Run:
        value = message.get("value")
        if len(json.dumps(value)) > TEXT_LIMIT:
            raise _unreadable("`value` is too long")
        step = _name(message, "step")
        try:
            return self.run.decide(
                step,
                _name(message, "verdict"),
                value=value,
                note=_text(message, "note"),
                resume=_flag(message, "resume", default=True),
                attended=True,
            )
        except InvalidArguments as error:
            choices = self.run.state.step(step).choices
            spell_answers(error, choices, fix="choose first: {}" if choices else "type an answer")
            raise

    def _approve(self, message: JsonMapping) -> Run:
        return self.run.approve(
            _name(message, "request"), note=_text(message, "note"), attended=True
        )

    def _deny(self, message: JsonMapping) -> Run:
        return self.run.deny(_name(message, "request"), note=_text(message, "note"), attended=True)

    def _merge(self, message: JsonMapping) -> Run:
        report = self.run.merge(
            *_names(message, "steps"),
            undo=_flag(message, "undo", default=False),
            sides=requested_sides(message),
        )
        self._merged = merge_document(report)
        return self.run

    def _resume(self, message: JsonMapping) -> Run:
        choice = _choice(message)
        return api.resume(self.run.folder, **self._edit(choice), **choice, attended=True)

    def _edit(self, choice: JsonMapping) -> JsonObject:
        """Return the workflow of the cells, where it was edited; a fork keeps that of its checkpoint."""
        return {} if "checkpoint" in choice else REGISTRY.edit(self.run)


def reply(message: JsonMapping, answered: Callable[[JsonMapping], JsonObject]) -> JsonObject:
    """Return the reply to a message of a browser, in plain JSON; `answered` answers it. Never raises."""
    replied: JsonObject = {"re": None, "ok": True}
    try:
        replied["re"] = _id_of(message)
        answer = REGISTRY.reach.document(answered(message))
        json.dumps(answer, allow_nan=False).encode("utf-8")  # what is sent must be JSON
        return {**replied, "answer": answer}
    except PixirnbError as error:
        return {**replied, "ok": False, "error": _error_document(error)}
    except Exception as error:  # noqa: BLE001 - the last line of defence of a thread that answers a browser
        bug = InternalError(
            f"pixirnb failed to answer: {type(error).__name__}: {error}",
            fix="report this bug; the run and its log are not affected",
        )
        return {**replied, "ok": False, "error": _error_document(bug)}


def _id_of(message: Any) -> int | str | None:
    """Return the id that the reply repeats; None for one that no reply can hold."""
    message_id = message.get("id") if isinstance(message, Mapping) else None
    if isinstance(message_id, int) and not isinstance(message_id, bool) and abs(message_id) < 2**53:
        return message_id
    return message_id if isinstance(message_id, str) and _ID.fullmatch(message_id) else None


def _name(message: JsonMapping, key: str) -> str:
    value = message.get(key)
    if not isinstance(value, str) or not 0 < len(value) <= NAME_LIMIT:
        raise _unreadable(f"`{key}` must be a name")
    return value


def _names(message: JsonMapping, key: str) -> list[str]:
    value = message.get(key, [])
    if not isinstance(value, list) or len(value) > NAMES or len({*map(type, value), str}) > 1:
        raise _unreadable(f"`{key}` must be a list of names")
    return value


def _text(message: JsonMapping, key: str) -> str:
    value = message.get(key)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > TEXT_LIMIT:
        raise _unreadable(f"`{key}` must be a text of at most {TEXT_LIMIT:,} characters")
    return value


def _ordinal(message: JsonMapping, key: str) -> int | None:
    """Return a sequence number, an attempt or a count: a whole number from 1 on, or nothing."""
    value = message.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
        raise _unreadable(f"`{key}` must be a whole number")
    return max(value, 1)


def _flag(message: JsonMapping, key: str, *, default: bool) -> bool:
    value = message.get(key, default)
    if not isinstance(value, bool):
        raise _unreadable(f"`{key}` must be true or false")
    return value


def _choice(message: JsonMapping) -> JsonObject:
    """Return the requested steps of a resume, by the parameter names of `api.resume`."""
    return {
        name: _name(message, key) for key, name in _CHOICE.items() if message.get(key) is not None
    }


def _unreadable(why: str) -> InvalidArguments:
    return InvalidArguments(
        f"the view sent an invalid message: {why}",
        fix="run the cell that shows this run again: page and kernel may have different versions",
        code="message_unreadable",
    )


def _error_document(error: PixirnbError) -> JsonObject:
    """Return an error for the browser: its texts cleaned and bounded, its details where they are small."""
    document: JsonObject = {**error.document()["error"]}
    for key in ("message", "fix"):
        text = REGISTRY.reach.text(in_cell(plain(document[key], 2_000)))
        document[key] = text and sentence(text)
    document["path"] = None if document["path"] is None else line(document["path"], 300)
    try:
        details = json.dumps(document["details"], allow_nan=False)
        details.encode("utf-8")
        document["details"] = json.loads(details) if len(details) <= 16_384 else {}
    except (TypeError, ValueError, RecursionError):
        document["details"] = {}
    return document
