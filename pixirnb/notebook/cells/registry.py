"""Registry of the workflows and runs of a notebook. It survives `%reload_ext`: a live run must not be forgotten by its cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from pixirnb.errors import Cannot, InvalidArguments
from pixirnb.json_types import JsonMapping
from pixirnb.machine.next_actions import with_spec
from pixirnb.machine.outcome_documents import RunDocument
from pixirnb.notebook.cells.draft import WorkflowDraft
from pixirnb.operations.resume_plan import is_edited
from pixirnb.operations.run import Run
from pixirnb.operations.workflow_source import called_sources, notebook_functions
from pixirnb.planning.digest import spec_digest
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.expressions.conditions import is_same
from pixirnb.spec.inputs import resolve_inputs
from pixirnb.spec.workflow import Workflow
from pixirnb.verbs.reach import Reach
from pixirnb.wording import join_names


class RunRequest(Struct, frozen=True):
    """Request of a cell to run a workflow."""

    workflow: Workflow
    inputs: JsonMapping
    workspace: Path
    state: Path


class Registry(Struct):
    """Workflows by name, the cells they are made of, and the last run of each."""

    workflows: dict[str, Workflow] = field(default_factory=dict)
    drafts: dict[str, WorkflowDraft] = field(default_factory=dict)
    """Drafts of the cells, by the workflow's name."""
    workspaces: dict[str, str] = field(default_factory=dict)
    """Folder that a workflow works in, if its cell names one."""
    runs: dict[str, Run] = field(default_factory=dict)
    """The last run of each workflow, by the workflow's name."""
    states: dict[Path, None] = field(default_factory=dict)
    """State folders of this notebook's runs, and those that its lines name."""

    @property
    def reach(self) -> Reach:
        """Return the options that commands need to reach their runs from the current folder."""
        return Reach(lambda: [*self.states])

    def draft(self, name: str) -> WorkflowDraft:
        """Return the draft of a workflow by the cells of this notebook; an empty one if no cell writes it."""
        return self.drafts.get(name) or WorkflowDraft(name)

    def keep(self, draft: WorkflowDraft, workspace: str | None) -> None:
        """Keep a draft that a `%%workflow` cell has defined."""
        self.keep_step(draft)
        if workspace is None:
            self.workspaces.pop(draft.name, None)
        else:
            self.workspaces[draft.name] = workspace

    def keep_step(self, draft: WorkflowDraft) -> None:
        """Keep a draft that a `%%step` cell has added to."""
        self.drafts.pop(draft.name, None)
        self.drafts[draft.name] = draft  # the last one is the one that a cell wrote last
        if draft.ids:
            self.workflows[draft.name] = draft.workflow()
        else:
            self.workflows.pop(draft.name, None)

    def workflow_of_step(self, step_id: str) -> str:
        """Return the workflow that a `%%step` cell without `--workflow` belongs to.

        That is the only one with such a cell already, else the one that a cell wrote last. Raises InvalidArguments
        (`workflow_missing`).
        """
        if not self.drafts:
            raise InvalidArguments(
                f"step `{step_id}` has no workflow: this notebook has not defined one yet",
                fix=f"run a %%workflow cell first, or write %%step {step_id} --workflow NAME",
                code="workflow_missing",
                line=1,
            )
        known = [name for name, draft in self.drafts.items() if step_id in draft.cells]
        return known[0] if len(known) == 1 else [*self.drafts][-1]

    def forget(self, name: str) -> None:
        """Remove a workflow and its `%%step` cells; its runs stay. Raises InvalidArguments (`unknown_workflow`)."""
        if name not in self.drafts:
            known = join_names([*self.drafts], 6) or "none"
            raise InvalidArguments(
                f"this notebook defines no workflow `{name:.80}`",
                fix=did_you_mean(name, self.drafts, otherwise=f"workflows: {known}"),
                code="unknown_workflow",
            )
        del self.drafts[name]
        self.workflows.pop(name, None)
        self.workspaces.pop(name, None)

    def functions(self, workflow: Workflow, draft: WorkflowDraft | None = None) -> dict[str, str]:
        """Return the sources of the functions it calls: those of the notebook, and those pinned of its `%%step` cells.

        `draft`: cells that are not in the registry yet.
        """
        ours = called_sources(workflow, (draft or self.draft(workflow.name)).functions())
        return {**notebook_functions(workflow), **ours}

    def edit(self, run: Run) -> dict[str, Any]:
        """Return what a resume takes of the cells of a run's workflow, if they differ from what the run has pinned."""
        plan = run.compiled()
        workflow = self.workflows.get(plan.workflow.name)
        if workflow is None or not is_edited(plan, workflow, self.functions(workflow)):
            return {}
        return {"spec": workflow, "functions": self.functions(workflow)}

    def workflow_of_run(self, run_id: str) -> str | None:
        """Return the name of a run's workflow, if cells define it."""
        name = next((name for name, run in self.runs.items() if run.id == run_id), None)
        return name if name in self.workflows else None

    def with_cells(self, document: RunDocument) -> RunDocument:
        """Return an outcome; where cells define its workflow, its next actions continue with that."""
        if document["workflow"] not in self.workflows:
            return document
        actions = with_spec(document["next_actions"], document["workflow"])
        return {**document, "next_actions": actions}

    def take(self, run: Run) -> None:
        """Keep a run that a cell has started or continued."""
        self.states[run.store.state] = None
        self.runs[run.compiled().workflow.name] = run

    def run(self, run_id: str) -> Run | None:
        """Return the run with that id, if it is one of this notebook's."""
        return next((run for run in self.runs.values() if run.id == run_id), None)

    def live(self, request: RunRequest) -> Run | None:
        """Return the live run that a cell attaches to when it is run again; None if there is none of that name.

        Raises Cannot where another workflow, or the same with other inputs, is live under the name.
        """
        run = self.runs.get(request.workflow.name)
        if run is None or not run.is_live_here:
            return None
        if self._is_same(run, request):
            return run
        raise Cannot(
            f"`{request.workflow.name}` is already running as {run.id}, with a different definition",
            fix=f"wait for it, or cancel it: %pixir cancel {run.id}",
            code="still_live",
            details={"run_id": run.id},
        )

    def _is_same(self, run: Run, request: RunRequest) -> bool:
        plan, state = run.compiled(), run.state
        return (
            spec_digest(plan.workflow) == spec_digest(request.workflow)
            and plan.sources == self.functions(request.workflow)
            and is_same(state.inputs, resolve_inputs(request.workflow, request.inputs))
            and Path(state.workspace) == request.workspace
            and run.store.state == request.state
        )


REGISTRY: Final = Registry()
"""The registry of this kernel."""
