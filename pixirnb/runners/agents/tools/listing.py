"""Folder listings for an agent: sorted names, links never followed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from pixirnb.runners.agents.tools.confinement import (
    ConfinedPath,
    Refused,
    errors_as_refusals,
    shown,
)
from pixirnb.sessions.permissions import Limits

_SCANNED: Final = 50_000
"""Maximum number of names read of one folder."""


class FolderEntry(Struct, frozen=True):
    """One name in a folder."""

    location: ConfinedPath
    is_folder: bool
    is_link: bool

    @property
    def line(self) -> str:
        """Return its line in a listing."""
        name = shown(self.location.parts[-1], 400)
        return f"{name}/" if self.is_folder else f"{name}@" if self.is_link else name


def entries(folder: ConfinedPath, limits: Limits) -> tuple[list[FolderEntry], int]:
    """Return the visible entries of a folder, sorted by name, and the number of hidden ones. Raises Refused."""
    visible: list[FolderEntry] = []
    hidden = 0
    with (
        folder.opened_folder() as descriptor,
        errors_as_refusals(folder),
        os.scandir(descriptor) as scan,
    ):
        for count, entry in enumerate(scan):
            if count >= _SCANNED:
                break
            location = folder.below(entry.name)
            is_link = entry.is_symlink()
            is_folder = not is_link and entry.is_dir(follow_symlinks=False)
            refusal = limits.look_refusal if is_folder else limits.read_refusal
            if refusal(location.path) is None:
                visible.append(FolderEntry(location, is_folder, is_link))
            else:
                hidden += 1
    return sorted(visible, key=lambda entry: entry.location.parts[-1]), hidden


def files_below(folder: ConfinedPath, limits: Limits, deadline: float) -> Iterator[ConfinedPath]:
    """Yield every readable file at any depth; stops at monotonic `deadline`. Refused folders are skipped."""
    waiting = [folder]
    while waiting and time.monotonic() < deadline:
        try:
            visible, _ = entries(waiting.pop(), limits)
        except Refused:
            continue  # gone since it was seen, or not ours to enter
        yield from (
            entry.location for entry in visible if not entry.is_folder and not entry.is_link
        )
        waiting += [entry.location for entry in reversed(visible) if entry.is_folder]
