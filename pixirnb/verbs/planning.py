"""The verb `plan`. Source: contract.md §9."""

from __future__ import annotations

from pixirnb.api.workflows import plan as make_plan
from pixirnb.errors import InvalidSpec
from pixirnb.verbs.answers import Answer
from pixirnb.verbs.options import Common, DeskHere, PlanFormat, Workspace, is_json
from pixirnb.verbs.plan_answers import plan_in, problems_answer, prompt_answer
from pixirnb.verbs.workflow_options import functions_of, source_of


def plan(
    file: str,
    /,
    *,
    desk: DeskHere,
    prompt: str | None = None,
    format_: PlanFormat = "text",
    workspace: Workspace = None,
    common: Common | None = None,
) -> Answer:
    """Show what a run would do, and every error in the workflow; run nothing.

    Args:
        file: Workflow file, `-` for standard input, or the name of a workflow of this notebook.
        prompt: Print the agent prompt of this step; values that only a run has are in brackets.
    """
    source = source_of(desk, file)
    try:
        report = make_plan(source, workspace=workspace, functions=functions_of(desk, source))
    except InvalidSpec as error:
        return refusal_answer(file, error, format_)
    if prompt is not None and report.ok:
        return prompt_answer(report, prompt, is_json=is_json(common))
    return plan_in(report, "json" if is_json(common) else format_, file)


def refusal_answer(file: str, error: InvalidSpec, form: str) -> Answer:
    """Return the errors of a workflow that cannot be read as GitHub annotations. Raises them for every other form."""
    if form != "github":
        raise error
    return problems_answer(file, error.problems, error.warnings)
