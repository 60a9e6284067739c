"""Removal of runs: owned, renamed, then deleted, so that a run is whole or gone.

    runs/<run_id>  ──rename, under the run's lock──▶  runs/.removed-<run_id>-<pid>  ──release, delete──▶  nothing

A folder with the second name is no run. If data kept elsewhere for it cannot be released, it gets its first name
back. The next removal finishes one that was killed.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from pixirnb.errors import Cannot, PixirnbError
from pixirnb.ids import is_run_id
from pixirnb.store.lease import new_instance, take
from pixirnb.store.private_files import foreign, unusable
from pixirnb.system.deep_folders import remove_whole, walk

ASIDE: Final = ".removed-"
"""Prefix of the name of a folder that is being deleted."""


LetGo = Callable[[str], None]
"""Function that releases data kept elsewhere for a run id. Raises PixirnbError: another removal retries."""


def _nothing_kept(_run_id: str) -> None:
    """Release nothing: for stores without data elsewhere."""


def remove_run(
    folder: Path, is_unchanged: Callable[[], bool], let_go: LetGo = _nothing_kept
) -> None:
    """Remove a run folder without an owner. Links are removed, never followed.

    `is_unchanged` is called once the run is owned, and `let_go` once it is no run any more; if that raises, it is a
    run again. Raises HeldByAnother while another process or host owns it; Cannot (`run_changed`); StateUnusable if it
    belongs to another user, is gone, or cannot be written.
    """
    try:
        status = folder.lstat()
    except OSError as error:
        raise unusable(folder, error) from error
    if status.st_uid != os.geteuid():
        raise foreign(folder, status.st_uid)
    aside = folder.with_name(f"{ASIDE}{folder.name}-{os.getpid()}")
    with ExitStack() as held:
        if stat.S_ISDIR(status.st_mode):
            # The lock is in the folder and is held until the folder is gone: a waiter for it finds no run.
            held.callback(take(folder, instance=new_instance()).release)
        if not is_unchanged():
            raise Cannot(
                f"{folder.name} has changed since it was listed",
                fix="run `pixirnb runs` to check it, then prune again",
                code="run_changed",
            )
        try:
            folder.rename(aside)
        except OSError as error:
            raise unusable(folder, error) from error
        try:
            let_go(folder.name)
        except PixirnbError:
            with suppress(OSError):  # else it is the next removal's
                aside.rename(folder)
            raise
        _delete(aside)


def finish_removals(runs: Path, let_go: LetGo = _nothing_kept) -> int:
    """Delete the remains of killed removals in a `runs` folder; return their number. Never raises."""
    try:
        names = [name for name in os.listdir(runs) if name.startswith(ASIDE)]  # noqa: PTH208 - names are all
    except OSError:
        return 0
    finished = 0
    for name in names:
        try:
            run_id = name.removeprefix(ASIDE).rpartition("-")[0]
            if not is_run_id(run_id):
                continue  # no removal of ours gives such a name
            put_back = os.path.lexists(runs / run_id)  # and needs what is kept for it
            if not put_back:
                let_go(run_id)
            _delete(runs / name)
            finished += 1
        except Exception:  # noqa: BLE001, S112 - not ours, the disk refuses, a bug of ours: it must not keep others
            continue  # it is no run, and may be tried again
    return finished


def bytes_of(folder: Path) -> int:
    """Return the bytes of all files of a run folder, without following links; unreadable ones count 0."""
    total = 0
    if folder.is_symlink():
        return total
    for parent, _, names in walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118 - thousands of files
            except OSError:
                continue
    return total


def age_s(ended_at: str | None, folder: Path, *, now: Callable[[], float] = time.time) -> float:
    """Return seconds since a run ended, else since its log last changed, or its folder without a log; 0 if unknown."""
    try:
        if ended_at is not None:
            return now() - datetime.fromisoformat(ended_at).timestamp()
        log = folder / "log.jsonl"
        return now() - (log if log.exists() else folder).lstat().st_mtime
    except (OSError, ValueError):
        return 0.0


def _delete(path: Path) -> None:
    refused = remove_whole(path)
    if refused:
        raise unusable(path, refused[0]) from refused[0]
