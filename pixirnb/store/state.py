"""Where runs are kept: which state folder a workspace has, and how one is made.

The nearest `.pixirnb` of this user's from the workspace upward wins, so that a notebook in a
subfolder sees the runs of its project. Source: contract.md §3.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from pixirnb.durability import sync_folder
from pixirnb.interruptions import unbroken
from pixirnb.store.folders import make_private, open_private, unusable

STATE_NAME: Final = ".pixirnb"
STATE_VARIABLE: Final = "PIXIRNB_STATE"


_kept: set[Path] = set()
"""`runs` folders whose names this process has made durable."""


def find_state(workspace: Path, override: Path | None = None) -> Path:
    """The state folder of a workspace, absolute; it need not exist yet, and nothing is made.

    `override` (the `--state` of the command), else the variable PIXIRNB_STATE, else the nearest
    `.pixirnb` of this user's up to home or the root, else one at the top of the git repository,
    else one in the workspace. Raises StateUnusable when a file of this user's bears the name.
    """
    if override is None and os.environ.get(STATE_VARIABLE):
        override = Path(os.environ[STATE_VARIABLE])
    if override is not None:
        return Path(os.path.abspath(os.path.expanduser(override)))  # noqa: PTH100, PTH111 - a link to it stays a link
    folders = _upward(workspace.resolve())
    for folder in folders:
        if _is_ours(folder / STATE_NAME):
            return folder / STATE_NAME
    for folder in folders:
        if (folder / ".git").exists():
            return folder / STATE_NAME
    return folders[0] / STATE_NAME


def prepare_state(state: Path) -> Path:
    """Make the state folder, its `.gitignore` and `runs` where missing; return `runs`.

    Raises StateUnusable for a file in its place, a foreign owner, a folder that cannot be written.
    """
    runs = state / "runs"
    missing = [path for path in (runs, state, *state.parents) if not path.exists()]
    try:
        unbroken(state.parent.mkdir, parents=True, exist_ok=True)
        make_private(state)
        if make_private(runs):
            _ignore_everything(state / ".gitignore")
        # A run is lost however well its bytes are kept, if the name of a folder above is. What was there
        # is asked for once, too: the process that made it may have died before it had.
        for path in missing if runs in _kept else dict.fromkeys((*missing, runs, state)):
            sync_folder(path.parent)
        _kept.add(runs)
    except OSError as error:
        raise unusable(state, error) from error
    return runs


def _ignore_everything(path: Path) -> None:
    try:
        descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("*\n")


def _upward(workspace: Path) -> list[Path]:
    folders = [workspace, *workspace.parents]
    home = Path.home()
    return folders[: folders.index(home) + 1] if home in folders else folders


def _is_ours(state: Path) -> bool:
    try:
        mine = state.stat().st_uid == os.geteuid()
    except OSError:
        return False
    if mine and not state.is_dir():
        raise unusable(state, NotADirectoryError(errno.ENOTDIR, "a file"))
    return mine
