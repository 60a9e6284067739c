"""Lookup of role files: `roles/NAME.yaml` next to the workflow's file, in the workspace, then in the user's config folder.

The first that exists counts, whatever its content. A link that leads out of the folder is not followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from pixirnb.errors import Problem
from pixirnb.spec.role_files import Role, read_role

FOLDER: Final = "roles"
SIZE_LIMIT: Final = 256 * 1024
"""Maximum number of bytes of a role file."""


def find_roles(
    names: Iterable[str], folders: Sequence[Path], *, workspace: Path | None = None
) -> dict[str, Role]:
    """Return the role files of `names` below the first of `folders` that has one; names without a file are left out.

    A file of the workspace is named by its path in it.
    """
    roles: dict[str, Role] = {}
    for name in names:
        for folder in dict.fromkeys(folders):
            role = _role(name, folder, workspace)
            if role is not None:
                roles[name] = role
                break
    return roles


def _role(name: str, folder: Path, workspace: Path | None) -> Role | None:
    path = folder / FOLDER / f"{name}.yaml"
    shown = path
    if workspace is not None and path.is_relative_to(workspace):
        shown = path.relative_to(workspace)
    try:
        inside = Path(os.path.realpath(folder))
        real = Path(os.path.realpath(path))
        if not os.path.lexists(path):
            return None
        if inside not in real.parents:
            return _unreadable(shown, f"it is a link to {real}", "copy the file here")
        # A pipe of that name must not hold anybody up.
        descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return _unreadable(shown, "it is not a file", "write the role to a file")
            data = file.read(SIZE_LIMIT + 1)
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return _unreadable(shown, f"it cannot be read: {reason}", "make it readable or remove it")
    if len(data) > SIZE_LIMIT:
        problem = f"it is larger than {SIZE_LIMIT // 1024} KiB"
        return _unreadable(shown, problem, "shorten it", "limit_exceeded")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} is not UTF-8"
        return _unreadable(shown, problem, "save it as UTF-8", "not_utf8")
    return read_role(text, str(shown), name=name)


def _unreadable(path: Path, why: str, fix: str, code: str = "role_unreadable") -> Role:
    return Role(str(path), None, (Problem(code, "", why, fix),))
