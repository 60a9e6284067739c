"""Changes in the user's files while a shared step ran, that neither it nor any step at that time had claimed.

They are reported for steps that declare their writes, or that they only read, and set no status: a person, or a program that is
no step, may have written it. Notebooks are left out: their front end saves them at any time. Source: the issue's rule for
shared steps; docs/adr/0015-files-flow.md. Where the files cannot be listed, before or after, that is reported instead: it keeps
no step from running, and no step passes as if it had been checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pixirnb.engine.isolation import path_list
from pixirnb.engine.run_context import Attempt, RunContext
from pixirnb.errors import PixirnbError
from pixirnb.history.file_events import PathList
from pixirnb.planning.plan import PlannedStep
from pixirnb.runners.output.mask import Mask
from pixirnb.wording import cut, on_one_line

Marks = Mapping[tuple[str, str], object]

REASON_LIMIT: Final = 300
"""Characters of the reason why the files could not be checked."""

_SAVED_BY_OTHERS: Final = (".ipynb",)


def begin(attempt: Attempt, context: RunContext) -> Marks | PixirnbError | None:
    """Return the state of the files before a step, or the error that prevents it; None for an unwatched step. Blocking."""
    if context.files is None or not is_watched(attempt.step):
        return None
    try:
        return context.files.marks(attempt.step.roots)
    except PixirnbError as error:
        return error


def find_undeclared(
    before: Marks | PixirnbError | None, attempt: Attempt, context: RunContext, mask: Mask
) -> PathList | None:
    """Return the changes that no step had claimed, or why these are unknown, for `attempt_ended.outside`; None where there are
    none.

    None, too, for a step during which a person merged files, or a step ran that may write anything. Blocking.
    """
    if before is None or context.files is None or attempt.is_disturbed:
        return None
    if any(other.posture == "undeclared" and not other.write_set for other in attempt.concurrent):
        return None
    if isinstance(before, PixirnbError):
        return _unchecked(before, mask)
    try:
        now = context.files.marks(attempt.step.roots)
    except PixirnbError as error:
        return _unchecked(error, mask)
    touched = [file for file in {*before, *now} if before.get(file) != now.get(file)]
    writers = [attempt.step, *(o for o in attempt.concurrent if o.workspace == "shared")]
    claims = context.roots.claims(glob for step in writers for glob in step.write_set)
    outside = sorted(
        context.roots.shown(root, path)
        for root, path in touched
        if not claims(root, path) and not path.endswith(_SAVED_BY_OTHERS)
    )
    result: PathList | None = mask.data(path_list(outside)) if outside else None
    return result


def _unchecked(error: PixirnbError, mask: Mask) -> PathList:
    """Return no paths, and the reason: one line, bounded, without secrets."""
    # Masked before it is cut: half a secret is no secret that a mask knows.
    message = on_one_line(mask.text(error.one_line()))
    return {**path_list(()), "unchecked": cut(message, REASON_LIMIT)}


def is_watched(step: PlannedStep) -> bool:
    """Return whether a step declares its writes, or that it only reads."""
    if step.workspace != "shared" or step.kind in {"decision", "merge"}:
        return False
    agent = None if step.agent is None else step.agent.posture
    return bool(step.spec.write_set) or "read_only" in {step.spec.posture, agent}
