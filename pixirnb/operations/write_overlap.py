"""A check whether two workflows that run at once may write the same files: each is warned.

Source: contract.md §2, last sentence.
"""

from __future__ import annotations

from pixirnb.machine.board import claim_of
from pixirnb.planning.claims import Claim, ClaimIndex
from pixirnb.planning.plan import Plan


def share_writes(one: Plan, other: Plan) -> bool:
    """Return whether a shared writer of one overlaps a shared writer of the other."""
    index = ClaimIndex()
    for key, claim in enumerate(_writers(one)):
        index.add(key, claim)
    return any(index.conflicts(claim) for claim in _writers(other))


def _writers(plan: Plan) -> list[Claim]:
    claims = [claim_of(step, plan.roots) for step in plan.steps if step.write_set]
    return [
        Claim(reads=(), writes=claim.writes, shared=True)
        for claim in claims
        if claim is not None and claim.shared
    ]
