"""What is said where trees are not at hand: an exported run has none, and those of a state folder can be deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from pixirnb.errors import Cannot
from pixirnb.trees import Order

_ELSEWHERE: Final = "an export of a run has no trees: use the state folder that it ran in"
_NAMED: Final = 3


def tree_missing(digest: str, details: Mapping[str, Any]) -> Cannot:
    """The Cannot for a tree or a file that a store does not have; `details` name it as `tree`."""
    return Cannot(
        f"the files {digest!r} are not in the store of trees, or not as they were kept",
        fix=f"{_ELSEWHERE}; where its `trees` were deleted, run the step again (`resume RUN --from STEP`)",
        code="tree_missing",
        details=dict(details),
    )


@contextmanager
def naming_steps(order: Order, undone: str = "") -> Iterator[None]:
    """Say of trees that are missing whose they are and what brings them back. `undone`: a merge that is to be taken back."""
    try:
        yield
    except Cannot as error:
        if error.code != "tree_missing":
            raise
        lost = error.details.get("tree")
        layers = [each for each in order.layers if lost in (each.base, each.left)] or order.layers
        steps = [*dict.fromkeys(each.step for each in layers)]
        if not undone and not steps:
            raise
        raise Cannot(
            f"What {_listed(steps) if steps else undone} changed is not in the store of trees. Nothing was changed.",
            fix=_fix(order.run_id, steps),
            code=error.code,
            details={**error.details, "steps": steps},
        ) from error


def _fix(run_id: str, steps: Sequence[str]) -> str:
    if not steps:
        return f"{_ELSEWHERE.capitalize()}; where its `trees` were deleted, take the changes back by hand."
    again = ", ".join(f"`resume {run_id} --from {step}`" for step in steps[:_NAMED])
    what = "that step" if len(steps) == 1 else "those steps"
    return f"{_ELSEWHERE.capitalize()}; where its `trees` were deleted, run {what} again: {again}."


def _listed(steps: Sequence[str]) -> str:
    more = f" and {len(steps) - _NAMED} more" if len(steps) > _NAMED else ""
    return ", ".join(f"`{step}`" for step in steps[:_NAMED]) + more
