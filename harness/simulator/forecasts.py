"""What a dry run of a resume says, beside what the resume then does.

A step is foreseen to be reused, held, skipped or run; one that only may run is not told of. A course that somebody disturbs
may go another way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.simulator.witness import Witness
from harness.simulator.world import Document, choice_of
from pixirnb.history.events import Event, ResumeStep
from pixirnb.machine.outcome import RunOutcome, StepOutcome
from pixirnb.operations.resume_plan import plan_resumption
from pixirnb.protocols.ports import Contents
from pixirnb.testing.fakes.memory_store import MemoryStore

_DISTURBED = ("ops", "death", "rival", "disturb")


def dry_run(
    store: MemoryStore, run_id: str, act: Document, contents: Contents
) -> list[ResumeStep] | None:
    """What is foreseen of each step; None for an act that is no resume, or one that somebody disturbs."""
    is_damaged = "damage" in act or "lose_blob" in act
    if act["form"] != "resume" or is_damaged or any(act.get(key) for key in _DISTURBED):
        return None
    reading, blobs = store.read(run_id), store.blobs(run_id)
    return plan_resumption(reading, blobs, *choice_of(act), contents=contents).preview()


def compare(
    witness: Witness,
    foreseen: Sequence[ResumeStep],
    events: Sequence[Event],
    found: RunOutcome,
) -> None:
    """Tell of each step that went another way. `events`: all of the run; none where the resume found nothing to do."""
    witness.count("forecasts", len(foreseen) > 0)
    resumed = [place for place, event in enumerate(events) if event.kind == "run_resumed"]
    course = events[resumed[-1] :] if resumed else []
    begun = {event.data["step"] for event in course if event.kind == "step_scheduled"}
    shown = {step.step_id: step for step in found.steps}
    lists = {name.partition("@")[0] for name in shown if "@" in name}
    for entry in foreseen:
        name, action = entry["step_id"], entry["action"]
        if action != "rerun" and name in begun:
            # What is behind a failure is held before its `when` is asked, and a list of such items collects them and fails.
            is_skip = entry.get("skipped", False)
            is_failed_list = name in lists and shown[name].checkpoint_status != "checkpoint_ready"
            if action == "reuse" or (_goes_well(name, shown) if is_skip else not is_failed_list):
                said = "skip" if is_skip else action
                witness.breach("foreseen", f"It was to {said}, and began an attempt.", name)
        elif action == "reuse" and _is_refused(shown.get(name)):
            witness.breach("foreseen", "It was to be reused, and its `when` is false.", name)
        elif action == "rerun" and not course:
            witness.breach("foreseen", "It was to run, and nothing did.", name)
        elif action == "rerun" and not entry.get("awaits") and _is_refused(shown.get(name)):
            witness.breach("foreseen", "It was to run, and its `when` is false.", name)


def _is_refused(step: StepOutcome | None) -> bool:
    """Whether the `when` of a step is false. Which items a list has, and what is asked of each, may not be known before."""
    by = None if step is None else step.held_by
    return by is not None and by["kind"] == "when" and by.get("seen") != "no item"


def _goes_well(name: str, shown: Mapping[str, StepOutcome]) -> bool:
    """Whether all that a step depends on is ready or skipped, items too."""
    reached: set[str] = set()
    edge = set(shown[name].depends_on)
    while edge:
        reached |= edge
        edge = {each for step in edge for each in shown[step].depends_on} - reached
    return all(
        step.checkpoint_status == "checkpoint_ready" or step.skipped
        for each, step in shown.items()
        if each.partition("@")[0] in reached
    )
