"""Warnings of a plan: it runs, but perhaps not as its author expects. Each has a code, a position and a fix."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pixirnb.planning.analysis import Analysis
from pixirnb.planning.checks.repos import written_repos
from pixirnb.planning.environment import is_secret_variable
from pixirnb.planning.resolved_step import STANDARD_TIMEOUT_MS, needs_process
from pixirnb.planning.warnings.agents import agent_warnings
from pixirnb.planning.warnings.conditions import condition_warnings
from pixirnb.planning.warnings.isolation import isolation_warnings
from pixirnb.spec.durations import format_duration
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.steps import AgentStep, DecisionStep, PythonStep
from pixirnb.wording import join_names

MANY_DEPENDENCIES: Final = 5

_SECRET_VALUE: Final = re.compile(
    r"(sk-|ghp_|gho_|github_pat_|glpat-|xox[abprs]-|AKIA|ya29\.|eyJ)[\w.-]{8,}|-----BEGIN [A-Z ]*KEY"
)


def plan_warnings(analysis: Analysis) -> Iterator[SpecProblem]:
    """Yield every warning of the plan."""
    yield from _dependencies(analysis)
    yield from _timeouts(analysis)
    yield from _writers(analysis)
    yield from _widths(analysis)
    yield from _paths(analysis)
    yield from isolation_warnings(analysis)
    yield from agent_warnings(analysis)
    yield from _phases(analysis)
    yield from _secrets(analysis)
    yield from _vain_checks(analysis)
    yield from _choices(analysis)
    yield from _moved_from_threads(analysis)
    yield from condition_warnings(analysis)


def _dependencies(analysis: Analysis) -> Iterator[SpecProblem]:
    """Yield agents that have much to read at once; a program gathers any number of results."""
    for position, edges in enumerate(analysis.graph.depends_on):
        is_agent = type(analysis.resolved[position].spec) is AgentStep
        if is_agent and len(edges) >= MANY_DEPENDENCIES:
            yield SpecProblem(
                "decompose",
                ("steps", position, "depends_on"),
                f"agent step `{analysis.graph.ids[position]}` has {len(edges)} direct dependencies",
                "add an intermediate step that summarizes some of them",
            )


def _vain_checks(analysis: Analysis) -> Iterator[SpecProblem]:
    checked = [(at, step.spec) for at, step in enumerate(analysis.resolved) if step.spec.verify]
    for position, step in checked:
        for index, check in enumerate(step.verify):
            if check.kind == "exit_code" and check.exit_code != 0:
                yield SpecProblem(
                    "check_never_passes",
                    ("steps", position, "verify", index),
                    f"a non-zero exit already fails the step, so the check `exit_code: {check.exit_code}` never passes",
                    "let the command exit with 0, or use a `command` check with that `exit_code`",
                )


def _choices(analysis: Analysis) -> Iterator[SpecProblem]:
    for position, step in enumerate(analysis.workflow.steps):
        if (
            type(step) is DecisionStep
            and not step.ask.choices
            and "choices" in step.ask.model_fields_set
        ):
            yield SpecProblem(
                "choices_empty",
                ("steps", position, "ask", "choices"),
                f"`choices` of `{step.id}` is empty, so any value is accepted",
                "add a choice, or remove `choices`",
            )


def _moved_from_threads(analysis: Analysis) -> Iterator[SpecProblem]:
    if analysis.facts.tells_children:
        return
    moved = [
        position
        for position, step in enumerate(analysis.resolved)
        if isinstance(step.spec, PythonStep)
        and not needs_process(step.spec, step.posture, step.workspace, step.retry)
    ]
    if moved:
        names = join_names(moved, 3, lambda position: f"`{analysis.graph.ids[position]}`")
        verb = "runs as a process" if len(moved) == 1 else "run as processes"
        yield SpecProblem(
            "children_not_told_apart",
            ("steps", moved[0]),
            f"{names} {verb}: child processes of a thread cannot be identified on this system",
            "write `process: true` to confirm, or run on Linux",
        )


def _timeouts(analysis: Analysis) -> Iterator[SpecProblem]:
    for position, step in enumerate(analysis.resolved):
        limit = step.timeout_ms
        if limit is None or limit <= STANDARD_TIMEOUT_MS or step.spec.allow_long_timeout:
            continue
        parts: PathParts = ("defaults", "timeout")
        if step.timeout_source == "step":
            parts = ("steps", position, "timeout")
        elif step.timeout_source == "agent" and type(step.spec) is AgentStep:
            parts = ("agents", str(step.spec.agent), "timeout")
        yield SpecProblem(
            "timeout_long",
            parts,
            f"timeout {format_duration(limit)} is longer than 30 min",
            "split the step, or write `allow_long_timeout: true`",
        )


def _writers(analysis: Analysis) -> Iterator[SpecProblem]:
    undeclared = [
        number
        for number, step in enumerate(analysis.resolved)
        if step.is_undeclared and step.workspace == "shared"
    ]
    # Where every step comes after the one before, or one runs at a time, no two can be in each other's way.
    is_parallel = analysis.workflow.max_concurrency > 1 and any(
        len(level) > 1 for level in analysis.levels
    )
    if undeclared and is_parallel and analysis.workflow.undeclared_writers == "allow":
        names = join_names(undeclared, 3, lambda number: f"`{analysis.graph.ids[number]}`")
        declares = "declares" if len(undeclared) == 1 else "declare"
        yield SpecProblem(
            "undeclared_writers",
            ("steps", undeclared[0]),
            f"{names} {declares} no `write_set`, so write conflicts cannot be detected",
            "add `write_set`, `posture: read_only` or `undeclared_writers: serialize`",
        )
    for position in sorted(analysis.conflicts.steps):
        step = analysis.resolved[position]
        if step.is_wide or (step.is_undeclared and step.writes):
            yield SpecProblem(
                "serialized_for_want_of_write_set",
                ("steps", position),
                f"`{step.spec.id}` has no `write_set`, so it is treated as writing everything "
                "and cannot run in parallel",
                "add `write_set` with the files that it writes",
            )


def _widths(analysis: Analysis) -> Iterator[SpecProblem]:
    most = analysis.workflow.max_concurrency
    widest = max(analysis.levels, key=len, default=[])
    if len(widest) > most:
        yield SpecProblem(
            "wave_wide",
            ("max_concurrency",),
            f"up to {len(widest)} steps are ready at once but `max_concurrency` is {most} (informational)",
            "raise `max_concurrency` to run more in parallel",
        )


def _paths(analysis: Analysis) -> Iterator[SpecProblem]:
    for name, path in analysis.workflow.repos.items():
        fact = analysis.facts.repos.get(name)
        if fact is None or not fact.is_directory:
            continue
        if not fact.is_git:
            yield SpecProblem(
                "repo_not_git",
                ("repos", name),
                f"`{path}` is not a git repository",
                "run `git init` there or correct the path",
            )
        if not fact.is_writable and name not in written_repos(analysis.resolved):
            yield SpecProblem(
                "repo_not_writable",
                ("repos", name),
                f"repository `{path}` is not writable (no step declares writes there)",
                "make it writable if a step writes there",
            )
    root = analysis.facts.paths.get(".")
    if root is not None and not root.is_writable:
        yield SpecProblem(
            "workspace_not_writable",
            (),
            f"workspace {analysis.facts.workspace} is not writable",
            "use another one with --workspace",
        )


def _phases(analysis: Analysis) -> Iterator[SpecProblem]:
    if len(analysis.phases) < 2:
        return
    phase_of = {step: name for name, steps in analysis.phases for step in steps}
    listed = {phase.name: number for number, phase in enumerate(analysis.workflow.phases)}
    reported: set[str] = set()
    for number, wave in enumerate(analysis.schedule.waves):
        names = list(dict.fromkeys(phase_of[step] for step in wave if step in phase_of))
        if len(names) < 2:
            continue
        for name in names:
            if name in reported or name == "rest":
                continue
            reported.add(name)
            others = ", ".join(f"`{other}`" for other in names if other != name)
            first = next(step for step in wave if phase_of.get(step) == name)
            yield SpecProblem(
                "phase_splits_wave",
                ("phases", listed[name]) if name in listed else ("steps", first, "phase"),
                f"steps of phase `{name}` can start together with steps of {others} (wave {number})",
                "make the later phase depend on the earlier one, or join them",
            )


def _secrets(analysis: Analysis) -> Iterator[SpecProblem]:
    shared = [(("defaults",), analysis.workflow.defaults.env)]
    env_fields: list[tuple[PathParts, dict[str, str]]] = [*shared]
    env_fields += [
        (("steps", position), step.env)
        for position, step in enumerate(analysis.workflow.steps)
        if step.env
    ]
    for parts, env in env_fields:
        for name, value in env.items():
            if "{{" in value:
                continue
            named = is_secret_variable(name) and len(value) >= 8 and "/" not in value
            if named or _SECRET_VALUE.search(value):
                yield SpecProblem(
                    "secret_in_env",
                    (*parts, "env", name),
                    f"the value of `{name}` looks like a secret, and every run log contains the spec",
                    "set it in the environment and remove it from the spec",
                )
