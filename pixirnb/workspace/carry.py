"""Ignored files and folders that an isolated step needs, copied along: `carry`. They are no part of its changes.

Files that are kept back from copies are kept back here too: secrets, `never_copy`, other roots, and the folders of git and
pixirnb.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pixirnb.errors import Cannot
from pixirnb.planning.secret_names import is_secret
from pixirnb.system.system_calls import retry_eintr
from pixirnb.workspace.rules import Rules


def carry(root: Path, folder: Path, path: str, rules: Rules) -> None:
    """Copy `root/path` to `folder/path`, links within it as links, without what `rules` leave out.

    Do nothing where the source is missing, the target exists, or the path is left out itself, also by a link's target. Raises
    Cannot.
    """
    source, target = root / path, folder / path
    if not source.exists() or target.exists() or _is_left_out(root, path, rules):
        return

    def left_out(where: str, names: list[str]) -> list[str]:
        inner = os.path.relpath(where, root)
        return [name for name in names if rules.leaves_out(os.path.normpath(f"{inner}/{name}"))]

    retry_eintr(target.parent.mkdir, parents=True, exist_ok=True)
    try:
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, ignore=left_out)
        else:
            shutil.copy2(source, target)
    except (OSError, shutil.Error) as error:
        raise Cannot(
            f"`carry: {path}` could not be copied: {str(error)[:300]}.",
            fix="Carry less, or let the step work in the shared workspace.",
            code="carry_failed",
        ) from error


def _is_left_out(root: Path, path: str, rules: Rules) -> bool:
    if rules.leaves_out(os.path.normpath(path)):
        return True
    real = os.path.relpath(os.path.realpath(root / path), os.path.realpath(root))
    # The rules of a root say nothing of what lies around it; a name that is a secret's is one anywhere.
    return is_secret(real) if real.startswith("..") else rules.leaves_out(real)
