"""Removal of our folders with all that a step has made in them."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pixirnb.errors import Cannot
from pixirnb.workspace.errors import refusing, shown

ASIDE: Final = ".kept"
"""End of the name of a folder whose files could not be captured. No attempt's name has a dot and a word."""


def remove_folder(folder: Path) -> None:
    """Delete a folder of ours with all in it, also files that a step has made read-only.

    Raises Cannot where a file in it stays; all others are gone then.
    """
    if not os.path.lexists(folder):
        return
    shutil.rmtree(folder, ignore_errors=True)
    if not os.path.lexists(folder):
        return
    refused: list[OSError] = []

    def note(_function: object, path: str, raised: Any) -> None:
        error = raised[1]
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            error.filename = path  # the system was asked by a name in an open folder
            refused.append(error)

    _loosen(folder)
    shutil.rmtree(folder, onerror=note)
    if refused:
        # The innermost comes first: what is above it is only not empty.
        error = refused[0]
        raise Cannot(
            f"What an isolated step left in {shown(str(folder))} could not be deleted: "
            f"{shown(str(error.filename))}: {error.strerror or error}.",
            fix=f"Delete {shown(str(folder))} by hand.",
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


def _loosen(folder: Path) -> None:
    """Give the owner access to every folder."""
    if folder.is_symlink() or not folder.is_dir():
        return
    _let_in(folder)
    for parent, folders, _ in os.walk(folder):
        for name in folders:  # before the walk comes to it
            path = Path(parent, name)
            if not path.is_symlink():
                _let_in(path)


def _let_in(folder: Path) -> None:
    with suppress(OSError):  # another's, or gone: its removal says which
        folder.chmod(0o700)
