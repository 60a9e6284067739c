"""The verbs by which a person decides: `decide approve deny cancel`. Source: contract.md §6, §7, §9."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from cyclopts import Parameter

from pixirnb import api
from pixirnb.errors import Cannot, InvalidArguments
from pixirnb.machine.requests import spell_answers
from pixirnb.operations.run import Run
from pixirnb.runners.cluster.connection import VARIABLE
from pixirnb.verbs.answers import Answer, Result, Underway
from pixirnb.verbs.options import (
    Common,
    DeskHere,
    Flag,
    NoResume,
    Note,
    RunName,
    Tail,
    TakeOver,
    done,
    is_attended,
    is_json,
    state_of,
    value_of,
)
from pixirnb.verbs.run_answers import outcome_answer

RequestName = Annotated[
    str,
    Parameter(
        help="Request id as `show` lists it: RUN/STEP.ATTEMPT.N. RUN may be written as for other verbs."
    ),
]


def decide(
    run: RunName,
    step: str,
    verdict: str,
    /,
    *,
    desk: DeskHere,
    value: str | None = None,
    note: Note = "",
    no_resume: NoResume = False,
    tail: Tail = False,
    take_over: TakeOver = False,
    common: Common | None = None,
) -> Result:
    """Accept or reject a step that needs a decision, or resolve a seam; the run continues.

    Args:
        step: Step that needs a decision, or a seam to resolve with a note.
        verdict: `accept` or `reject`.
        value: Answer as JSON, or plain text.
    """
    opened = api.open_run(run, state=state_of(common))
    try:
        with _recorded():
            opened.decide(
                step,
                verdict,
                value=value_of(value),
                note=note,
                resume=not no_resume,
                take_over=take_over,
                attended=is_attended(desk, common),
            )
    except InvalidArguments as error:
        choices = opened.state.step(step).choices
        spell_answers(error, choices, each="`--value {}`")
        raise
    return _decided(opened, common, is_tailed=tail, is_left=no_resume)


def approve(
    request: RequestName,
    /,
    *,
    desk: DeskHere,
    note: Note = "",
    no_resume: NoResume = False,
    tail: Tail = False,
    take_over: TakeOver = False,
    common: Common | None = None,
) -> Result:
    """Allow the action that an agent asked for; the run continues."""
    opened, open_request = _request_of(request, common)
    is_here, resume = is_attended(desk, common), not no_resume
    with _recorded():
        opened.approve(open_request, note, resume=resume, take_over=take_over, attended=is_here)
    return _decided(opened, common, is_tailed=tail, is_left=no_resume)


def deny(
    request: RequestName,
    /,
    *,
    desk: DeskHere,
    note: Note = "",
    no_resume: NoResume = False,
    tail: Tail = False,
    take_over: TakeOver = False,
    common: Common | None = None,
) -> Result:
    """Deny the action that an agent asked for; the run continues."""
    opened, open_request = _request_of(request, common)
    is_here, resume = is_attended(desk, common), not no_resume
    with _recorded():
        opened.deny(open_request, note, resume=resume, take_over=take_over, attended=is_here)
    return _decided(opened, common, is_tailed=tail, is_left=no_resume)


@contextmanager
def _recorded() -> Iterator[None]:
    """Say of a decision that was not recorded, as the run cannot go on here, how it can be."""
    try:
        yield
    except Cannot as error:
        if error.code == "no_cluster":
            error.message += "; the decision was not recorded"
            error.fix = f"set {VARIABLE}, or add `--no-resume` and resume with `--cluster ADDRESS`"
        raise


def cancel(
    run: RunName,
    step: str | None = None,
    /,
    *,
    drain: Flag = False,
    take_over: TakeOver = False,
    common: Common | None = None,
) -> Answer:
    """Stop a run, or one of its steps.

    Args:
        step: Stop only this step.
        drain: Finish running steps, start no new ones. Not with STEP.
    """
    opened = api.open_run(run, state=state_of(common))
    opened.cancel(step, drain=drain, take_over=take_over)
    what = f"step {step} of {opened.id}" if step else opened.id
    sentence = f"Draining {opened.id}: running steps finish, no new ones start."
    return done(sentence if drain else f"Stopping {what}.", opened.id, common)


def _request_of(request: str, common: Common | None) -> tuple[Run, str]:
    name, slash, rest = request.rpartition("/")
    if not slash:
        raise InvalidArguments(
            f"invalid request id `{request:.160}`",
            fix="use RUN/STEP.ATTEMPT.N; `pixirnb show RUN` lists the open requests",
            code="unknown_request",
        )
    opened = api.open_run(name, state=state_of(common))
    return opened, f"{opened.id}/{rest}"


def _decided(opened: Run, common: Common | None, *, is_tailed: bool, is_left: bool) -> Result:
    if opened.live is not None and not is_left:
        return Underway(opened, is_tailed, is_json(common), is_resumed=True)
    return outcome_answer(opened, is_json=is_json(common))
