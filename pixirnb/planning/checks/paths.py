"""Checks of the paths and notebook functions in a workflow against the survey: missing, escaping, not a folder."""

from __future__ import annotations

from collections.abc import Iterator

from pixirnb.planning.environment import Environment, PathFact
from pixirnb.planning.roots import in_repo
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.steps import PythonStep
from pixirnb.spec.workflow import Workflow


def check_paths(workflow: Workflow, facts: Environment) -> Iterator[SpecProblem]:
    """Yield missing folders, and steps that would leave the workspace."""
    if not facts.paths:
        return
    for name, path in workflow.repos.items():
        yield from _folder(facts.repos.get(name), path, ("repos", name))
    for name, agent in workflow.agents.items():
        if agent.cwd is not None:
            fact = facts.agent_paths.get(agent.cwd)
            enclosing = "the repository" if in_repo(agent.cwd) else None
            yield from _folder(fact, agent.cwd, ("agents", name, "cwd"), enclosing)
        for index, path in enumerate(agent.additional_paths):
            yield from _there(facts, path, ("agents", name, "additional_paths", index))
    for parts, step in workflow.find_keys("cwd", "additional_paths"):
        if step.cwd is not None:
            enclosing = (
                "the repository" if in_repo(step.cwd) else f"the workspace {facts.workspace}"
            )
            yield from _folder(facts.paths.get(step.cwd), step.cwd, (*parts, "cwd"), enclosing)
        for index, path in enumerate(step.additional_paths):
            yield from _there(facts, path, (*parts, "additional_paths", index))


def check_functions(workflow: Workflow, facts: Environment) -> Iterator[SpecProblem]:
    """Yield calls of undefined notebook functions."""
    if facts.functions is None:
        return
    for parts, step in workflow.find_keys("call", "verify"):
        if type(step) is PythonStep and step.call.startswith(":"):
            yield from _function(workflow, facts.functions, step.call, (*parts, "call"))
        for index, check in enumerate(step.verify):
            if check.python is not None and check.python.startswith(":"):
                verify = (*parts, "verify", index)
                yield from _function(workflow, facts.functions, check.python, verify)


def _function(
    workflow: Workflow, known: frozenset[str], call: str, parts: PathParts
) -> Iterator[SpecProblem]:
    if call in known:
        return
    message, fix = (
        f"the notebook has no function `{call[1:]}`",
        f"define `{call[1:]}` in a cell above",
    )
    if workflow.source_map.source is not None and not known:
        message = f"no function `{call[1:]}`: `:name` works only in notebooks"
        fix = f"use `module:{call[1:]}`"
    yield SpecProblem(
        "function_missing", parts, message, did_you_mean(call, sorted(known), otherwise=fix)
    )


def _folder(
    fact: PathFact | None, path: str, parts: PathParts, enclosing: str | None = None
) -> Iterator[SpecProblem]:
    """Yield the mistake of one folder. `enclosing`: the folder that it must not leave."""
    if fact is None:
        return
    if enclosing is not None and not fact.is_inside:
        yield SpecProblem(
            "path_escapes",
            parts,
            f"`{path}` is outside {enclosing}",
            "use a folder inside it",
        )
    elif not fact.exists:
        yield _missing(path, fact, parts)
    elif not fact.is_directory:
        yield SpecProblem(
            "path_not_directory", parts, f"`{path}` is not a folder", "use its parent folder"
        )


def _there(facts: Environment, path: str, parts: PathParts) -> Iterator[SpecProblem]:
    fact = facts.agent_paths.get(path)
    if fact is not None and in_repo(path) and not fact.is_inside:
        yield from _folder(fact, path, parts, "the repository")
    elif fact is not None and not fact.exists:
        yield _missing(path, fact, parts)


def _missing(path: str, fact: PathFact, parts: PathParts) -> SpecProblem:
    return SpecProblem(
        "path_missing",
        parts,
        f"`{path}` does not exist ({fact.resolved})",
        "create it or correct the path",
    )
