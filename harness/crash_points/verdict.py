"""What must hold at a crash point: looked at when a process has died, when it has ended, and when all is over.

A `Breach` says which promise was broken, in one of a closed set of words, and how.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from harness.crash_points.faults import ERRORS, HARMLESS, Fault
from harness.crash_points.offspring import End
from harness.crash_points.session import World, newest
from harness.crash_points.shapes import effects_of
from pixirnb import api
from pixirnb.errors import PixirnbError
from pixirnb.history.file_events import UNCHECKED

Word = Literal["lost", "doubled", "differing", "dishonest", "damaged", "hung", "survivor", "audit"]

_EXPECTED_WARNINGS: Final = frozenset(
    {"torn_tail", "side_effects_may_be_partial", "merge_taken_back"}
)
"""What a resume after a death has to say, and an uninterrupted run has not."""

_OF_THE_MOMENT: Final = frozenset(
    {
        "run_id",
        "elapsed_ms",
        "started_at",
        "ended_at",
        "attempt",
        "wave",
        "output_log",
        "output_path",
        "cell",
        "session_id",
    }
)
"""Fields that tell when, where and at which try, not how a run ended."""


@dataclass(frozen=True, slots=True)
class Breach:
    """One broken promise."""

    word: Word
    said: str


@dataclass(frozen=True, slots=True)
class Sight:
    """What lies on the disk when no process of the run lives."""

    run_id: str | None
    status: str
    ready: frozenset[str]
    """Steps whose `checkpoint_ready` is on the disk."""
    effects: Counter[str]


def sight(world: World, durable: Mapping[str, int] | None = None) -> tuple[Sight, list[Breach]]:
    """Look at the newest run, and say what is wrong with it as it lies there.

    `durable`: so many lines of each run's log will outlive a power failure that is to come; a step counts as ready only there.
    """
    effects = effects_of(world.work)
    try:
        run_id = newest(world)
        if run_id is None:
            return Sight(None, "", frozenset(), effects), _effects_without_a_run(effects)
        run = api.open_run(run_id, state=world.state)
        history, outcome = run.history(), run.outcome
        damage = run.damage
    except PixirnbError as error:
        found = Breach("damaged", f"it cannot be looked at: {error.code}: {error.message}")
        return Sight(None, "", frozenset(), effects), [found]
    breaches = []
    if damage is not None and damage.code != "torn_tail":
        breaches.append(Breach("damaged", damage.message))
    ready: dict[str, bool] = {}
    kept: set[str] = set()
    intents: Counter[str] = Counter()
    lasting = len(history) if durable is None else durable.get(run_id, 0)
    for event in history:
        if event.kind == "checkpoint_decided":
            is_ready = event.data["status"] == "checkpoint_ready"
            ready[event.data["step"]] = is_ready
            if is_ready and event.seq <= lasting:
                kept.add(event.data["step"])
        elif event.kind == "step_scheduled":
            intents[event.data["step"]] += 1
            ready.pop(event.data["step"], None)
    begun = {s.step_id for s in outcome.steps if s.kind not in {"decision", "merge"}}
    for step in sorted(begun):
        if effects[step] > intents[step]:
            said = f"{step} did its work {effects[step]} times on {intents[step]} durable intents"
            breaches.append(Breach("doubled", said))
        if ready.get(step) and not effects[step]:
            breaches.append(Breach("dishonest", f"{step} is ready and did nothing"))
    last = history[-1].kind
    if outcome.status == "completed":
        idle = sorted(step for step in begun if not ready.get(step))
        if idle or last != "run_finished":
            breaches.append(Breach("dishonest", f"completed without {idle or 'its end'}"))
    if outcome.status == "running":
        breaches.append(Breach("dishonest", "a dead run is shown as running"))
    done = frozenset(step for step, is_ready in ready.items() if is_ready and step in kept)
    return Sight(run_id, outcome.status, done, effects), breaches


def of_end(fault: Fault, end: End, seen: Sight, expected: dict[str, Any]) -> list[Breach]:
    """What is wrong with how a process ended that a fault befell and did not kill."""
    breaches = of_words(end)
    status = end.ended.get("outcome", {}).get("status")
    if fault.name in HARMLESS and (status != "completed" or plain(end) != expected):
        breaches.append(Breach("differing", f"{fault.name} was not harmless: {_brief(end)}"))
    if status == "completed" and seen.status != "completed":
        breaches.append(
            Breach("dishonest", f"it said completed, and the power failure left {seen.status!r}")
        )
    if status == "running":
        breaches.append(Breach("dishonest", "it said running, and ended"))
    return breaches


def of_words(end: End) -> list[Breach]:
    """What is wrong with what a process said, whatever befell it."""
    breaches = []
    if end.hung:
        breaches.append(Breach("hung", "it did not end"))
    elif not end.died and not end.ended:
        breaches.append(Breach("dishonest", f"it ended without a word: {end.stderr[-600:]}"))
    if "traceback" in end.ended:
        breaches.append(Breach("dishonest", end.ended["traceback"][-900:]))
    if "Traceback" in end.stderr:
        breaches.append(Breach("dishonest", f"on stderr: {end.stderr[-900:]}"))
    steps = end.ended.get("outcome", {}).get("steps", ())
    ours = [step for step in steps if (step["error"] or {}).get("kind") == "internal_error"]
    return breaches + [Breach("dishonest", f"{s['step_id']}: {s['error']}") for s in ours]


def of_rest(
    end: End,
    before: list[Sight],
    last: Sight,
    expected: dict[str, Any],
    faults: Sequence[Fault] = (),
) -> list[Breach]:
    """What is wrong with the run when it is over, given what was seen on the way and what had befallen it."""
    breaches = of_words(end)
    found = plain(end, faults)
    if found != expected:
        said = _difference(found, expected) if found else _brief(end)
        breaches.append(Breach("differing", said))
    elif not end.ended["is_no_op"] and expected["status"] == "completed":
        breaches.append(Breach("differing", "a completed run resumed to more than nothing"))
    for seen in before:
        for step in sorted(seen.ready):
            if last.effects[step] > seen.effects[step]:
                said = f"{step} was ready on the disk, and was done again"
                breaches.append(Breach("doubled", said))
            if step not in last.ready:
                breaches.append(
                    Breach("lost", f"{step} was ready on the disk, and is not any more")
                )
    return breaches


def plain(end: End, faults: Sequence[Fault] = ()) -> dict[str, Any]:
    """An outcome as far as two runs of one workflow must agree on it.

    Where one of them met a fault that refuses an operation, it may say for that reason that it could not look what changed.
    """
    document = end.ended.get("outcome")
    if document is None:
        return {}
    kept = [w for w in document["warnings"] if w.get("code") not in _EXPECTED_WARNINGS]
    text = json.dumps({**document, "warnings": kept}).replace(document["run_id"], "RUN")
    # Each world has a folder of its own, which the inputs name too.
    text = text.replace(document["workspace"], "WORK")
    result: dict[str, Any] = _without(json.loads(text))
    reasons = tuple(os.strerror(ERRORS[fault.name]) for fault in faults if fault.name in ERRORS)
    for step in result["steps"] if reasons else ():
        bundle = step["checkpoint"] or {}
        limits = bundle.get("known_limitations", [])
        limits[:] = [each for each in limits if not _is_of_fault(each, reasons)]
    return result


def _is_of_fault(limitation: str, reasons: Sequence[str]) -> bool:
    """Whether it says that nobody looked, because of what was refused."""
    is_unlooked = limitation.startswith(f"{UNCHECKED}: ")
    return is_unlooked and any(reason in limitation for reason in reasons)


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without(item) for name, item in value.items() if name not in _OF_THE_MOMENT}
    return [_without(item) for item in value] if isinstance(value, list) else value


def _effects_without_a_run(effects: Counter[str]) -> list[Breach]:
    if not effects:
        return []
    return [Breach("lost", f"work was done for a run that never began: {dict(effects)}")]


def _brief(end: End) -> str:
    outcome = end.ended.get("outcome")
    if outcome is None:
        return str(end.ended)[:600]
    return f"{outcome['status']}: {outcome['summary']} {outcome['reasons']}"


def _difference(found: Any, expected: Any, path: str = "") -> str:
    """Where two documents part first."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for name in expected | found:
            if found.get(name) != expected.get(name):
                return _difference(found.get(name), expected.get(name), f"{path}.{name}")
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for index, (left, right) in enumerate(zip(found, expected, strict=True)):
            if left != right:
                return _difference(left, right, f"{path}[{index}]")
    return f"{path.lstrip('.')}: {str(found)[:400]} instead of {str(expected)[:400]}"
