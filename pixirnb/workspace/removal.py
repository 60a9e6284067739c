"""Folders of ours removed with all that a step has made in them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from pixirnb.errors import Cannot


def remove_folder(folder: Path) -> None:
    """Delete a folder of ours with all in it, also what a step has made read-only. Raises Cannot."""

    def insist(function: Callable[[str], object], path: str, _error: object) -> None:
        for place in (Path(path).parent, Path(path)):
            if place.exists() and not place.is_symlink() and place.is_relative_to(folder):
                place.chmod(0o700)
        function(path)

    if not folder.exists() and not folder.is_symlink():
        return
    try:
        shutil.rmtree(folder, onerror=insist)
    except OSError as error:
        raise Cannot(
            f"The folder of an isolated step could not be deleted: {error}.",
            fix=f"Delete {folder} by hand.",
            code="workspace_not_removed",
        ) from error
