"""Ignored files and folders that an isolated step needs, copied along: `carry`. They are no part of its changes.

Files that are kept back from copies are kept back here too: secrets, `never_copy`, other roots, and the folders of git and
pixirnb.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from pixirnb.errors import Cannot
from pixirnb.planning.environment import is_secret
from pixirnb.system.deep_folders import walk
from pixirnb.system.system_calls import retry_eintr
from pixirnb.workspace.git.command import require_time
from pixirnb.workspace.rules import Rules


def carry(root: Path, folder: Path, path: str, rules: Rules) -> None:
    """Copy `root/path` to `folder/path`, links within it as links, without what `rules` leave out.

    Do nothing where the source is missing, the target exists, or the path is left out itself, also by a link's target. Raises
    Cannot.
    """
    source, target = root / path, folder / path
    if not source.exists() or target.exists() or _is_left_out(root, path, rules):
        return

    def is_left_out(inner: str) -> bool:
        return rules.leaves_out(os.path.normpath(f"{path}/{inner}"))

    retry_eintr(target.parent.mkdir, parents=True, exist_ok=True)
    try:
        if source.is_dir():
            _copy_folder(source, target, is_left_out)
        else:
            shutil.copy2(source, target)
    except OSError as error:
        raise Cannot(
            f"`carry: {path}` could not be copied: {str(error)[:300]}",
            fix="carry fewer files or write `workspace: shared`",
            code="carry_failed",
        ) from error


def _copy_folder(source: Path, target: Path, is_left_out: Callable[[str], bool]) -> None:
    """Copy a folder of any depth, without what is left out by its path in it; links are copied as links. Raises OSError."""
    made: list[tuple[str, str]] = []
    for current, folders, names in walk(source, _refuse):
        inner = current[len(str(source)) :].lstrip("/")
        into = os.path.join(target, inner)  # noqa: PTH118 - thousands of files
        os.mkdir(into)  # noqa: PTH102
        made.append((current, into))
        folders[:] = [name for name in folders if not is_left_out(f"{inner}/{name}")]
        files = [name for name in names if not is_left_out(f"{inner}/{name}")]
        for name in files + [name for name in folders if os.path.islink(f"{current}/{name}")]:  # noqa: PTH114
            require_time("copy the files of `carry`")
            shutil.copy2(f"{current}/{name}", f"{into}/{name}", follow_symlinks=False)
    for current, into in reversed(made):  # a folder may be one that nothing can be put into
        shutil.copystat(current, into)


def _refuse(error: OSError) -> None:
    raise error


def _is_left_out(root: Path, path: str, rules: Rules) -> bool:
    if rules.leaves_out(os.path.normpath(path)):
        return True
    real = os.path.relpath(os.path.realpath(root / path), os.path.realpath(root))
    # The rules of a root say nothing of what lies around it; a name that is a secret's is one anywhere.
    return is_secret(real) if real.startswith("..") else rules.leaves_out(real)
