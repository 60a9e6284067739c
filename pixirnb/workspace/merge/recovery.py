"""Half-done merges: in a root without a record, of a run, or in the way of a read.

Records are kept by the path of a root; the journal next to the runs, and the files that the merge set aside in the root, go
along with the folder where it is moved, or copied, after a process died. Source: contract.md §8.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from glob import escape
from pathlib import Path

from msgspec import Struct

from pixirnb.errors import Cannot
from pixirnb.protocols.trees import Rollback, TreeStore
from pixirnb.workspace.errors import cut_off, half_done, unrecorded_error
from pixirnb.workspace.merge import staging
from pixirnb.workspace.merge.apply import roll_back
from pixirnb.workspace.merge.journal import Journal, JournalFile, Work, read_journal
from pixirnb.workspace.merge.locks import describe_rollback, held, is_held, lock_roots, real
from pixirnb.workspace.rules import MERGING


@contextmanager
def whole(roots: Sequence[Path], merges: Path) -> Iterator[list[Rollback]]:
    """Hold the locks of roots, none of which is half merged; yield the merges that `lock_roots` took back. `merges`: journals
    of the state folder.

    Raises as `lock_roots`, and Cannot (`merge_unfinished`) naming the run to resume where a journal tells it.
    """
    own = [root for root in roots if is_held(root)]  # what this thread is at work on is no stray
    with lock_roots(roots) as rollbacks:
        for root in roots:
            for name in [] if root in own else _in_use(root):
                journal = _journal_of(name, merges)
                raise half_done(root, name, _run_of(journal))
        yield rollbacks


def refuse_half_done(roots: Sequence[Path], merges: Path) -> None:
    """Raise Cannot (`merge_unfinished`) where a root is half merged and no process is at it. Waits for one; touches nothing."""
    for root in roots:
        if is_held(root) or not _in_use(root):
            continue
        with held({real(root)}):  # whoever is at work there comes to an end
            for name in _in_use(root):
                journal = _journal_of(name, merges)
                if journal is None:
                    raise half_done(root, name, None)
                if journal.state == "pending":
                    raise cut_off(_run_of(journal) or "RUN", str(root))


def roll_back_pending(
    left: JournalFile, store_of: Callable[[Work], TreeStore | None]
) -> Iterator[Rollback]:
    """Take a pending merge back and yield its record, or nothing for one that is gone. Raises as `roll_back`."""
    journal = read_journal(left.journal)
    if journal is not None and journal.state == "pending":
        count = staging.touched_files(journal.works)
        yield describe_rollback(journal, count, roll_back(left, store_of))


class Unfinished(Struct, frozen=True):
    """A merge of a run that its log does not have."""

    merge: str
    is_done: bool
    """True if every file is in place; otherwise it was cut off half way."""
    files: int
    """Number of files that are as the merge leaves them."""


def unfinished_merges(merges: Path, run_id: str, known: Collection[str]) -> list[Unfinished]:
    """Return the unfinished merges of a run, less `known`: those in its log. Raises Cannot (`merge_journal_damaged`)."""
    unfinished = []
    for path in sorted(merges.glob(f"{escape(run_id)}.*.json")):
        journal = read_journal(path)
        merge = "" if journal is None else str((journal.about.get("data") or {}).get("merge"))
        if journal is not None and not (journal.state == "done" and merge in known):
            count = staging.touched_files(journal.works)
            unfinished.append(Unfinished(merge, journal.state == "done", count))
    return unfinished


def tell_unfinished(
    merges: Path, run_id: str, known: Collection[str]
) -> tuple[tuple[str, str], ...]:
    """Return the unfinished merges for people: the name of each, and how it stands; a damaged journal has no name."""
    try:
        left = unfinished_merges(merges, run_id, known)
    except Cannot as error:
        return (("", error.one_line()),)
    return tuple((each.merge, _standing_of(each)) for each in left)


def _standing_of(left: Unfinished) -> str:
    if left.is_done:
        return f"Merge {left.merge} was applied, but its process died before recording it; a resume records it."
    files = "1 of your files is" if left.files == 1 else f"{left.files:,} of your files are"
    return f"Merge {left.merge} was interrupted when its process died, and {files} changed; a resume undoes it."


def refuse_unfinished(merges: Path, run_id: str, known: Collection[str]) -> None:
    """Raise Cannot (`merge_unfinished`) where there is one and no process drives the run. Touches nothing."""
    for left in unfinished_merges(merges, run_id, known):
        raise unrecorded_error(run_id, left.merge) if left.is_done else cut_off(run_id)


def _in_use(root: Path) -> list[str]:
    """Return the staging folders of merges in a root. The holder of its lock has removed those with a record."""
    try:
        names = os.listdir(root)  # noqa: PTH208 - names are all that is asked
    except OSError:
        return []  # whoever comes to its files says it
    return sorted(n for n in names if n.startswith(MERGING) and not n.endswith(staging.ENDINGS))


def _run_of(journal: Journal | None) -> str | None:
    run_id = None if journal is None else journal.about.get("run_id")
    return run_id if isinstance(run_id, str) else None


def _journal_of(name: str, merges: Path) -> Journal | None:
    """Return the journal of the merge whose staging folder is called `name`."""
    for path in sorted(merges.glob("*.json")):
        try:
            journal = read_journal(path)
        except Cannot:
            continue  # of some other merge; what is here is told all the same
        if journal is not None and any(work.staging == name for work in journal.works):
            return journal
    return None
