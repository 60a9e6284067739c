"""Checks across keys: names, cycles, phases, sets, schemas, inputs.

The checks are independent of each other and pure: `checks.paths` compares with the environment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pixirnb.ids import NAME_RULE, is_step_id
from pixirnb.planning.checks.isolation import unknown_repo
from pixirnb.planning.globs.index import PlainSets, plain_path
from pixirnb.planning.globs.pattern import Pattern
from pixirnb.planning.graph import Graph, cycle_text, find_cycles
from pixirnb.planning.items import as_planned
from pixirnb.planning.resolved_step import Resolved
from pixirnb.planning.roots import Roots, repo_of
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.expressions.references import read_all
from pixirnb.spec.fields import Texts
from pixirnb.spec.inputs import misfit
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.schemas import schema_flaw
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.steps import AgentStep, DecisionStep, MergeStep, StepBase
from pixirnb.spec.workflow import Workflow
from pixirnb.wording import join_names

NAMED: Final = 5
"""Maximum number of blocked steps named in a message; the others are counted."""
UNREACHABLE_NAMED: Final = 100
"""Maximum number of unreachable steps with an error each; the others are counted."""

_EVIDENCE: Final = ("verify", "output", "artifacts")
_SETS: Final = ("read_set", "write_set", "artifacts")


def check_graph(
    workflow: Workflow, graph: Graph, levels: Sequence[Sequence[int]]
) -> Iterator[SpecProblem]:
    """Yield repeated ids, unknown dependencies with the steps they block, and cycles with the steps they block."""
    for twice in graph.duplicates:
        line = workflow.source_map.line(("steps", twice.first, "id"))
        where = f"on line {line}" if line else f"by steps[{twice.first}]"
        yield SpecProblem(
            "duplicate_id",
            ("steps", twice.step, "id"),
            f"id `{twice.id}` is already used {where}",
            "rename one of the steps",
        )
    blocked: dict[int, str] = {}
    for unknown in graph.unknown:
        near = f"did you mean `{unknown.near[0]}`?" if unknown.near else ""
        is_written = unknown.index < len(workflow.steps[unknown.step].depends_on)
        tail: PathParts = ("depends_on", unknown.index) if is_written else ("for_each", "same_as")
        yield SpecProblem(
            "unknown_dependency",
            ("steps", unknown.step, *tail),
            f"unknown step `{unknown.name}`",
            near or f"add a step `{unknown.name}`, or remove it from `{tail[0]}`",
        )
        why = f"`{graph.ids[unknown.step]}`, which depends on the unknown step `{unknown.name}`"
        blocked.setdefault(unknown.step, why)
    on_cycle: set[int] = set()
    behind: set[int] = set()
    if sum(map(len, levels)) < len(graph.ids):
        cycles = find_cycles(graph)
        on_cycle = {step for cycle in cycles for step in cycle}
        for cycle in cycles:
            after = _followers(graph, cycle, on_cycle | behind)
            behind.update(after)
            yield _cycle(workflow, graph, cycle, sorted(after))
    yield from _unreachable(graph, blocked, on_cycle | behind)


def _cycle(
    workflow: Workflow, graph: Graph, cycle: Sequence[int], behind: Sequence[int]
) -> SpecProblem:
    """Return the error of a cycle, with the steps that it blocks."""
    name, needed = (graph.ids[step] for step in cycle[:2])
    message, fix = f"`{name}` depends on itself", f"remove `{name}` from its `depends_on`"
    if len(cycle) > 2:
        message = f"dependency cycle: {cycle_text(graph, cycle)}"
        fix = "remove one of these `depends_on` entries"
    where: PathParts = ("steps", cycle[0], "depends_on")
    if needed not in workflow.steps[cycle[0]].depends_on:
        where, fix = ("steps", cycle[0], "for_each", "same_as"), f"write `items:` in `{name}`"
    if behind:
        message += f"; also blocked: {join_names(behind, NAMED, lambda step: graph.ids[step])}"
    return SpecProblem("cycle", where, message, fix)


def _followers(graph: Graph, steps: Sequence[int], reported: set[int]) -> list[int]:
    """Return every step that depends on one of `steps`, directly or through others, unless it is reported already."""
    behind: list[int] = []
    waiting = list(steps)
    while waiting:
        for later in graph.dependents[waiting.pop()]:
            if later not in reported:
                reported.add(later)
                behind.append(later)
                waiting.append(later)
    return behind


def _unreachable(
    graph: Graph, blocked: Mapping[int, str], reported: set[int]
) -> Iterator[SpecProblem]:
    """Yield the steps that wait for a step with an unknown dependency; `reported` are among other errors already."""
    reason = dict(blocked)
    waiting = list(blocked)
    while waiting:
        step = waiting.pop()
        for later in graph.dependents[step]:
            if later not in reason:
                reason[later] = reason[step]
                waiting.append(later)
    behind = sorted(set(reason) - set(blocked) - reported)
    for step in behind[:UNREACHABLE_NAMED]:
        yield SpecProblem(
            "unreachable",
            ("steps", step),
            f"`{graph.ids[step]}` cannot start: it depends on {reason[step]}",
            "correct that dependency",
        )
    if rest := behind[UNREACHABLE_NAMED:]:
        yield SpecProblem(
            "unreachable",
            ("steps", rest[0]),
            f"{len(rest)} more steps cannot start",
            "correct their dependencies",
        )


def check_repeats(workflow: Workflow, graph: Graph) -> Iterator[SpecProblem]:
    """Yield dependencies written twice."""
    for position, (step, edges) in enumerate(zip(workflow.steps, graph.depends_on, strict=True)):
        names = step.depends_on
        if len(names) == len(edges):
            continue
        for index, name in enumerate(names):
            if name in names[:index]:
                yield SpecProblem(
                    "duplicate_dependency",
                    ("steps", position, "depends_on", index),
                    f"`{name}` is listed twice in `depends_on`",
                    "remove one of them",
                )


def check_roles(workflow: Workflow, resolved: Sequence[Resolved]) -> Iterator[SpecProblem]:
    """Yield tasks without an agent, and read-only steps that write."""
    for position, step in enumerate(resolved):
        parts: PathParts = ("steps", position)
        spec = step.spec
        if type(spec) is AgentStep:
            written: PathParts = ("defaults", "agent")
            if "agent" in workflow.steps[position].model_fields_set:
                written = (*parts, "agent")
            if spec.agent is None:
                known = ", ".join([*workflow.agents][:6])
                yield SpecProblem(
                    "agent_missing",
                    (*parts, "task"),
                    f"`{spec.id}` has a `task` but no `agent`",
                    f"add `agent:` with one of {known}"
                    if known
                    else "declare an agent under `agents:` and name it with `agent:`",
                )
            elif step.agent is None:
                yield SpecProblem(
                    "agent_unknown",
                    written,
                    f"unknown agent `{spec.agent}`",
                    did_you_mean(
                        spec.agent,
                        workflow.agents,
                        otherwise=f"declare it under `agents:` or in roles/{spec.agent}.yaml"
                        if is_step_id(spec.agent)
                        else f"use {NAME_RULE}, and declare it under `agents:`",
                    ),
                )
        if step.posture == "read_only" and step.writes:
            yield SpecProblem(
                "read_only_writes",
                (*parts, "write_set"),
                f"`{spec.id}` is `posture: read_only` but has a `write_set`",
                "remove the `write_set`, or write `posture: writer`",
            )
        elif spec.kind == "merge" and spec.posture == "read_only":
            yield SpecProblem(
                "read_only_writes",
                (*parts, "posture"),
                f"`{spec.id}` is `posture: read_only` but merges",
                "remove `posture`",
            )


def check_phases(workflow: Workflow, graph: Graph) -> Iterator[SpecProblem]:
    """Yield phases with the same name, steps in two phases, and phases with unknown steps."""
    names: set[str] = set()
    listed: dict[str, str] = {}
    for number, phase in enumerate(workflow.phases):
        if phase.name in names:
            yield SpecProblem(
                "duplicate_phase",
                ("phases", number, "name"),
                f"duplicate phase `{phase.name}`",
                "rename it, or join the two phases",
            )
        names.add(phase.name)
        for index, step in enumerate(phase.steps):
            parts: PathParts = ("phases", number, "steps", index)
            if step not in graph.index:
                yield SpecProblem(
                    "phase_unknown_step",
                    parts,
                    f"unknown step `{step}`",
                    did_you_mean(step, graph.ids, otherwise="remove it from the phase"),
                )
            elif step in listed:
                yield SpecProblem(
                    "phase_twice",
                    parts,
                    f"`{step}` is already in phase `{listed[step]}`",
                    "list it in one phase only",
                )
            listed.setdefault(step, phase.name)
    for position, each in enumerate(workflow.steps):
        if each.phase is not None and each.id in listed:
            yield SpecProblem(
                "phase_twice",
                ("steps", position, "phase"),
                f"`{each.id}` has a `phase` and is also listed in phase `{listed[each.id]}`",
                "remove one of them",
            )


def check_patterns(
    workflow: Workflow, plain: PlainSets, patterns: dict[str, Pattern], roots: Roots
) -> Iterator[SpecProblem]:
    """Yield unreadable globs, and globs of undeclared repositories.

    Fills `patterns` with the readable ones that are not literal paths, by their text.
    """
    paths = plain.paths
    for parts, step in workflow.find_keys(*_SETS):
        for key in _SETS:
            texts: Texts | None = getattr(step, key)
            if not texts:
                continue
            for text in texts:
                if text not in paths:
                    paths[text] = plain_path(text)
                if paths[text] is not None:
                    continue
                where = (*parts, key, texts.index(text))
                has_items = (
                    "{{" in text and isinstance(step, StepBase) and step.for_each is not None
                )
                if has_items:
                    wrong = list(_item_references(text, where))
                    yield from wrong
                    if wrong:
                        continue
                    text = as_planned([text])[0]  # noqa: PLW2901 - what it may come to
                if text not in patterns:
                    yield from _pattern(text, where, patterns, roots)
                repo = repo_of(text)
                if repo is not None and text in patterns and repo not in workflow.repos:
                    yield unknown_repo(repo, where, workflow)


def _item_references(text: str, parts: PathParts) -> Iterator[SpecProblem]:
    """Yield references in a set that are not to the item: nothing else is known when its files are claimed."""
    good, wrong = read_all(text, is_script=False)
    for bad in wrong:
        yield SpecProblem(bad.code, parts, bad.message.rstrip("."), bad.fix.rstrip("."))
    for reference in good:
        if reference.source != "item":
            yield SpecProblem(
                "reference_not_allowed",
                parts,
                f"`{parts[-2]}` can refer only to the item, and not to {reference.text}",
                "use `{{ item }}` or `{{ index }}`",
            )


def _pattern(
    text: str, parts: PathParts, patterns: dict[str, Pattern], roots: Roots
) -> Iterator[SpecProblem]:
    if "{{" in text:
        yield SpecProblem(
            "reference_not_allowed",
            parts,
            f"`{parts[-2]}` must be known before the run and cannot contain references",
            "write the path itself",
        )
        return
    try:
        patterns[text] = roots.pattern(text)
    except ValueError as wrong:
        message, _, fix = str(wrong).partition("; ")
        yield SpecProblem(
            "bad_pattern",
            parts,
            message,
            fix or "use a glob relative to the workspace, such as src/**",
        )


def check_schemas(workflow: Workflow) -> Iterator[SpecProblem]:
    """Yield JSON schemas that are invalid or refer to something outside their own text."""
    for parts, schema in _schemas(workflow):
        if (flaw := schema_flaw(schema)) is not None:
            yield SpecProblem("bad_schema", (*parts, *flaw.parts), flaw.message, flaw.fix)


def _schemas(workflow: Workflow) -> Iterator[tuple[PathParts, Mapping[str, Any]]]:
    for parts, step in workflow.find_keys("output", "verify"):
        if isinstance(step.output, Mapping):
            yield (*parts, "output"), step.output
        for index, check in enumerate(step.verify):
            if check.json_schema is not None:
                yield (*parts, "verify", index, "schema"), check.json_schema


def check_evidence(workflow: Workflow) -> Iterator[SpecProblem]:
    """Yield keys of evidence on steps that have none of their own: nothing would look at them."""
    for position, step in enumerate(workflow.steps):
        if isinstance(step, DecisionStep | MergeStep):
            what = "decision" if step.kind == "decision" else "merge"
            for key in (key for key in _EVIDENCE if key in step.__pydantic_fields_set__):
                yield SpecProblem(
                    "checks_not_taken",
                    ("steps", position, key),
                    f"`{key}` is not supported on {what} steps such as `{step.id}`",
                    f"move `{key}` to a step that depends on `{step.id}`",
                )


def check_inputs(workflow: Workflow) -> Iterator[SpecProblem]:
    """Yield defaults that the type or the choices of their input refuse."""
    for name, declared in workflow.inputs.items():
        for index, choice in enumerate(declared.enum or ()):
            bare = declared.model_copy(update={"enum": None})
            if (wrong := misfit(bare, choice)) is not None:
                yield SpecProblem("input_invalid", ("inputs", name, "enum", index), *wrong)
        if not declared.is_required and (wrong := misfit(declared, declared.default)) is not None:
            yield SpecProblem("input_invalid", ("inputs", name, "default"), *wrong)
