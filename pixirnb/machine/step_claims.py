"""Claims of a plan's steps on files while they run, made once for all steps with equal sets."""

from __future__ import annotations

from typing import Literal

from pixirnb.planning.claims import Claim
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.planning.roots import Roots


class StepClaims:
    """The claims of each step of a plan, which may grow by items."""

    def __init__(self) -> None:
        self._by_sets: dict[tuple[object, ...], Claim | None] = {}
        self._claims: list[Claim | Literal["unknown"] | None] = []

    def of(self, plan: Plan, index: int) -> Claim | None:
        """Return the claim of a step; None where it has none. Steps with equal sets share one object."""
        if index >= len(self._claims):
            self._claims += ["unknown"] * (len(plan.steps) - len(self._claims))
        claim = self._claims[index]
        if claim == "unknown":
            step = plan.steps[index]
            key = (step.read_set, step.write_set, step.workspace)
            if key not in self._by_sets:
                self._by_sets[key] = claim_of(step, plan.roots)
            claim = self._claims[index] = self._by_sets[key]
        return claim

    def forget_items(self, plan: Plan) -> None:
        """Forget the claims of items: the next list gives their places to others."""
        del self._claims[len(plan.written) :]


def claim_of(step: PlannedStep, roots: Roots) -> Claim | None:
    """Return a step's claims on files while it runs, whatever names its sets go by; None where it claims nothing."""
    if not step.read_set and not step.write_set:
        return None
    return Claim(
        reads=tuple(roots.pattern(text) for text in step.read_set),
        writes=tuple(roots.pattern(text) for text in step.write_set),
        shared=step.workspace == "shared",
    )
