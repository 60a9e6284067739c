"""The run that a plan in a cell offers: what `%pixir run` would start, of the workflow as it was planned."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from pixirnb.json_types import PageObject
from pixirnb.notebook.cells.draft import WorkflowDraft
from pixirnb.notebook.cells.registry import REGISTRY
from pixirnb.notebook.pixir_verbs import build_verbs
from pixirnb.operations.run import Run
from pixirnb.operations.workflow_source import notebook_functions
from pixirnb.planning.report import PlanReport
from pixirnb.spec.workflow import Workflow
from pixirnb.verbs.answers import Desk, Underway
from pixirnb.verbs.app import perform
from pixirnb.verbs.workflow_options import inputs_given


class _Planned(dict[str, Workflow]):
    """The one workflow of a plan, by whatever name or file its line has."""

    def __init__(self, workflow: Workflow) -> None:
        super().__init__({workflow.name: workflow})

    def get(self, _name: str, _default: Any = None) -> Any:
        """Return the workflow."""
        return next(iter(self.values()))


class PlannedRun(Struct, frozen=True):
    """The run that a plan offers: of the workflow as it was planned, whatever its cell or file says by now."""

    workflow: Workflow
    functions: Callable[[Workflow], Mapping[str, str]]
    words: tuple[str, ...]
    """Words after `%pixir run`."""
    given: frozenset[str] = frozenset()
    """Inputs that the words give."""

    @property
    def _missing(self) -> list[str]:
        inputs = self.workflow.inputs.items()
        return [name for name, each in inputs if each.is_required and name not in self.given]

    @property
    def command(self) -> str:
        """Line of a cell that starts it; inputs without a value are left for a person to fill in."""
        left = [f"--input {name}=" for name in self._missing]
        return " ".join(["%pixir run", shlex.join(self.words), *left])

    def document(self) -> PageObject:
        """Return what the page shows of it."""
        steps = [step.id for step in self.workflow.steps]
        return {"workflow": self.workflow.name, "steps": steps, "missing": self._missing}

    def start(self, until: str | None) -> Run:
        """Start it; with `until`, only that step and the steps that it needs. Raises as `%pixir run`."""
        desk = Desk(
            _Planned(self.workflow), self.functions, is_attended=lambda: True, is_notebook=True
        )
        tokens = ["run", *self.words, *([] if until is None else [until])]
        result = perform(desk, tokens, name="%pixir", grammar=build_verbs)
        assert isinstance(result, Underway)
        return result.run


def run_of_plan(tokens: Sequence[str], plan: PlanReport) -> PlannedRun:
    """Return the run that `%pixir plan …` offers."""
    functions: Callable[[Workflow], Mapping[str, str]] = notebook_functions
    if REGISTRY.workflows.keys() & {*tokens[1:]}:
        functions = partial(REGISTRY.functions, draft=REGISTRY.draft(plan.spec.name))
    return PlannedRun(plan.spec, functions, (*tokens[1:],))


def run_of_cell(draft: WorkflowDraft, args: argparse.Namespace) -> PlannedRun | None:
    """Return the run that the plan of a `%%workflow` cell offers; None while it waits for other cells."""
    if not draft.is_whole:
        return None
    workflow, given = draft.workflow(), args.input or []
    options = [word for each in given for word in ("--input", each)]
    for option, folder in (("--workspace", args.workspace), ("--state", args.state)):
        options += [] if folder is None else [option, folder]
    return PlannedRun(
        workflow,
        partial(REGISTRY.functions, draft=draft),
        (workflow.name, *options),
        frozenset(inputs_given(workflow, given)),
    )
