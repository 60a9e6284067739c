"""Journals of merges: the plan of a merge into the user's files, on the disk before its first change.

A journal is one JSON file, written aside, synced and renamed: whole or not there. `pending`: a process that meets it, with no
other at work on it, takes back all changes. `done`: every file is in place; it stays until a log has the merge. Source:
contract.md §8.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from pixirnb.errors import Cannot
from pixirnb.json_types import JsonObject
from pixirnb.protocols.trees import TreeEntry
from pixirnb.system.atomic_files import put_durably, sync_folder
from pixirnb.system.system_calls import retry_eintr

State = Literal["pending", "done"]

_KIND: Final = "pixirnb merge"
_VERSION: Final = 1
_OURS: Final = (".pixirnb-merge-", ".pixirnb-kept-")


class Op(Struct, frozen=True):
    """The change of one file."""

    name: str
    """Name in the staging folder: of the new file, then of the old one."""
    path: str
    """Path from the root."""
    before: TreeEntry | None
    after: TreeEntry | None
    mark: str = ""
    """Mark of the file put in place, as `openat.mark` returns it; empty where a file is deleted."""


class Work(Struct, frozen=True):
    """The changes of one root."""

    root: Path
    """The root's real path."""
    staging: str
    """Name of the folder in the root where files wait."""
    ops: tuple[Op, ...]
    made: tuple[str, ...] = ()
    """Folders that are made for it, the outermost first."""
    folders: tuple[tuple[str, int], ...] = ()
    """Folders that may go with the last file in them, and their permission bits; the innermost first."""


class Journal(Struct, frozen=True):
    """A merge with all its roots."""

    state: State
    about: JsonObject
    """The caller's data, for the log. JSON."""
    works: tuple[Work, ...]


class JournalFile(Struct, frozen=True):
    """A journal in a folder."""

    journal: Path
    about: JsonObject
    state: State


def left_over(folder: Path) -> list[JournalFile]:
    """Return the journals in a folder, by name; none where there is no folder. One that is `done` is so for good.

    Raises Cannot (`merge_journal_damaged`), OSError.
    """
    paths = (path for path in sorted(folder.glob("*.json")) if not path.name.startswith("."))
    left = [
        JournalFile(path, journal.about, journal.state)
        for path in paths
        if (journal := read_journal(path)) is not None
    ]
    if any(each.state == "done" for each in left):
        # Its writer may have died before the name was durable: a power failure would make it `pending`, and undo the merge.
        sync_folder(folder)
    return left


def remove_journal(path: Path) -> None:
    """Remove a journal, durably. One that is gone already is no error. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        retry_eintr(path.unlink)
        sync_folder(path.parent)


def read_journal(path: Path) -> Journal | None:
    """Return the journal at `path`; None where there is none, or another's JSON. Raises Cannot (`merge_journal_damaged`)."""
    try:
        document = json.loads(path.read_bytes())
        if not isinstance(document, dict) or document.get("kind") != _KIND:
            return None
        return _journal(document, path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise Cannot(
            f"merge journal {path} cannot be read: {error}",
            fix="copy your original files back from the folders .pixirnb-merge-… in your workspace, then delete the journal",
            code="merge_journal_damaged",
            details={"journal": str(path)},
        ) from error


def write_journal(path: Path, journal: Journal) -> None:
    """Put a journal at `path`, whole and durable. Raises OSError; the file before stands then, but see `settle_journal`."""
    document = {
        "kind": _KIND,
        "v": _VERSION,
        "state": journal.state,
        "about": journal.about,
        "works": [_document(work, path) for work in journal.works],
    }
    put_durably(path, json.dumps(document, sort_keys=True, separators=(",", ":")).encode())


def settle_journal(path: Path, journal: Journal) -> None:
    """Mark the pending journal as done. Raises OSError where it is still `pending`."""
    try:
        write_journal(path, replace(journal, state="done"))
    except OSError:
        written = read_journal(path)
        if written is None or written.state != "done":
            raise
        # It says so, and the disk would not vouch for the name. What can be taken back is taken back; where not even that is
        # written any more, `done` is what every reader sees, the files are in place, and so it is.
        try:
            write_journal(path, journal)
        except OSError:
            if (now := read_journal(path)) is not None and now.state == "done":
                return
        raise


def is_staged(root: Path, staging: str) -> bool:
    """Return whether a merge set files aside in a root, in the folder of that name or in one renamed from it."""
    # By the beginning of a name: what is in use, being laid out, taken back or kept.
    mark = staging.rpartition("-")[2]
    try:
        with os.scandir(root) as entries:
            return any(
                entry.name.startswith(_OURS) and mark in entry.name.split("-") for entry in entries
            )
    except OSError:
        return False


def _document(work: Work, path: Path) -> JsonObject:
    # ASCII with escapes: half a character in a path (a name that is no UTF-8) comes back as it was.
    return {
        "root": str(work.root),
        "from_here": os.path.relpath(work.root, os.path.realpath(path.parent)),
        "staging": work.staging,
        "ops": [
            [op.name, op.path, _of_entry(op.before), _of_entry(op.after), op.mark]
            for op in work.ops
        ],
        "made": list(work.made),
        "folders": [list(folder) for folder in work.folders],
    }


def _of_entry(entry: TreeEntry | None) -> list[str] | None:
    return None if entry is None else [entry.mode, entry.digest]


def _journal(document: JsonObject, path: Path) -> Journal:
    state = document["state"]
    if document["v"] != _VERSION or state not in {"pending", "done"}:
        raise ValueError("it was written by an unknown release")
    works = tuple(
        Work(
            root=_root(work, path),
            staging=work["staging"],
            ops=tuple(
                Op(name, path, _entry(before), _entry(after), mark)
                for name, path, before, after, mark in work["ops"]
            ),
            made=tuple(work["made"]),
            folders=tuple((path, bits) for path, bits in work["folders"]),
        )
        for work in document["works"]
    )
    return Journal(state, document["about"], works)


def _root(work: JsonObject, path: Path) -> Path:
    """Return the present location of a root: a project that was moved, or copied, whole has it at an unchanged path from the
    journal.

    It is that root if it holds the files that the merge set aside; a folder without them is a person's own.
    """
    recorded = Path(work["root"])
    if "from_here" not in work:
        return recorded  # of an earlier release
    here = Path(os.path.realpath(os.path.realpath(path.parent) + "/" + work["from_here"]))
    return here if here != recorded and is_staged(here, work["staging"]) else recorded


def _entry(row: list[str] | None) -> TreeEntry | None:
    return None if row is None else TreeEntry(*row)
