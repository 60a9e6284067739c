"""The tape of a run: one entry an event, each with the steps whose look it changed. The browser replays it without folding.

    events ──▶ Tape.take(event) ──▶ [seq, ms, kind, step, changes, status, texts]

To see the run as it was after entry n, take each step's last change in the entries up to n. Nearly everything is a number, so
that ten thousand events weigh a few hundred kilobytes. Source: docs/adr/0012-the-live-view.md.

An item of `for_each` has a slot after the written steps, in the order in which lists named it first, and keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast, get_args

from msgspec import Struct, field

from pixirnb.history.agent_events import PERMISSION_DECIDED, PERMISSION_REQUESTED, SubagentEvent
from pixirnb.history.events import Event, Kind, StepExpanded
from pixirnb.history.file_events import CONFLICT
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.ids import item_id
from pixirnb.machine.expansion import with_items, without_items
from pixirnb.machine.outcome_summary import has_begun
from pixirnb.machine.required_steps import add_skipped
from pixirnb.planning.plan import Plan
from pixirnb.views.basics.sanitize import line
from pixirnb.views.basics.status_marks import STEP_MARKS, state_mark, step_mark
from pixirnb.views.basics.times import epoch_ms
from pixirnb.views.run.explain import is_unverified

KINDS: Final[tuple[str, ...]] = get_args(Kind)
"""Kinds of events, in the order of the contract; an entry names one by its place here, an unknown one by `len(KINDS)`."""
STRIDE: Final = 5
"""Numbers a change takes: step (or slot of an item), place in STEP_MARKS, attempt, elapsed ms, holder; -1 where there is none.

The holder of a ready step that nothing verified is UNVERIFIED.
"""
UNVERIFIED: Final = -2

Entry = list[Any]
"""`[seq, ms since the first event, kind, step or -1, changes, run status or "", told]`.

