"""Warnings about agents: keys without effect, unverified tasks, unlimited write permission, unset variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pixirnb.planning.analysis import Analysis
from pixirnb.planning.checks.agents import find_lacks
from pixirnb.planning.prompts.compose import MUTE, permission_mode
from pixirnb.planning.resolved_step import Resolved
from pixirnb.spec.agent_scripts import ERROR_KINDS
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.policies import Agent
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.steps import AgentStep

_INERT: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "scripted": (
        ("model", "`llm` agents"),
        ("command", "`acp`, `cli` and `pty` agents"),
        ("tools", "`llm` agents"),
    ),
    "llm": (
        ("command", "`acp`, `cli` and `pty` agents"),
        ("script", "`scripted` agents"),
    ),
    "acp": (
        ("tools", "`llm` agents"),
        ("script", "`scripted` agents"),
    ),
    "cli": (
        ("tools", "`llm` agents"),
        ("script", "`scripted` agents"),
    ),
    "pty": (
        ("tools", "`llm` agents"),
        ("script", "`scripted` agents"),
    ),
}
"""Runner to its keys without effect, and the runners they belong to."""


_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google-gla": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
}
"""Provider of a model to the variables that may hold its key."""


def agent_warnings(analysis: Analysis) -> Iterator[SpecProblem]:
    """Yield every warning about agents and their steps."""
    yield from _of_steps(analysis)
    yield from _lacks(analysis)
    users = [
        (step.placement, str(step.spec.agent))
        for step in analysis.resolved
        if type(step.spec) is AgentStep
    ]
    used = {name for _, name in users}
    # What is set on a worker is not known here.
    away = used - {name for placement, name in users if placement == "local"}
    set_names = analysis.facts.environment
    for name, agent in analysis.workflow.agents.items():
        parts: PathParts = ("agents", name)
        if name not in used:
            yield SpecProblem("agent_unused", parts, f"agent `{name}` is not used", "remove it")
        for key, whose in _INERT[agent.runner]:
            if getattr(agent, key):
                yield SpecProblem(
                    "agent_key_inert",
                    (*parts, key),
                    f"`{key}` is only for {whose} and has no effect on `{name}` (runner `{agent.runner}`)",
                    "remove it or change the runner",
                )
        for step_id in agent.script or ():
            if step_id != "*" and step_id.partition("@")[0] not in analysis.graph.index:
                yield SpecProblem(
                    "script_unknown_step",
                    (*parts, "script", step_id),
                    f"unknown step `{step_id}` in `script`",
                    did_you_mean(step_id, analysis.graph.ids, otherwise="remove it"),
                )
        for kind, where in _failures(agent):
            if kind not in ERROR_KINDS:
                yield SpecProblem(
                    "script_fail_unknown",
                    (*parts, "script", *where),
                    f"unknown error kind `{kind:.80}`; it is not retried",
                    did_you_mean(
                        kind[:80], ERROR_KINDS, otherwise="use a kind such as `provider_transient`"
                    ),
                )
        for index, variable in enumerate(() if name in away else agent.pass_env):
            if set_names is not None and variable not in set_names and "=" not in variable:
                yield SpecProblem(
                    "env_not_set",
                    (*parts, "pass_env", index),
                    f"`{variable}` is not set and cannot be passed to agent `{name}`",
                    f"set `{variable}` or remove it from `pass_env`",
                )


def _failures(agent: Agent) -> Iterator[tuple[str, PathParts]]:
    """Yield the error kind of each `fail` of a script, and its place."""
    for step_id, attempts in (agent.script or {}).items():
        for attempt, actions in enumerate(attempts):
            for number, action in enumerate(actions):
                if "fail" in action:
                    yield action["fail"], (step_id, attempt, number, "fail")


def _lacks(analysis: Analysis) -> Iterator[SpecProblem]:
    """Yield agents that could not start now, where an earlier step may change that, and models without a key."""
    for lack, is_certain in find_lacks(analysis.facts, analysis.resolved, analysis.graph):
        if not is_certain:
            yield lack
    for name, agent in analysis.workflow.agents.items():
        provider = (agent.model or "").partition(":")[0]
        keys = _KEYS.get(provider, ()) if agent.runner == "llm" else ()
        given = {*agent.pass_env}
        for step in analysis.resolved:
            if type(step.spec) is AgentStep and step.spec.agent == name:
                given.update(step.spec.env)
        if keys and given.isdisjoint((*keys, "OPENAI_BASE_URL")):
            yield SpecProblem(
                "provider_key_missing",
                ("agents", name, "model"),
                f"agent `{name}` is not passed the key of `{provider}`, the variable {keys[0]}",
                f"add `pass_env: [{keys[0]}]`",
            )


def _of_steps(analysis: Analysis) -> Iterator[SpecProblem]:
    for position, step in enumerate(analysis.resolved):
        if type(step.spec) is not AgentStep:
            continue
        if not step.spec.verify and step.spec.output is None:
            yield SpecProblem(
                "agent_unverified",
                ("steps", position),
                f"agent step `{step.spec.id}` has no `verify` or `output`; its result is not verified",
                "add `verify` or an `output` schema",
            )
        agent = step.agent
        if agent is not None:
            yield from _permission(agent, step)
        if (
            agent is not None
            and agent.runner in MUTE
            and permission_mode(agent, step.posture) == "ask"
        ):
            yield SpecProblem(
                "agent_cannot_ask",
                ("steps", position),
                f"agent `{step.spec.agent}` of step `{step.spec.id}` cannot ask for approval (runner `{agent.runner}`)",
                "use `runner: acp`, or write `permission_mode: auto` and check its changes before you merge them",
            )
        if agent is not None and agent.is_silent_in(step.spec.id):
            yield SpecProblem(
                "script_step_missing",
                ("agents", str(step.spec.agent), "script"),
                f"the script of `{step.spec.agent}` has nothing for step `{step.spec.id}`",
                f"add `{step.spec.id}` or `*` to it",
            )
        if agent is not None and agent.permission_mode == "auto" and step.is_wide:
            yield SpecProblem(
                "auto_without_write_set",
                ("steps", position),
                f"agent `{step.spec.agent}` can modify any file without approval in step `{step.spec.id}`",
                "add a `write_set` or write `permission_mode: ask`",
            )


def _permission(agent: Agent, step: Resolved) -> Iterator[SpecProblem]:
    """Yield a written permission that the posture of the step contradicts."""
    name, mode = getattr(step.spec, "agent", ""), agent.permission_mode
    parts: PathParts = ("agents", name, "permission_mode")
    if step.posture == "read_only" and mode in {"ask", "auto"}:
        yield SpecProblem(
            "permission_conflict",
            parts,
            f"`permission_mode: {mode}` has no effect in the read-only step `{step.spec.id}`",
            "remove it, or write `posture: writer`",
        )
    elif step.posture == "writer" and mode == "read_only":
        yield SpecProblem(
            "permission_conflict",
            parts,
            f"step `{step.spec.id}` is a writer, but its agent `{name}` may change nothing",
            "write `permission_mode: ask`, or `posture: read_only`",
        )
