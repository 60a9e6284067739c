"""Ignored files and folders that an isolated step needs, copied along: `carry`. They are no part of what it changes."""

from __future__ import annotations

import shutil
from pathlib import Path

from pixirnb.errors import Cannot


def carry(root: Path, folder: Path, path: str) -> None:
    """Copy `root/path` to `folder/path`, links as links; nothing where it is not there or lies there already. Raises Cannot."""
    source, target = root / path, folder / path
    if not source.exists() or target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy2(source, target)
    except (OSError, shutil.Error) as error:
        raise Cannot(
            f"`carry: {path}` could not be copied: {str(error)[:300]}.",
            fix="Carry less, or let the step work in the shared workspace.",
            code="carry_failed",
        ) from error
