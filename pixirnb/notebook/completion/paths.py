"""Completion of globs, folders and files: one folder at a time."""

from __future__ import annotations

from pixirnb.notebook.completion.context import Candidate, CompletionContext
from pixirnb.notebook.completion.outline import Outline

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
    """Return what `path_candidates` returns, and globs: all below a folder, and what lies in another repository."""
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
    """Return candidates below a repository, wherever it lies."""
    folder = next((c.about for c in outline.names("repos") if f"repos.{c.text}" == repo), None)
    name = inside.rpartition("/")[2]
    if folder is None or folder.endswith("…"):
        return name, []
    return path_candidates(f"{folder}/{inside}", world, is_folder=is_folder)