`told` is what the sentence of the event and the timeline need, by its kind: `[attempt]` of `step_scheduled`,
`attempt_started` and `decision_requested`; `[attempt, place in STEP_MARKS, elapsed ms]` of `attempt_ended`;
`[attempt to come, delay ms]` of `retry_planned`; `[attempt, place in STEP_MARKS, 1 if reused]` of `checkpoint_decided`;
`[attempt, 1 for accept]` of `decision_recorded`; `[attempt, 0 asked, 1 allowed, 2 denied, 3 for any other news]` of
`subagent_event`; `[reused, run again, held, 1 if edited]` of `run_resumed`; `[name]` of
`checkpoint_saved`, `seam_opened` and `seam_resolved`; `[attempt, files]` of `workspace_captured`; `[files, 1 if it takes
one back]` of `merge_applied`; `[items, reused, first number, count, first number, count, …]` of `step_expanded`; else empty.
"""

_MARK_INDEX: Final = {mark.key: index for index, mark in enumerate(STEP_MARKS)}
_UNKNOWN: Final = _MARK_INDEX["ended"]
"""Mark for an unknown status: the step ended, and nothing may build on it."""
_BEGINNINGS: Final = frozenset({"run_started", "run_resumed", "run_forked"})
_NAME_ROOM: Final = 60


class Tape(Struct, eq=False):
    """The tape of one run, grown an event at a time. Holds the fold it is made from."""

    plan: Plan
    run: RunState = field(default_factory=RunState)
    entries: list[Entry] = field(default_factory=list)
    began_ms: int = 0
    """Moment of the first event that has one, in ms since 1970."""
    ms: int = 0
    """Time of the last entry."""
    _slots: dict[str, int] = field(default_factory=dict)
    """Slots of items: their positions after the written steps."""
    _begun_ms: dict[str, int] = field(default_factory=dict)
    """When the first item of a step began."""
    _took_ms: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The last attempt of a step with items that has ended, and how long it took from the first of them on."""
    _shown: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _skipped: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.plan = without_items(self.plan)

    def slot_of(self, name: object) -> int:
        """Return the position of a step or the slot of an item; -1 for what the history does not have."""
        if not isinstance(name, str):
            return -1
        slot = self._slots.get(name)
        return self.plan.index.get(name, -1) if slot is None else slot

    def extend(self, events: Iterable[Event]) -> None:
        """Take events in order."""
        for event in events:
            self.take(event)

    def take(self, event: Event) -> Entry:
        """Take one event; returns its entry, which is added to `entries`. An event that cannot be read changes no look."""
        is_read = self.run.apply(event)
        self._tick(event.at)
        step = event.data.get("step")
        index = self.plan.index.get(step, -1) if isinstance(step, str) else -1
        changes: list[int] = []
        touched = _touched(event, step, self.run) if is_read else []
        texts = _event_texts(event) if is_read else []
        if is_read and event.kind == "step_expanded":
            texts = self._expand(cast("StepExpanded", event.data), touched)
        if is_read and event.kind == "run_resumed":
            self._skipped.clear()
            self._collapse(touched)
        elif event.kind == "step_held" and touched and index >= 0:
            below = add_skipped(self.plan, self.run, [index], self._skipped)
            touched += [self.plan.steps[i].id for i in below if i != index]
        for name in touched:
            self._change(name, changes)
        status = "running" if is_read and event.kind in _BEGINNINGS else ""
        if is_read and event.kind == "run_finished":
            status = line(event.data["status"], 40)
        kind = KINDS.index(event.kind) if event.kind in KINDS else len(KINDS)
        entry = [event.seq, self.ms, kind, self.slot_of(step), changes, status, texts]
        self.entries.append(entry)
        return entry

    def _tick(self, at: Any) -> None:
        moment = epoch_ms(at)
        if moment is None:
            return
        if not self.began_ms:
            self.began_ms = moment
        # A wall clock may jump back; a picture of time may not.
        self.ms = max(self.ms, moment - self.began_ms)

    def _expand(self, data: StepExpanded, touched: list[str]) -> list[int]:
        """Give the items of a list their slots; return its numbers, as runs of numbers that follow one another."""
        step, runs = data["step"], list[int]()
        items = self.run.items[step].items
        for item in items:
            number, name = item["number"], item_id(step, item["number"])
            if name not in self._slots:
                self._slots[name] = len(self.plan.written) + len(self._slots)
            if runs and runs[-2] + runs[-1] == number:
                runs[-1] += 1
            else:
                runs += (number, 1)
        self.plan = with_items(self.plan, self.run)
        touched += [item_id(step, number) for number in data["reused"]]
        return [len(items), len(data["reused"]), *runs]

    def _collapse(self, touched: list[str]) -> None:
        """Follow a resume: items whose lists are read again are as they were set back."""
        self.plan = with_items(without_items(self.plan), self.run)
        for step in [each for each in touched if each in self.run.items]:
            self._begun_ms.pop(step, None)
            touched += [item_id(step, item["number"]) for item in self.run.items[step].items]

    def _change(self, name: str, changes: list[int]) -> None:
        slot, state = self.slot_of(name), self.run.steps.get(name)
        if slot < 0 or state is None:
            return
        index = self.plan.index.get(name, -1)
        mark = state_mark(state, is_skipped=index in self._skipped)
        holder = -1 if state.holder is None else self.slot_of(state.holder)
        step = None if index < 0 else self.plan.steps[index]
        if mark.key == "checkpoint_ready" and step is not None and is_unverified(step, state):
            holder = UNVERIFIED
        look = _MARK_INDEX.get(mark.key, _UNKNOWN), _number(state.attempt)
        elapsed = elapsed_of(state)
        if step is not None and index in self.plan.items:
            if mark.key in {"queued", "recheck"} and has_begun(self.plan, self.run, step):
                self._begun_ms.setdefault(name, self.ms)
                look = _MARK_INDEX["running"], 0
            elif elapsed >= 0:
                attempt, took = self._took_ms.get(name, (0, 0))
                if attempt != state.attempt:  # else it stands, however much later it is asked again
                    took = max(elapsed, self.ms - self._begun_ms.get(name, self.ms))
                    self._took_ms[name] = (state.attempt, took)
                elapsed = took
        self._add(name, (slot, *look, elapsed, holder), changes)
        if step is not None and step.parent is not None:
            parent = self.plan.steps[step.parent].id
            self.run.step(parent)
            self._change(parent, changes)

    def _add(self, name: str, look: tuple[int, ...], changes: list[int]) -> None:
        if self._shown.get(name) != look:
            self._shown[name] = look
            changes += look


