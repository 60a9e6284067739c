"""Delegations: the agent of each task, its runner, its permissions and the source of its role. Pure."""

from __future__ import annotations

from msgspec import Struct

from pixirnb.planning.prompts.compose import permission_mode
from pixirnb.planning.resolved_step import Resolver
from pixirnb.spec.fields import Command
from pixirnb.spec.steps import AgentStep
from pixirnb.spec.workflow import Workflow


class Delegation(Struct, frozen=True):
    """One task and its agent."""

    step: str
    agent: str | None
    runner: str
    by: str
    """The model or the command line; empty for scripted agents."""
    posture: str
    permission_mode: str
    write_set: tuple[str, ...]
    origin: str | None
    """The role file; None for an agent that the workflow declares itself."""


def delegations(workflow: Workflow) -> tuple[Delegation, ...]:
    """Return every agent step, in spec order. Total: an unknown agent is listed with the default runner and no model."""
    resolver = Resolver(workflow)
    delegated: list[Delegation] = []
    for step in workflow.steps:
        if type(step) is not AgentStep:
            continue
        resolved = resolver.resolve(step, {})
        agent = resolved.agent
        named = getattr(resolved.spec, "agent", None)
        delegated.append(
            Delegation(
                step.id,
                named,
                "" if agent is None else agent.runner,
                "" if agent is None else agent.model or _line(agent.command),
                resolved.posture,
                permission_mode(agent, resolved.posture),
                resolved.writes,
                workflow.origins.get(named or ""),
            )
        )
    return tuple(delegated)


def _line(command: Command | None) -> str:
    if command is None:
        return ""
    return command if isinstance(command, str) else " ".join(command)
