"""The verbs for many runs at once: `runs doctor compare export prune`. Source: contract.md §9."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

from cyclopts import App, Parameter

from pixirnb import api
from pixirnb.errors import EXIT_CANNOT, EXIT_COMPLETED, EXIT_PARTIAL, InvalidArguments
from pixirnb.operations.doctor import diagnose, diagnose_all
from pixirnb.operations.export import export_run
from pixirnb.operations.prune import ON_REQUEST, PRUNABLE, PruneFilter, prune_runs
from pixirnb.operations.run_summary import compare_runs
from pixirnb.spec.durations import parse_duration
from pixirnb.verbs.answers import Answer
from pixirnb.verbs.options import Common, Flag, RunName, is_json, state_of

_EXIT_OF: Final = {
    "ready": EXIT_COMPLETED,
    "ready_with_warnings": EXIT_PARTIAL,
    "blocked": EXIT_CANNOT,
}
_DAYS: Final = re.compile(r"(?:([0-9]{1,5})d)?(.*)", re.DOTALL)


def add(app: App) -> None:
    """Register the verbs on an App."""

    @app.command(name=("runs", "list", "ls"))
    def runs(*, limit: int = 50, common: Common | None = None) -> Answer:
        """List runs, newest first.

        Args:
            limit: Maximum number of runs; 0 for all.
        """
        rows = api.runs(state=state_of(common), limit=_limit(limit))
        return Answer("runs", {"runs": rows}, is_json=is_json(common))

    @app.command
    def doctor(
        run: RunName | None = None, *, limit: int = 50, common: Common | None = None
    ) -> Answer:
        """Check runs for problems; change nothing.

        Args:
            limit: Without RUN: maximum number of runs, newest first; 0 for all.
        """
        if run is None:
            store = api.store_of(api.workspace_of(None, None), state_of(common))
            document = diagnose_all(store, limit=_limit(limit))
        else:
            store, run_id = api.locate_run(run, state=state_of(common))
            document = diagnose(store, run_id).document()
        return Answer("diagnosis", document, _EXIT_OF[document["status"]], is_json=is_json(common))

    @app.command
    def compare(left: RunName, right: RunName, *, common: Common | None = None) -> Answer:
        """Compare two runs: their workflows, inputs, outcomes and steps."""
        pair = [api.locate_run(run, state=state_of(common)) for run in (left, right)]
        document = compare_runs(pair[0], pair[1])
        return Answer("comparison", document, is_json=is_json(common))

    @app.command
    def export(
        run: RunName,
        *,
        to: Path | None = None,
        html: Flag = False,
        force: Flag = False,
        common: Common | None = None,
    ) -> Answer:
        """Write a run to one file: a zip that opens on any machine, or an HTML page.

        Args:
            to: File to write; default: RUN.zip or RUN.html in the current folder.
            html: Write an HTML page of the outcome.
            force: Replace an existing file.
        """
        store, run_id = api.locate_run(run, state=state_of(common))
        target = to or Path(f"{run_id}.{'html' if html else 'zip'}")
        document = export_run(store, run_id, target, is_page=html, force=force)
        return Answer("export", document, is_json=is_json(common))

    @app.command
    def prune(
        *,
        keep: int | None = None,
        older_than: str | None = None,
        status: Annotated[str | None, Parameter(negative="")] = None,
        yes: Flag = False,
        common: Common | None = None,
    ) -> Answer:
        """List the runs that would be deleted; --yes deletes them.

        Args:
            keep: Keep the N most recent runs.
            older_than: Only runs that ended longer ago than this, such as 30d or 12h.
            status: Only runs with these statuses, separated by commas.
            yes: Delete the runs.
        """
        if yes and keep is None and older_than is None and status is None:
            raise InvalidArguments(
                "--yes without a filter would delete every run",
                fix="add --keep N, --older-than 30d or --status failed,partial",
            )
        which = PruneFilter(_kept(keep), _age_s(older_than), _statuses(status))
        store = api.store_of(api.workspace_of(None, None), state_of(common))
        document = prune_runs(store, api.row_of_live(store), which, is_preview=not yes)
        code = EXIT_CANNOT if document["failed"] else EXIT_COMPLETED
        return Answer("prune", document, code, is_json=is_json(common))


def _limit(limit: int) -> int | None:
    if limit < 0:
        raise InvalidArguments(
            f"invalid --limit {limit}", fix="use a positive number, or 0 for all"
        )
    return limit or None


def _kept(keep: int | None) -> int:
    if keep is not None and keep < 0:
        raise InvalidArguments(f"invalid --keep {keep}", fix="use 0 or a positive number")
    return keep or 0


def _age_s(text: str | None) -> float:
    """Return the seconds of `30d`, `2d12h`, `90m`; any number of days."""
    if text is None:
        return 0.0
    match = _DAYS.fullmatch(text)
    days, rest = (match[1], match[2]) if match else (None, text)
    try:
        milliseconds = parse_duration(rest, allow_zero=True) if rest or days is None else 0
    except ValueError as error:
        raise InvalidArguments(
            f"invalid --older-than `{text}`",
            fix="use a duration such as 30d, 12h or 1d12h",
            code="bad_duration",
        ) from error
    return int(days or 0) * 86_400 + milliseconds / 1000


def _statuses(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    named = tuple(word.strip() for word in text.split(",") if word.strip())
    known = (*PRUNABLE, *ON_REQUEST)
    strange = [word for word in named if word not in known]
    if strange or not named:
        raise InvalidArguments(
            f"invalid status `{', '.join(strange) or text}`",
            fix="use " + ", ".join(known),
            code="not_a_choice",
        )
    return named
