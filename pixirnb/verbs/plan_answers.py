"""A plan as the answer of a verb: text, a picture, GitHub annotations, or JSON. Source: contract.md §9."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from pixirnb.errors import EXIT_COMPLETED, EXIT_INVALID, Problem
from pixirnb.planning.report import PlanReport
from pixirnb.verbs.answers import PICTURES, Answer, path_from_here, rendering
from pixirnb.verbs.workflow_options import edges
from pixirnb.wording import join_names

_NAMED: Final = 6
"""Maximum number of steps that a sentence names."""


def plan_answer(
    report: PlanReport,
    edges: Sequence[tuple[str, str]],
    *,
    is_json: bool = False,
    targets: Sequence[str] = (),
) -> Answer:
    """Return a plan as an answer: exit 2 if it cannot run. `targets` leave out the steps that none of them needs."""
    code = EXIT_COMPLETED if report.ok else EXIT_INVALID
    document = report.document()
    lines: tuple[str, ...] = ()
    if targets:
        from pixirnb.operations.start_options import not_selected

        document["not_selected"] = left_out = not_selected(report.spec.steps, targets)
        named = join_names(left_out, _NAMED, lambda step: f"`{step}`")
        lines = (f"Not selected, held: {named or 'no step'}.",)
    return Answer("plan", document, code, edges, lines=lines, is_json=is_json, report=report)


def prompt_answer(report: PlanReport, step: str, *, is_json: bool = False) -> Answer:
    """Return the prompt of an agent. Raises as `PlanReport.prompt`."""
    document = {"workflow": report.workflow, "step": step, "prompt": report.prompt(step)}
    return Answer("prompt", document, is_json=is_json)


def plan_in(report: PlanReport, form: str, file: str) -> Answer:
    """Return the plan of a file in one of the forms. One with errors is no picture, but text."""
    known = edges(report.spec)
    answer = plan_answer(report, known, is_json=form == "json")
    if form == "github":
        return problems_answer(file, report.errors, report.warnings)
    if form not in PICTURES or not report.ok:
        return answer
    kinds = {step.id: step.kind for step in report.spec.steps}
    return rendering(form, _draw(form)(report.document(), None, known, kinds=kinds))


def problems_answer(
    file: str, errors: Sequence[Problem], warnings: Sequence[Problem] = ()
) -> Answer:
    """Return what is wrong with a workflow file as GitHub annotations."""
    from pixirnb.views.run.ci_reports import problem_annotations

    named = path_from_here(file) if Path(file).is_file() else None
    commands = [
        each
        for level, problems in (("error", errors), ("warning", warnings))
        for each in problem_annotations(level, [one.document() for one in problems], named)
    ]
    return rendering("github", "\n".join(commands), EXIT_INVALID if errors else EXIT_COMPLETED)


def _draw(form: str) -> Callable[..., str]:
    """Return the function that draws a picture."""
    from pixirnb.views.picture.dot import dot
    from pixirnb.views.picture.mermaid import mermaid
    from pixirnb.views.picture.svg import picture

    return {"mermaid": mermaid, "dot": dot, "svg": picture}[form]
