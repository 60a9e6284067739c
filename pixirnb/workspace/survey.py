"""Looks up what a workflow names on disk, so that planning can judge it without touching anything."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from pixirnb.planning.facts import Facts, PathFact
from pixirnb.spec.workflow import Workflow


def survey(workflow: Workflow, workspace: Path, sources: Mapping[str, str]) -> Facts:
    """Facts about every path the workflow names, relative to `workspace`; reads only metadata, runs nothing.

    `sources` are the pinned sources of notebook functions by call (`{":name": text}`).
    """
    root = Path(os.path.realpath(workspace))
    return Facts(
        workspace=str(root),
        paths={path: _fact(root, path) for path in dict.fromkeys(named_paths(workflow))},
        functions=frozenset(sources),
        environment=frozenset(name for name in passed_names(workflow) if name in os.environ),
    )


def passed_names(workflow: Workflow) -> Iterator[str]:
    """Names of environment variables that the workflow's agents are passed."""
    for agent in workflow.agents.values():
        yield from agent.pass_env


def named_paths(workflow: Workflow) -> Iterator[str]:
    """The paths a workflow names as written; those with references are known only when the step runs."""
    yield "."
    for path in _written_paths(workflow):
        if "{{" not in path and not path.startswith("repos."):
            yield path


def _written_paths(workflow: Workflow) -> Iterator[str]:
    yield from workflow.repos.values()
    for agent in workflow.agents.values():
        yield from agent.additional_paths
        if agent.cwd is not None:
            yield agent.cwd
    for step in [workflow.defaults, *workflow.steps]:
        yield from step.additional_paths
        if step.cwd is not None:
            yield step.cwd


def _fact(root: Path, written: str) -> PathFact:
    try:
        resolved = Path(os.path.realpath(root / Path(written).expanduser()))
        exists = resolved.exists()
        return PathFact(
            exists=exists,
            is_directory=resolved.is_dir(),
            is_writable=exists and os.access(resolved, os.W_OK),
            is_git=any((folder / ".git").exists() for folder in (resolved, *resolved.parents)),
            is_inside=resolved == root or root in resolved.parents,
            resolved=str(resolved),
        )
    except (OSError, ValueError, RuntimeError):
        # A NUL in the name, a name that is too long, a folder that may not be entered, no home: it is not there for us.
        return PathFact(
            exists=False,
            is_directory=False,
            is_writable=False,
            is_git=False,
            is_inside=True,
            resolved=str(root / written),
        )
