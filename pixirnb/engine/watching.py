"""What changed in the user's files while a shared step ran, that neither it nor anybody beside it had claimed.

It is told of steps that say what they write, or that they only read, and sets no status: a person, or a program that is no
step, may have written it. Notebooks are left out: their front end saves them at any time. Source: the issue's rule for shared
steps; docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pixirnb.engine.isolated import path_list
from pixirnb.engine.surroundings import Attempt, Surroundings
from pixirnb.errors import PixirnbError
from pixirnb.planning.plan import PlannedStep

Marks = Mapping[tuple[str, str], object]

_SAVED_BY_OTHERS: Final = (".ipynb",)


def begin(attempt: Attempt, around: Surroundings) -> Marks | None:
    """How the files stand before a step; None for one that is not watched. Blocking."""
    if around.files is None or not is_watched(attempt.step):
        return None
    try:
        return around.files.marks(attempt.step.roots)
    except PixirnbError:
        return None  # a workspace that cannot be listed keeps no step from running in it


def changed(marks: Marks | None, attempt: Attempt, around: Surroundings) -> dict[str, Any] | None:
    """What nobody had claimed, for `attempt_ended.outside`; None where nothing did, or where nobody can tell. Blocking."""
    if marks is None or around.files is None or attempt.is_disturbed:
        return None
    if any(other.posture == "undeclared" and not other.write_set for other in attempt.beside):
        return None  # such a step may write anything
    try:
        now = around.files.marks(attempt.step.roots)
    except PixirnbError:
        return None
    touched = [file for file in {*marks, *now} if marks.get(file) != now.get(file)]
    writers = [attempt.step, *(o for o in attempt.beside if o.workspace == "shared")]
    claims = around.roots.claims(glob for step in writers for glob in step.write_set)
    outside = sorted(
        around.roots.shown(root, path)
        for root, path in touched
        if not claims(root, path) and not path.endswith(_SAVED_BY_OTHERS)
    )
    return path_list(outside) if outside else None


def is_watched(step: PlannedStep) -> bool:
    """Whether a step says what it writes, or that it only reads."""
    if step.workspace != "shared" or step.kind in {"decision", "merge"}:
        return False
    agent = None if step.agent is None else step.agent.posture
    return bool(step.spec.write_set) or "read_only" in {step.spec.posture, agent}
