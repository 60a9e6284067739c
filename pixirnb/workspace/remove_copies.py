"""Removal of our folders with all that a step has made in them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from pixirnb.errors import Cannot
from pixirnb.system.deep_folders import remove_whole
from pixirnb.workspace.errors import refusing, shown

ASIDE: Final = ".kept"
"""End of the name of a folder whose files could not be captured. No attempt's name has a dot and a word."""


def remove_folder(folder: Path) -> None:
    """Delete a folder of ours with all in it, also files that a step has made read-only.

    Raises Cannot where a file in it stays; all others are gone then.
    """
    refused = remove_whole(folder)
    if refused:
        # The innermost comes first: what is above it is only not empty.
        error = refused[0]
        raise Cannot(
            f"isolated workspace {shown(str(folder))} could not be deleted: "
            f"{shown(str(error.filename))}: {error.strerror or error}",
            fix=f"delete {shown(str(folder))} by hand",
            code="workspace_not_removed",
        ) from error


def remove_copies(folder: Path, *, is_all: bool = False) -> list[Cannot]:
    """Delete the copies of a run's attempts in `folder`, but folders set aside unless `is_all`; return an error for each that
    stays.

    Raises Cannot where `folder` cannot be read.
    """
    refused: list[Cannot] = []
    with refusing(folder):
        entries = sorted(folder.iterdir()) if folder.is_dir() else []
    for left in entries:
        try:
            if is_all or not left.name.endswith(ASIDE):
                remove_folder(left)
        except Cannot as error:
            refused.append(error)
    with suppress(OSError):  # something stays, or nothing is there
        folder.rmdir()
    return refused
