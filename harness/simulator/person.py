"""The person at the run: stops it, gives steps up, answers questions, says things twice, and tries what cannot be.

Every wish goes the way of another process, through the inbox, unless its `via` is `here`. Which step or question is meant is
chosen when the moment comes, from what there is then.
"""

from __future__ import annotations

from asyncio import Task, TimerHandle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from harness.simulator.process import Process
from harness.simulator.world import Document
from pixirnb.history.file_events import CONFLICT
from pixirnb.history.file_state import open_seams
from pixirnb.history.run_state import RunState
from pixirnb.machine.board import RunStop
from pixirnb.machine.conflict_sides import MINE
from pixirnb.machine.next_actions import needs_answer
from pixirnb.machine.requests import Request, Sender
from pixirnb.planning.plan import Plan

BY = "somebody"


@dataclass(slots=True, eq=False)
class Operator:
    """Acts on one course of a process."""

    process: Process
    run_id: str
    rival: Callable[[], None]
    """Another process tries to take the run up."""
    lose_lock: Callable[[Document], None]
    """Somebody takes the run from the process; another may go on with it."""
    _timers: list[TimerHandle] = field(default_factory=list)

    def plan(self, ops: Sequence[Document]) -> None:
        """Set a timer for everything that will be done."""
        loop = self.process.around.loop
        for op in ops:
            self._timers.append(loop.call_later(float(op["at"]), self._begin, op))

    def leave(self) -> None:
        """Do nothing of it any more: the course is over."""
        for timer in self._timers:
            timer.cancel()

    def _begin(self, op: Document) -> None:
        # Calls of the engine have a context in which anyio knows its loop; of this loop, only tasks have.
        task = self.process.around.loop.create_task(self._do(op))
        task.add_done_callback(Task.result)  # a bug is reported at once

    async def _do(self, op: Document) -> None:
        process, scheduler = self.process, self.process.scheduler
        if (
            process.is_dead
            or process.is_robbed
            or scheduler is None
            or scheduler.log.run_id != self.run_id
        ):
            return
        what = op["do"]
        process.around.witness.note(f"operator: {what}")
        match what:
            case "cancel" | "drain" | "interrupt" if op.get("via") == "here":
                process.around.witness.count(what)
                process.around.witness.see("wished", self.run_id, detail=what)
                scheduler.stop(cast("RunStop", what))
            case "cancel" | "drain" | "interrupt":
                process.around.witness.count(what)
                self._leave("cancel", {"how": what})
            case "cancel_step":
                step = _picked(list(scheduler.plan.index), op)
                process.around.witness.count("cancel_step")
                self._leave("cancel", {"step": step})
            case "decide":
                self._decide(op, scheduler.plan, scheduler.board.run)
            case "permit":
                process.around.witness.count("permissions answered live")
                verb, said = permission(op, scheduler.board.run)
                asked = self._leave(verb, said)
                if op.get("again") == "same":
                    self._leave_again(asked)
            case "checkpoint":
                process.around.witness.count("manual checkpoints")
                asked = self._leave("checkpoint", {"name": op["name"], "note": "by hand"})
                if op.get("again") == "same":
                    self._leave_again(asked)
            case "edit":
                process.around.witness.count("edits live")
                process.around.disk.touch(op["paths"])
            case "merge" | "undo":
                process.around.witness.count(f"{what}s asked live")
                asked = self._leave("merge", merging(op, scheduler.plan, is_undo=what == "undo"))
                if op.get("again") == "same":
                    self._leave_again(asked)
            case "resolve":
                self._leave("decide", resolution(op, scheduler.board.run))
            case "forge":
                process.around.witness.count("forgeries")
                self._forge(op, scheduler.plan, scheduler.board.run)
            case "rival":
                self.rival()
            case "lose_lock":
                self.lose_lock(op)
            case "disk":
                is_full = bool(op["full"])
                process.around.store.fail_after(0 if is_full else None, torn=int(op.get("torn", 0)))
                process.around.witness.count("disk full" if is_full else "disk healed")
            case _:
                raise AssertionError(f"the operator knows no {what}")

    def _decide(self, op: Document, plan: Plan, run: RunState) -> None:
        said = decision(op, plan, run)
        self.process.around.witness.count("decisions live")
        request = self._leave("decide", said)
        if op.get("again") == "same":
            self._leave_again(request)
        elif op.get("again") == "other":
            other = "reject" if said["verdict"] == "accept" else "accept"
            self._leave("decide", {**said, "verdict": other})
            self.process.around.witness.count("contradicted")

    def _forge(self, op: Document, plan: Plan, run: RunState) -> None:
        """A process below a step, or one that proves nothing, asks for what only a person may."""
        match op["verb"]:
            case "permit":
                verb, said = permission(op, run)
            case "merge":
                verb, said = "merge", merging(op, plan, is_undo=int(op["pick"]) % 2 == 0)
            case "resolve":
                verb, said = "decide", resolution(op, run)
            case "cancel":
                verb, said = "cancel", {"how": "cancel"}
            case "cancel_step":
                verb, said = "cancel", {"step": _picked(list(plan.index), op)}
            case _:
                verb, said = "decide", decision(op, plan, run)
        self._leave(verb, said, sender=op["sender"])

    def _leave_again(self, request: Request) -> None:
        assert self.process.inbox is not None
        self.process.inbox.leave(request)
        self.process.around.witness.count("said twice")

    def _leave(self, verb: str, arguments: Document, *, sender: Sender = "person") -> Request:
        assert self.process.inbox is not None
        self.process.asked += 1
        request_id = f"q{self.process.number}-{self.process.asked}"
        request = Request(request_id, verb, arguments, BY, sender=sender)
        self.process.inbox.leave(request)
        return request


