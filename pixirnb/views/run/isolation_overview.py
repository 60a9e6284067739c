"""Overview of isolation in a plan: the steps that work apart, their merges, and the folders next to the workspace.

For plans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from pixirnb.planning.documents import PlanDocument, RepoDocument
from pixirnb.planning.resolved_step import Resolver
from pixirnb.spec.steps import MergeStep
from pixirnb.spec.workflow import Workflow
from pixirnb.views.basics.sanitize import line
from pixirnb.views.basics.step_names import titles_of
from pixirnb.views.blocks.model import Block, Code, Names, Paragraph, Table

LISTED: Final = 12


class Copies(Struct, frozen=True):
    """The steps of a workflow that work in copies of the user's files."""

    isolated: tuple[str, ...] = ()
    merges: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Each `merge` step with the steps it brings back."""


def copies(workflow: Workflow) -> Copies:
    """Return the copies in the order of the workflow."""
    resolver = Resolver(workflow)
    return Copies(
        tuple(
            step.id
            for step in workflow.steps
            if type(step) is not MergeStep and resolver.resolve(step, {}).workspace == "isolated"
        ),
        tuple((step.id, tuple(step.merge)) for step in workflow.steps if type(step) is MergeStep),
    )


def copies_blocks(copies: Copies, document: PlanDocument) -> list[Block]:
    """Return who works apart, and the folders next to the workspace; `document` is that of the plan."""
    titles = titles_of(document)
    repos = [(Code(name), Code(path, 200), what) for name, path, what in _repos(document)]
    return [
        *(
            Paragraph(
                (
                    Code(step, title=titles.get(step, "")),
                    f"{what}:",
                    Names(
                        [Code(name, title=titles.get(name, "")) for name in names[:LISTED]],
                        len(names) - LISTED,
                    ),
                ),
                "mute",
                is_apart=index == 0,
            )
            for index, (step, what, names) in enumerate(_sentences(copies))
        ),
        *([Table(("repository", "folder", ""), repos, widest=80)] if repos else []),
    ]


def _sentences(copies: Copies) -> list[tuple[str, str, Sequence[str]]]:
    """Return the step that is the subject, if there is one; what is done; and by or of whom."""
    sentences: list[tuple[str, str, Sequence[str]]] = []
    if copies.isolated:
        sentences.append(("", "isolated workspaces", copies.isolated))
    return sentences + [(step, "merges", names) for step, names in copies.merges[:LISTED]]


def _repos(document: PlanDocument) -> list[tuple[str, str, str]]:
    repos = document.get("repos")
    if not isinstance(repos, Mapping):
        return []
    return [
        (line(name, 64), line(repo.get("path"), 200), _state(repo))
        for name, repo in list(repos.items())[:100]
    ]


def _state(repo: RepoDocument) -> str:
    """Return the state of a folder; empty if it was not examined: a plan with a missing folder is not valid."""
    if not repo.get("exists"):
        return ""
    git = "a git repository" if repo.get("git") else "not a git repository"
    return git if repo.get("writable") is not False else f"{git}, not writable"
