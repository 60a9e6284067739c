"""The plan as people and tools see it, and as the machine drives it. Pure: runs nothing, touches nothing.

report(workflow, facts)                 a preview with mistakes and warnings; never raises
compile_plan(workflow, facts, sources)  the Plan of a sound workflow; raises InvalidSpec with every mistake
require(loaded)                         the Workflow that a loader read; raises InvalidSpec with every mistake
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from pixirnb.errors import InvalidArguments, Problem
from pixirnb.json_types import SCHEMA_VERSION, JsonMapping
from pixirnb.planning.analysis import Analysis, analyse
from pixirnb.planning.digest import spec_digest
from pixirnb.planning.documents import (
    ConflictDocument,
    PlanDocument,
    RepoDocument,
    planned_documents,
)
from pixirnb.planning.environment import Environment, PathFact
from pixirnb.planning.items import with_lists
from pixirnb.planning.multiplicity import multiplicities
from pixirnb.planning.plan import ONLY_WORKSPACE, Plan, PlannedStep
from pixirnb.planning.prompts.compose import preview
from pixirnb.planning.resolved_step import Resolved
from pixirnb.planning.roots import in_repo, repo_of
from pixirnb.planning.warnings.general import plan_warnings
from pixirnb.spec.inputs import resolve_inputs
from pixirnb.spec.loader import Loaded
from pixirnb.spec.problems import problems, refusal
from pixirnb.spec.role_files import at_home
from pixirnb.spec.steps import AgentStep, MergeStep
from pixirnb.spec.workflow import Workflow


class PlanReport(Struct, frozen=True):
    """A preview of a run of the workflow. Steps are named by id, in spec order."""

    workflow: str
    """Name of the workflow."""
    spec: Workflow
    """The workflow."""
    errors: tuple[Problem, ...]
    """Errors; with any of them nothing runs."""
    warnings: tuple[Problem, ...]
    """Warnings."""
    levels: tuple[tuple[str, ...], ...]
    """Topological generations."""
    waves: tuple[tuple[str, ...], ...]
    """Steps that would start together if all goes well: levels cut by conflicts and max_concurrency."""
    conflicts: tuple[ConflictDocument, ...]
    """At most 1,000 of `conflict_count`."""
    conflict_count: int
    """Number of all conflicts."""
    serialized: tuple[tuple[str, str], ...]
    """A step, and the conflicting one after which it starts."""
    critical_path: tuple[str, ...]
    """The longest chain of dependencies."""
    peak_concurrency: int
    """Steps in the widest wave."""
    agents: dict[str, tuple[str, ...]]
    """Agent to the ids of its steps."""
    repos: dict[str, RepoDocument]
    """By name: path, and what was found there."""
    timeouts: dict[str, tuple[int | None, str]]
    """Milliseconds, and the level that set them."""
    phases: tuple[tuple[str, tuple[str, ...]], ...]
    """Phases with the ids of their steps."""
    resolved: Sequence[Resolved] = ()
    """The steps with defaults applied, in spec order."""
    depends_on: Sequence[Sequence[int]] = ()
    """Positions of the dependencies of each step."""
    inputs: JsonMapping = {}
    """The inputs of the run, as far as they are known: lists of items are counted by them."""

    @property
    def spec_digest(self) -> str:
        """Return the digest of the workflow as written. Hashes all of it each time: call it once, and only when needed."""
        return spec_digest(self.spec)

    @property
    def ok(self) -> bool:
        """Return whether it can run."""
        return not self.errors

    @property
    def agent_minutes(self) -> float:
        """Return the upper bound: timeouts of agent steps, times their attempts and items. An unknown number counts once."""
        items = multiplicities(self.spec, self.inputs)
        counts = {name: each.count for name, each in items.items() if each.count is not None}
        most = [
            (step.timeout_ms or 0) * step.retry.max_attempts * counts.get(step.spec.id, 1)
            for step in self.resolved
            if type(step.spec) is AgentStep
        ]
        return round(sum(most) / 60_000, 3)

    def with_inputs(self, given: JsonMapping) -> PlanReport:
        """Return the plan of a run with these inputs. Raises InvalidSpec for those that a run refuses, if any are given."""
        return replace(self, inputs=resolve_inputs(self.spec, given)) if given else self

    def prompt(self, step: str) -> str:
        """Return the prompt of the agent of `step`; parts known only in the run are in brackets.

        Raises InvalidArguments (`unknown_step`, `no_prompt`), InvalidSpec if the workflow cannot run.
        """
        kinds = {each.id: each.kind for each in self.spec.steps}
        if step not in kinds:
            raise InvalidArguments(
                f"unknown step `{step}` in workflow {self.workflow}",
                fix=f"use one of {', '.join(list(kinds)[:6])}",
                code="unknown_step",
            )
        if kinds[step] != "agent":
            tasks = [name for name, kind in kinds.items() if kind == "agent"]
            raise InvalidArguments(
                f"`{step}` is not an agent step and has no prompt",
                fix=f"use one of {', '.join(tasks[:6])}" if tasks else "add a step with `task:`",
                code="no_prompt",
            )
        return self.prompts([step])[step]

    def prompts(self, steps: Iterable[str]) -> dict[str, str]:
        """Return the prompts of several tasks, by step."""
        plan = compile_plan(self.spec, Environment(), {})
        return {step: preview(plan.steps[plan.index[step]], plan) for step in steps}

    def document(self) -> PlanDocument:
        """Return the JSON of a plan."""
        items = multiplicities(self.spec, self.inputs)
        document: PlanDocument = {
            "schema_version": SCHEMA_VERSION,
            "ok": self.ok,
            "workflow": self.workflow,
            "spec_digest": self.spec_digest,
            "errors": [problem.document() for problem in self.errors],
            "warnings": [problem.document() for problem in self.warnings],
            "levels": [list(level) for level in self.levels],
            "waves": [list(wave) for wave in self.waves],
            "conflicts": [conflict.copy() for conflict in self.conflicts],
            "conflict_count": self.conflict_count,
            "serialized": [{"step": step, "after": after} for step, after in self.serialized],
            "critical_path": list(self.critical_path),
            "peak_concurrency": self.peak_concurrency,
            "agent_minutes": self.agent_minutes,
            "agents": {name: list(steps) for name, steps in self.agents.items()},
            "repos": {name: repo.copy() for name, repo in self.repos.items()},
            "timeouts": {
                step: {"ms": ms, "source": source} for step, (ms, source) in self.timeouts.items()
            },
            "phases": [{"name": name, "steps": list(steps)} for name, steps in self.phases],
            "steps": planned_documents(self.resolved, self.depends_on, items),
        }
        if self.spec.title:
            document["workflow_title"] = self.spec.title
        return document

    def __repr__(self) -> str:
        summary = f"{sum(map(len, self.waves))} steps in {len(self.waves)} waves"
        if self.errors:
            summary = f"{len(self.errors)} errors"
        return f"<PlanReport {self.workflow}: {summary}>"


def report(workflow: Workflow, facts: Environment) -> PlanReport:
    """Return what a run would do, with every mistake and warning. Never raises for what an author can write."""
    return report_of(analyse(workflow, facts))


def compile_plan(workflow: Workflow, facts: Environment, sources: Mapping[str, str]) -> Plan:
    """Return the plan that the machine drives. Raises InvalidSpec with every mistake."""
    return plan_of(analyse(workflow, facts), sources)


def require(loaded: Loaded, facts: Environment | None = None) -> Workflow:
    """Return the loaded workflow. Raises InvalidSpec with the mistakes of its structure and of its meaning.

    Without `facts`, paths and notebook functions are not checked.
    """
    mistakes = problems_of(loaded, facts)
    if loaded.workflow is None or mistakes:
        raise refusal(mistakes, loaded.source_map.source, loaded.source_map.notes)
    return loaded.workflow


def problems_of(loaded: Loaded, facts: Environment | None = None) -> tuple[Problem, ...]:
    """Return every mistake in a loaded workflow, in the order of the text."""
    known = facts if facts is not None else Environment()
    salvage = loaded.salvage
    written = loaded.workflow or (None if salvage is None else salvage.workflow)
    if written is None:
        return problems(loaded.mistakes, loaded.source_map)
    mistakes = analyse(written, known).mistakes
    if loaded.workflow is None and salvage is not None:
        # Removed parts must not be reported as missing.
        mistakes = [each for each in mistakes if not salvage.hides(each)]
    return problems([*loaded.mistakes, *at_home(mistakes, written)], loaded.source_map)


def _warnings(analysis: Analysis) -> tuple[Problem, ...]:
    """Return the warnings of the plan and of the reader of another format, in the order of the text."""
    workflow = analysis.workflow
    warned = problems(at_home(plan_warnings(analysis), workflow), workflow.source_map)
    notes = workflow.source_map.notes
    return tuple(sorted((*notes, *warned), key=lambda each: each.line or 0)) if notes else warned


def report_of(analysis: Analysis) -> PlanReport:
    """Return the report of an analysis."""
    workflow, ids = analysis.workflow, analysis.graph.ids
    waves = analysis.schedule.waves
    agents: dict[str, tuple[str, ...]] = dict.fromkeys(workflow.agents, ())
    for step in analysis.resolved:
        if type(step.spec) is AgentStep and step.spec.agent in agents:
            agents[step.spec.agent] = (*agents[step.spec.agent], step.spec.id)
    return PlanReport(
        workflow=workflow.name,
        spec=workflow,
        errors=problems(at_home(analysis.mistakes, workflow), workflow.source_map),
        warnings=_warnings(analysis),
        levels=tuple([tuple([ids[step] for step in level]) for level in analysis.levels]),
        waves=tuple([tuple([ids[step] for step in wave]) for wave in waves]),
        conflicts=tuple(
            {
                "steps": [ids[conflict.a], ids[conflict.b]],
                "rule": conflict.rule,
                "paths": list(conflict.paths),
            }
            for conflict in analysis.conflicts.listed
        ),
        conflict_count=analysis.conflicts.count,
        serialized=tuple([(ids[step], ids[after]) for step, after in analysis.schedule.serialized]),
        critical_path=tuple([ids[step] for step in _critical_path(analysis)]),
        peak_concurrency=max(map(len, waves), default=0),
        agents=agents,
        repos={
            name: _repo(path, analysis.facts.repos.get(name))
            for name, path in workflow.repos.items()
        },
        timeouts={
            step.spec.id: (step.timeout_ms, step.timeout_source) for step in analysis.resolved
        },
        phases=tuple(
            (name, tuple([ids[step] for step in steps])) for name, steps in analysis.phases
        ),
        resolved=analysis.resolved,
        depends_on=analysis.graph.depends_on,
    )


def plan_of(analysis: Analysis, sources: Mapping[str, str]) -> Plan:
    """Return the Plan of an analysis. Raises InvalidSpec with every mistake."""
    workflow = analysis.workflow
    if analysis.mistakes:
        refs = problems(at_home(analysis.mistakes, workflow), workflow.source_map)
        raise refusal(refs, workflow.source_map.source, workflow.source_map.notes)
    graph = analysis.graph
    wave_of = [0] * len(graph.ids)
    for number, wave in enumerate(analysis.schedule.waves):
        for step in wave:
            wave_of[step] = number
    used = _roots_used(analysis)
    phase_of = [""] * len(graph.ids)
    for name, members in analysis.phases:
        for step in members:
            phase_of[step] = name
    referenced = {
        reference.name
        for refs in analysis.references
        for reference in (
            *refs.references,
            *refs.of_list,
            *(() if refs.when is None else refs.when.references),
        )
        if reference.source == "step" and reference.part != "summary"
    }
    steps = [
        PlannedStep(
            position,
            step.spec.id,
            step.spec.kind,
            step.spec,
            step.agent,
            tuple(edges),
            tuple(dependents),
            wave,
            step.timeout_ms,
            step.timeout_source,
            step.retry,
            step.posture,
            step.reads,
            step.writes,
            step.workspace,
            step.process,
            step.placement,
            phase,
            refs.when,
            refs.references,
            roots,
            step.spec.id in referenced,
        )
        for position, (step, edges, dependents, wave, phase, refs, roots) in enumerate(
            zip(
                analysis.resolved,
                graph.depends_on,
                graph.dependents,
                wave_of,
                phase_of,
                analysis.references,
                used,
                strict=True,
            )
        )
    ]
    if "for_each" in workflow.used_keys:
        steps = with_lists(steps, [refs.of_list for refs in analysis.references], graph.index)
    return Plan(
        workflow,
        tuple(steps),
        graph.index,
        analysis.phases,
        workflow.max_concurrency,
        workflow.timeout,
        dict(sources),
        {name: fact.resolved for name, fact in analysis.facts.repos.items()},
        analysis.placement.roots,
        analysis.facts.origin,
    )


def _additional_repos(step: Resolved) -> list[str]:
    """Return the repositories among the additional paths of step and agent, as globs."""
    own = () if step.agent is None else step.agent.additional_paths
    named = (in_repo(path) for path in (*step.spec.additional_paths, *own))
    looked_for = [glob for check in step.spec.verify for glob in check.globs]
    return [
        *(f"repos.{repo[0]}:**" for repo in named if repo is not None),
        *(glob for glob in looked_for if repo_of(glob) is not None),
    ]


def _roots_used(analysis: Analysis) -> list[tuple[str, ...]]:
    placement, resolved = analysis.placement, analysis.resolved
    if not analysis.workflow.repos:
        return [ONLY_WORKSPACE] * len(resolved)
    used = [
        placement.used(
            step.root, (*step.reads, *step.writes, *step.spec.artifacts, *_additional_repos(step))
        )
        for step in resolved
    ]
    for position, step in enumerate(resolved):
        if type(step.spec) is MergeStep:
            merged = [used[analysis.graph.index[name]] for name in step.spec.merge]
            used[position] = placement.with_nested(name for names in merged for name in names)
    return used


def _critical_path(analysis: Analysis) -> list[int]:
    """Follow, from the first step of the last level upward, the first dependency one level above."""
    levels, depends_on = analysis.levels, analysis.graph.depends_on
    if not levels:
        return []
    path = [levels[-1][0]]
    for level in reversed(levels[:-1]):
        here = set(level)
        path.append(min(step for step in depends_on[path[-1]] if step in here))
    return path[::-1]


def _repo(path: str, fact: PathFact | None) -> RepoDocument:
    return {
        "path": path,
        "exists": fact is not None and fact.exists,
        "git": fact is not None and fact.is_git,
        "writable": fact is not None and fact.is_writable,
    }
