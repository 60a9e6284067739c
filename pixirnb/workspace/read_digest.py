"""Digests of the files a step reads, for `reuse: reads`. Source: contract.md §6."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from pixirnb.planning.globs.pattern import Pattern, matches
from pixirnb.planning.globs.segment import RESERVED
from pixirnb.planning.roots import WORKSPACE, Roots, repo_of
from pixirnb.protocols.ports import Contents
from pixirnb.system.deep_folders import walk
from pixirnb.system.system_calls import open_plain

_CHUNK: Final = 1024 * 1024


def contents_digest(workspace: Path, read_set: Sequence[str]) -> str:
    """Return one digest over names and bytes of every file below `workspace` that the globs match, in the order of their names.

    A file that cannot be read counts by its name and the error, so that it never looks unchanged by chance.
    """
    patterns = [Pattern.parse(text) for text in read_set]
    digest = hashlib.blake2b(digest_size=16)
    for name, path in sorted(_files(workspace)):
        if any(matches(pattern, name) for pattern in patterns):
            digest.update(f"{len(name)}:{name}\n".encode("utf-8", errors="surrogateescape"))
            digest.update(_of_file(path))
    return "b2:" + digest.hexdigest()


def read_digest(contents: Contents, roots: Roots, read_set: Sequence[str]) -> str:
    """Return one digest over the files of a read set, in all roots: over `contents` of each root that it names files of."""
    by_root: dict[str, list[str]] = {}
    for text in read_set:
        repo = repo_of(text)
        root, glob = (
            (WORKSPACE, text) if repo is None else (f"repos.{repo}", text.partition(":")[2])
        )
        by_root.setdefault(root, []).append(glob)
    digests = {
        name: contents(Path(roots.named(name).folder), globs) for name, globs in by_root.items()
    }
    if set(digests) <= {WORKSPACE}:
        return digests.get(WORKSPACE) or contents(Path(roots.named(WORKSPACE).folder), [])
    lines = "".join(f"{name} {digest}\n" for name, digest in sorted(digests.items()))
    return "b2:" + hashlib.blake2b(lines.encode(), digest_size=16).hexdigest()


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    unread: list[OSError] = []
    for folder, folders, names in walk(root, unread.append):
        folders[:] = [name for name in folders if name not in RESERVED]
        for name in names:
            path = Path(folder, name)
            yield path.relative_to(root).as_posix(), path
    for error in unread:  # a folder that cannot be listed is no empty one
        path = Path(error.filename)
        yield path.relative_to(root).as_posix(), path


def _of_file(path: Path) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    try:
        with open_plain(path) as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        return f"unreadable {error.errno}".encode()
    return digest.digest()
