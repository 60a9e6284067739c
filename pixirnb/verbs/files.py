"""The verbs about files and what a run left: `diff`, `merge`, `checkpoint`. Source: contract.md §8, §9."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from cyclopts import Parameter

from pixirnb import api
from pixirnb.errors import EXIT_COMPLETED, EXIT_NEEDS_DECISION, InvalidArguments
from pixirnb.verbs.answers import Answer
from pixirnb.verbs.options import Common, Flag, Note, RunName, TakeOver, done, is_json, state_of

Sides = Annotated[list[str] | None, Parameter(name="--side", negative="")]
Preview = Annotated[
    bool,
    Parameter(
        name=("--dry-run", "--preview"), negative="", help="Show what would change; change nothing."
    ),
]


def diff(
    run: RunName,
    step: str | None = None,
    /,
    *,
    stat: Flag = False,
    common: Common | None = None,
) -> Answer:
    """Show the changes of isolated steps, and whether they are merged.

    Args:
        step: Only this step, or a merge such as m1.
        stat: List only the files and their line counts.
    """
    opened = api.open_run(run, state=state_of(common))
    document = opened.diff(step, stat=stat).document()
    return Answer("diff", document, is_json=is_json(common))


def merge(
    run: RunName,
    /,
    *steps: str,
    preview: Preview = False,
    undo: Flag = False,
    side: Sides = None,
    take_over: TakeOver = False,
    common: Common | None = None,
) -> Answer:
    """Apply the changes of isolated steps to your files, all or nothing; --undo reverts the last merge.

    Args:
        steps: Only these steps; default: all steps that are ready.
        undo: Revert the last merge.
        side: Version that wins a conflict: `workspace` (your files) or a step; PATH=VERSION for one file.
    """
    if undo and (steps or side):
        raise InvalidArguments(
            "--undo cannot be combined with steps or --side: it reverts the whole merge",
            fix="undo, then merge again the steps that you want",
        )
    opened = api.open_run(run, state=state_of(common))
    report = opened.merge(
        *steps,
        preview=preview,
        undo=undo,
        sides=sides_of(side),
        take_over=take_over,
    )
    code = EXIT_COMPLETED if report.ok else EXIT_NEEDS_DECISION
    return Answer("merge", report.document(), code, is_json=is_json(common))


def checkpoint(
    run: RunName,
    name: str,
    /,
    *,
    note: Note = "",
    take_over: TakeOver = False,
    common: Common | None = None,
) -> Answer:
    """Save a named checkpoint of a run, to fork from later.

    Args:
        name: Name of the checkpoint.
    """
    opened = api.open_run(run, state=state_of(common))
    opened.checkpoint(name, note, take_over=take_over)
    return done(f"Saved checkpoint {name} of {opened.id}.", opened.id, common)


def sides_of(given: Sequence[str] | None) -> str | Mapping[str, str] | None:
    """Return `SIDE` for all files, or `PATH=SIDE` for each. Raises InvalidArguments for both at once, or a repeated file."""
    if not given:
        return None
    # The last sign of equality: a file's name may hold one, and a side's cannot.
    pairs = [each.rpartition("=") for each in given]
    if len(given) == 1 and not pairs[0][1]:
        return given[0]
    named = {path: side for path, equals, side in pairs if equals and path and side}
    if len(named) < len(given):
        raise InvalidArguments(
            f"`--side {'` `--side '.join(given):.200}` does not name one version for each file",
            fix="write --side VERSION once for all files, or --side PATH=VERSION once for each",
            code="not_a_side",
        )
    return named
