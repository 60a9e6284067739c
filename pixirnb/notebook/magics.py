"""`%%workflow` and `%%step`, which write a workflow in cells, and `%pixir VERB`, the verbs of the command line in a cell.

Both show a picture and go on at once, or stay with the run to its end (`--wait`). What goes wrong is a line or a few and stops
the cells below: a mistake in the options is IPython's UsageError, all else an error of pixirnb's own tree.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, ClassVar, Final, cast

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.display import display

from pixirnb import api
from pixirnb.errors import Cannot, InvalidSpec, Problem, ProblemDocument
from pixirnb.notebook.cells.draft import WorkflowDraft
from pixirnb.notebook.cells.draft_cards import draft_bundle, unseen_notes
from pixirnb.notebook.cells.registry import SHELF, RunRequest
from pixirnb.notebook.cells.step_cell import StepRequest, split_list, step_cell
from pixirnb.notebook.cells.try_step import Trial, trial
from pixirnb.notebook.cells.workflow_cell import define, facts_of
from pixirnb.notebook.kernel.async_cell import AWAITED
from pixirnb.notebook.kernel.cell_guards import honest, interrupt_deferred
from pixirnb.notebook.kernel.cell_output import CellOutput
from pixirnb.notebook.kernel.cell_wait import Staying
from pixirnb.notebook.kernel.front_ends import is_attended
from pixirnb.notebook.kernel.line_args import (
    Stay,
    fill_placeholders,
    plain_words,
    statuses,
    take_stay,
    words,
)
from pixirnb.notebook.live.open_views import GALLERY
from pixirnb.notebook.rendering import answer_bundle
from pixirnb.operations.run import Run
from pixirnb.spec.inputs import resolve_inputs
from pixirnb.spec.problems import refusal
from pixirnb.spec.workflow import Workflow
from pixirnb.verbs.answer_blocks import followed_lines
from pixirnb.verbs.answers import (
    Answer,
    Desk,
    Following,
    Result,
    Underway,
    Watching,
    outcome_answer,
)
from pixirnb.verbs.app import perform
from pixirnb.verbs.options import inputs_given, with_last
from pixirnb.views.basics.sanitize import plain

_HELP: Final = ("--help", "-h")
Waiting = Coroutine[Any, Any, None] | None
"""Result of a magic: an awaitable if the cell waits, else nothing."""


def _nothing() -> None:
    """For cells that have nothing to add."""


def has_kernel(shell: Any) -> bool:
    """Return whether outputs can be changed once shown, and cells awaited: a notebook, not a terminal."""
    return getattr(shell, "kernel", None) is not None


@magics_class
class PixirMagics(Magics):
    """The magics, bound to one shell."""

    NAMES: ClassVar[tuple[str, ...]] = ("workflow", "step", "pixir", "pixirnb")
    shell: Any

    @no_var_expand
    @magic_arguments("%workflow")  # IPython puts the other percent sign before it
    @argument(
        "name", nargs="?", metavar="NAME", help="its name; may stand here instead of in the YAML"
    )
    @argument("--run", action="store_true", help="start it in the background and show it")
    @argument(
        "--wait", action="store_true", help="run it and stay: the cell ends when the run does"
    )
    @argument(
        "--expect",
        metavar="STATUS[,…]",
        help="with --wait: ends that are no error beside completed",
    )
    @argument("--dry-run", action="store_true", help="only show the plan, whatever else is asked")
    @argument(
        "--input", action="append", metavar="k=v", help="an input; may be given several times"
    )
    @argument(
        "--as", dest="variable", metavar="VAR", help="bind the run (the workflow, if none) to VAR"
    )
    @argument("--workspace", metavar="DIR", help="folder to work in, instead of the current one")
    @argument("--state", metavar="DIR", help="state folder to use instead of the nearest .pixirnb")
    @argument(AWAITED, action="store_true", help=argparse.SUPPRESS)
    @line_cell_magic
    def workflow(self, line: str, cell: str | None = None) -> Waiting:
        """Define the workflow this cell writes in YAML, show its plan, and run it if asked."""
        with honest():
            tokens = words(line, self.shell.user_ns)
            parser = self.workflow.parser
            if cell is None or any(token in _HELP for token in tokens):
                sys.stdout.write(parser.format_help().removeprefix("::\n\n").lstrip())
                return _finished(is_awaited=AWAITED in tokens)
            args = parser.parse_args(tokens)
            stay = Stay(args.wait, args.awaited, statuses(args.expect), args.variable)
            draft = define(cell, name=args.name, workspace=args.workspace)
            if args.dry_run or not (args.run or args.wait):
                return self._define_only(draft, args, stay)
            with interrupt_deferred() as shown:
                run = self._started(draft, args)
                return self._stay(run, stay, CellOutput(), shown=shown)

    @no_var_expand
    @magic_arguments("%step")
    @argument("id", metavar="ID", help="the step's id")
    @argument("--workflow", metavar="NAME", required=True, help="the workflow it is a step of")
    @argument(
        "--after", action="append", metavar="a,b", help="steps whose outputs it sees, by their ids"
    )
    @argument(
        "--use", action="append", metavar="x,y", help="values of the notebook to record as data"
    )
    @argument("--read", action="append", metavar="GLOB", help="files it reads")
    @argument(
        "--write",
        action="append",
        metavar="GLOB",
        help="files it writes: a step of its own process",
    )
    @argument("--timeout", metavar="D", help="how long it may take: 45s, 15m, 1h30m")
    @argument(
        "--verify",
        action="append",
        metavar="CHECK",
        help="KIND:ARGUMENT such as file_exists:out.csv, or :function; may be given several times",
    )
    @argument("--try", dest="is_tried", action="store_true", help="run it alone, now, and wait")
    @argument(AWAITED, action="store_true", help=argparse.SUPPRESS)
    @line_cell_magic
    def step(self, line: str, cell: str | None = None) -> Waiting:
        """Write a step in Python: its last expression, or what it returns, is the step's output."""
        with honest():
            tokens = plain_words(line)  # braces are globs and schemas here, nothing of the notebook
            parser = self.step.parser
            if cell is None or any(token in _HELP for token in tokens):
                sys.stdout.write(parser.format_help().removeprefix("::\n\n").lstrip())
                return _finished(is_awaited=AWAITED in tokens)
            args = parser.parse_args(tokens)
            written = step_cell(_step_request(args), cell, self.shell.user_ns)
            draft = SHELF.draft(written.workflow).with_cell(written)
            workspace = SHELF.workspaces.get(draft.name)
            facts = partial(facts_of, workspace=workspace, draft=draft)
            draft.checked(facts, written.id)
            SHELF.keep_step(draft)
            if args.is_tried:
                return self._try(trial(draft, written, SHELF.runs.get(draft.name)), workspace, args)
            notes = unseen_notes(written, draft, self.shell.user_ns)
            display(draft_bundle(draft, facts, notes), raw=True)
            return _finished(is_awaited=args.awaited)

    @no_var_expand
    @line_magic
    def pixir(self, line: str) -> Waiting:
        """The verbs of the `pixirnb` command in a cell: `%pixir VERB …`; `%pixir --help` lists them.

        A workflow defined in this notebook may stand by its name for a file. `run`, `resume` and `decide` return at once;
        with `--wait` the cell ends when the run does, and `--expect STATUS[,…]` names ends that are no error.
        `--as VAR` binds the run. `{run.id}` and `$name` put in values of the notebook.
        """
        with honest():
            stay, tokens = take_stay(fill_placeholders(line, self.shell.user_ns))
            if "--tail" in tokens and not stay.is_waiting:
                raise UsageError("--tail needs --wait: output is told by the cell that stays.")
            tail = CellOutput()
            match _perform(_placed(with_last(tokens)), tail, self.shell):
                case Answer() as answer:
                    _show(answer)
                case Following() | Watching() as following:
                    _follow(following)
                case Underway() as underway:
                    for warning in underway.warnings:
                        sys.stderr.write(plain(warning) + "\n")
                    return self._stay(underway.run, stay, tail, is_json=underway.is_json)
                case None:
                    pass  # --help and --version have printed what they had to say
            return _finished(is_awaited=stay.is_awaited)

    def _define_only(self, draft: WorkflowDraft, args: argparse.Namespace, stay: Stay) -> Waiting:
        if draft.ids or stay.variable is not None or args.input:
            workflow = _required(draft)
            given = inputs_given(workflow, args.input)
            if given:
                resolve_inputs(workflow, given)
            self._bind(stay, workflow)
        SHELF.keep(draft, args.workspace)
        display(draft_bundle(draft, partial(facts_of, workspace=args.workspace)), raw=True)
        return _finished(is_awaited=stay.is_awaited)

    def _try(self, tried: Trial, workspace: str | None, args: argparse.Namespace) -> Waiting:
        """Run one step alone and stay with it; what it returned is shown below."""
        # Its checks may be functions of the notebook.
        functions = {**api.notebook_functions(tried.workflow), **tried.functions}
        stay = Stay(is_waiting=True, is_awaited=args.awaited)
        with interrupt_deferred() as shown:
            run = api.start(
                tried.workflow,
                tried.inputs,
                workspace=workspace,
                functions=functions,
                attended=is_attended(self.shell),
            )

            def show_value() -> None:
                if run.outcome.ok and (value := run.value(args.id)) is not None:
                    display(value)

            return self._stay(run, stay, CellOutput(), then=show_value, shown=shown)

    def _started(self, draft: WorkflowDraft, args: argparse.Namespace) -> Run:
        """A new run, or the live one of the same wish."""
        workflow = _required(draft)
        given = inputs_given(workflow, args.input)
        workspace = api.workspace_of(workflow, args.workspace)
        state = api.store_of(workspace, args.state).state
        live = SHELF.live(RunRequest(workflow, given, workspace, state))
        functions = SHELF.functions(workflow)
        run = live or api.start(
            workflow,
            given,
            workspace=workspace,
            state=state,
            functions=functions,
            attended=is_attended(self.shell),
        )
        SHELF.keep(draft, args.workspace)
        return run

    def _stay(
        self,
        run: Run,
        stay: Stay,
        tail: CellOutput,
        *,
        is_json: bool = False,
        then: Callable[[], None] = _nothing,
        shown: Callable[[], None] = _nothing,
    ) -> Waiting:
        """Show a run that is under way, and stay with it if asked.

        `shown` is called once it can be seen, `then` once its end has been shown.
        """
        SHELF.take(run)
        self._bind(stay, run)
        if is_json:

            def show() -> None:
                _show(outcome_answer(run, is_json=True))

            if not stay.is_waiting:
                show()
        else:
            show = GALLERY.show(run, self.shell, is_staying=stay.is_waiting)
        shown()
        if not stay.is_waiting:
            return None

        def conclude() -> None:
            show()
            then()

        staying = Staying(run, stay, tail, conclude)
        if stay.is_awaited:
            return staying.attend()
        staying.attend_blocking()
        return None

    def _bind(self, stay: Stay, value: Run | Workflow) -> None:
        if stay.variable is not None:
            self.shell.push({stay.variable: value})


