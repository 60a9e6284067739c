"""Whether a run has come to rest once nobody interferes: nothing changes any more, or it goes round as it must."""

from __future__ import annotations

from typing import Final

from harness.simulator.world import Document, World
from pixirnb.history.run_state import RunState
from pixirnb.machine.outcome import RunOutcome, StepOutcome
from pixirnb.planning.plan import Plan

_READY: Final = "checkpoint_ready"
_WITHOUT_AN_ATTEMPT: Final = frozenset(
    {"rejected", "permission_denied", "reference_missing", "output_too_large", "value_unreadable"}
)
"""Failures that come of no attempt, so that no later one can mend them."""


def statuses(found: RunOutcome) -> dict[str, str]:
    """Step to checkpoint status."""
    return {step.step_id: str(step.checkpoint_status) for step in found.steps}


def is_same(world: World, now: dict[str, str], before: dict[str, str] | None) -> bool:
    """Whether nothing changed. Under `on_failure: stop` who fails first may alternate: then what is ready counts."""
    if before is None or world.workflow.get("on_failure") != "stop":
        return now == before
    return {k for k, v in now.items() if v == _READY} == {
        k for k, v in before.items() if v == _READY
    }


def has_no_rest(plan: Plan, run: RunState) -> bool:
    """Whether some step may be done anew for ever: then to have been completed, or to go round, is all that can be asked."""
    # Where a thread that was left outlasts the run's own time-out, every other course waits for it in vain.
    has_left = any(
        error["kind"] == "detached" for state in run.steps.values() for error in state.errors
    )
    if has_left and plan.workflow.timeout is not None:
        return True
    # What was solved is asked again where the step failed after all: it begins anew from files that clash.
    has_clashed = any(state.clash is not None for state in run.steps.values())
    return has_clashed or any(step.spec.reuse == "never" for step in plan.steps)


def behaviours_of(world: World, step: str) -> list[Document]:
    """How the attempts of a step go; of an item as of its step, unless it has a way of its own."""
    known = world.behaviours.get(step) or world.behaviours.get(step.partition("@")[0])
    return known or [{}]


def item_ways(world: World, plan: Plan) -> int:
    """How many attempts of items may differ: where a failure stops the rest, each may take a course of its own."""
    return sum(len(behaviours_of(world, s.id)) for s in plan.steps if s.parent is not None)


def is_at_rest(world: World, found: RunOutcome) -> bool:
    """Whether nobody is asked, and every step that is not ready has come to the last of its behaviours."""
    if found.ids("needs_orchestrator") and not world.is_comparable:
        return False
    # What is enough without some of its items, or was rejected, does not begin them again.
    settled = {
        step.step_id
        for step in found.steps
        if step.checkpoint_status == _READY or _is_without_attempt(step)
    }
    return all(
        step.attempt >= len(behaviours_of(world, step.step_id))
        for step in found.steps
        if step.checkpoint_status in {"failed", "partial", "needs_orchestrator"}
        and step.kind not in {"decision", "for_each"}
        and step.step_id not in settled
        and step.step_id.partition("@")[0] not in settled
    )


def _is_without_attempt(step: StepOutcome) -> bool:
    return step.error is not None and step.error["kind"] in _WITHOUT_AN_ATTEMPT
