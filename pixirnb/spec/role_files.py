"""Roles: agents in files of their own, adopted into the workflow whose steps name them. Pure: gets texts and names.

    missing(workflow) ──▶ the names that need a file          read_role(text, …) ──▶ Role(agent | None, problems)
    adopt(loaded, roles) ──▶ the workflow with those agents

An agent that the workflow declares itself wins. An adopted agent is part of the workflow from then on: it is pinned
with it, and a resume needs no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from pixirnb.errors import Problem
from pixirnb.ids import is_step_id
from pixirnb.spec.loader import Loaded, load_mapping
from pixirnb.spec.policies import Agent
from pixirnb.spec.problems import SpecProblem, problems
from pixirnb.spec.salvage import Salvage
from pixirnb.spec.source_map import PathParts, SourceMap
from pixirnb.spec.steps import AgentStep
from pixirnb.spec.workflow import Workflow
from pixirnb.spec.yaml.reader import lines_of, read_yaml


class Role(Struct, frozen=True):
    """A role file as read."""

    source: str
    """Name of the file, for people."""
    agent: Agent | None
    """The agent; None if the file has mistakes."""
    problems: tuple[Problem, ...] = ()
    """Problems with the lines and paths of the file."""
    source_map: SourceMap = field(default_factory=SourceMap)
    """Position of each key in the file."""


def missing(workflow: Workflow) -> dict[str, PathParts]:
    """Return agents that steps name and the workflow does not declare, with the path of the first step that names each."""
    first_named: dict[str, PathParts] = {}
    for position, step in enumerate(workflow.steps):
        if type(step) is not AgentStep:
            continue
        is_written = "agent" in step.model_fields_set
        name = step.agent if is_written else workflow.defaults.agent
        if name is None or name in workflow.agents or not is_step_id(name):
            continue
        first_named.setdefault(
            name, ("steps", position, "agent") if is_written else ("defaults", "agent")
        )
    return first_named


def read_role(text: str, source: str, *, name: str = "role") -> Role:
    """Return the agent of a role file, a mapping with the keys of an agent. Never raises for mistakes in it."""
    source_map = SourceMap(text, source, lines_of)
    reading = read_yaml(text)
    mistakes = list(reading.mistakes)
    if reading.is_whole and not isinstance(reading.value, dict):
        fix = "write the keys of an agent: `runner:`, `role:`"
        mistakes.append(
            SpecProblem("not_a_mapping", (), "a role file must contain a mapping", fix, 1)
        )
    elif reading.is_whole:
        stand_in = {
            "name": "x",
            "agents": {name: reading.value},
            "steps": [{"id": "x", "run": "true"}],
        }
        loaded = load_mapping(stand_in)
        mistakes += [replace(wrong, parts=wrong.parts[2:]) for wrong in loaded.mistakes]
        if loaded.workflow is not None and not mistakes:
            return Role(source, loaded.workflow.agents[name], source_map=source_map)
    return Role(source, None, problems(mistakes, source_map))


def adopt(loaded: Loaded, roles: Mapping[str, Role]) -> Loaded:
    """Add the agents of `roles` to `loaded`; their mistakes get the path of a step that names them, and give file and line."""
    written = loaded.workflow or (None if loaded.salvage is None else loaded.salvage.workflow)
    if written is None or not roles:
        return loaded
    named = missing(written)
    mistakes = [
        mistake
        for name, role in roles.items()
        if name in named
        for mistake in _moved_mistakes(role, named[name])
    ]
    adopted = _with_agents(written, {name: r for name, r in roles.items() if name in named})
    if mistakes or loaded.workflow is None:
        broken = {("agents", name) for name, role in roles.items() if role.agent is None}
        rest = loaded.salvage or Salvage(adopted, {}, frozenset())
        salvage = replace(rest, workflow=adopted, lost=rest.lost | broken)
        return Loaded(None, (*loaded.mistakes, *mistakes), salvage, loaded.source_map)
    return Loaded(adopted, loaded.mistakes, loaded.salvage, loaded.source_map)


def _with_agents(workflow: Workflow, roles: Mapping[str, Role]) -> Workflow:
    known = {name: role.agent for name, role in roles.items() if role.agent is not None}
    if not known:
        return workflow
    origins = {name: roles[name].source_map for name in known}
    copy = workflow.model_copy(update={"agents": {**workflow.agents, **known}})
    return copy.with_origins({**workflow.adopted_source_maps, **origins})


def at_home(problems: Iterable[SpecProblem], workflow: Workflow) -> Iterator[SpecProblem]:
    """Yield mistakes and warnings; those of an adopted agent get the path of a step that names it, and give file and line."""
    adopted = workflow.adopted_source_maps
    for wrong in problems:
        if len(wrong.parts) < 2 or wrong.parts[0] != "agents" or wrong.parts[1] not in adopted:
            yield wrong
            continue
        name, *inside = wrong.parts[1:]
        named = _named(workflow, str(name))
        source_map = adopted[str(name)]
        problem = replace(wrong, parts=tuple(inside)).problem(source_map)
        yield _elsewhere(problem, named, source_map.source)


def _named(workflow: Workflow, agent: str) -> PathParts:
    """Return the path of the first step that names an agent."""
    for position, step in enumerate(workflow.steps):
        if type(step) is not AgentStep:
            continue
        if "agent" in step.model_fields_set:
            if step.agent == agent:
                return ("steps", position, "agent")
        elif workflow.defaults.agent == agent:
            return ("defaults", "agent")
    return ("agents", agent)


def _moved_mistakes(role: Role, parts: PathParts) -> Iterator[SpecProblem]:
    for wrong in role.problems:
        yield _elsewhere(wrong, parts, role.source)


def _elsewhere(wrong: Problem, parts: PathParts, source: str | None) -> SpecProblem:
    line = f", line {wrong.line}" if wrong.line is not None else ""
    path = f", `{wrong.path}`" if wrong.path else ""
    return SpecProblem(wrong.code, parts, f"in {source}{line}{path}: {wrong.message}", wrong.fix)
