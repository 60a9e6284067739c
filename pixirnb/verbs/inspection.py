"""The verbs that show a run: `show logs events`. Source: contract.md §9."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter
from msgspec.structs import replace

from pixirnb import api
from pixirnb.errors import EXIT_COMPLETED, InvalidArguments
from pixirnb.verbs.answers import Answer, Following
from pixirnb.verbs.interchange import acp_document
from pixirnb.verbs.options import Common, Flag, JUnit, RunName, ShowFormat, is_json, state_of
from pixirnb.verbs.run_answers import (
    event_document,
    outcome_in,
    outputs_of,
    session_of,
    write_junit,
)

Follow = Annotated[bool, Parameter(name=("--follow", "-f"), negative="")]


def show(
    run: RunName = "@last",
    step: str | None = None,
    /,
    *,
    session: str | None = None,
    acp: Flag = False,
    items: Flag = False,
    format_: ShowFormat = "text",
    junit: JUnit = None,
    common: Common | None = None,
) -> Answer:
    """Show the status of a run or a step, with its evidence.

    Args:
        step: Show this step: its checks, output, and the reasons for its status.
        session: Show the conversation of an agent step: STEP, or STEP.ATTEMPT.
        acp: Print the run or the session as Agent Client Protocol updates, in JSON.
        items: List every item of steps with `for_each`, not only those that are not ready.
    """
    opened = api.open_run(run, state=state_of(common))
    if (step is not None or session is not None or acp) and (junit or format_ != "text"):
        raise InvalidArguments(
            "--format and --junit show a run, not a step or a session", fix="remove the option"
        )
    if acp:
        if step is not None:
            raise InvalidArguments(
                "--acp cannot be combined with a STEP",
                fix=f"use --session {step}, or remove the step",
            )
        return Answer("acp", acp_document(opened, session), is_json=is_json(common))
    if session is not None:
        return Answer("session", session_of(opened, session).document(), is_json=is_json(common))
    if step is None:
        if junit is not None:
            write_junit(opened, junit)
        form = "json" if is_json(common) else format_
        answer = outcome_in(opened, form, exit_code=EXIT_COMPLETED)
        return replace(answer, has_all_items=items)
    step = opened.require_step(step)
    why, outcome = tuple(opened.explain(step)), opened.outcome
    document = {
        **outcome.step(step).document(),
        "explained": list(why),
        "run_status": outcome.status,
        "workflow": outcome.workflow,
    }
    names = opened.compiled().carriers(step)
    if names != (step,):
        document["items"] = [outcome.step(name).document() for name in names]
    return Answer("bundle", document, lines=why, is_json=is_json(common), has_all_items=items)


def logs(
    run: RunName = "@last",
    step: str | None = None,
    /,
    *,
    attempt: int | None = None,
    follow: Follow = False,
    common: Common | None = None,
) -> Answer | Following:
    """Print the output of steps.

    Args:
        step: Only this step; default: every step.
        attempt: Attempt number of the step; default: the last one.
        follow: Keep printing until the attempt ends.
    """
    opened = api.open_run(run, state=state_of(common))
    if follow and step is not None:
        return Following(opened, is_json(common), step, attempt)
    if step is None and (follow or attempt is not None):
        option = "--follow" if follow else "--attempt"
        raise InvalidArguments(f"{option} needs a STEP", fix="name one after the run")
    return Answer("output", outputs_of(opened, step, attempt), is_json=is_json(common))


def events(
    run: RunName = "@last", /, *, follow: Follow = False, common: Common | None = None
) -> Answer | Following:
    """Print the events of a run, one per line.

    Args:
        follow: Keep printing until the run finishes or pauses.
    """
    opened = api.open_run(run, state=state_of(common))
    if follow:
        return Following(opened, is_json(common))
    listed = [event_document(event) for event in opened.history()]
    document: dict[str, Any] = {"run_id": opened.id, "events": listed}
    damage = opened.damage
    document["damage"] = (
        None
        if damage is None
        else {"code": damage.code, "line": damage.line, "message": damage.message}
    )
    return Answer("log", document, is_json=is_json(common))
