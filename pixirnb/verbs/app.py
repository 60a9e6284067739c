"""The grammar of `pixirnb VERB` and `%pixir VERB`, one for both. Source: contract.md §9.

Each verb returns a Result (see `answers`); calling the App with tokens does both. Mistakes in the command line are
cyclopts errors, all others are pixirnb's own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import App, Parameter

from pixirnb import api
from pixirnb.errors import EXIT_COMPLETED, InvalidArguments
from pixirnb.system.version import release
from pixirnb.verbs import files, housekeeping, interchange, permissions
from pixirnb.verbs.answers import (
    Answer,
    Desk,
    Following,
    Result,
    Underway,
    event_document,
    outcome_answer,
    plan_answer,
    prompt_answer,
)
from pixirnb.verbs.interchange import acp_document
from pixirnb.verbs.options import (
    Common,
    Flag,
    Inputs,
    done,
    edges,
    functions_of,
    inputs_given,
    is_attended,
    is_json,
    outputs_of,
    session_of,
    source_of,
    state_of,
    value_of,
)
from pixirnb.verbs.resume import Choice
from pixirnb.verbs.resume import resume as go_on
from pixirnb.verbs.smoke import verb


def build(desk: Desk, *, name: str = "pixirnb") -> App:
    """Build the verbs, bound to a surface that calls them `name`. Calling it with tokens returns a Result."""
    app = App(
        name=name,
        help="Workflows that end honestly: every run a log, every step unlocked by evidence.",
        help_format="plaintext",
        version_flags=["--version"],
        version=release,
        result_action="return_value",
    )

    @app.command
    def plan(
        file: str,
        *,
        prompt: str | None = None,
        workspace: Path | None = None,
        common: Common | None = None,
    ) -> Answer:
        """Show what a run would do; runs nothing.

        Args:
            file: A workflow's YAML file, or the name of one defined in this notebook.
            prompt: A task: show what its agent will be told, what only the run will know in brackets.
            workspace: Folder to work in, instead of the file's own.
        """
        source = source_of(desk, file)
        report = api.plan(source, workspace=workspace, functions=functions_of(desk, source))
        if prompt is not None and report.ok:
            return prompt_answer(report, prompt, is_json=is_json(common))
        return plan_answer(report, edges(report.spec), is_json=is_json(common))

    @app.command
    def run(
        file: str,
        *,
        dry_run: Flag = False,
        resume: str | None = None,
        input_: Inputs = None,
        tail: Flag = False,
        workspace: Path | None = None,
        take_over: Flag = False,
        common: Common | None = None,
    ) -> Result:
        """Run a workflow to rest, or with --resume continue a run with this edited workflow.

        Args:
            file: A workflow's YAML file, or the name of one defined in this notebook.
            dry_run: Show the plan (with --resume: what would be reused and rerun) and run nothing.
            resume: Id of a run to continue with this workflow.
            input_: An input as NAME=VALUE; may be given several times.
            tail: Show the steps' output as it comes.
            workspace: Folder to work in, instead of the file's own.
            take_over: Take the run over from another host that is known to be dead.
        """
        source = source_of(desk, file)
        if resume is not None and workspace is not None:
            raise InvalidArguments(
                "A resume goes on in the folder its run began in.",
                fix="Leave out --workspace, or start a new run there.",
            )
        if resume is not None:
            return go_on(
                desk,
                resume,
                Choice(spec=source, inputs=input_, take_over=take_over),
                dry_run=dry_run,
                tail=tail,
                common=common,
            )
        if dry_run:
            return plan(file, workspace=workspace, common=common)
        functions = functions_of(desk, source)
        workflow = api.load(source, workspace=workspace, functions=functions)
        started = api.start(
            workflow,
            inputs_given(workflow, input_),
            workspace=workspace,
            state=state_of(common),
            functions=functions,
            listeners=desk.listeners() if tail else (),
            attended=is_attended(desk, common),
        )
        return Underway(started, tail, is_json(common))

    @app.command
    def resume(
        run: str,
        *,
        spec: str | None = None,
        input_: Inputs = None,
        from_: Annotated[str | None, Parameter(name="--from")] = None,
        only: str | None = None,
        until: str | None = None,
        checkpoint: str | None = None,
        dry_run: Flag = False,
        tail: Flag = False,
        take_over: Flag = False,
        recover: Flag = False,
        common: Common | None = None,
    ) -> Result:
        """Continue a run: reuse what is ready and unchanged, run the rest.

        Args:
            run: The run's id.
            spec: An edited workflow (file or name) to continue with, instead of the pinned one.
            input_: An input to change, as NAME=VALUE.
            from_: Rerun this step and everything after it.
            only: Rerun this step alone.
            until: Stop after this step.
            checkpoint: Leave the run as it is and start a new one from this checkpoint of it.
            dry_run: Show what would be reused, rerun or held, and why; run nothing.
            tail: Show the steps' output as it comes.
            take_over: Take the run over from an owner that is known to be gone.
            recover: Go on from before the damage in its log; what followed is kept aside, and may run again.
        """
        choice = Choice(
            spec=None if spec is None else source_of(desk, spec),
            inputs=input_,
            from_=from_,
            only=only,
            until=until,
            checkpoint=checkpoint,
            take_over=take_over,
            recover=recover,
        )
        return go_on(desk, run, choice, dry_run=dry_run, tail=tail, common=common)

    @app.command
    def show(
        run: str = "@last",
        step: str | None = None,
        *,
        session: str | None = None,
        acp: Flag = False,
        common: Common | None = None,
    ) -> Answer:
        """Show how a run stands, or one step of it: its bundle, and why it stands so; or what an agent said and did.

        Args:
            run: A run: its id or a unique part of it, @last, a workflow's name, or the path of its folder.
            step: A step of it.
            session: The conversation of an agent's step instead: STEP, or STEP.ATTEMPT.
            acp: As updates of the Agent Client Protocol, for an editor: JSON, of the run or of the session.
        """
        opened = api.open_run(run, state=state_of(common))
        if acp:
            if step is not None:
                raise InvalidArguments(
                    "--acp shows a run or a session, and a step is neither.",
                    fix="Write --session STEP, or leave the step out.",
                )
            return Answer("acp", acp_document(opened, session), is_json=is_json(common))
        if session is not None:
            return Answer(
                "session", session_of(opened, session).document(), is_json=is_json(common)
            )
        if step is None:
            return outcome_answer(opened, exit_code=EXIT_COMPLETED, is_json=is_json(common))
        why = tuple(opened.explain(step))
        document = {**opened.outcome.step(step).document(), "explained": list(why)}
        return Answer("bundle", document, lines=why, is_json=is_json(common))

    @app.command
    def logs(
        run: str = "@last",
        step: str | None = None,
        *,
        attempt: int | None = None,
        follow: Annotated[bool, Parameter(name=("--follow", "-f"), negative="")] = False,
        common: Common | None = None,
    ) -> Answer | Following:
        """Print what the steps of a run printed, or one step of it.

        Args:
            run: A run: its id or a unique part of it, @last, a workflow's name, or the path of its folder.
            step: A step of it; all of them otherwise.
            attempt: An earlier attempt of the step, by its number.
            follow: Go on printing until the attempt is over.
        """
        opened = api.open_run(run, state=state_of(common))
        if follow and step is not None:
            return Following(opened, is_json(common), step, attempt)
        if step is None and (follow or attempt is not None):
            option = "--follow" if follow else "--attempt"
            raise InvalidArguments(f"{option} needs a STEP", fix="name one after the run")
        return Answer("output", outputs_of(opened, step, attempt), is_json=is_json(common))

    @app.command(name=("events", "log"))
    def events(
        run: str = "@last", *, follow: Flag = False, common: Common | None = None
    ) -> Answer | Following:
        """Print a run's events, a line each.

        Args:
            run: A run: its id or a unique part of it, @last, a workflow's name, or the path of its folder.
            follow: Go on printing until the run comes to rest.
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

    @app.command
    def cancel(
        run: str,
        step: str | None = None,
        *,
        drain: Flag = False,
        take_over: Flag = False,
        common: Common | None = None,
    ) -> Answer:
        """End a run, or give up one of its steps.

        Args:
            run: The run's id.
            step: Give up only this step.
            drain: Let what runs finish and start nothing more.
            take_over: End a run of another host that is known to be dead.
        """
        opened = api.open_run(run, state=state_of(common))
        opened.cancel(step, drain=drain, take_over=take_over)
        what = f"step {step} of {opened.id}" if step else opened.id
        return done(f"Asked {what} to {'drain' if drain else 'end'}.", opened.id, common)

    @app.command
    def decide(
        run: str,
        step: str,
        verdict: str,
        *,
        value: str | None = None,
        note: str = "",
        no_resume: Flag = False,
        tail: Flag = False,
        take_over: Flag = False,
        common: Common | None = None,
    ) -> Result:
        """Decide a step that waits for a human (accept or reject), or resolve a seam, and go on with the run.

        Args:
            run: The run's id.
            step: The step to decide, or a seam to resolve with a note.
            verdict: accept or reject.
            value: The answer, as JSON; text that is no JSON is taken as it is.
            note: Why, for the record.
            no_resume: Only record it; resume later.
            tail: Show the steps' output as it comes.
            take_over: Take the run over from another host that is known to be dead.
        """
        opened = api.open_run(run, state=state_of(common))
        opened.decide(
            step,
            verdict,
            value=value_of(value),
            note=note,
            resume=not no_resume,
            take_over=take_over,
            attended=is_attended(desk, common),
        )
        if opened.live is not None and not no_resume:
            return Underway(opened, tail, is_json(common))
        return outcome_answer(opened, is_json=is_json(common))

    @app.command
    def checkpoint(
        run: str,
        name: str,
        *,
        note: str = "",
        take_over: Flag = False,
        common: Common | None = None,
    ) -> Answer:
        """Save a named checkpoint of a run as it stands.

        Args:
            run: The run's id.
            name: What to call it.
            note: Why, for the record.
            take_over: Take the run over from another host that is known to be dead.
        """
        opened = api.open_run(run, state=state_of(common))
        opened.checkpoint(name, note, take_over=take_over)
        return done(f"Saved checkpoint {name} of {opened.id}.", opened.id, common)

    permissions.add(app, desk)
    files.add(app)
    housekeeping.add(app)
    interchange.add(app, desk)
    verb.add(app)
    return app


app: Final = build(Desk())
"""The verbs of the command line."""
