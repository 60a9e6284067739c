"""Differences of two trees of a store on git: by file, and as a patch that `git apply` takes.

Renames are a file gone and one made, so that a change always has one path. Source: `protocols.trees.TreeStore`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final

from pixirnb.protocols.trees import TreeChange, TreeEntry
from pixirnb.workspace.git.command import Git

_ABSENT = "000000"

_BLANK_AT_END: Final = re.compile(rb"^diff --git a/(.* /.*) b/\1$", re.MULTILINE)
"""A header with the name of a file below a folder whose name ends with a blank."""


def entries_of(git: Git, tree: str) -> dict[str, TreeEntry]:
    """Return every file of a tree by path."""
    entries = {}
    for line in git.run("ls-tree", "-r", "-z", "--full-tree", tree).out.split(b"\0")[:-1]:
        facts, _, path = line.partition(b"\t")
        mode, _, digest = facts.decode().split(" ")
        entries[os.fsdecode(path)] = TreeEntry(mode, digest)
    return entries


def changes_between(git: Git, before: str, after: str) -> list[TreeChange]:
    """Return the differences of two trees, by path."""
    output = git.run(
        *("diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames", "--no-ext-diff"),
        *("--no-textconv", "--no-abbrev", before, after),
    )
    sides: dict[str, tuple[TreeEntry | None, TreeEntry | None]] = {}
    counts: dict[str, tuple[int | None, int | None]] = {}
    words = iter(output.out.split(b"\0")[:-1])
    for word in words:
        if word.startswith(b":"):
            old, new, was, is_now, _ = word[1:].decode().split(" ")
            path = os.fsdecode(next(words))
            sides[path] = (_entry(old, was), _entry(new, is_now))
        else:
            added, deleted, name = word.split(b"\t", 2)
            counts[os.fsdecode(name)] = (_count(added), _count(deleted))
    return [
        TreeChange(path, *both, *counts.get(path, (None, None)))
        for path, both in sorted(sides.items())
    ]


def patch_between(git: Git, before: str, after: str) -> bytes:
    """Return the differences of two trees as a patch that `git apply` reads, binary files included.

    Git does not read its own header of an empty file below a folder whose name ends with a blank, unless it is quoted.
    """
    patch = git.run(
        *("diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", "--no-color"),
        *("--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", before, after),
    ).out
    return _BLANK_AT_END.sub(rb'diff --git "a/\1" "b/\1"', patch)


def index_lines(files: Iterable[tuple[str, TreeEntry | None]], nothing: str) -> bytes:
    """Return files as `update-index --index-info -z` reads them; `nothing` is the digest of a file to remove."""
    lines = []
    for path, entry in files:
        facts = f"0 {nothing}" if entry is None else f"{entry.mode} {entry.digest}"
        lines.append(facts.encode() + b"\t" + os.fsencode(path) + b"\0")
    return b"".join(lines)


def _entry(mode: str, digest: str) -> TreeEntry | None:
    return None if mode == _ABSENT else TreeEntry(mode, digest)


def _count(text: bytes) -> int | None:
    return None if text == b"-" else int(text)
