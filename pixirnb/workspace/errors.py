"""Errors for files that cannot be kept, given or merged: the cause, and that nothing was changed.

Names of files are a person's or an agent's text: on one line, escaped, bounded.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pixirnb.errors import Cannot
from pixirnb.wording import join_names

_MOST_NAMED: Final = 5
_LONGEST: Final = 200
_UNCHANGED: Final = "; nothing was changed"


def disturbed_error(root: Path, files: Sequence[str], problem: str = "") -> Cannot:
    """Return the error for files that differ from the ones the merge was made for."""
    return Cannot(
        f"merge refused: {name_files(files)} in {root} "
        f"{problem or 'changed during the merge'}{_UNCHANGED}",
        fix="save your edits and merge again; the current files are used then",
        code="merge_disturbed",
        details={"root": str(root), "files": list(files[:_MOST_NAMED])},
    )


def in_the_way(root: Path, obstacles: Mapping[str, str]) -> Cannot:
    """Return the error for obstacles at paths that the merge creates. `obstacles`: by path, a description of each."""
    shown_first = sorted(obstacles)[:_MOST_NAMED]
    listed = join_names(
        shown_first,
        _MOST_NAMED,
        lambda path: f"{shown(path)} ({obstacles[path]})",
        count=len(obstacles),
    )
    return Cannot(
        f"merge refused: {listed} in {root} "
        f"{'block' if len(obstacles) > 1 else 'blocks'} files that it creates{_UNCHANGED}",
        fix="move or rename it, then merge again",
        code="merge_disturbed",
        details={"root": str(root), "files": shown_first, "in_the_way": dict(obstacles)},
    )


def unsafe(root: Path, path: str, problem: str) -> Cannot:
    """Return the error for a path that no merge may write to."""
    return Cannot(
        f"merge refused: {shown(path)} in {root} {problem}{_UNCHANGED}",
        fix="replace it with a folder, or exclude the file from the merge",
        code="merge_unsafe",
        details={"root": str(root), "files": [path]},
    )


def refused_error(error: OSError) -> Cannot:
    """Return the error for a refusal of the system."""
    location = f" ({shown(os.fsdecode(error.filename))})" if error.filename else ""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            fix = "free some disk space, then merge again"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            fix = "make the folder and its files writable, then merge again"
        case _:
            fix = "fix the reported problem, then merge again"
    return Cannot(
        f"merge failed: {error.strerror or error}{location}{_UNCHANGED}",
        fix=fix,
        code="merge_refused",
        details={"errno": error.errno},
    )


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Name a file or folder of the user's in the system's errors, whatever its name in the staging folder."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = path, None
        raise


def unfinished_error(journal: Path, root: Path, problem: str) -> Cannot:
    """Return the error for a merge that could neither be finished nor undone."""
    return Cannot(
        f"an interrupted merge into {root} could not be undone: {problem}",
        fix="fix the problem, then resume its run to restore the files",
        code="merge_unfinished",
        details={"root": str(root), "journal": str(journal)},
    )


def half_done(root: Path, name: str, run_id: str | None) -> Cannot:
    """Return the error for a merge that stands half done in a root that was moved or copied since."""
    if run_id is None:
        fix = "resume its run; if the run was deleted, copy missing files back from that folder and delete it"
    else:
        fix = f"undo it with `pixirnb resume {run_id}`, then try again"
    return Cannot(
        f"a merge into {root} is incomplete: its original files are in {shown(name)} there, and the folder was moved or "
        f"copied since, or another user is merging{_UNCHANGED}",
        fix=fix,
        code="merge_unfinished",
        details={"root": str(root), "staging": name, "run_id": run_id},
    )


def cut_off(run_id: str, root: str = "") -> Cannot:
    """Return the error for a half-done merge whose process died, where the present request does not take it back."""
    where = f" into {shown(root)}" if root else ""
    return Cannot(
        f"a merge of {run_id}{where} was interrupted when its process died; some files may be as it left them",
        fix=f"undo it with `pixirnb resume {run_id}`, then try again",
        code="merge_unfinished",
        details={"root": root or None, "run_id": run_id},
    )


def unrecorded_error(run_id: str, merge: str) -> Cannot:
    """Return the error for a merge that was done, and whose process died before the log had it."""
    return Cannot(
        f"merge {merge} of {run_id} was applied, but its process died before recording it{_UNCHANGED}",
        fix=f"record it with `pixirnb resume {run_id}`, then try again",
        code="merge_unfinished",
        details={"root": None, "run_id": run_id},
    )


def workspace_gone(folder: str, run_id: str) -> Cannot:
    """Return the error for a missing workspace: where the folder was moved, a link at its path is as good as the folder."""
    return Cannot(
        f"workspace {shown(folder)} of {run_id} does not exist",
        fix="move it back, link it (`ln -s NEW OLD`), or start a new run",
        code="workspace_missing",
        details={"workspace": folder},
    )


def unusable(path: Path, error: OSError) -> Cannot:
    """Return the error for a store of trees, or a folder of a step, that the disk refuses."""
    return Cannot(
        f"{shown(str(path))} cannot be used: {error.strerror or error}",
        fix="free disk space or make the state folder writable, or use another one with --state DIR",
        code="tree_store_unusable",
        details={"path": str(path), "errno": error.errno},
    )


def unreadable(path: str, root: Path, why: str) -> Cannot:
    """Return the Cannot for a file or folder that may not be read."""
    return Cannot(
        f"{shown(path)} in {shown(str(root))} cannot be read: {why}",
        fix="make it readable, or exclude it with `never_copy` or .gitignore",
        code="snapshot_unreadable",
        details={"path": path, "root": str(root), "why": why},
    )


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Raise errors of the disk as Cannot(code=`tree_store_unusable`)."""
    try:
        yield
    except OSError as error:
        raise unusable(path, error) from error


def with_kept(error: Cannot, edited: Sequence[str], kept: Mapping[str, str]) -> Cannot:
    """Return the error with the files that differ from before because a person edited them meanwhile."""
    if edited or kept:
        parts = [f"{shown(path)} was edited since and was not restored" for path in edited]
        parts += [
            f"the previous {shown(path)} is kept as {location}" for path, location in kept.items()
        ]
        more = "; ".join(parts[:_MOST_NAMED])
        error.message = (
            f"{error.message.removesuffix(_UNCHANGED)}; all files were restored except: {more}"
        )
        error.details |= {"edited": list(edited), "kept": dict(kept)}
    return error


def name_files(files: Sequence[str]) -> str:
    """Return some files for a sentence."""
    return join_names(files, _MOST_NAMED, shown)


def shown(path: str) -> str:
    """Return a path for a sentence."""
    safe = path if path.isprintable() else ascii(path)[1:-1]
    return f"`{safe}`" if len(safe) <= _LONGEST else f"`{safe[:60]}…{safe[-120:]}`"
