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


def disturbed_error(root: Path, files: Sequence[str], problem: str = "") -> Cannot:
    """Return the error for files that differ from the ones the merge was made for."""
    return Cannot(
        f"The merge was not carried out: {name_files(files)} in {root} "
        f"{problem or 'changed while it was made'}. Nothing was changed.",
        fix="Save and close what is open, then merge again: what is there now is taken into account.",
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
        f"The merge was not carried out: {listed} in {root} "
        f"{'are' if len(obstacles) > 1 else 'is'} in the way of what it makes there. Nothing was changed.",
        fix="Move it elsewhere or rename it, then merge again.",
        code="merge_disturbed",
        details={"root": str(root), "files": shown_first, "in_the_way": dict(obstacles)},
    )


def unsafe(root: Path, path: str, problem: str) -> Cannot:
    """Return the error for a path that no merge may write to."""
    return Cannot(
        f"The merge was not carried out: {shown(path)} in {root} {problem}. Nothing was changed.",
        fix="Put a folder in its place, or leave the file out of the merge.",
        code="merge_unsafe",
        details={"root": str(root), "files": [path]},
    )


def refused_error(error: OSError) -> Cannot:
    """Return the error for a refusal of the system."""
    location = f" ({shown(os.fsdecode(error.filename))})" if error.filename else ""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            fix = "Free some space on that disk, then merge again."
        case errno.EACCES | errno.EPERM | errno.EROFS:
            fix = "Make the folder and its files writable for you, then merge again."
        case _:
            fix = "Mend what the system complains of, then merge again."
    return Cannot(
        f"The merge was not carried out: the system says: {error.strerror or error}{location}. Nothing was changed.",
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
    """Return the error for a merge that could neither be finished nor taken back."""
    return Cannot(
        f"A merge into {root} stands half done, and could not be taken back: {problem}.",
        fix="Mend that, then resume its run: files that were changed are put back from what was set aside.",
        code="merge_unfinished",
        details={"root": str(root), "journal": str(journal)},
    )


def half_done(root: Path, name: str, run_id: str | None) -> Cannot:
    """Return the error for a merge that stands half done in a root that was moved or copied since."""
    if run_id is None:
        fix = (
            "Resume its run. Where that is gone, put back by hand what you miss from that folder, which holds what came out "
            "of your files, then remove it."
        )
    else:
        fix = f"Take it back first with `resume {run_id}`, then do this again."
    return Cannot(
        f"A merge into {root} stands half done: what it set aside is in {shown(name)} there, and the folder was moved or "
        "copied since, or another user merges. Nothing was changed.",
        fix=fix,
        code="merge_unfinished",
        details={"root": str(root), "staging": name, "run_id": run_id},
    )


def cut_off(run_id: str, root: str = "") -> Cannot:
    """Return the error for a half-done merge whose process died, where the present request does not take it back."""
    where = f" into {shown(root)}" if root else ""
    return Cannot(
        f"A merge of {run_id}{where} was cut off half way: its process died. Nothing was changed now.",
        fix=f"Take it back first with `resume {run_id}`, then do this again.",
        code="merge_unfinished",
        details={"root": root or None, "run_id": run_id},
    )


def unrecorded_error(run_id: str, merge: str) -> Cannot:
    """Return the error for a merge that was done, and whose process died before the log had it."""
    return Cannot(
        f"The merge {merge} of {run_id} was done, and its process died before it was recorded. Nothing was changed now.",
        fix=f"Have it recorded first with `resume {run_id}`, then do this again.",
        code="merge_unfinished",
        details={"root": None, "run_id": run_id},
    )


def workspace_gone(folder: str, run_id: str) -> Cannot:
    """Return the error for a missing workspace: where the folder was moved, a link at its path is as good as the folder."""
    return Cannot(
        f"The folder that {run_id} works in, {shown(folder)}, is not there.",
        fix="Where it was moved, move it back, or leave a link to it in its old place (`ln -s NEW OLD`); its steps can "
        "also be run anew, as a new run.",
        code="workspace_missing",
        details={"workspace": folder},
    )


def unusable(path: Path, error: OSError) -> Cannot:
    """Return the error for a store of trees, or a folder of a step, that the disk refuses."""
    return Cannot(
        f"{shown(str(path))} cannot be used: {error.strerror or error}",
        fix="see that the state folder's disk has room and may be written, or choose another with --state DIR",
        code="tree_store_unusable",
        details={"path": str(path), "errno": error.errno},
    )


def unreadable(path: str, root: Path, why: str) -> Cannot:
    """Return the Cannot for a file or folder that may not be read."""
    return Cannot(
        f"{shown(path)} in {shown(str(root))} cannot be read: {why}",
        fix="make it readable, or leave it out with `never_copy` or a .gitignore",
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
        parts = [f"{shown(path)} was edited meanwhile and is left so" for path in edited]
        parts += [
            f"what {shown(path)} held is kept as {location}" for path, location in kept.items()
        ]
        more = "; ".join(parts[:_MOST_NAMED])
        error.message = (
            f"{error.message.removesuffix(' Nothing was changed.')} All was put back but: {more}."
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
