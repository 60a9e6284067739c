"""What folders hold, as far as an agent may see it: names in order, links never followed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pixirnb.runners.agents.tools.confinement import ConfinedPath, Refused, shown, told_as_refusal
from pixirnb.sessions.permissions import Limits

_SCANNED: Final = 50_000
"""Names of one folder that are looked at."""


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """One name in a folder."""

    place: ConfinedPath
    is_folder: bool
    is_link: bool

    @property
    def line(self) -> str:
        """As a listing shows it."""
        name = shown(self.place.parts[-1], 400)
        return f"{name}/" if self.is_folder else f"{name}@" if self.is_link else name


def entries(folder: ConfinedPath, limits: Limits) -> tuple[list[FolderEntry], int]:
    """What may be seen of a folder, in order of names, and how many others there are. Raises Refused."""
    found: list[FolderEntry] = []
    hidden = 0
    with (
        folder.opened_folder() as descriptor,
        told_as_refusal(folder),
        os.scandir(descriptor) as scan,
    ):
        for count, entry in enumerate(scan):
            if count >= _SCANNED:
                break
            place = folder.below(entry.name)
            is_link = entry.is_symlink()
            is_folder = not is_link and entry.is_dir(follow_symlinks=False)
            refusal = limits.look_refusal if is_folder else limits.read_refusal
            if refusal(place.path) is None:
                found.append(FolderEntry(place, is_folder, is_link))
            else:
                hidden += 1
    return sorted(found, key=lambda entry: entry.place.parts[-1]), hidden


def files_below(folder: ConfinedPath, limits: Limits, deadline: float) -> Iterator[ConfinedPath]:
    """Every file at any depth that may be read; stops at monotonic `deadline`. Folders that refuse are passed by."""
    waiting = [folder]
    while waiting and time.monotonic() < deadline:
        try:
            found, _ = entries(waiting.pop(), limits)
        except Refused:
            continue  # gone since it was seen, or not ours to enter
        yield from (entry.place for entry in found if not entry.is_folder and not entry.is_link)
        waiting += [entry.place for entry in reversed(found) if entry.is_folder]
