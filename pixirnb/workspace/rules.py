"""Rules for the names that belong to a snapshot, whatever tool lists them: files that are left out, and files that a step
claims.

Source: contract.md §8; `protocols.trees.Belonging`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from pixirnb.planning.environment import is_secret, never_copied
from pixirnb.planning.globs.pattern import Pattern, matches
from pixirnb.planning.globs.segment import RESERVED, Segment
from pixirnb.protocols.trees import Belonging

MERGING: Final = ".pixirnb-merge-"
"""Beginning of the names of folders in which a merge is prepared."""
KEPT: Final = ".pixirnb-kept-"
"""Beginning of the names of folders in which a merge keeps a person's edits made meanwhile."""

CACHES: Final = frozenset(
    {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints"}
)
"""Folders, at any depth, of files that tools write, whatever a step does."""

LEFT_OUT: Final = CACHES | {"node_modules", ".venv", "venv", ".tox"}
"""Folders, at any depth, whose files belong only where they are claimed or named."""


class Rules:
    """A Belonging, prepared for tests of one path after another."""

    def __init__(self, belonging: Belonging) -> None:
        """Prepare the rules. Raises ValueError for an invalid glob; planning has reported it before."""
        self._never = tuple(map(never_copied, belonging.never_copy))
        self._carried = tuple(folder.strip("/") + "/" for folder in belonging.carried)
        self._nested = tuple(folder.strip("/") + "/" for folder in belonging.nested)
        self._claimed = belonging.claimed
        self.also = belonging.also
        self._folders: dict[str, bool] = {}

    # Paths are matched as `./x`: a file may be called `repos.x:y`, and is none of that repository's.

    def leaves_out(self, path: str) -> bool:
        """Return whether a file is always left out: ours or git's, another root's, or a secret."""
        folder, _, name = path.rpartition("/")
        is_out = self._folders.get(folder)
        if is_out is None:
            is_out = self._folders[folder] = any(map(_is_never_taken, folder.split("/")))
        if is_out or _is_never_taken(name):
            return True
        if self._nested and self.is_elsewhere(path):
            return True
        return bool(self._never) and self.is_kept_back(path)

    def is_elsewhere(self, path: str) -> bool:
        """Return whether a file is no part of this root at all."""
        return f"{path}/".startswith(self._nested) or any(map(is_reserved, path.split("/")))

    def is_kept_back(self, path: str) -> bool:
        """Return whether a file is a secret, by its name or by the workflow's `never_copy`."""
        return any(map(_is_secret_name, path.split("/"))) or any(
            matches(pattern, f"./{path}") for pattern in self._never
        )

    def is_carried(self, path: str) -> bool:
        """Return whether a file lies where files are carried to: changes there are reported only if it is kept back."""
        return f"{path}/".startswith(self._carried) and not self.is_kept_back(path)

    def claims(self, path: str) -> bool:
        """Return whether a file is included though it is ignored."""
        return path in self.also or any(matches(pattern, f"./{path}") for pattern in self._claimed)

    def claimed_locations(self) -> list[str]:
        """Return the folders or files below which all files lie that a pattern claims; `""` is the root."""
        return sorted(
            {
                "/".join(_plain_start(choice))
                for pattern in self._claimed
                for choice in pattern.choices
            }
        )


def _plain_start(choice: tuple[Segment | None, ...]) -> Iterator[str]:
    for segment in choice:
        if not isinstance(segment, str):
            return
        yield segment


@lru_cache(maxsize=1 << 16)
def _is_never_taken(name: str) -> bool:
    return is_reserved(name) or _is_secret_name(name)


@lru_cache(maxsize=1 << 16)
def is_reserved(name: str) -> bool:
    """Return whether a name on a path is git's or ours: no snapshot holds it, and no merge writes to it."""
    return name.casefold() in RESERVED or name.startswith((MERGING, KEPT))


@lru_cache(maxsize=1 << 16)
def _is_secret_name(name: str) -> bool:
    return is_secret(name)


def claimed_of(globs: Sequence[str], repo: str | None) -> Iterator[Pattern]:
    """Yield the patterns of one root, relative to it. A pattern that claims everything does not include ignored files."""
    for text in globs:
        pattern = Pattern.parse(text)
        if pattern.repo == repo and not pattern.is_universal:
            yield pattern if repo is None else Pattern.parse(text.partition(":")[2])
