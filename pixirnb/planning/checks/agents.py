"""Checks of agents: a missing model, command or tool; a program or package that is not installed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pixirnb.planning.environment import Environment
from pixirnb.planning.graph import Graph
from pixirnb.planning.resolved_step import Resolved
from pixirnb.spec.agent_commands import find_misplaced, words_of
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.fields import shown
from pixirnb.spec.known_words import one_of
from pixirnb.spec.policies import Agent
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.steps import AgentStep
from pixirnb.spec.workflow import Workflow
from pixirnb.wording import cut

TOOLS: Final = (
    "read",
    "list",
    "search",
    "write",
    "edit",
    "shell",
    "report_checkpoint",
    "run_workflow",
    "workflow_checkpoint_save",
    "resume_workflow",
    "inspect_run",
    "decide_step",
    "diagnose_run",
)
"""Names allowed in `tools`."""

_STATUSES: Final = ("checkpoint_ready", "partial", "needs_orchestrator", "failed")
"""Statuses that an agent can report."""
_SEARCH_PATHS: Final = frozenset({"PATH", "PYTHONPATH"})
"""Variables of a step that change where programs and modules are found."""
_ALWAYS: Final = frozenset({"model_unknown", "prompt_nowhere", "prompt_in_shell"})
"""Lacks that no installation mends."""
_KEYS: Final = {"extra_missing": "runner", "model_unknown": "model"}
"""Code of a lack to the key of the agent that it is about; else `command`."""
_MODEL: Final = re.compile(r"[a-z][a-z0-9_-]*:\S+")


def check_reports(workflow: Workflow) -> Iterator[SpecProblem]:
    """Yield the reports in scripts whose `checkpoint_status` is none."""
    for name, agent in workflow.agents.items():
        for step, attempts in (agent.script or {}).items():
            for number, attempt in enumerate(attempts):
                for index, action in enumerate(attempt):
                    status = action.get("report", {}).get("checkpoint_status", _STATUSES[0])
                    if status not in _STATUSES:
                        yield SpecProblem(
                            "script_action",
                            ("agents", name, "script", step, number, index, "report"),
                            f"invalid value {shown(status)} for `checkpoint_status`",
                            f"use {one_of(_STATUSES)}",
                        )


def check_agents(workflow: Workflow) -> Iterator[SpecProblem]:
    """Yield the mistakes of agents that could not work as they are written."""
    for name, agent in workflow.agents.items():
        parts: PathParts = ("agents", name)
        if agent.runner == "llm":
            yield from _model(name, agent, parts)
        elif agent.runner != "scripted" and not agent.command:
            yield SpecProblem(
                "agent_command_missing",
                (*parts, "runner"),
                f"agent `{name}` (runner `{agent.runner}`) has no `command`",
                "add `command:` with the name of a known agent or an argv list",
            )
        elif agent.runner != "scripted" and agent.command:
            yield from _command(agent.command, agent.runner, (*parts, "command"))
        for index, tool in enumerate(agent.tools):
            if tool not in TOOLS:
                yield SpecProblem(
                    "tool_unknown",
                    (*parts, "tools", index),
                    f"unknown tool `{tool}`",
                    did_you_mean(tool, TOOLS, otherwise=f"use {', '.join(TOOLS[:6])} …"),
                )


def check_passed_names(workflow: Workflow) -> Iterator[SpecProblem]:
    """Yield entries of `pass_env` that are no names: what stands after a `=` may be a secret, and is shown nowhere."""
    for agent_name, agent in workflow.agents.items():
        for index, entry in enumerate(agent.pass_env):
            name, is_assigned, _ = entry.partition("=")
            if is_assigned or not name.strip():
                name = cut(name.strip(), 60) or "NAME"
                yield SpecProblem(
                    "bad_env",
                    ("agents", agent_name, "pass_env", index),
                    "`pass_env` takes names of variables, not values",
                    f"export {name} and write `pass_env: [{name}]`",
                )


def find_lacks(
    facts: Environment, resolved: Sequence[Resolved], graph: Graph
) -> Iterator[tuple[SpecProblem, bool]]:
    """Yield agents in use that could not start now, and whether it is certain that they cannot start in the run.

    It is certain for an agent whose step starts first, in any case and with the search paths surveyed: no earlier step
    or person can install anything.
    """
    for name, lack in facts.agents.items():
        users = [
            position
            for position, step in enumerate(resolved)
            if type(step.spec) is AgentStep
            and step.spec.agent == name
            and step.placement == "local"  # what a worker has is not known here
        ]
        if not users:
            continue
        is_certain = lack.code in _ALWAYS or any(
            not graph.depends_on[position]
            and resolved[position].spec.when is None
            and _SEARCH_PATHS.isdisjoint(resolved[position].spec.env)
            for position in users
        )
        fix = lack.fix if is_certain else f"{lack.fix}, unless an earlier step installs it"
        key = _KEYS.get(lack.code, "command")
        message = f"agent `{name}` cannot start: {lack.message}"
        yield SpecProblem(lack.code, ("agents", name, key), message, fix), is_certain


def check_lacks(
    facts: Environment, resolved: Sequence[Resolved], graph: Graph
) -> Iterator[SpecProblem]:
    """Yield agents that certainly cannot start."""
    for lack, is_certain in find_lacks(facts, resolved, graph):
        if is_certain:
            yield lack


def _command(command: str | Sequence[str], runner: str, parts: PathParts) -> Iterator[SpecProblem]:
    words = words_of(command)
    # A single word may be a preset's name, of the user's own too: known only when it runs.
    for wrong in find_misplaced(words, runner, is_known=len(words) == 1):
        path = parts if isinstance(command, str) else (*parts, wrong.position)
        yield SpecProblem(wrong.code, path, wrong.message, wrong.fix)


def _model(name: str, agent: Agent, parts: PathParts) -> Iterator[SpecProblem]:
    if agent.model is None:
        yield SpecProblem(
            "agent_model_missing",
            (*parts, "runner"),
            f"agent `{name}` (runner `llm`) has no `model`",
            'add `model: "provider:name"`',
        )
    elif _MODEL.fullmatch(agent.model) is None:
        yield SpecProblem(
            "model_unreadable",
            (*parts, "model"),
            f"model `{agent.model}` names no provider",
            f'write `model: "PROVIDER:{agent.model}"`, with a provider such as `openai` or `anthropic`',
        )
