"""Errors for trees that are missing: an exported run has none, those of a state folder can be deleted, git can be removed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from pixirnb.errors import Cannot
from pixirnb.json_types import JsonMapping
from pixirnb.planning.environment import OLDEST_GIT
from pixirnb.protocols.trees import MergeInput
from pixirnb.wording import join_names

_ELSEWHERE: Final = "use the state folder that the run used (exports contain no snapshots)"
_NAMED: Final = 3
_OLDEST: Final = ".".join(map(str, OLDEST_GIT))


def tree_missing(digest: str, details: JsonMapping) -> Cannot:
    """Return the Cannot for a tree or a file that a store does not have; `details` name it as `tree`."""
    return Cannot(
        f"snapshot {digest!r} is missing or damaged",
        fix=f"{_ELSEWHERE}, or run the step again (`pixirnb resume RUN --from STEP`)",
        code="tree_missing",
        details=dict(details),
    )


def git_missing() -> Cannot:
    """Return the Cannot for files to copy or to merge where there is no git that keeps them."""
    return Cannot(
        f"isolated workspaces and merges require git {_OLDEST} or later; none was found",
        fix=f"install git {_OLDEST} or later",
        code="git_missing",
    )


def git_missing_to_forget(run_id: str) -> Cannot:
    """Return the Cannot for a run to prune, of which git keeps trees."""
    return Cannot(
        f"deleting the snapshots of {run_id} requires git {_OLDEST} or later; none was found",
        fix=f"install git {_OLDEST} or later, then prune again",
        code="git_missing",
        details={"steps": []},
    )


def require_trees(order: MergeInput) -> None:
    """Raise Cannot (`tree_missing`) where an order builds on trees that no store here reads: for use within `naming_steps`."""
    for layer in order.layers:
        if is_copied(layer.base):
            raise tree_missing(layer.base, {"tree": layer.base})


def is_copied(tree: str) -> bool:
    """Return whether an earlier release kept a tree as copies of its files, where there was no git."""
    return tree.startswith("tree:")


@contextmanager
def naming_steps(order: MergeInput, undone: str = "") -> Iterator[None]:
    """Add to an error for missing trees the steps they are of and a fix. `undone`: a merge that is to be taken back."""
    try:
        yield
    except Cannot as error:
        if error.code != "tree_missing":
            raise
        lost = str(error.details.get("tree"))
        was_copied = is_copied(lost)
        layers = [
            layer
            for layer in order.layers
            if lost in (layer.base, layer.left) or (was_copied and is_copied(layer.base))
        ]
        steps = [*dict.fromkeys(layer.step for layer in layers or order.layers)]
        if not undone and not steps:
            raise
        where = (
            "are stored in a format that only an earlier release can read"
            if was_copied
            else "are missing from the snapshots"
        )
        raise Cannot(
            f"the changes of {join_names(steps, _NAMED, '`{}`'.format) if steps else undone} {where}; nothing was changed",
            fix=_fix(order.run_id, steps, was_copied=was_copied),
            code=error.code,
            details={**error.details, "steps": steps},
        ) from error


def _fix(run_id: str, steps: Sequence[str], *, was_copied: bool) -> str:
    what = "that step" if len(steps) == 1 else "those steps"
    action = f"run {what} again: {_again(run_id, steps)}" if steps else "undo the changes by hand"
    if was_copied:
        return action
    return f"{_ELSEWHERE}, or {action}"


def _again(run_id: str, steps: Sequence[str]) -> str:
    return ", ".join(f"`pixirnb resume {run_id} --from {step}`" for step in steps[:_NAMED])
