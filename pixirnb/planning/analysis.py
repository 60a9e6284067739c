"""The analysis of a workflow before it runs, done once; report and plan are views of it.

Workflow, Facts ──analyse──▶ Analysis ──report──▶ PlanReport
                                      └─compile─▶ Plan
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from pixirnb.planning.checks import structure
from pixirnb.planning.checks.agents import (
    check_agents,
    check_lacks,
    check_passed_names,
    check_reports,
)
from pixirnb.planning.checks.for_each import check_for_each, dependencies
from pixirnb.planning.checks.isolation import check_git, check_isolation, check_merges
from pixirnb.planning.checks.paths import check_functions, check_paths
from pixirnb.planning.checks.placement import check_placement
from pixirnb.planning.checks.references import (
    NOTHING,
    StepReferences,
    check_targets,
    read_references,
)
from pixirnb.planning.checks.repos import check_repos
from pixirnb.planning.claims import Claim, ConflictReport, find_conflicts
from pixirnb.planning.environment import Environment
from pixirnb.planning.globs.index import PlainSets
from pixirnb.planning.globs.pattern import Pattern
from pixirnb.planning.graph import Graph, build_graph, topological_levels
from pixirnb.planning.placement import Placement
from pixirnb.planning.resolved_step import Resolved, Resolver
from pixirnb.planning.roots import Roots
from pixirnb.planning.schedule_preview import Schedule, play
from pixirnb.planning.upstream_changes import Inherited, inheritance
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.steps import MergeStep
from pixirnb.spec.workflow import Workflow

NO_CONFLICTS: Final = ConflictReport((), 0, frozenset())
Phases = tuple[tuple[str, tuple[int, ...]], ...]


class Analysis(Struct, frozen=True, eq=False):
    """A workflow and all that is derived from it. Lists are by step index, in spec order."""

    workflow: Workflow
    facts: Environment
    graph: Graph
    levels: list[list[int]]
    resolved: list[Resolved]
    references: list[StepReferences]
    conflicts: ConflictReport
    schedule: Schedule
    phases: Phases
    placement: Placement
    isolated: list[int]
    """Positions of the steps that work in copies."""
    inherited: tuple[Inherited, ...]
    """Steps that do not see the changes of earlier isolated steps."""
    mistakes: list[SpecProblem]
    """Errors; a workflow that has any does not run."""


def analyse(workflow: Workflow, facts: Environment) -> Analysis:
    """Analyse a workflow, mistakes included. Pure; never raises for what an author can write."""
    mistakes: list[SpecProblem] = []
    has_items = "for_each" in workflow.used_keys
    graph = build_graph(
        [(step.id, dependencies(step) if has_items else step.depends_on) for step in workflow.steps]
    )
    levels = topological_levels(graph)
    placement = Placement(workflow, facts)
    resolved = _resolved(workflow, placement, facts)
    # Only isolated steps and merges affect whose changes reach whom.
    inherited: tuple[Inherited, ...] = ()
    isolated = [position for position, step in enumerate(resolved) if step.workspace == "isolated"]
    merges = [position for position, step in enumerate(resolved) if type(step.spec) is MergeStep]
    if isolated or merges:
        inherited = tuple(inheritance(resolved, graph, levels))
    references = [
        read_references(step.spec, ("steps", position)) for position, step in enumerate(resolved)
    ]
    patterns: dict[str, Pattern] = {}
    plain = PlainSets()
    mistakes += structure.check_graph(workflow, graph, levels)
    mistakes += structure.check_repeats(workflow, graph)
    mistakes += check_for_each(workflow, graph)
    mistakes += structure.check_roles(workflow, resolved)
    mistakes += check_agents(workflow)
    mistakes += check_lacks(facts, resolved, graph)
    mistakes += structure.check_phases(workflow, graph)
    mistakes += structure.check_patterns(workflow, plain, patterns, placement.roots)
    mistakes += structure.check_schemas(workflow)
    if not facts.is_pinned:
        mistakes += structure.check_evidence(workflow)
        mistakes += check_passed_names(workflow)
        mistakes += check_reports(workflow)
    mistakes += structure.check_inputs(workflow)
    mistakes += _reference_mistakes(workflow, references, graph)
    mistakes += check_isolation(workflow, resolved, isolated)
    mistakes += check_merges(resolved, graph, merges, inherited)
    mistakes += check_git(facts, resolved, isolated, merges)
    mistakes += check_placement(workflow, resolved)
    mistakes += check_paths(workflow, facts)
    mistakes += check_repos(workflow, facts, resolved)
    mistakes += check_functions(workflow, facts)
    # If literal paths prove that no steps conflict, no claims are needed to keep them apart.
    claims: list[Claim | None] = []
    conflicts = NO_CONFLICTS
    if not plain.are_disjoint([(step.reads, step.writes) for step in resolved]):
        claims = _claims(resolved, patterns, placement.roots)
        conflicts = find_conflicts(claims, graph, levels=levels)
    schedule = play(graph, claims, conflicts, workflow.max_concurrency)
    return Analysis(
        workflow,
        facts,
        graph,
        levels,
        resolved,
        references,
        conflicts,
        schedule,
        _phases(workflow, graph),
        placement,
        isolated,
        inherited,
        mistakes,
    )


def _resolved(workflow: Workflow, placement: Placement, facts: Environment) -> list[Resolved]:
    """Return the steps with all levels applied; merges last, because they claim what their merged steps claim."""
    resolver = Resolver(workflow, placement, tells_children=facts.tells_children)
    if not any(type(step) is MergeStep for step in workflow.steps):
        return [resolver.resolve(step, {}) for step in workflow.steps]
    resolved = [
        None if type(step) is MergeStep else resolver.resolve(step, {}) for step in workflow.steps
    ]
    merged = {step.spec.id: step for step in resolved if step is not None}
    return [
        resolver.resolve(step, merged) if known is None else known
        for step, known in zip(workflow.steps, resolved, strict=True)
    ]


def _reference_mistakes(
    workflow: Workflow, references: list[StepReferences], graph: Graph
) -> Iterator[SpecProblem]:
    for position, step_references in enumerate(references):
        if step_references is not NOTHING:
            yield from check_targets(workflow, position, step_references, graph)
        yield from step_references.mistakes


def _claims(
    resolved: list[Resolved], patterns: dict[str, Pattern], roots: Roots
) -> list[Claim | None]:
    shared: dict[tuple[object, ...], Claim] = {}
    claims: list[Claim | None] = []
    for step in resolved:
        if not (step.reads or step.writes):
            claims.append(None)
            continue
        key = (step.reads, step.writes, step.workspace)
        claim = shared.get(key)
        if claim is None:
            claim = shared[key] = Claim(
                _patterns(step.reads, patterns, roots),
                _patterns(step.writes, patterns, roots),
                step.workspace == "shared",
            )
        claims.append(claim)
    return claims


def _patterns(
    texts: tuple[str, ...], known: dict[str, Pattern], roots: Roots
) -> tuple[Pattern, ...]:
    parsed: list[Pattern] = []
    for text in texts:
        pattern = known.get(text)
        if pattern is None:
            try:
                pattern = known[text] = roots.pattern(text)
            except ValueError:
                # It is among the mistakes already; without it the rest can still be shown.
                continue
        parsed.append(pattern)
    return tuple(parsed)


def _phases(workflow: Workflow, graph: Graph) -> Phases:
    if not workflow.phases and all(step.phase is None for step in workflow.steps):
        return ((workflow.name, tuple(range(len(graph.ids)))),)
    members: dict[str, list[int]] = {}
    placed: set[int] = set()
    for phase in workflow.phases:
        named = members.setdefault(phase.name, [])
        for name in phase.steps:
            position = graph.index.get(name)
            if position is not None and position not in placed:
                named.append(position)
                placed.add(position)
    for position, step in enumerate(workflow.steps):
        if step.phase is not None and position not in placed:
            members.setdefault(step.phase, []).append(position)
            placed.add(position)
    rest = [position for position in range(len(graph.ids)) if position not in placed]
    if rest:
        members["rest"] = members.pop("rest", []) + rest
    return tuple((name, tuple(sorted(steps))) for name, steps in members.items())
