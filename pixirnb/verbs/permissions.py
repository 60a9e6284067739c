"""The verbs that answer permission requests of agents: `approve deny`. Source: contract.md §7, §9."""

from __future__ import annotations

from collections.abc import Callable

from cyclopts import App

from pixirnb import api
from pixirnb.errors import InvalidArguments
from pixirnb.ids import is_run_id
from pixirnb.operations.run import Run
from pixirnb.verbs.answers import Desk, Result, Underway, outcome_answer
from pixirnb.verbs.options import Common, Flag, is_attended, is_json, state_of


def add(app: App, desk: Desk) -> None:
    """Register the verbs on an App."""
    for answer, word in ((Run.approve, "Allow"), (Run.deny, "Deny")):
        about = f"{word} what an agent asked for, and go on with the run where it has come to rest."
        app.command(_verb(desk, answer), name=answer.__name__, help=about)


def _verb(desk: Desk, answer: Callable[..., Run]) -> Callable[..., Result]:
    def verb(
        request: str,
        *,
        note: str = "",
        no_resume: Flag = False,
        tail: Flag = False,
        take_over: Flag = False,
        common: Common | None = None,
    ) -> Result:
        """Answer a request in this one way.

        Args:
            request: The request's id, as `show` lists it: RUN/STEP.ATTEMPT.N.
            note: Why, for the record.
            no_resume: Only record it; resume later.
            tail: Show the steps' output as it comes.
            take_over: Take the run over from another host that is known to be dead.
        """
        opened = _run_of(request, common)
        answer(
            opened,
            request,
            note,
            resume=not no_resume,
            take_over=take_over,
            attended=is_attended(desk, common),
        )
        return _answered(opened, common, is_tailed=tail, is_left=no_resume)

    return verb


def _run_of(request: str, common: Common | None) -> Run:
    run_id, slash, _ = request.partition("/")
    if not slash or not is_run_id(run_id):
        raise InvalidArguments(
            f"`{request:.160}` is no request of an agent.",
            fix="Its id is RUN/STEP.ATTEMPT.N; `pixirnb show RUN` lists those that wait.",
            code="unknown_request",
        )
    return api.open_run(run_id, state=state_of(common))


def _answered(opened: Run, common: Common | None, *, is_tailed: bool, is_left: bool) -> Result:
    if opened.live is not None and not is_left:
        return Underway(opened, is_tailed, is_json(common))
    return outcome_answer(opened, is_json=is_json(common))
