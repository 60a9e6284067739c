"""Survey of the paths that a workflow names, so that planning can check them without touching anything."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pixirnb.errors import Cannot
from pixirnb.planning.environment import Environment, PathFact
from pixirnb.planning.roots import in_repo, repo_of
from pixirnb.spec.steps import AgentStep, MergeStep
from pixirnb.spec.workflow import Workflow
from pixirnb.system.process_marks import can_mark
from pixirnb.workspace.git.command import is_usable


def survey(
    workflow: Workflow,
    workspace: Path,
    sources: Mapping[str, str],
    origin: Path | None = None,
) -> Environment:
    """Return facts about every path the workflow names; reads only metadata. At most `git version` is run.

    Steps' `cwd` is looked up from `workspace`, everything else from `origin`: None is `origin_of` the workflow, else the
    workspace. `sources` are the pinned sources of notebook functions by call (`{":name": text}`).
    """
    root = Path(os.path.realpath(workspace))
    origin = origin or origin_of(workflow)
    home = root if origin is None else Path(os.path.realpath(origin))
    repos = {name: _fact(home, path) for name, path in workflow.repos.items()}
    return Environment(
        workspace=str(root),
        paths=dict(_looked_up([".", *worked_in(workflow)], root, repos)),
        agent_paths=dict(_looked_up(looked_at(workflow), home, repos)),
        repos=repos,
        carried=dict(_carried(workflow, root, repos)),
        origin=str(home),
        functions=frozenset(sources),
        environment=frozenset(name for name in passed_names(workflow) if name in os.environ),
        has_git=not _may_take_git(workflow) or _has_git(),
        tells_children=can_mark(),
    )


def _may_take_git(workflow: Workflow) -> bool:
    """Return whether a step may work in a copy, or merges: only then a plan waits for `git version`."""
    steps = [workflow.defaults, *workflow.steps]
    return any(
        step.workspace == "isolated" or isinstance(step, AgentStep | MergeStep) for step in steps
    )


def _has_git() -> bool:
    try:
        return is_usable()
    except Cannot:
        return True  # it is there and could not be started now: a step that takes it will say so


def origin_of(workflow: Workflow) -> Path | None:
    """Return the folder of the file a workflow was read from; None where there is no such file."""
    source = workflow.source_map.source
    try:
        is_file = source is not None and Path(source).is_file()
    except (OSError, ValueError):
        # What a cell is called need not be a possible name of a file.
        is_file = False
    return Path(source).resolve().parent if source is not None and is_file else None


def passed_names(workflow: Workflow) -> Iterator[str]:
    """Yield the names of environment variables that the workflow's agents are passed."""
    for agent in workflow.agents.values():
        yield from agent.pass_env


def worked_in(workflow: Workflow) -> Iterator[str]:
    """Yield the folders that steps work in, as written."""
    for _, step in workflow.find_keys("cwd"):
        if step.cwd is not None:
            yield step.cwd


def looked_at(workflow: Workflow) -> Iterator[str]:
    """Yield the folders that agents work in and that agents may read, as written."""
    for agent in workflow.agents.values():
        yield from agent.additional_paths
        if agent.cwd is not None:
            yield agent.cwd
    for _, step in workflow.find_keys("additional_paths"):
        yield from step.additional_paths


def _carried(
    workflow: Workflow, root: Path, repos: Mapping[str, PathFact]
) -> Iterator[tuple[str, PathFact]]:
    """Yield the paths that steps carry, as far as the repository exists."""
    named = [path for _, step in workflow.find_keys("carry") for path in step.carry]
    for path in dict.fromkeys(named):
        repo = repo_of(path)
        if repo is None:
            yield path, _fact(root, path)
        elif repo in repos and repos[repo].is_directory:
            yield path, _fact(Path(repos[repo].resolved), f"./{path.partition(':')[2]}")


def _looked_up(
    paths: Iterable[str], base: Path, repos: Mapping[str, PathFact]
) -> Iterator[tuple[str, PathFact]]:
    """Yield the paths that can be known before the run: no references, and no repository that does not exist."""
    for path in dict.fromkeys(paths):
        if "{{" in path:
            continue
        named = in_repo(path)
        if named is None:
            yield path, _fact(base, path)
        elif named[0] in repos and repos[named[0]].is_directory:
            house = Path(repos[named[0]].resolved)
            yield path, _fact(house, f"./{named[1]}")


def _fact(base: Path, written: str) -> PathFact:
    try:
        resolved = Path(os.path.realpath(base / Path(written).expanduser()))
        exists = resolved.exists()
        return PathFact(
            exists=exists,
            is_directory=resolved.is_dir(),
            is_writable=exists and os.access(resolved, os.W_OK),
            is_git=any((folder / ".git").exists() for folder in (resolved, *resolved.parents)),
            is_inside=resolved == base or base in resolved.parents,
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
            resolved=str(base / written),
        )
