"""Questions of a completion about the world outside its cell, answered by the notebook or by a test's fake; globs,
folders and files among them, one folder at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pixirnb.notebook.completion.outline import Outline
from pixirnb.spec.workflow import Workflow


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that could stand at the cursor."""

    text: str
    """Takes the place of what is typed."""
    about: str = ""
    """One line for the one who chooses."""


class CompletionContext(Protocol):
    """Each answer comes at once, is bounded, and is empty where nothing is known. None raises."""

    def workflow_names(self) -> Sequence[str]:
        """Names of the workflows of this notebook."""
        ...

    def workflow(self, name: str) -> Workflow | None:
        """A workflow of this notebook."""
        ...

    def steps_in(self, name: str) -> Sequence[Candidate]:
        """Ids of the steps a workflow of this notebook has so far."""
        ...

    def runs(self) -> Sequence[Candidate]:
        """Ids of runs, newest first, with workflow and status."""
        ...

    def steps_of(self, run_id: str) -> Sequence[Candidate]:
        """Ids of a run's steps, with how they stand."""
        ...

    def seams_of(self, run_id: str) -> Sequence[Candidate]:
        """Ids of a run's open seams, with what they are about."""
        ...

    def choices_of(self, run_id: str, step: str) -> Sequence[Candidate]:
        """Answers of which a step waits for one, as `--value` takes them."""
        ...

    def workflow_of(self, run_id: str) -> Workflow | None:
        """The workflow of a run."""
        ...

    def checkpoints_of(self, run_id: str) -> Sequence[Candidate]:
        """Names of a run's checkpoints."""
        ...

    def variables(self) -> Sequence[Candidate]:
        """Names a cell has bound, with their types."""
        ...

    def functions(self) -> Sequence[Candidate]:
        """Functions a cell has defined, with their first sentences."""
        ...

    def within(self, folder: str) -> CompletionContext:
        """Return a context with another folder as its workspace."""
        ...

    def entries(self, folder: str) -> Sequence[str]:
        """Names in a folder, folders with a slash at their end. A relative one lies in the workspace, or outside by `..`."""
        ...


_WILD = frozenset("*?[{")


def path_candidates(
    typed: str, world: CompletionContext, *, is_folder: bool = False, endings: tuple[str, ...] = ()
) -> tuple[str, list[Candidate]]:
    """Return the names that may follow the last slash: folders, and files if they count and their names end so."""
    folder, slash, name = typed.rpartition("/")
    if _WILD & set(folder):
        return name, []  # what a pattern matches is not one folder
    entries = world.entries(folder + slash)
    shown = [entry for entry in entries if name.startswith(".") or not entry.startswith(".")]
    folders = [Candidate(entry, "folder") for entry in shown if entry.endswith("/")]
    files = [entry for entry in shown if not entry.endswith("/")]
    if is_folder:
        files = []
    elif endings:
        files = [entry for entry in files if entry.endswith(endings)]
    return name, folders + [Candidate(entry, "file") for entry in files]


def glob_candidates(
    typed: str, outline: Outline, world: CompletionContext, *, is_folder: bool = False
) -> tuple[str, list[Candidate]]:
    """As `path_candidates`, and globs: all below a folder, and what lies in another repository."""
    if typed.startswith("repos."):
        repo, sign, inside = typed.partition("/" if is_folder else ":")
        if not sign:
            return typed, _repos(outline, is_folder=is_folder)
        return _in_repo(repo, inside, outline, world, is_folder=is_folder)
    name, candidates = path_candidates(typed, world, is_folder=is_folder)
    if not is_folder and not name and ("/" in typed or not typed):
        candidates = [Candidate("**", "everything below"), *candidates]
    if "/" not in typed:
        candidates += _repos(outline, is_folder=is_folder)
    return name, candidates


def _repos(outline: Outline, *, is_folder: bool) -> list[Candidate]:
    end = "" if is_folder else ":"
    return [
        Candidate(f"repos.{c.text}{end}", f"repository {c.about}") for c in outline.names("repos")
    ]


def _in_repo(
    repo: str, inside: str, outline: Outline, world: CompletionContext, *, is_folder: bool
) -> tuple[str, list[Candidate]]:
    """Below a repository, wherever it lies."""
    folder = next((c.about for c in outline.names("repos") if f"repos.{c.text}" == repo), None)
    name = inside.rpartition("/")[2]
    if folder is None or folder.endswith("…"):
        return name, []
    return path_candidates(f"{folder}/{inside}", world, is_folder=is_folder)
