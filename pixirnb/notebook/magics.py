"""`%%workflow` and `%%step`, which write a workflow in cells, and `%pixir VERB`, the verbs of the command line in a cell.

Both show a picture and go on at once, or wait for the end of the run (`--wait`). What goes wrong is a line or a few and stops
the cells below: a mistake in the options is IPython's UsageError, all else an error of pixirnb's own tree.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, ClassVar, Final

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.display import display

from pixirnb import api
from pixirnb.notebook.answer_display import follow, show_answer
from pixirnb.notebook.cells.draft import WorkflowDraft, draft_bundle, function_notes, unseen_notes
from pixirnb.notebook.cells.registry import REGISTRY, RunRequest
from pixirnb.notebook.cells.step_cell import StepRequest, step_cell
from pixirnb.notebook.cells.try_step import Trial, trial
from pixirnb.notebook.cells.workflow_cell import define, facts_of
from pixirnb.notebook.kernel.async_cell import AWAITED
from pixirnb.notebook.kernel.cell_options import read_options
from pixirnb.notebook.kernel.cell_output import CellOutput, print_endings, show_figures
from pixirnb.notebook.kernel.cell_wait import CellWait, honest, interrupt_deferred
from pixirnb.notebook.kernel.front_ends import is_attended
from pixirnb.notebook.kernel.line_args import (
    WaitOptions,
    plain_words,
    statuses,
    take_wait_options,
    words,
)
from pixirnb.notebook.live.open_views import OPEN_VIEWS
from pixirnb.notebook.pixir_verbs import LAUNCHING, perform, with_workspace
from pixirnb.notebook.planned_run import run_of_cell
from pixirnb.operations.cluster import preview as cluster_preview
from pixirnb.operations.locations import store_of, workspace_of
from pixirnb.operations.run import Run
from pixirnb.operations.workflow_source import notebook_functions
from pixirnb.planning.report import report
from pixirnb.spec.inputs import resolve_inputs
from pixirnb.spec.workflow import Workflow
from pixirnb.verbs.answers import Answer, Following, Underway, Watching
from pixirnb.verbs.options import with_last
from pixirnb.verbs.reach import states_named
from pixirnb.verbs.run_answers import outcome_answer, report_in_cell
from pixirnb.verbs.workflow_options import inputs_given, warning_lines

_HELP: Final = frozenset({"--help", "-h"})
Waiting = Coroutine[Any, Any, None] | None
"""Result of a magic: an awaitable if the cell waits, else nothing."""


def _nothing() -> None:
    """Do nothing: for cells that have nothing to add."""


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
    @argument("name", nargs="?", metavar="NAME", help="name of the workflow, if the YAML has none")
    @argument("--run", action="store_true", help="start a run in the background and show it")
    @argument("--wait", action="store_true", help="run and block until the run finishes")
    @argument(
        "--expect", metavar="STATUS[,…]", help="with --wait: also accept these final statuses"
    )
    @argument("--dry-run", action="store_true", help="show the plan and run nothing")
    @argument("--input", "-i", action="append", metavar="k=v", help="an input; may be repeated")
    @argument(
        "--as", dest="variable", metavar="VAR", help="assign the run (else the workflow) to VAR"
    )
    @argument(
        "--workspace", "-C", metavar="DIR", help="folder to work in (default: the current one)"
    )
    @argument("--state", metavar="DIR", help="state folder (default: the nearest .pixirnb)")
    @argument(AWAITED, action="store_true", help=argparse.SUPPRESS)
    @line_cell_magic
    def workflow(self, line: str, cell: str | None = None) -> Waiting:
        """Define a workflow in YAML and show its plan; with --run or --wait, run it."""
        with honest():
            tokens = words(line, self.shell.user_ns)
            parser = self.workflow.parser
            if cell is None or _HELP & {*tokens}:
                sys.stdout.write(parser.format_help().removeprefix("::\n\n").lstrip())
                return _finished(is_awaited=AWAITED in tokens)
            args = read_options(parser, "workflow", tokens)
            options = WaitOptions(args.wait, args.awaited, statuses(args.expect), args.variable)
            draft = define(cell, name=args.name, workspace=args.workspace)
            if args.dry_run or not (args.run or args.wait):
                return self._define_only(draft, args, options)
            draft.require_whole()
            workflow = draft.required()
            for note in self._unseen(draft):
                sys.stdout.write(f"{note}\n")
            warnings = report(workflow, facts_of(workflow, args.workspace, draft)).warnings
            sys.stdout.writelines(f"{each}\n" for each in warning_lines(warnings))
            with interrupt_deferred() as shown:
                run = self._started(draft, args)
                return self._wait(run, options, CellOutput(), shown=shown)

    @no_var_expand
    @magic_arguments("%step")
    @argument("id", nargs="?", metavar="ID", help="id of the step")
    @argument("--workflow", metavar="NAME", help="its workflow (default: the one defined last)")
    @argument(
        "--after",
        "--depends-on",
        action="append",
        metavar="a,b",
        help="steps to depend on; their outputs are variables in the cell",
    )
    @argument(
        "--use",
        "--with",
        action="append",
        metavar="x,y",
        help="notebook variables to record as data",
    )
    @argument("--read", "--read-set", action="append", metavar="GLOB", help="files the step reads")
    @argument(
        "--write",
        "--write-set",
        action="append",
        metavar="GLOB",
        help="files the step writes; it then runs in its own process",
    )
    @argument("--title", metavar="TEXT", help="name of the step for people, in any script")
    @argument("--timeout", metavar="D", help="maximum duration: 45s, 15m, 1h30m")
    @argument("--process", action="store_true", help="run in its own process, which can be stopped")
    @argument(
        "--verify",
        action="append",
        metavar="CHECK",
        help="KIND:ARGUMENT such as file_exists:out.csv, or :function; may be repeated",
    )
    @argument(
        "--try", dest="is_tried", action="store_true", help="run only this step now, and wait"
    )
    @argument("--remove", action="store_true", help="remove the step from its workflow")
    @argument(AWAITED, action="store_true", help=argparse.SUPPRESS)
    @line_cell_magic
    def step(self, line: str, cell: str | None = None) -> Waiting:
        """Define a step in Python; its output is the returned value, or the last expression."""
        with honest():
            tokens = plain_words(line)  # braces are globs and schemas here, nothing of the notebook
            parser = self.step.parser
            if _HELP & {*tokens} or (cell is None and "--remove" not in tokens):
                sys.stdout.write(parser.format_help().removeprefix("::\n\n").lstrip())
                return _finished(is_awaited=AWAITED in tokens)
            args = read_options(parser, "step", tokens)
            args.workflow = args.workflow or REGISTRY.workflow_of_step(args.id)
            if args.remove:
                return self._remove(args)
            written = step_cell(StepRequest.of(args), cell or "", self.shell.user_ns)
            draft = REGISTRY.draft(written.workflow).with_cell(written)
            workspace = REGISTRY.workspaces.get(draft.name)
            facts = partial(facts_of, workspace=workspace, draft=draft)
            draft.checked(facts, written.id)
            REGISTRY.keep_step(draft)
            if args.is_tried:
                earlier = REGISTRY.runs.get(draft.name)
                return self._try(trial(draft, written, earlier), workspace, args)
            notes = unseen_notes(written, draft, self.shell.user_ns)
            if any(step.id == written.id for step in draft.own_steps):
                notes.append(f"`{written.id}` takes the place of that step in the %%workflow cell")
            display(draft_bundle(draft, facts, notes), raw=True)
            return _finished(is_awaited=args.awaited)

    @no_var_expand
    @line_magic
    def pixir(self, line: str) -> Waiting:
        """Run a verb of the `pixirnb` command: `%pixir VERB …`; `%pixir --help` lists them.

        A workflow of this notebook can be named instead of a file. `run`, `resume` and `decide` return at once; with
        `--wait` the cell blocks until the run finishes, and `--expect STATUS[,…]` accepts other final statuses.
        `--as VAR` assigns the run to a variable. `{run.id}` and `$name` insert values of the notebook.
        """
        with honest():
            options, tokens = take_wait_options(words(line, self.shell.user_ns))
            if "--tail" in tokens and not options.is_waiting:
                raise UsageError("--tail requires --wait")
            if tokens[:1] and tokens[0] in LAUNCHING:
                with interrupt_deferred() as shown:
                    return self._perform(tokens, options, shown)
            return self._perform(tokens, options)

    def _perform(
        self, tokens: list[str], options: WaitOptions, shown: Callable[[], None] = _nothing
    ) -> Waiting:
        """Perform a verb and show its answer, or its run; `shown` is called once that can be seen."""
        tail = CellOutput()
        REGISTRY.states.update(dict.fromkeys(states_named(tokens)))
        line = with_workspace(with_last(tokens))
        match perform(line, tail, self.shell):
            case Answer() as answer:
                show_answer(answer, line, self.shell)
            case Following() | Watching() as following:
                follow(following)
            case Underway(run) as underway:
                return self._wait(
                    run,
                    options,
                    tail,
                    is_json=underway.is_json,
                    is_tailed=underway.is_tailed,
                    then=report_in_cell(underway, is_waiting=options.is_waiting),
                    shown=shown,
                )
            case None:
                pass  # --help and --version have printed their text
        return _finished(is_awaited=options.is_awaited)

    def _define_only(
        self, draft: WorkflowDraft, args: argparse.Namespace, options: WaitOptions
    ) -> Waiting:
        inputs = None
        if draft.ids or options.variable is not None or args.input:
            workflow = draft.required()
            if given := inputs_given(workflow, args.input):
                inputs = resolve_inputs(workflow, given)
            self._bind(options, workflow)
        REGISTRY.keep(draft, args.workspace)
        facts = partial(facts_of, workspace=args.workspace)
        notes = self._unseen(draft) if draft.ids else []
        if args.dry_run and draft.ids:
            notes += cluster_preview(report(draft.required(), facts(draft.required())), None)
        card = draft_bundle(draft, facts, notes, inputs=inputs, given=args.input, is_whole=True)
        OPEN_VIEWS.show_plan(card, run_of_cell(draft, args), self.shell)
        return _finished(is_awaited=options.is_awaited)

    def _remove(self, args: argparse.Namespace) -> Waiting:
        draft = REGISTRY.draft(args.workflow).without_cell(args.id)
        if draft.header is None and not draft.cells:
            REGISTRY.forget(draft.name)
        else:
            REGISTRY.keep_step(draft)
        facts = partial(facts_of, workspace=REGISTRY.workspaces.get(draft.name))
        display(draft_bundle(draft, facts), raw=True)
        return _finished(is_awaited=args.awaited)

    def _unseen(self, draft: WorkflowDraft) -> list[str]:
        """Return the notes on functions of the notebook that steps call; a `%%step` cell has its own."""
        own, functions = draft.functions(), notebook_functions(draft.workflow())
        others = {call: source for call, source in functions.items() if call not in own}
        return function_notes(others, self.shell.user_ns)

    def _try(self, tried: Trial, workspace: str | None, args: argparse.Namespace) -> Waiting:
        """Run one step alone and wait for it; what it returned is shown below."""
        # Its checks may be functions of the notebook.
        functions = {**notebook_functions(tried.workflow), **tried.functions}
        wait = WaitOptions(is_waiting=True, is_awaited=args.awaited)
        with interrupt_deferred() as shown:
            run = api.start(
                tried.workflow,
                tried.inputs,
                workspace=workspace,
                functions=functions,
                attended=is_attended(self.shell),
            )

            def show_value() -> None:
                value = run.value(args.id) if run.outcome.ok else None
                # Of a number or a short list the table shows all.
                if value is not None and repr(value) != run.outcome.step(args.id).summary:
                    display(value)

            return self._wait(run, wait, CellOutput(), is_tried=True, then=show_value, shown=shown)

    def _started(self, draft: WorkflowDraft, args: argparse.Namespace) -> Run:
        """Return a new run, or the live one of the same wish."""
        workflow = draft.required()
        given = inputs_given(workflow, args.input)
        workspace = workspace_of(workflow, args.workspace)
        state = store_of(workspace, args.state).state
        live = REGISTRY.live(RunRequest(workflow, given, workspace, state))
        functions = REGISTRY.functions(workflow)
        run = live or api.start(
            workflow,
            given,
            workspace=workspace,
            state=state,
            functions=functions,
            attended=is_attended(self.shell),
        )
        REGISTRY.keep(draft, args.workspace)
        return run

    def _wait(
        self,
        run: Run,
        options: WaitOptions,
        tail: CellOutput,
        *,
        is_json: bool = False,
        is_tailed: bool = False,
        is_tried: bool = False,
        then: Callable[[], None] = _nothing,
        shown: Callable[[], None] = _nothing,
    ) -> Waiting:
        """Show a run that is under way, and wait for it if asked.

        `is_tried`: `then` shows the value. `shown` is called once it can be seen, `then` once its end has been shown.
        """
        REGISTRY.take(run)
        self._bind(options, run)
        if is_json:

            def show() -> None:
                show_answer(outcome_answer(run, is_json=True))

            if not options.is_waiting:
                show()
        else:
            show = OPEN_VIEWS.show(run, self.shell, is_waiting=options.is_waiting)
        shown()
        if not options.is_waiting:
            return None

        def conclude() -> None:
            show()
            if not (is_json or is_tailed):
                print_endings(run)
            if not (is_json or is_tried):
                show_figures(run)
            then()

        cell_wait = CellWait(run, options, tail, conclude, is_attended(self.shell))
        if options.is_awaited:
            return cell_wait.wait()
        cell_wait.wait_blocking()
        return None

    def _bind(self, options: WaitOptions, value: Run | Workflow) -> None:
        if options.variable is not None:
            self.shell.push({options.variable: value})


def _finished(*, is_awaited: bool) -> Waiting:
    """Return nothing, in the form the cell expects."""

    async def nothing() -> None:
        return

    return nothing() if is_awaited else None
