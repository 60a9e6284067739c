"""Whose work happens apart from the user's files, what brings it back, and which folders there are beside the workspace.

For plans, as text and as markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pixirnb.planning.report import PlanDocument, RepoDocument
from pixirnb.planning.resolved_step import Resolver
from pixirnb.spec.steps import MergeStep
from pixirnb.spec.workflow import Workflow
from pixirnb.views.basics import html_cards, text_table
from pixirnb.views.basics.markup import code, text
from pixirnb.views.basics.sanitize import line
from pixirnb.wording import join_names

LISTED: Final = 12
_REPO_HEADS: Final = ("repository", "folder", "")


@dataclass(frozen=True, slots=True)
class Copies:
    """The steps of a workflow that work in copies of the user's files."""

    isolated: tuple[str, ...] = ()
    merges: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Each `merge` step with the steps it brings back."""


def copies(workflow: Workflow) -> Copies:
    """In the order of the workflow."""
    resolver = Resolver(workflow)
    return Copies(
        tuple(
            step.id
            for step in workflow.steps
            if type(step) is not MergeStep and resolver.resolve(step, {}).workspace == "isolated"
        ),
        tuple((step.id, tuple(step.merge)) for step in workflow.steps if type(step) is MergeStep),
    )


def copies_lines(found: Copies, document: PlanDocument) -> list[str]:
    """For a terminal; `document` is that of the plan."""
    rows = [
        f"  {' '.join(filter(None, (line(step, 64), what)))}: "
        + join_names(names, LISTED, lambda name: line(name, 64), group=",")
        for step, what, names in _sentences(found)
    ]
    repos = [[name, where, what] for name, where, what in _repos(document)]
    if repos:
        rows += [*([""] if rows else []), *text_table.table(list(_REPO_HEADS), repos, widest=80)]
    return rows


def copies_html(found: Copies, document: PlanDocument) -> str:
    """The same as markup."""
    told = "".join(
        f'<p class="pixirnb-mute">{_head(step, what)}: '
        f"{', '.join(code(name, 80) for name in names[:LISTED])}{text(_more(names), 40)}</p>"
        for step, what, names in _sentences(found)
    )
    # One column: a card may be narrow, and columns beside each other would break their words.
    rows = [
        [f"{code(name, 80)}<br>{code(where, 200)}" + (f"<br>{text(what)}" if what else "")]
        for name, where, what in _repos(document)
    ]
    return told + html_cards.table(["repositories"], rows)


def _sentences(found: Copies) -> list[tuple[str, str, Sequence[str]]]:
    """The step that is the subject, if there is one; what is done; and by or of whom."""
    told: list[tuple[str, str, Sequence[str]]] = []
    if found.isolated:
        told.append(("", "work in copies of your files", found.isolated))
    return told + [(step, "merges", names) for step, names in found.merges[:LISTED]]


def _head(step: str, what: str) -> str:
    """An id stays as it is written; only words of ours begin large."""
    return f"{code(step, 80)} {text(what)}" if step else text(what[:1].upper() + what[1:])


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""


def _repos(document: PlanDocument) -> list[tuple[str, str, str]]:
    repos = document.get("repos")
    if not isinstance(repos, Mapping):
        return []
    return [
        (line(name, 64), line(repo.get("path"), 200), _state(repo))
        for name, repo in list(repos.items())[:100]
    ]


def _state(repo: RepoDocument) -> str:
    """What was found there; empty where nobody looked: a plan with a folder that is not there is not valid."""
    if not repo.get("exists"):
        return ""
    git = "a git repository" if repo.get("git") else "no git repository"
    return git if repo.get("writable") is not False else f"{git}, cannot be written"
