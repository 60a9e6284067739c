"""Checks of `for_each`: where it may stand, whose items it names, and where `{{ item }}` has a meaning."""

from __future__ import annotations

from collections.abc import Iterator

from pixirnb.planning.graph import Graph
from pixirnb.spec.expressions.references import Reference
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.steps import Step
from pixirnb.spec.workflow import Workflow


def dependencies(step: Step) -> tuple[str, ...]:
    """Return the steps that a step depends on: written, or because it has the items of one."""
    leader = None if step.for_each is None else step.for_each.same_as
    if leader is None or leader in step.depends_on:
        return step.depends_on
    return (*step.depends_on, leader)


def check_for_each(workflow: Workflow, graph: Graph) -> Iterator[SpecProblem]:
    """Yield the mistakes of every `for_each`, its references apart."""
    if "for_each" not in workflow.used_keys:
        return
    for position, step in enumerate(workflow.steps):
        written = step.for_each
        if written is None:
            continue
        where: PathParts = ("steps", position, "for_each")
        if step.kind == "merge":
            yield SpecProblem(
                "bad_for_each",
                where,
                f"`for_each` is not supported on merge steps such as `{step.id}`",
                "merge the step that has items: all of them are merged",
            )
        elif step.reuse == "reads":
            yield SpecProblem(
                "bad_for_each",
                ("steps", position, "reuse"),
                f"`reuse: reads` is not supported with `for_each` in `{step.id}`",
                "use `reuse: spec` or `reuse: never`",
            )
        leader = graph.index.get(written.same_as or "")
        if leader is not None and workflow.steps[leader].for_each is None:
            yield SpecProblem(
                "bad_for_each",
                (*where, "same_as"),
                f"`{written.same_as}` has no `for_each`",
                "use a step that has one, or `items:`",
            )


def no_item(reference: Reference, parts: PathParts) -> SpecProblem:
    """Return the mistake of a reference to an item where there is none."""
    return SpecProblem(
        "reference_no_item",
        parts,
        f"{reference.text} has no value in a step without `for_each`",
        "add `for_each:` to the step, or use another reference",
    )
