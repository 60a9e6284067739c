"""What changed in the user's files while a shared step ran, that neither it nor anybody beside it had claimed.

It is told of steps that say what they write, or that they only read, and sets no status: a person, or a program that is no
step, may have written it. Notebooks are left out: their front end saves them at any time. Source: the issue's rule for shared
steps; docs/adr/0015-files-flow.md. Where the files cannot be listed, before or after, that is told instead: it keeps no step
from running, and none passes as if somebody had looked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pixirnb.engine.isolation import path_list
from pixirnb.engine.run_context import Attempt, RunContext
from pixirnb.errors import PixirnbError, sentence
from pixirnb.history.file_events import PathList
from pixirnb.planning.plan import PlannedStep
from pixirnb.runners.output.mask import Mask
from pixirnb.wording import cut, on_one_line

Marks = Mapping[tuple[str, str], object]

REASON_LIMIT: Final = 300
"""Characters of the reason why nobody could look."""

_SAVED_BY_OTHERS: Final = (".ipynb",)


def begin(attempt: Attempt, around: RunContext) -> Marks | PixirnbError | None:
    """How the files stand before a step, or why nobody can tell; None for one that is not watched. Blocking."""
    if around.files is None or not is_watched(attempt.step):
        return None
    try:
        return around.files.marks(attempt.step.roots)
    except PixirnbError as error:
        return error


def find_undeclared(
    before: Marks | PixirnbError | None, attempt: Attempt, around: RunContext, mask: Mask
) -> PathList | None:
    """What nobody had claimed, or why that is not known, for `attempt_ended.outside`; None where there is nothing to tell.

    Nor is there beside a merge, which writes for others, and beside a step that may write anything. Blocking.
    """
    if before is None or around.files is None or attempt.is_disturbed:
        return None
    if any(other.posture == "undeclared" and not other.write_set for other in attempt.beside):
        return None
    if isinstance(before, PixirnbError):
        return _unchecked(before, mask)
    try:
        now = around.files.marks(attempt.step.roots)
    except PixirnbError as error:
        return _unchecked(error, mask)
    touched = [file for file in {*before, *now} if before.get(file) != now.get(file)]
    writers = [attempt.step, *(o for o in attempt.beside if o.workspace == "shared")]
    claims = around.roots.claims(glob for step in writers for glob in step.write_set)
    outside = sorted(
        around.roots.shown(root, path)
        for root, path in touched
        if not claims(root, path) and not path.endswith(_SAVED_BY_OTHERS)
    )
    found: PathList | None = mask.data(path_list(outside)) if outside else None
    return found


def _unchecked(error: PixirnbError, mask: Mask) -> PathList:
    """No paths, and why there are none: one sentence on one line, bounded, without secrets."""
    # Masked before it is cut: half a secret is no secret that a mask knows.
    told = sentence(on_one_line(mask.text(error.message)))
    return {**path_list(()), "unchecked": cut(told, REASON_LIMIT)}


def is_watched(step: PlannedStep) -> bool:
    """Whether a step says what it writes, or that it only reads."""
    if step.workspace != "shared" or step.kind in {"decision", "merge"}:
        return False
    agent = None if step.agent is None else step.agent.posture
    return bool(step.spec.write_set) or "read_only" in {step.spec.posture, agent}
