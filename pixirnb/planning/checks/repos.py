"""Checks of repositories: declared, and writable if steps write there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pixirnb.planning.checks.isolation import unknown_repo
from pixirnb.planning.environment import Environment
from pixirnb.planning.resolved_step import Resolved
from pixirnb.planning.roots import in_repo, repo_of
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.workflow import Workflow


def check_repos(
    workflow: Workflow, facts: Environment, resolved: Sequence[Resolved]
) -> Iterator[SpecProblem]:
    """Yield folders in undeclared repositories, and repositories that steps write to but cannot be written."""
    for parts, folder in _folders(workflow):
        named = None if "{{" in folder else in_repo(folder)
        if named is not None and named[0] not in workflow.repos:
            yield unknown_repo(named[0], parts, workflow)
    for parts, glob in _looked_for(workflow):
        repo = repo_of(glob)
        if repo is not None and repo not in workflow.repos:
            yield unknown_repo(repo, parts, workflow)
    if not any(_is_locked(facts, name) for name in workflow.repos):
        return
    written = written_repos(resolved)
    for name, path in workflow.repos.items():
        if _is_locked(facts, name) and name in written:
            yield SpecProblem(
                "repo_not_writable",
                ("repos", name),
                f"repository `{path}` is not writable, but `{written[name]}` writes there",
                "make it writable or use another folder",
            )


def written_repos(resolved: Iterable[Resolved]) -> dict[str, str]:
    """Return the repositories written by a set in force, each with the first step that writes there."""
    writers: dict[str, str] = {}
    for step in resolved:
        for glob in step.writes:
            if (repo := repo_of(glob)) is not None:
                writers.setdefault(repo, step.spec.id)
    return writers


def _is_locked(facts: Environment, name: str) -> bool:
    fact = facts.repos.get(name)
    return fact is not None and fact.is_directory and not fact.is_writable


def _looked_for(workflow: Workflow) -> Iterator[tuple[PathParts, str]]:
    """Yield every glob that a check looks for, with its path."""
    for parts, step in workflow.find_keys("verify"):
        for index, check in enumerate(step.verify):
            for glob in check.globs:
                yield (*parts, "verify", index, check.kind), glob


def _folders(workflow: Workflow) -> Iterator[tuple[PathParts, str]]:
    """Yield every folder that a workflow names, with its path."""
    for name, agent in workflow.agents.items():
        if agent.cwd is not None:
            yield ("agents", name, "cwd"), agent.cwd
        for index, path in enumerate(agent.additional_paths):
            yield ("agents", name, "additional_paths", index), path
    for parts, step in workflow.find_keys("cwd", "additional_paths"):
        if step.cwd is not None:
            yield (*parts, "cwd"), step.cwd
        for index, path in enumerate(step.additional_paths):
            yield (*parts, "additional_paths", index), path
