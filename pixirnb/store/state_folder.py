"""The state folder of a workspace: how it is found and made.

The nearest `.pixirnb` of this user's from the workspace upward wins, so that a notebook in a
subfolder sees the runs of its project. Source: contract.md §3.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
from pathlib import Path
from typing import Final

from pixirnb.ids import is_run_id
from pixirnb.store.private_files import (
    exposed_error,
    linked_error,
    make_private,
    open_private,
    refuse_foreign,
    unusable,
)
from pixirnb.system.atomic_files import sync_folder
from pixirnb.system.system_calls import retry_eintr

STATE_NAME: Final = ".pixirnb"
STATE_VARIABLE: Final = "PIXIRNB_STATE"
_FOLDERS: Final = ("runs", "trees", "isolated", "merges")
_OTHERS_WRITE: Final = 0o022


_kept: set[Path] = set()
"""`runs` folders whose names this process has made durable."""


def find_state(workspace: Path, override: Path | None = None) -> Path:
    """Return the state folder of a workspace, absolute; it need not exist, and nothing is made.

    `override` (the `--state` of the command), else the variable PIXIRNB_STATE, else the nearest `.pixirnb` of this
    user up to home or the root, else one at the top of the git repository, else one in the workspace. Raises
    StateUnusable when a file of this user has that name.
    """
    if override is None and os.environ.get(STATE_VARIABLE):
        override = Path(os.environ[STATE_VARIABLE])
    if override is not None:
        return Path(os.path.abspath(os.path.expanduser(override)))  # noqa: PTH100, PTH111 - a link to it stays a link
    return _nearest(workspace.resolve())


def state_of_run(folder: Path) -> Path:
    """Return the state folder that keeps the trees and copies of a run: the one its folder lies in, or the nearest one for a
    folder that was moved out of it. Raises StateUnusable as `find_state` does.
    """
    if folder.parent.name == "runs":
        return folder.parent.parent
    return _nearest(folder.parent.resolve())


def _nearest(start: Path) -> Path:
    folders = _upward(start)
    for folder in folders:
        if _is_ours(folder / STATE_NAME):
            return folder / STATE_NAME
    for folder in folders:
        if (folder / ".git").exists():
            return folder / STATE_NAME
    return folders[0] / STATE_NAME


def runs_below(searched: Path) -> str:
    """Return how to reach the newest run of the folders directly below the current one, as a clause; empty if there is none.

    Empty as well if the state folder that was searched is not one of the current folder: it was chosen.
    """
    try:
        here = Path.cwd()
    except FileNotFoundError:  # it was deleted
        return ""
    if searched.name != STATE_NAME or searched.parent not in {here, *here.parents}:
        return ""
    states: list[tuple[str, Path, int]] = []
    for state in Path().glob(f"*/{STATE_NAME}"):
        try:
            ids = [name for name in os.listdir(state / "runs") if is_run_id(name)]  # noqa: PTH208 - names are all that is wanted
        except OSError:
            continue
        if ids:
            states.append((max(ids), state, len(ids)))
    if not states:
        return ""
    _, state, count = max(states)
    runs = "1 run" if count == 1 else f"{count:,} runs"
    if others := len(states) - 1:
        runs = f"the newest run, {others:,} other folder{'s have' if others > 1 else ' has'} runs"
    return f"{state} has {runs}: add `--state {shlex.quote(str(state))}`"


def prepare_state(state: Path) -> Path:
    """Make the state folder, its `.gitignore` and `runs` where missing; return `runs`.

    Raises StateUnusable for a file in its place, a foreign owner, a folder that cannot be written.
    """
    runs = state / "runs"
    refuse_entrance(state)
    missing = [path for path in (runs, state, *state.parents) if not path.exists()]
    try:
        retry_eintr(state.parent.mkdir, parents=True, exist_ok=True)
        if not make_private(state, may_be_linked=True):
            close_to_others(state)
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


def refuse_entrance(state: Path) -> None:
    """Raise StateUnusable for a state folder of another user, or if one of its own folders is a link.

    The state folder itself may be a link of its user. A link inside it would lead private files outside.
    """
    if os.path.lexists(state):
        refuse_foreign(state)
    for name in _FOLDERS:
        if os.path.islink(state / name):  # noqa: PTH114 - asked at every look at a run
            raise linked_error(state / name, "a state folder")


def close_to_others(state: Path) -> None:
    """Ensure that only its user may write to a state folder. Raises StateUnusable (`state_exposed`).

    Write permission of others is removed from a state folder; any other folder is left unchanged, and refused.
    """
    try:
        bits = stat.S_IMODE(state.stat().st_mode)
        if not bits & _OTHERS_WRITE:
            return
        names = set(os.listdir(state))  # noqa: PTH208 - names are all that is wanted
        if names and "runs" not in names:
            raise exposed_error(state, bits)
        state.chmod(bits & ~_OTHERS_WRITE)
    except OSError as error:
        raise unusable(state, error) from error


def _ignore_everything(path: Path) -> None:
    try:
        descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("*\n")


def _upward(workspace: Path) -> list[Path]:
    folders = [workspace, *workspace.parents]
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path raises where there is no home
    return folders[: folders.index(home) + 1] if home in folders else folders


def _is_ours(state: Path) -> bool:
    try:
        mine = state.stat().st_uid == os.geteuid()
    except OSError:
        return False
    if mine and not state.is_dir():
        raise unusable(state, NotADirectoryError(errno.ENOTDIR, "a file"))
    return mine
