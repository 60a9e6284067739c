"""What is said where trees are not at hand: an exported run has none, those of a state folder can be deleted, git can go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from pixirnb.errors import Cannot
from pixirnb.protocols.trees import MergeInput
from pixirnb.workspace.errors import OLDEST_GIT

_ELSEWHERE: Final = "an export of a run has no trees: use the state folder that it ran in"
_NAMED: Final = 3
_OLDEST: Final = ".".join(map(str, OLDEST_GIT))


def tree_missing(digest: str, details: Mapping[str, Any]) -> Cannot:
    """The Cannot for a tree or a file that a store does not have; `details` name it as `tree`."""
    return Cannot(
        f"the files {digest!r} are not in the store of trees, or not as they were kept",
        fix=f"{_ELSEWHERE}; where its `trees` were deleted, run the step again (`resume RUN --from STEP`)",
        code="tree_missing",
        details=dict(details),
    )


def git_missing(run_id: str, steps: Sequence[str], *, is_undo: bool = False) -> Cannot:
    """The Cannot for trees that git keeps, where there is none. `steps` left them; where `is_undo`, these are merges."""
    who = ", ".join(steps) if is_undo else _listed(steps)
    more = f", then likewise {_listed(steps[1:])}" if len(steps) > 1 else ""
    again = f", or do it anew without: {_again(run_id, steps[:1])}{more}"
    return Cannot(
        f"What {who} changed is kept by git, and git {_OLDEST} or later is not here. Nothing was changed.",
        fix=f"Install git {_OLDEST} or later{'' if is_undo else again}.",
        code="git_missing",
        details={"steps": list(steps)},
    )


def git_missing_to_forget(run_id: str) -> Cannot:
    """The Cannot for a run that is to go, of which git keeps trees."""
    return Cannot(
        f"The files of {run_id} are kept by git, and there is no git of release {_OLDEST} or later here to delete them.",
        fix=f"Install git {_OLDEST} or later, then prune again.",
        code="git_missing",
        details={"steps": []},
    )


def trees_mixed(run_id: str, steps: Sequence[str]) -> Cannot:
    """The Cannot for changes of which some are kept by git and some as copies. `steps` are those to run again."""
    return Cannot(
        f"What {_listed(steps)} changed is kept another way (by git, or as copies) than what the steps beside changed, and "
        "the two cannot be merged with each other. Nothing was changed.",
        fix=f"Run again, so that all is kept one way: {_again(run_id, steps)}.",
        code="trees_mixed",
        details={"steps": list(steps)},
    )


@contextmanager
def naming_steps(order: MergeInput, undone: str = "") -> Iterator[None]:
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
    again = _again(run_id, steps)
    what = "that step" if len(steps) == 1 else "those steps"
    return f"{_ELSEWHERE.capitalize()}; where its `trees` were deleted, run {what} again: {again}."


def _again(run_id: str, steps: Sequence[str]) -> str:
    return ", ".join(f"`resume {run_id} --from {step}`" for step in steps[:_NAMED])


def _listed(steps: Sequence[str]) -> str:
    more = f" and {len(steps) - _NAMED} more" if len(steps) > _NAMED else ""
    return ", ".join(f"`{step}`" for step in steps[:_NAMED]) + more
