"""Survey for a plan: the paths that a workflow names, and what its agents need to start.

Paths are surveyed by `workspace.survey`, agents here: the extra of their runner, and their program on PATH.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from pixirnb.errors import Cannot
from pixirnb.planning.environment import AgentLack, Environment
from pixirnb.spec.policies import Agent
from pixirnb.spec.workflow import Workflow
from pixirnb.workspace.survey import survey as survey_paths

_PACKAGES: Final = {"acp": "acp", "llm": "pydantic_ai"}
"""Runner, which is also the name of its extra, to the package that it imports."""


def survey(
    workflow: Workflow,
    workspace: Path,
    sources: Mapping[str, str],
    origin: Path | None = None,
) -> Environment:
    """Return facts about the paths and agents of a workflow; arguments as for `workspace.survey`. Starts no agent."""
    return replace(
        survey_paths(workflow, workspace, sources, origin), agents=dict(_lacks(workflow))
    )


def _lacks(workflow: Workflow) -> Iterator[tuple[str, AgentLack]]:
    for name, agent in workflow.agents.items():
        lack = _missing_package(agent) or _missing_provider(agent) or _missing_program(agent)
        if lack is not None:
            yield name, lack


def _missing_package(agent: Agent) -> AgentLack | None:
    package = _PACKAGES.get(agent.runner)
    if package is None or find_spec(package) is not None:
        return None
    return AgentLack(
        "extra_missing",
        f"the extra `{agent.runner}` is not installed",
        f"run `pip install 'pixirnb[{agent.runner}]'`",
    )


def _missing_provider(agent: Agent) -> AgentLack | None:
    if agent.runner != "llm" or agent.model is None:
        return None
    from pixirnb.runners.agents.llm import model

    provider = agent.model.partition(":")[0]
    if (meant := model.meant_provider(provider)) is not None:
        return AgentLack(
            "model_unknown", f"unknown provider `{provider}`", f"did you mean `{meant}`?"
        )
    if (extra := model.missing_extra(provider)) is not None:
        return AgentLack(
            "extra_missing",
            f"the library for `{provider}` is not installed",
            f"run `pip install 'pydantic-ai-slim[{extra}]'`",
        )
    return None


def _missing_program(agent: Agent) -> AgentLack | None:
    if not agent.command:
        return None
    from pixirnb.engine.resolve_work import search_path
    from pixirnb.runners.agents import presets

    if agent.runner not in presets.RUNNERS:
        return None
    command = [agent.command] if isinstance(agent.command, str) else list(agent.command)
    path = search_path(os.environ.get("PATH", os.defpath))
    try:
        preset = presets.resolve(agent.runner, command, path)
    except Cannot as wrong:
        if len(command) > 1 and wrong.code not in {"agent_command_unknown", "agents_file_invalid"}:
            return None  # a mistake in the text, which planning finds by itself
        return AgentLack(wrong.code, wrong.message.rstrip("."), (wrong.fix or "").rstrip("."))
    program = preset.argv[0]
    is_path = os.sep in program
    # A relative path is looked up in the folder of the attempt, which is not known yet.
    if (is_path and not Path(program).is_absolute()) or shutil.which(program, path=path):
        return None
    return AgentLack(
        "agent_missing_binary",
        f"{program} does not exist or is not executable"
        if is_path
        else f"command not found: {program}",
        f"install it: {preset.install}" if preset.install else "install it or correct `command`",
    )
