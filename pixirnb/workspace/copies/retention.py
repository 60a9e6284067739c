"""Which trees the store without git keeps, and what it drops once nobody keeps it.

Trees are kept under names `OWNER/…`; with an owner go its names. What is dropped then is what no kept tree holds and nobody has
asked for in a day: a tree that was taken a moment ago is kept a moment later.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pixirnb.errors import Cannot
from pixirnb.system.atomic_files import keep_names
from pixirnb.system.retry_interrupted import retry_eintr
from pixirnb.workspace.copies.objects import ObjectWriter, PlainObjects, sync
from pixirnb.workspace.errors import refusing

GRACE: Final = 24 * 3600 * 1_000_000_000
"""Nanoseconds."""


def keep_trees(writer: ObjectWriter, folder: Path, name: str, trees: Sequence[str]) -> None:
    """Keep `trees` under `name`, in place of what was kept under it; durable before this returns."""
    owner, _, rest = name.partition("/")
    assert owner, "a name of kept trees begins with its owner"
    place = folder / "kept" / _owner_folder(owner)
    path = place / blake2b(os.fsencode(rest), digest_size=16).hexdigest()
    writer.replace(path, {"name": name, "trees": list(trees)}, is_durable=True)
    with refusing(folder):
        keep_names(folder, 2)


def forget_owner(objects: PlainObjects, owner: str) -> None:
    """Drop what is kept under `owner/…`, and what nobody keeps any more; another time where others are writing."""
    place = objects.folder / "kept" / _owner_folder(owner)
    if not place.exists():
        return
    with objects.locked(fcntl.LOCK_EX) as is_alone, refusing(objects.folder):
        shutil.rmtree(place)
        sync(place.parent)
        if is_alone:
            _drop(objects)


def _drop(objects: PlainObjects) -> None:
    old = _now(objects.folder) - GRACE
    held: set[str] = set()
    kept = _kept(objects.folder)
    for tree, path, changed in _named(objects.folder / "trees", "tree:"):
        if changed >= old or tree in kept:
            held |= _digests(objects, tree)
        else:
            retry_eintr(path.unlink)
    for digest, path, changed in _named(objects.folder / "objects", "b2:"):
        if digest not in held and changed < old:
            retry_eintr(path.unlink)
    for path in (objects.folder / "known").iterdir():
        if not _is_folder_there(path):
            retry_eintr(path.unlink)


def _now(folder: Path) -> int:
    os.utime(folder / "lock")
    return (folder / "lock").stat().st_mtime_ns


def _named(folder: Path, kind: str) -> Iterator[tuple[str, Path, int]]:
    for place in sorted(folder.iterdir()):
        for path in sorted(place.iterdir()):
            yield kind + place.name + path.name, path, path.stat().st_mtime_ns


def _kept(folder: Path) -> set[str]:
    return {
        tree
        for path in (folder / "kept").glob("*/*")
        for tree in json.loads(path.read_bytes())["trees"]
    }


def _digests(objects: PlainObjects, tree: str) -> set[str]:
    try:
        return {entry.digest for entry in objects.entries(tree).values()}
    except Cannot:
        return set()  # a tree that is damaged holds nothing that could be given back by it


def _is_folder_there(known: Path) -> bool:
    try:
        return Path(json.loads(known.read_bytes())["folder"]).is_dir()
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _owner_folder(owner: str) -> str:
    return "of-" + quote(owner, safe="")
