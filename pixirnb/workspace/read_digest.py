"""Digests of the files a step reads, for `reuse: reads`. Source: contract.md §6."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from pixirnb.planning.globs.pattern import Pattern, literal, matches, overlap
from pixirnb.planning.globs.segment import RESERVED
from pixirnb.planning.roots import WORKSPACE, Roots, repo_of
from pixirnb.protocols.ports import Contents
from pixirnb.system.deep_folders import walk
from pixirnb.system.system_calls import open_plain

_CHUNK: Final = 1024 * 1024
_LINKS: Final = 1_000
"""Maximum number of links to folders that are followed: links to each other are as many as their orders."""


def contents_digest(
    workspace: Path, read_set: Sequence[str], /, *, is_over: Callable[[], bool] = lambda: False
) -> str:
    """Return one digest over names and bytes of every file below `workspace` that the globs match, in the order of their names.

    A file that cannot be read counts by its name and the error, so that it never looks unchanged by chance.
    Once `is_over` the rest is not read, and the digest is nothing's.
    """
    patterns = [Pattern.parse(text) for text in read_set]
    digest = hashlib.blake2b(digest_size=16)
    for name, path in sorted(_files(workspace, patterns)):
        if any(matches(pattern, name) for pattern in patterns):
            digest.update(f"{len(name)}:{name}\n".encode("utf-8", errors="surrogateescape"))
            digest.update(_of_file(path, is_over))
    return "b2:" + digest.hexdigest()


def read_digest(
    contents: Contents,
    roots: Roots,
    read_set: Sequence[str],
    is_over: Callable[[], bool] = lambda: False,
) -> str:
    """Return one digest over the files of a read set, in all roots: over `contents` of each root that it names files of."""
    by_root: dict[str, list[str]] = {}
    for text in read_set:
        repo = repo_of(text)
        root, glob = (
            (WORKSPACE, text) if repo is None else (f"repos.{repo}", text.partition(":")[2])
        )
        by_root.setdefault(root, []).append(glob)
    digests = {
        name: contents(Path(roots.named(name).folder), globs, is_over=is_over)
        for name, globs in by_root.items()
    }
    if set(digests) <= {WORKSPACE}:
        return digests.get(WORKSPACE) or contents(Path(roots.named(WORKSPACE).folder), [])
    lines = "".join(f"{name} {digest}\n" for name, digest in sorted(digests.items()))
    return "b2:" + hashlib.blake2b(lines.encode(), digest_size=16).hexdigest()


def _files(root: Path, patterns: Sequence[Pattern]) -> Iterator[tuple[str, Path]]:
    """Yield files by name, also those behind a linked folder where a pattern may name one: a step reads through links."""
    waiting: list[tuple[str, Path, list[Path]]] = [("", root, [Path(os.path.realpath(root))])]
    followed = 0
    while waiting:
        prefix, top, inside = waiting.pop()
        unread: list[OSError] = []
        for folder, folders, names in walk(top, unread.append):
            folders[:] = [name for name in folders if name not in RESERVED]
            position = Path(prefix, Path(folder).relative_to(top))
            for name in names:
                yield (position / name).as_posix(), Path(folder, name)
            for link in filter(Path.is_symlink, (Path(folder, name) for name in folders)):
                name, real = (position / link.name).as_posix(), Path(os.path.realpath(link))
                yield name, link
                is_inside = any(each.is_relative_to(real) for each in inside)
                if followed < _LINKS and not is_inside and _may_name(patterns, name):
                    followed += 1
                    waiting.append((name, real, [*inside, real]))
        for error in unread:  # a folder that cannot be listed is no empty one
            path = Path(error.filename)
            yield Path(prefix, path.relative_to(top)).as_posix(), path


def _may_name(patterns: Sequence[Pattern], folder: str) -> bool:
    """Return whether a pattern may name something below a folder."""
    spelled = literal(folder) + "/**"
    below = Pattern.parse(spelled, longest=len(spelled))
    return any(overlap(pattern, below) for pattern in patterns)


def _of_file(path: Path, is_over: Callable[[], bool]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    try:
        with open_plain(path) as file:
            while not is_over() and (chunk := file.read(_CHUNK)):
                digest.update(chunk)
    except OSError as error:
        if path.is_symlink() and path.is_dir():
            return os.fsencode(path.readlink())
        return f"unreadable {error.errno}".encode()
    return digest.digest()
