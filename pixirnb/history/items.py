"""Folded lists of steps with `for_each`: which items each has, and how a resume sets their steps back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from pixirnb.history.file_state import FileState, drop_seams, has_result, take, undo_step
from pixirnb.history.step_state import reset
from pixirnb.ids import item_id

if TYPE_CHECKING:
    from pixirnb.history.events import (
        ItemData,
        ResumeReason,
        ResumeStep,
        RunResumed,
        StepExpanded,
    )


class ItemList(Struct, eq=False):
    """The list of a step."""

    items: list[ItemData] = field(default_factory=list)
    is_current: bool = False
    """False from a resume that runs the step again until its list is known again. See `ItemLists.knows`."""
    has_only: bool = False
    """True from a resume that runs some of its items alone: others that are on the list by then are left out."""
    leader: str | None = None
    """The step whose list it shares: while that is not known, it is not known either."""
    numbers: dict[str, int] = field(default_factory=dict)
    """The number of every key the list ever had: one that comes back has its number again."""


class ItemLists(FileState, eq=False):
    """The folded state of a run, as far as it concerns files and lists of items."""

    items: dict[str, ItemList] = field(default_factory=dict)
    """The lists of steps with `for_each`."""

    def knows(self, step: str) -> bool:
        """Return whether the list of a step is known: its own, and those of the steps whose list it shares."""
        for _ in self.items:  # those of a foreign log may follow one another in a circle
            known = self.items.get(step)
            if known is None or not known.is_current:
                return False
            if known.leader not in self.items:
                return True
            step = known.leader
        return False


def expand(run: ItemLists, data: StepExpanded, seq: int) -> None:
    """Take a list: its items are steps from here on, and those that are reused are settled as they were."""
    step = data["step"]
    known = run.items.setdefault(step, ItemList())
    leader = run.items.get(data.get("same_as", ""))
    before = {item["number"] for item in known.items}
    known.items = _of_unlike_numbers(data["items"]) if leader is None else leader.items
    known.is_current, known.leader = True, data.get("same_as")
    for follower in run.items.values():
        if follower.leader == step and follower.is_current and follower.items != known.items:
            follower.is_current = False  # a resume left it out, and its list is another one
    if leader is None:  # the numbers of a shared list are those of another step
        known.numbers.update((item["key"], item["number"]) for item in known.items)
    for item in known.items:
        if item["number"] not in before:  # what left it out then does not count any more
            run.step(item_id(step, item["number"])).is_selected = not known.has_only
    for number in data["reused"]:
        state = run.step(item_id(step, number))
        if state.kept is not None:
            state.stage = "settled"
            state.checkpoint_status, state.kept = state.kept, None
            state.decided = state.decision is not None
            state.confirmed_seq = seq


def _of_unlike_numbers(items: list[ItemData]) -> list[ItemData]:
    """Return the items without those of a foreign log whose number an earlier one has: no two steps have one id."""
    if len({item["number"] for item in items}) == len(items):
        return items
    first: dict[int, ItemData] = {}
    for item in items:
        first.setdefault(item["number"], item)
    return list(first.values())


def collapse(run: ItemLists, data: RunResumed) -> None:
    """Set the items of all steps back that a resume runs again, or leaves out.

    The list of one that runs again is not known until it is expanded again.
    """
    named = {entry["step_id"]: entry["reason"] for entry in data["steps"]}
    for entry in data["steps"]:
        if entry["step_id"] not in run.items:
            continue
        if entry["action"] == "rerun":
            _collapse(run, entry, named, data)
        elif entry["reason"] == "not_selected":
            for item in run.items[entry["step_id"]].items:
                _leave_out(run, item_id(entry["step_id"], item["number"]))


def take_files(run: ItemLists, kind: str, data: Any) -> None:
    """Fold one event about files. A list has the values of its items: it is set back with those that an undo sets back."""
    take(run, kind, data)
    is_undo = kind == "merge_applied" and data.get("undoes") is not None
    for name in data["attempts"] if is_undo else ():
        step = name.partition("@")[0]
        item, collected, known = run.steps.get(name), run.steps.get(step), run.items.get(step)
        if item is None or collected is None or known is None:
            continue
        is_stale = item.is_undone and has_result(collected)
        if is_stale and any(item_id(step, each["number"]) == name for each in known.items):
            undo_step(collected)
            drop_seams(run.seams, step)


def _leave_out(run: ItemLists, name: str) -> None:
    """Set an item back whose step is left out: it does not begin, and keeps what it has if nothing has changed."""
    state = run.step(name)
    state.tried_before = state.attempt
    state.is_selected = False
    reset(state, "not_selected", may_keep=True)
    if state.kept is None:
        drop_seams(run.seams, name)


def _collapse(
    run: ItemLists, entry: ResumeStep, named: dict[str, ResumeReason], data: RunResumed
) -> None:
    """Set the items of a step back. Where no item is selected, all of a selected step run again."""
    step, flags = entry["step_id"], data["flags"]
    known = run.items[step]
    known.is_current = False
    names = [item_id(step, item["number"]) for item in known.items]
    selected = {name for name in names if named.get(name) == "selected"}
    is_forced = entry["reason"] == "selected" and not selected
    is_only = known.has_only = flags.get("only", "") in selected
    for name in names:
        state = run.step(name)
        state.tried_before = state.attempt
        state.is_selected = not is_only or name in selected
        waits = state.checkpoint_status in {"failed", "partial", "needs_orchestrator"}
        if flags.get("decided") and waits and state.decision is None and not state.is_permitted:
            continue
        if name not in named:
            reset(state, "selected" if is_forced else "upstream_changed", may_keep=not is_forced)
            if state.kept is None:
                drop_seams(run.seams, name)
