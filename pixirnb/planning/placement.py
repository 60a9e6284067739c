"""Placement of steps: the root of a step's folder, and all the roots it uses. Pure: uses surveyed facts only.

A step's folder is its own `cwd`, else its agent's, else the workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from pixirnb.planning.environment import Environment, PathFact
from pixirnb.planning.plan import ONLY_WORKSPACE
from pixirnb.planning.roots import WORKSPACE, Roots, in_repo, repo_of
from pixirnb.spec.policies import Agent
from pixirnb.spec.steps import Step
from pixirnb.spec.workflow import Workflow

EVERYTHING: Final = ("**/*",)


class Placement:
    """The placement of the steps of one workflow."""

    __slots__ = ("_facts", "_has_repos", "roots")

    def __init__(self, workflow: Workflow, facts: Environment) -> None:
        self.roots: Roots = facts.roots
        self._facts = facts
        self._has_repos = bool(workflow.repos)

    def root_of(self, spec: Step, agent: Agent | None) -> str | None:
        """Return the name of the root that holds the step's folder; None for an agent's folder outside all roots."""
        if spec.cwd is not None:
            return self._root(spec.cwd, self._facts.paths)
        if agent is not None and agent.cwd is not None:
            return self._root(agent.cwd, self._facts.agent_paths)
        return WORKSPACE

    def everything(self, spec: Step, agent: Agent | None) -> tuple[str, ...]:
        """Return the roots claimed by a step without sets: the workspace, and the repository that it works in."""
        if not self._has_repos:
            return EVERYTHING
        root = self.root_of(spec, agent)
        return EVERYTHING if root in {None, WORKSPACE} else (*EVERYTHING, f"{root}:**/*")

    def used(self, root: str | None, globs: Iterable[str]) -> tuple[str, ...]:
        """Return the names of the roots used by a step in `root` with these sets, nested roots included, in order."""
        if not self._has_repos and root == WORKSPACE:
            return ONLY_WORKSPACE
        names = {root} if root is not None else set[str]()
        for glob in globs:
            repo = repo_of(glob)
            names.add(WORKSPACE if repo is None else self._named(f"repos.{repo}"))
        return self.with_nested(names)

    def with_nested(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return these roots and all roots inside them, in order; the workspace if there are none."""
        requested = set(names) or {WORKSPACE}
        known = [root.name for root in self.roots.roots]
        for name in [name for name in known if name in requested]:
            requested.update(
                self.roots.located(f"{self.roots.named(name).folder}/{folder}")[0].name
                for folder in self.roots.nested(name)
            )
        return (
            *(name for name in known if name in requested),
            *sorted(requested.difference(known)),
        )

    def _root(self, folder: str, facts: Mapping[str, PathFact]) -> str | None:
        if (named := in_repo(folder)) is not None:
            return self._named(f"repos.{named[0]}")
        fact = facts.get(folder)
        if fact is None:
            return WORKSPACE
        try:
            return self.roots.located(fact.resolved)[0].name
        except ValueError:
            return None

    def _named(self, name: str) -> str:
        try:
            return self.roots.named(name).name
        except KeyError:
            return name
