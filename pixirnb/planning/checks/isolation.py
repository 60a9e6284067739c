"""Checks of isolated workspaces: steps that cannot have one, their extra files, changes that no merge could apply."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pixirnb.planning.environment import OLDEST_GIT, Environment, is_secret, never_copied
from pixirnb.planning.globs.pattern import REPO, Pattern, matches
from pixirnb.planning.graph import Graph
from pixirnb.planning.resolved_step import Resolved
from pixirnb.planning.roots import repo_of
from pixirnb.planning.upstream_changes import Inherited, changes_files
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.steps import DecisionStep, MergeStep
from pixirnb.spec.workflow import Workflow
from pixirnb.wording import join_names

_MAGIC: Final = re.compile(r"[*?\[{\\]")
_NAMED: Final = 5
_TELLING: Final = frozenset({"carry", "workspace"})


def check_isolation(
    workflow: Workflow, resolved: Sequence[Resolved], isolated: Sequence[int]
) -> Iterator[SpecProblem]:
    """Yield mistakes: copies for steps without files, `carry` without a copy, invalid patterns for secrets.

    `isolated`: positions of the steps that work in copies.
    """
    yield from _never_copied(workflow)
    defaults = workflow.defaults
    if defaults.carry:
        yield from _carried(("defaults", "carry"), defaults.carry, workflow)
        if not isolated:
            yield SpecProblem(
                "carry_without_isolation",
                ("defaults", "carry"),
                "`carry` has no effect: no step runs in an isolated workspace",
                "remove `carry`, or write `workspace: isolated` on the steps that need it",
            )
    for position in isolated:
        copied = resolved[position]
        if copied.root is None:
            folder = copied.agent and copied.agent.cwd
            yield SpecProblem(
                "cwd_not_isolated",
                ("steps", position),
                f"`{copied.spec.id}` is isolated, but its agent works in `{folder}`, "
                "which belongs to neither the workspace nor a repository",
                "declare the folder under `repos` and write `cwd: repos.NAME`, or write `workspace: shared`",
            )
    for position, step in enumerate(workflow.steps):
        if step.__pydantic_fields_set__.isdisjoint(_TELLING):
            continue
        if step.carry:
            parts: PathParts = ("steps", position, "carry")
            yield from _carried(parts, step.carry, workflow)
            if resolved[position].workspace == "shared":
                yield SpecProblem(
                    "carry_without_isolation",
                    parts,
                    f"`carry` has no effect on `{step.id}`, which uses the shared workspace",
                    "remove `carry`, or write `workspace: isolated`",
                )
        if step.workspace == "isolated" and isinstance(step, DecisionStep | MergeStep):
            what = "asks a question" if step.kind == "decision" else "merges into the workspace"
            yield SpecProblem(
                "isolation_not_taken",
                ("steps", position, "workspace"),
                f"`{step.id}` {what} and cannot be isolated",
                "remove `workspace`",
            )


def check_git(
    facts: Environment, resolved: Sequence[Resolved], isolated: Sequence[int], merges: Sequence[int]
) -> Iterator[SpecProblem]:
    """Yield copies and merges without git. `isolated`, `merges`: positions of these steps."""
    if facts.has_git:
        return
    oldest = ".".join(map(str, OLDEST_GIT))
    for positions, what, otherwise in (
        (isolated, "is isolated", "write `workspace: shared`"),
        (merges, "merges files", "remove the step"),
    ):
        for position in positions:
            yield SpecProblem(
                "git_missing",
                ("steps", position),
                f"`{resolved[position].spec.id}` {what}, which requires git {oldest} or later; none was found",
                f"install git {oldest} or later, or {otherwise}",
            )


def _never_copied(workflow: Workflow) -> Iterator[SpecProblem]:
    for index, glob in enumerate(workflow.never_copy):
        try:
            if "{{" in glob:
                raise ValueError(f"`{glob}` contains a reference, but must be known before the run")
            if Pattern.parse(glob).repo is not None:
                raise ValueError(
                    f"`{glob}` names a repository, but `never_copy` applies to all of them"
                )
        except ValueError as wrong:
            message, _, fix = str(wrong).partition("; ")
            yield SpecProblem(
                "bad_pattern",
                ("never_copy", index),
                message,
                fix or 'use a glob such as "*.pem" or "config/secrets/**"',
            )


def _carried(parts: PathParts, paths: Sequence[str], workflow: Workflow) -> Iterator[SpecProblem]:
    for index, path in enumerate(paths):
        wrong = ""
        if "{{" in path:
            wrong = f"`{path}` contains a reference, but must be known before the run"
        elif _MAGIC.search(path):
            wrong = f"`{path}` is a pattern; `carry` takes literal paths"
        else:
            try:
                Pattern.parse(path)
            except ValueError as error:
                wrong = str(error).partition("; ")[0]
        fix = "use a path in the workspace or a repository, such as node_modules"
        if not wrong and (why := _kept_back(path, workflow)):
            wrong = f"`{path}` is never copied: {why}"
            fix = "remove it, or write `workspace: shared`"
        if wrong:
            yield SpecProblem("bad_carry", (*parts, index), wrong, fix)
        elif (repo := repo_of(path)) is not None and repo not in workflow.repos:
            yield unknown_repo(repo, (*parts, index), workflow)


def _kept_back(path: str, workflow: Workflow) -> str:
    inner = REPO.sub("", path, count=1)
    if is_secret(inner):
        return "its name looks like a secret"
    for glob in workflow.never_copy:
        try:
            if matches(never_copied(glob), f"./{inner}"):
                return f"it matches `never_copy: {glob}`"
        except ValueError:
            continue  # reported as a bad pattern
    return ""


def unknown_repo(name: str, parts: PathParts, workflow: Workflow) -> SpecProblem:
    """Return the mistake of naming a repository that `repos` does not declare."""
    return SpecProblem(
        "unknown_repo",
        parts,
        f"unknown repository `{name}`",
        did_you_mean(name, workflow.repos, otherwise=f"add `repos: {{{name}: ../folder}}`"),
    )


def check_merges(
    resolved: Sequence[Resolved],
    graph: Graph,
    merges: Sequence[int],
    inherited: Sequence[Inherited],
) -> Iterator[SpecProblem]:
    """Yield mistakes of merges: no steps, steps without a copy, a merge before its steps or without the changes they
    build on.
    """
    for position in merges:
        spec = resolved[position].spec
        assert isinstance(spec, MergeStep)
        for index, name in enumerate(spec.merge):
            parts: PathParts = ("steps", position, "merge", index)
            yield from _merged(name, position, parts, resolved, graph)
    for lack in inherited:
        if lack.left_out:
            spec = resolved[lack.step].spec
            merged = join_names(lack.left_out, _NAMED, lambda each: f"`{graph.ids[each]}`")
            yield SpecProblem(
                "merge_incomplete",
                ("steps", lack.step, "merge"),
                f"`{spec.id}` merges changes that build on {merged}, which no earlier merge applies",
                f"add {merged} to `merge`, or merge them first",
            )


def _merged(
    name: str, position: int, parts: PathParts, resolved: Sequence[Resolved], graph: Graph
) -> Iterator[SpecProblem]:
    own = graph.ids[position]
    other = graph.index.get(name)
    if other is None:
        yield SpecProblem(
            "merge_unknown_step",
            parts,
            f"unknown step `{name}`",
            did_you_mean(name, graph.ids, otherwise="remove it from `merge`"),
        )
        return
    if not changes_files(resolved[other]):
        has_copy = resolved[other].workspace == "isolated"
        yield SpecProblem(
            "merge_not_isolated",
            parts,
            f"`{name}` is `posture: read_only`, so it has no changes to merge"
            if has_copy
            else f"`{name}` uses the shared workspace, so it has no changes to merge",
            "remove it from `merge`"
            if has_copy or resolved[other].spec.kind in {"decision", "merge"}
            else f"write `workspace: isolated` on `{name}`, or remove it from `merge`",
        )
    if not graph.is_ancestor(other, position):
        yield SpecProblem(
            "merge_not_after",
            parts,
            f"`{own}` merges `{name}` but does not depend on it",
            f"make `{own}` depend on `{name}`",
        )