def decision(op: Document, plan: Plan, run: RunState) -> Document:
    """What is said, of the step that is named or one that waits for a word; of any step where none does."""
    waiting = [step.id for step in plan.steps if run.step(step.id).awaits_human]
    if op.get("on") == "conflict":
        clashing = [name for name in waiting if run.step(name).error_kind == CONFLICT]
        waiting = clashing or waiting
    if op.get("on") == "item":
        # Whether it waits or not: what is said of one that does not is refused, or accepts what it left.
        waiting = [name for name in plan.index if "@" in name] or waiting
    step = op.get("step") or _picked(waiting or list(plan.index), op)
    choices = run.step(step).choices
    pick = int(op.get("pick", 0))
    # One answer in three is none of the choices, and has to be refused.
    is_fitting = bool(choices) and pick % 3 != 2
    value: Any = choices[pick % len(choices)] if is_fitting else op.get("value")
    is_open = not choices and needs_answer(plan.steps[plan.index[step]], run.step(step))
    if value is None and is_open and pick % 3 != 2:
        value = "an answer"
    if run.step(step).error_kind == CONFLICT:
        # One in three tries again with the files as they have been made; the others name a side.
        value = (MINE, (run.step(step).clash or {"between": [MINE]})["between"][-1], None)[pick % 3]
    return {
        "step": step,
        "verdict": op.get("verdict", "accept"),
        "value": value,
        "note": "so be it",
    }


def merging(op: Document, plan: Plan, *, is_undo: bool) -> Document:
    """What is said of a merge: all that can be, or one step by name; or to take the last back."""
    if is_undo:
        return {"undo": True}
    said: Document = {"sides": op.get("sides")}
    if int(op.get("pick", 0)) % 3 == 0:
        apart = [step.id for step in plan.steps if step.workspace == "isolated"]
        said["steps"] = [_picked(apart or list(plan.index), op)]
    return said


def resolution(op: Document, run: RunState) -> Document:
    """A word on a seam that is open; on one that is not, where none is."""
    waiting = [seam["id"] for seam in open_seams(run.seams)]
    name = _picked(waiting or [*run.seams, "s99"], op)
    note = "" if int(op.get("pick", 0)) % 7 == 0 else "It fits."
    return {"step": name, "verdict": "accept", "note": note}


def permission(op: Document, run: RunState) -> tuple[str, Document]:
    """What is said to a request that waits; to one that does not, or to none, where none does."""
    waiting = [asked["request_id"] for asked in run.open_permissions()]
    known = [*run.permissions, f"{run.run_id}/nobody.1.1"]
    verb = "approve" if op.get("verdict", "accept") == "accept" else "deny"
    return verb, {"request_id": _picked(waiting or known, op), "note": "so be it"}


def _picked(among: Sequence[str], op: Document) -> str:
    return among[int(op.get("pick", 0)) % len(among)]
