"""Warnings about isolated workspaces: changes that stay there, and steps that do not see them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pixirnb.planning.analysis import Analysis
from pixirnb.planning.upstream_changes import changes_files
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.steps import MergeStep, Shared
from pixirnb.wording import join_names

_NAMED: Final = 3


def isolation_warnings(analysis: Analysis) -> Iterator[SpecProblem]:
    """Yield every warning about isolated steps; none without isolated steps."""
    yield from _carried_in_vain(analysis)
    resolved, ids = analysis.resolved, analysis.graph.ids
    isolated = [position for position in analysis.isolated if changes_files(resolved[position])]
    if not isolated:
        return
    merged = {name for step in resolved if type(step.spec) is MergeStep for name in step.spec.merge}
    if left := [position for position in isolated if ids[position] not in merged]:
        one = len(left) == 1
        listed = ", ".join(
            [*(ids[step] for step in left[:_NAMED]), *(["…"] if left[_NAMED:] else [])]
        )
        yield SpecProblem(
            "changes_not_merged",
            ("steps", left[0]),
            f"no step merges the changes of the isolated {'step' if one else 'steps'} {_named(ids, left)}",
            f"add a step with `merge: [{listed}]`, or merge after the run",
        )
    if blind := sorted(each.step for each in analysis.inherited if each.unseen):
        unseen = sorted({step for each in analysis.inherited for step in each.unseen})
        one = len(blind) == 1
        yield SpecProblem(
            "changes_not_seen",
            ("steps", blind[0]),
            f"{_named(ids, blind)} {'does' if one else 'do'} not see the changes of {_named(ids, unseen)}, "
            "which are not merged by then",
            f"merge them first, or write `workspace: isolated` on {_named(ids, blind)}",
        )
    for position in isolated:
        step = resolved[position]
        if step.is_undeclared:
            yield SpecProblem(
                "isolated_undeclared",
                ("steps", position),
                f"isolated step `{ids[position]}` has no `write_set`, so unexpected changes cannot be detected",
                "add `write_set` with the files that it writes",
            )


def _carried_in_vain(analysis: Analysis) -> Iterator[SpecProblem]:
    workflow, known = analysis.workflow, analysis.facts.carried
    if not known:
        return
    sources: list[tuple[PathParts, Shared]] = [(("defaults",), workflow.defaults)]
    sources += [(("steps", position), step) for position, step in enumerate(workflow.steps)]
    for parts, step in sources:
        for index, path in enumerate(step.carry):
            fact = known.get(path)
            if fact is not None and not fact.exists:
                yield SpecProblem(
                    "carry_missing",
                    (*parts, "carry", index),
                    f"`{path}` does not exist yet ({fact.resolved})",
                    "correct the path, unless an earlier step creates it",
                )


def _named(ids: Sequence[str], steps: Sequence[int]) -> str:
    names = [f"`{ids[step]}`" for step in steps]
    if 1 < len(names) <= _NAMED:
        return f"{', '.join(names[:-1])} and {names[-1]}"
    return join_names(names, _NAMED)
