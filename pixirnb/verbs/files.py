"""The verbs about files: `diff` shows the changes of isolated steps, `merge` brings them back. Source: contract.md §8, §9."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from cyclopts import App, Parameter

from pixirnb import api
from pixirnb.errors import EXIT_COMPLETED, EXIT_NEEDS_DECISION, InvalidArguments
from pixirnb.verbs.answers import Answer
from pixirnb.verbs.options import Common, Flag, is_json, state_of

Sides = Annotated[list[str] | None, Parameter(name="--side", negative="")]


def add(app: App) -> None:
    """Register the verbs on an App."""

    @app.command
    def diff(
        run: str, step: str | None = None, *, stat: Flag = False, common: Common | None = None
    ) -> Answer:
        """Show what a step changed apart from your files, or every isolated step, and what of it is merged.

        Args:
            run: The run's id, or the path of its folder.
            step: A step of it, or a merge, such as m1.
            stat: Only which files, and how many lines.
        """
        opened = api.open_run(run, state=state_of(common))
        document = opened.diff(step, stat=stat).document()
        return Answer("diff", document, is_json=is_json(common))

    @app.command
    def merge(
        run: str,
        *steps: str,
        preview: Flag = False,
        undo: Flag = False,
        side: Sides = None,
        take_over: Flag = False,
        common: Common | None = None,
    ) -> Answer:
        """Bring what isolated steps changed into your files, whole or not at all; or take the last merge back.

        Args:
            run: The run's id, or the path of its folder.
            steps: Whose changes; without any, those of all steps that are ready.
            preview: Only show what would be done.
            undo: Take the last merge back.
            side: Whose version of a file in conflict counts: `workspace` or a step; as PATH=SIDE for one file.
            take_over: Take the run over from another host that is known to be dead.
        """
        if undo and (steps or side):
            raise InvalidArguments(
                "--undo takes the last merge back as a whole.",
                fix="Leave out the steps and --side; merge again what should stay.",
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
            f"`--side {'` `--side '.join(given):.200}` does not say one side for each file.",
            fix="Write --side SIDE once for all files, or --side PATH=SIDE once for each.",
            code="not_a_side",
        )
    return named
