"""Checks of copies of the workspace: steps that cannot have one, their extra files, changes no merge could bring back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pixirnb.planning.environment import OLDEST_GIT, Environment
from pixirnb.planning.globs.pattern import REPO, Pattern, matches
from pixirnb.planning.graph import Graph
from pixirnb.planning.resolved_step import Resolved
from pixirnb.planning.roots import repo_of
from pixirnb.planning.secret_names import is_secret, never_copied
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
                "no step of this workflow works in a copy that something could be carried into",
                "take `carry` out, or write `workspace: isolated` where it is needed",
            )
    for position in isolated:
        copied = resolved[position]
        if copied.root is None:
            folder = copied.agent and copied.agent.cwd
            yield SpecProblem(
                "cwd_not_isolated",
                ("steps", position),
                f"`{copied.spec.id}` works in a copy, and its agent in `{folder}`, of which there is none: "
                "it belongs to neither the workspace nor a repository",
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
                    f"`{step.id}` works in the shared workspace, where everything already is",
                    "take `carry` out, or write `workspace: isolated`",
                )
        if step.workspace == "isolated" and isinstance(step, DecisionStep | MergeStep):
            what = "asks a question" if step.kind == "decision" else "merges into the workspace"
            yield SpecProblem(
                "isolation_not_taken",
                ("steps", position, "workspace"),
                f"`{step.id}` {what}, so it has no copy to work in",
                "take `workspace` out",
            )


def check_git(
    facts: Environment, resolved: Sequence[Resolved], isolated: Sequence[int], merges: Sequence[int]
) -> Iterator[SpecProblem]:
    """Yield copies and merges without git. `isolated`, `merges`: positions of these steps."""
    if facts.has_git:
        return
    oldest = ".".join(map(str, OLDEST_GIT))
    for positions, what, otherwise in (
        (isolated, "works in a copy", "write `workspace: shared`"),
        (merges, "merges files", "take the step out"),
    ):
        for position in positions:
            yield SpecProblem(
                "git_missing",
                ("steps", position),
                f"`{resolved[position].spec.id}` {what}, which takes git {oldest} or later, and it is not here",
                f"install git {oldest} or later, or {otherwise}",
            )


def _never_copied(workflow: Workflow) -> Iterator[SpecProblem]:
    for index, glob in enumerate(workflow.never_copy):
        try:
            if "{{" in glob:
                raise ValueError(f"`{glob}` holds a reference, and must be known before the run.")
            if Pattern.parse(glob).repo is not None:
                raise ValueError(f"`{glob}` names a repository: it counts in all of them.")
        except ValueError as wrong:
            yield SpecProblem(
                "bad_pattern",
                ("never_copy", index),
                str(wrong).rstrip("."),
                'write a glob such as "*.pem", or one with a slash from the top of a folder',
            )


def _carried(parts: PathParts, paths: Sequence[str], workflow: Workflow) -> Iterator[SpecProblem]:
    for index, path in enumerate(paths):
        wrong = ""
        if "{{" in path:
            wrong = f"`{path}` holds a reference, and must be known before the run"
        elif _MAGIC.search(path):
            wrong = f"`{path}` is a pattern, and `carry` takes paths by the letter"
        else:
            try:
                Pattern.parse(path)
            except ValueError as error:
                wrong = str(error).rstrip(".")
        fix = "write a path of the workspace or of a repository, such as node_modules"
        if not wrong and (why := _kept_back(path, workflow)):
            wrong = f"`{path}` is {why}, and is in no copy whatever carries it"
            fix = "take it out, or let the step work with `workspace: shared`"
        if wrong:
            yield SpecProblem("bad_carry", (*parts, index), wrong, fix)
        elif (repo := repo_of(path)) is not None and repo not in workflow.repos:
            yield unknown_repo(repo, (*parts, index), workflow)


def _kept_back(path: str, workflow: Workflow) -> str:
    inner = REPO.sub("", path, count=1)
    if is_secret(inner):
        return "kept secret by its name"
    for glob in workflow.never_copy:
        try:
            if matches(never_copied(glob), f"./{inner}"):
                return f"named by `never_copy: {glob}`"
        except ValueError:
            continue  # told of as a pattern that is none
    return ""


def unknown_repo(name: str, parts: PathParts, workflow: Workflow) -> SpecProblem:
    """Return the mistake of naming a repository that `repos` does not declare."""
    return SpecProblem(
        "unknown_repo",
        parts,
        f"there is no repository `{name}`",
        did_you_mean(name, workflow.repos, otherwise=f"declare it: `repos: {{{name}: ../folder}}`"),
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
                f"what `{spec.id}` merges builds on {merged}, which no merge brings back before",
                f"add {merged} to `merge`, or merge before",
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
            f"there is no step `{name}`",
            did_you_mean(name, graph.ids, otherwise="take it out of `merge`"),
        )
        return
    if not changes_files(resolved[other]):
        has_copy = resolved[other].workspace == "isolated"
        yield SpecProblem(
            "merge_not_isolated",
            parts,
            f"`{name}` only reads, so it leaves nothing to merge"
            if has_copy
            else f"`{name}` works in the shared workspace, so it leaves nothing to merge",
            "take it out of `merge`"
            if has_copy or resolved[other].spec.kind in {"decision", "merge"}
            else f"write `workspace: isolated` on `{name}`, or take it out of `merge`",
        )
    if not graph.is_ancestor(other, position):
        yield SpecProblem(
            "merge_not_after",
            parts,
            f"`{own}` merges `{name}` and does not wait for it",
            f"add `{name}` to its depends_on",
        )