def elapsed_of(state: StepState) -> int:
    """Return how long its last attempt took, in ms; -1 where none has ended, or what it left no longer counts."""
    is_over = state.stage in {"ended", "settled"} and state.checkpoint_status != "held"
    return _number(state.ended["elapsed_ms"]) if is_over and state.ended is not None else -1


def _touched(event: Event, step: Any, run: RunState) -> list[str]:
    """Return steps whose look the event may change; `run` has heard of it. Its data has the shape of its kind."""
    if event.kind == "merge_applied" and (undone := event.data.get("undoes")) is not None:
        own = [m["step"] for m in run.merges if m["merge"] == undone and m["step"] is not None]
        return [*own, *(name for name, state in run.steps.items() if state.is_undone)]
    if event.kind == "run_resumed":
        return [entry["step_id"] for entry in event.data["steps"]]
    return [step] if isinstance(step, str) else []


def _event_texts(event: Event) -> list[Any]:
    """See `Entry`. Its data has the shape of its kind."""
    data = event.data
    match event.kind:
        case "step_scheduled" | "attempt_started" | "decision_requested":
            return [_number(data["attempt"])]
        case "attempt_ended":
            # By itself: a clean end is not yet known to be good, any other did not leave what it should, or met a conflict.
            status = data["status"]
            is_clash = (data.get("error") or {}).get("kind") == CONFLICT
            unready = "needs_orchestrator" if is_clash else "failed"
            mark = _mark(None if status == "completed" else unready, status)
            return [_number(data["attempt"]), mark, _number(data["elapsed_ms"])]
        case "retry_planned":
            return [_number(data["attempt"]), _number(data["delay_ms"])]
        case "checkpoint_decided":
            mark = _mark(data["status"], data["subagent_status"])
            return [_number(data["attempt"]), mark, int(data.get("reused") is True)]
        case "decision_recorded":
            return [_number(data["attempt"]), int(data["verdict"] == "accept")]
        case "subagent_event":
            return [_number(data["attempt"]), _news_of(cast("SubagentEvent", data))]
        case "run_resumed":
            actions = [entry["action"] for entry in data["steps"]]
            counts = [actions.count(action) for action in ("reuse", "rerun", "hold")]
            return [*counts, int(data.get("spec") is not None)]
        case "checkpoint_saved":
            return [line(data["name"], _NAME_ROOM)]
        case "seam_opened" | "seam_resolved":
            return [line(data["id"], _NAME_ROOM)]
        case "workspace_captured":
            return [_number(data["attempt"]), _number(data["changes"]["count"])]
        case "merge_applied":
            return [_number(data["changes"]["count"]), int(data.get("undoes") is not None)]
        case _:
            return []


def _news_of(data: SubagentEvent) -> int:
    if data["event"] == PERMISSION_REQUESTED:
        return 0
    if data["event"] == PERMISSION_DECIDED:
        return {"allow": 1, "deny": 2}.get(data.get("verdict", ""), 3)
    return 3


def _mark(checkpoint: str | None, attempt: str) -> int:
    mark = step_mark({"checkpoint_status": checkpoint, "subagent_status": attempt})
    return _MARK_INDEX.get(mark.key, _UNKNOWN)


def _number(value: Any) -> int:
    """Return a count or a span that a hostile log may have made something a browser cannot reckon with."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 2**53 else -1
