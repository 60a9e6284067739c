"""A merge that stands half done in a root, where no record says so: the folder was moved, or copied, after its process died.

Records are kept by the path of a root; the journal beside the runs, and what the merge set aside in the root, go along with it.
Source: contract.md §8.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pixirnb.errors import Cannot
from pixirnb.workspace import journal as journals
from pixirnb.workspace import staging
from pixirnb.workspace.belonging import MERGING
from pixirnb.workspace.refusals import half_done
from pixirnb.workspace.root_locks import is_held, locked


@contextmanager
def whole(roots: Sequence[Path], merges: Path) -> Iterator[None]:
    """Hold the locks of roots, none of which is half merged. `merges`: the journals of the state folder.

    Raises as `locked`, and Cannot (`merge_unfinished`) naming the run to resume where a journal tells it.
    """
    own = [root for root in roots if is_held(root)]  # what this thread is at work on is no stray
    with locked(roots):
        for root in roots:
            for name in [] if root in own else _in_use(root):
                run_id = _run_of(name, merges)
                raise half_done(root, name, run_id)
        yield


def _in_use(root: Path) -> list[str]:
    """Staging folders of merges in a root. Whoever holds its lock has removed those of which there is a record."""
    try:
        names = os.listdir(root)  # noqa: PTH208 - names are all that is asked
    except OSError:
        return []  # whoever comes to its files says it
    return sorted(n for n in names if n.startswith(MERGING) and not n.endswith(staging.ENDINGS))


def _run_of(name: str, merges: Path) -> str | None:
    for path in sorted(merges.glob("*.json")):
        try:
            journal = journals.read(path)
        except Cannot:
            continue  # of some other merge; what is here is told all the same
        if journal is not None and any(work.staging == name for work in journal.works):
            said = journal.about.get("run_id")
            return said if isinstance(said, str) else None
    return None
