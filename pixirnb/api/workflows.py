"""Workflows: load and plan. Nothing that runs is loaded for these."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pixirnb.operations.locations import workspace_of
from pixirnb.operations.survey import survey
from pixirnb.operations.workflow_source import Source, notebook_functions, read, require_valid
from pixirnb.planning.report import PlanReport, problems_of, report, require
from pixirnb.spec.workflow import Workflow
from pixirnb.system import gc_pause


@gc_pause.gc_paused()
def load(
    source: Source,
    *,
    workspace: str | Path | None = None,
    functions: Mapping[str, str] | None = None,
) -> Workflow:
    """Read a workflow, with the roles it names.

    Args:
        source: a path, YAML text, a mapping or a `Workflow`.
        workspace: folder to work in; by default that of the file.
        functions: sources of notebook functions, as for `plan`.

    Raises:
        InvalidSpec: every mistake at once, in paths too.

    Example:
        >>> workflow = pixirnb.load({"name": "demo", "steps": [{"id": "hello", "run": "echo hello"}]})
        >>> [step.id for step in workflow.steps]
        ['hello']
    """
    return require_valid(read(source, workspace), workspace, functions)


@gc_pause.gc_paused()
def plan(
    source: Source,
    *,
    workspace: str | Path | None = None,
    functions: Mapping[str, str] | None = None,
) -> PlanReport:
    """Return what a run would do; runs nothing.

    Args:
        source: a path, YAML text, a mapping or a `Workflow`.
        workspace: folder to work in; by default that of the file.
        functions: sources of notebook functions (`{":name": text}`); by default those of the workflow and of `__main__`.

    Raises:
        InvalidSpec: the text is not a workflow at all; other mistakes are in `errors` of the report.

    Example:
        >>> pixirnb.plan({"name": "demo", "steps": [{"id": "hello", "run": "echo hello"}]}).waves
        (('hello',),)
    """
    loaded = read(source, workspace)
    workflow = loaded.workflow or require_valid(loaded, workspace, functions)
    known = notebook_functions(workflow) if functions is None else functions
    facts = survey(workflow, workspace_of(workflow, workspace), known)
    preview = report(workflow, facts)
    if not preview.ok and problems_of(loaded):
        require(loaded, facts)  # the text is wrong: raises with what is wrong around it, too
    return preview
