"""A plan with the agents of its tasks, as blocks: what a plan shows of itself everywhere."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from pixirnb.planning.delegations import Delegation, delegations
from pixirnb.planning.documents import PlanDocument
from pixirnb.planning.report import PlanReport
from pixirnb.views.blocks.model import Block
from pixirnb.views.run.isolation_overview import copies
from pixirnb.views.run.plan_view import PROMPTS, plan_blocks

_PROMPTED: Final = 1000
"""Steps of a workflow whose prompts are composed to be looked at with its plan: that takes planning it again."""


def planned_blocks(
    planned: PlanReport, *, has_prompts: bool = True, left_out: Sequence[str] = ()
) -> list[Block]:
    """Return a plan with its picture, who does what, and, with `has_prompts`, the prompts of agents; without the steps
    `left_out`.
    """
    absent = frozenset(left_out)
    delegated = [each for each in delegations(planned.spec) if each.step not in absent]
    return plan_blocks(
        _without(planned.document(), absent),
        [
            (before, step.id)
            for step in planned.spec.steps
            if step.id not in absent
            for before in step.depends_on
        ],
        kinds={step.id: step.kind for step in planned.spec.steps},
        delegations=delegated,
        prompts=_prompts(planned, delegated) if has_prompts else {},
        copies=copies(planned.spec),
    )


def _without(document: PlanDocument, absent: Collection[str]) -> PlanDocument:
    if not absent:
        return document
    waves = [[step for step in wave if step not in absent] for wave in document["waves"]]
    count = sum(map(len, waves))
    return {
        **document,
        "waves": [wave for wave in waves if wave],
        "peak_concurrency": min(document["peak_concurrency"], count),
    }


def _prompts(planned: PlanReport, delegated: Sequence[Delegation]) -> dict[str, str]:
    """Return the first prompts of a plan that can run and is not large, by step."""
    if not delegated or not planned.ok or len(planned.spec.steps) > _PROMPTED:
        return {}
    return planned.prompts(each.step for each in delegated[:PROMPTS])