def _perform(tokens: Sequence[str], tail: CellOutput, shell: Any) -> Result | None:
    """Return the answer of a verb. Raises InvalidArguments for a line that is refused."""
    desk = Desk(
        SHELF.workflows,
        SHELF.functions,
        lambda: (tail.hear,),
        is_attended=lambda: is_attended(shell),
        is_notebook=True,
    )
    return perform(desk, tokens, name="%pixir")


def _placed(tokens: Sequence[str]) -> list[str]:
    """A workflow of the notebook works where its cell said."""
    placed = list(tokens)
    if placed[:1] in (["run"], ["plan"]) and not any(
        t.startswith(("--workspace", "-C")) for t in placed
    ):
        workspace = next((SHELF.workspaces[t] for t in placed[1:] if t in SHELF.workspaces), None)
        placed += [] if workspace is None else ["--workspace", workspace]
    return placed


def _show(answer: Answer) -> None:
    if answer.is_json:
        sys.stdout.write(json.dumps(answer.document, ensure_ascii=False, indent=2) + "\n")
    elif answer.kind == "message":
        sys.stdout.write(answer_bundle(answer)["text/plain"] + "\n")
    elif answer.kind == "plan" and not answer.document["ok"]:
        raise refusal(
            tuple(
                Problem(**error)
                for error in cast("list[ProblemDocument]", answer.document["errors"])
            )
        )
    else:
        display(answer_bundle(answer), raw=True)


def _follow(following: Following | Watching) -> None:
    try:
        for text in followed_lines(following):
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
    except KeyboardInterrupt:
        raise Cannot(
            f"stopped following {following.run.id}", fix="the run continues", code="interrupted"
        ) from None
    if isinstance(following, Watching):
        _show(outcome_answer(following.run, is_json=following.is_json))


def _step_request(args: argparse.Namespace) -> StepRequest:
    return StepRequest(
        args.id,
        args.workflow,
        after=split_list(args.after),
        use=split_list(args.use),
        read=split_list(args.read),
        write=split_list(args.write),
        timeout=args.timeout,
        verify=tuple(args.verify or ()),
    )


def _required(draft: WorkflowDraft) -> Workflow:
    if not draft.ids:
        raise InvalidSpec(
            f"Workflow `{draft.name}` has no step yet.",
            fix=f"Write one: under `steps`, or in a cell that begins with %%step ID --workflow {draft.name}",
            code="missing_key",
        )
    return draft.workflow()


def _finished(*, is_awaited: bool) -> Waiting:
    """Nothing, in the form the cell expects."""

    async def nothing() -> None:
        return

    return nothing() if is_awaited else None
