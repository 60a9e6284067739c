"""Roles: agents written in files of their own, adopted into the workflow whose steps name them. Pure: gets texts and names.

    missing(workflow) ──▶ the names that need a file          read_role(text, …) ──▶ Role(agent | None, problems)
    adopt(loaded, roles) ──▶ the same, with those agents among its own

What a workflow declares itself wins. An adopted agent is part of the workflow from then on: it is pinned with it, and a
resume needs no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from pixirnb.errors import Problem
from pixirnb.ids import is_step_id
from pixirnb.spec.loader import Loaded, Salvage, load_mapping
from pixirnb.spec.policies import Agent
from pixirnb.spec.problems import SpecProblem, problems
from pixirnb.spec.source_map import PathParts, Places
from pixirnb.spec.steps import AgentStep
from pixirnb.spec.workflow import Workflow
from pixirnb.spec.yaml.reader import lines_of, read_yaml


@dataclass(frozen=True, slots=True)
class Role:
    """A role file, read."""

    source: str
    """The file, for people."""
    agent: Agent | None
    """None where it has mistakes."""
    problems: tuple[Problem, ...] = ()
    """With the lines and paths of the file."""
    places: Places = field(default_factory=Places)
    """Where in the file each key stands."""


def missing(workflow: Workflow) -> dict[str, PathParts]:
    """Agents that steps name and the workflow does not declare, with where each is named first."""
    found: dict[str, PathParts] = {}
    for position, step in enumerate(workflow.steps):
        if type(step) is not AgentStep:
            continue
        is_written = "agent" in step.model_fields_set
        name = step.agent if is_written else workflow.defaults.agent
        if name is None or name in workflow.agents or not is_step_id(name):
            continue
        found.setdefault(
            name, ("steps", position, "agent") if is_written else ("defaults", "agent")
        )
    return found


def read_role(text: str, source: str, *, name: str = "role") -> Role:
    """The agent that a role file describes, one mapping with the keys of an agent. Never raises for what it says."""
    places = Places(text, source, lines_of)
    reading = read_yaml(text)
    found = list(reading.mistakes)
    if reading.is_whole and not isinstance(reading.value, dict):
        fix = "write the keys of an agent: `runner:`, `role:` …"
        found.append(SpecProblem("not_a_mapping", (), "a role is a mapping", fix, 1))
    elif reading.is_whole:
        stand_in = {
            "name": "x",
            "agents": {name: reading.value},
            "steps": [{"id": "x", "run": "true"}],
        }
        loaded = load_mapping(stand_in)
        found += [replace(wrong, parts=wrong.parts[2:]) for wrong in loaded.mistakes]
        if loaded.workflow is not None and not found:
            return Role(source, loaded.workflow.agents[name], places=places)
    return Role(source, None, problems(found, places))


def adopt(loaded: Loaded, roles: Mapping[str, Role]) -> Loaded:
    """`loaded` with the agents of `roles`; their mistakes stand where a step names them, and say file and line."""
    written = loaded.workflow or (None if loaded.salvage is None else loaded.salvage.workflow)
    if written is None or not roles:
        return loaded
    wanted = missing(written)
    mistakes = [
        told for name, role in roles.items() if name in wanted for told in _told(role, wanted[name])
    ]
    adopted = _with_agents(written, {name: r for name, r in roles.items() if name in wanted})
    if mistakes or loaded.workflow is None:
        damaged = frozenset[int]() if loaded.salvage is None else loaded.salvage.damaged
        lost = frozenset[str]() if loaded.salvage is None else loaded.salvage.lost
        broken = {name for name, role in roles.items() if role.agent is None}
        salvage = Salvage(adopted, damaged, lost | broken)
        return Loaded(None, (*loaded.mistakes, *mistakes), salvage, loaded.places)
    return Loaded(adopted, loaded.mistakes, loaded.salvage, loaded.places)


def _with_agents(workflow: Workflow, roles: Mapping[str, Role]) -> Workflow:
    known = {name: role.agent for name, role in roles.items() if role.agent is not None}
    if not known:
        return workflow
    origins = {name: roles[name].places for name in known}
    copy = workflow.model_copy(update={"agents": {**workflow.agents, **known}})
    return copy.with_origins({**workflow.adopted_places, **origins})


def at_home(found: Iterable[SpecProblem], workflow: Workflow) -> Iterator[SpecProblem]:
    """Mistakes and warnings; those of an adopted agent stand where a step names it, and say the file and line they are in."""
    adopted = workflow.adopted_places
    for wrong in found:
        if len(wrong.parts) < 2 or wrong.parts[0] != "agents" or wrong.parts[1] not in adopted:
            yield wrong
            continue
        name, *inside = wrong.parts[1:]
        named = _named(workflow, str(name))
        places = adopted[str(name)]
        told = replace(wrong, parts=tuple(inside)).problem(places)
        yield _elsewhere(told, named, places.source)


def _named(workflow: Workflow, agent: str) -> PathParts:
    """Where an agent is named first."""
    for position, step in enumerate(workflow.steps):
        if type(step) is not AgentStep:
            continue
        if "agent" in step.model_fields_set:
            if step.agent == agent:
                return ("steps", position, "agent")
        elif workflow.defaults.agent == agent:
            return ("defaults", "agent")
    return ("agents", agent)


def _told(role: Role, parts: PathParts) -> Iterator[SpecProblem]:
    for wrong in role.problems:
        yield _elsewhere(wrong, parts, role.source)


def _elsewhere(wrong: Problem, parts: PathParts, source: str | None) -> SpecProblem:
    line = f", line {wrong.line}" if wrong.line is not None else ""
    path = f", `{wrong.path}`" if wrong.path else ""
    return SpecProblem(wrong.code, parts, f"in {source}{line}{path}: {wrong.message}", wrong.fix)
