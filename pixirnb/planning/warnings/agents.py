"""Warnings about agents: keys without effect, unverified tasks, unlimited write permission, unset variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pixirnb.planning.analysis import Analysis
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.steps import AgentStep

_INERT: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "scripted": (
        ("model", "is asked by `llm` agents"),
        ("command", "is run by `acp`, `cli` and `pty` agents"),
        ("tools", "are given to `llm` agents"),
    ),
    "llm": (
        ("command", "is run by `acp`, `cli` and `pty` agents"),
        ("script", "is followed by `scripted` agents"),
    ),
    "acp": (
        ("tools", "are given to `llm` agents, this one brings its own"),
        ("script", "is followed by `scripted` agents"),
    ),
    "cli": (
        ("tools", "are given to `llm` agents, this one brings its own"),
        ("script", "is followed by `scripted` agents"),
    ),
    "pty": (
        ("tools", "are given to `llm` agents, this one brings its own"),
        ("script", "is followed by `scripted` agents"),
    ),
}
"""Runner to its keys without effect, and the runners they belong to."""


def agent_warnings(analysis: Analysis) -> Iterator[SpecProblem]:
    """Yield every warning about agents and their steps."""
    yield from _of_steps(analysis)
    used = {str(step.spec.agent) for step in analysis.resolved if type(step.spec) is AgentStep}
    set_names = analysis.facts.environment
    for name, agent in analysis.workflow.agents.items():
        parts: PathParts = ("agents", name)
        if name not in used:
            yield SpecProblem(
                "agent_unused", parts, f"no step uses the agent `{name}`", "take it out"
            )
        for key, whose in _INERT[agent.runner]:
            if getattr(agent, key):
                yield SpecProblem(
                    "agent_key_inert",
                    (*parts, key),
                    f"`{key}` has no effect on the {agent.runner} agent `{name}`: {key} {whose}",
                    "take it out, or change the runner",
                )
        for step_id in agent.script or ():
            if step_id != "*" and step_id not in analysis.graph.index:
                yield SpecProblem(
                    "script_unknown_step",
                    (*parts, "script", step_id),
                    f"the script speaks of `{step_id}`, which is no step",
                    did_you_mean(step_id, analysis.graph.ids, otherwise="take it out"),
                )
        for index, variable in enumerate(agent.pass_env):
            if set_names is not None and variable not in set_names:
                yield SpecProblem(
                    "env_not_set",
                    (*parts, "pass_env", index),
                    f"`{variable}` is not set here, so `{name}` will not have it",
                    f"set {variable} before the run, or take it out of `pass_env`",
                )


def _of_steps(analysis: Analysis) -> Iterator[SpecProblem]:
    for position, step in enumerate(analysis.resolved):
        if type(step.spec) is not AgentStep:
            continue
        if not step.spec.verify and step.spec.output is None:
            yield SpecProblem(
                "agent_unverified",
                ("steps", position),
                f"nothing verifies what `{step.spec.id}` says it did",
                "add `verify`, or an `output` schema",
            )
        agent = step.agent
        if agent is not None and agent.permission_mode == "auto" and step.is_wide:
            yield SpecProblem(
                "auto_without_write_set",
                ("steps", position),
                f"`{step.spec.agent}` may change any file of the workspace unasked in `{step.spec.id}`",
                "add a `write_set`, or `permission_mode: ask`",
            )
