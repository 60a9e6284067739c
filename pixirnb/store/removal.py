"""Runs taken away: held, renamed aside, then deleted, so that a run is whole or gone and never half of one.

    runs/<run_id>  ──rename, under the run's lock──▶  runs/.removed-<run_id>-<pid>  ──let go, delete──▶  nothing

What bears the second name is no run to anybody. Where what is kept elsewhere for it cannot be let go of, it gets its first name
back. A removal that was killed in between is finished by the next one.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from pixirnb.errors import Cannot, PixirnbError
from pixirnb.store.lease import new_instance, take
from pixirnb.store.private_files import foreign, unusable

ASIDE: Final = ".removed-"
"""How the name of a folder begins that is being deleted."""


LetGo = Callable[[str], None]
"""Gives up what is kept elsewhere for the run of this id. Raises PixirnbError: another removal tries again."""


def _nothing_kept(_run_id: str) -> None:
    """For who keeps nothing of a run elsewhere."""


def remove_run(
    folder: Path, is_unchanged: Callable[[], bool], let_go: LetGo = _nothing_kept
) -> None:
    """Remove a run folder that nobody holds. Links are removed, never followed.

    `is_unchanged` is asked once the run is held, and `let_go` once it is no run any more; where that
    raises, it is a run again.
    Raises HeldByAnother while someone else holds it, or another host did;
    Cannot (`run_changed`); StateUnusable for what is not ours, is gone, or cannot be written.
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
            # The lock lies in the folder and is held until it is gone: who waits for it finds no run.
            held.callback(take(folder, instance=new_instance()).release)
        if not is_unchanged():
            raise Cannot(
                f"{folder.name} has changed since it was looked at.",
                fix="Look at it again with `pixirnb runs`, then prune again.",
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
    """Delete what removals that were killed have left in a `runs` folder; how many there were. Never raises."""
    try:
        names = [name for name in os.listdir(runs) if name.startswith(ASIDE)]  # noqa: PTH208 - names are all
    except OSError:
        return 0
    finished = 0
    for name in names:
        try:
            let_go(name.removeprefix(ASIDE).rpartition("-")[0])
            _delete(runs / name)
            finished += 1
        except PixirnbError:
            continue  # not ours, or the disk refuses: it is no run, and may be tried again
    return finished


def bytes_of(folder: Path) -> int:
    """Bytes of all files of a run folder, links not followed; what cannot be looked at counts nothing."""
    total = 0
    if folder.is_symlink():
        return total
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118 - thousands of files
            except OSError:
                continue
    return total


def age_s(ended_at: str | None, folder: Path, *, now: Callable[[], float] = time.time) -> float:
    """Seconds since a run ended, or else since its log last changed, or its folder where it has none; 0 where nothing tells."""
    try:
        if ended_at is not None:
            return now() - datetime.fromisoformat(ended_at).timestamp()
        log = folder / "log.jsonl"
        return now() - (log if log.exists() else folder).lstat().st_mtime
    except (OSError, ValueError):
        return 0.0


def _delete(path: Path) -> None:
    try:
        if not stat.S_ISDIR(path.lstat().st_mode):
            path.unlink()
            return
        shutil.rmtree(path)
    except FileNotFoundError:
        return  # another removal was at it too
    except OSError as error:
        raise unusable(path, error) from error
