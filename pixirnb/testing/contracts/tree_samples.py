"""Samples for the contract of a store of trees: trees that merge or conflict, and what a test does with a tree."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from pixirnb.protocols.trees import EXECUTABLE, FILE, LINK, Belonging
from pixirnb.testing.generators.tree_strategies import Tree, lay_out

if TYPE_CHECKING:
    from pixirnb.protocols.trees import TreeStore

LINES = b"".join(b"line %d\n" % number for number in range(20))
"""Twenty lines that are unlike each other."""

SAMPLE: dict[str, tuple[str, bytes]] = {
    "src/a.py": (FILE, LINES),
    "src/deep/er/x": (FILE, b"deep\n"),
    "src/deep/y": (FILE, b"y\n"),
    "run.sh": (EXECUTABLE, b"#!/bin/sh\ntrue\n"),
    "empty": (FILE, b""),
    "no-end": (FILE, b"first\nlast"),
    "crlf.txt": (FILE, b"one\r\ntwo\r\n"),
    "bin": (FILE, bytes(range(256))),
    "latin-1": (FILE, b"caf\xe9\n"),
    "to-file": (LINK, b"src/a.py"),
    "to-folder": (LINK, b"./src/"),
    "dangling": (LINK, b"not/there"),
    "with space/ü/name ": (FILE, b"spaces\n"),
    "new\nline\t": (FILE, b"control\n"),
    'quo"te\\': (FILE, b"quotes\n"),
    "no-utf8-\udcff": (FILE, b"bytes\n"),
    "-dash": (FILE, b"dash\n"),
    "*": (FILE, b"star\n"),
    ".hidden": (FILE, b"hidden\n"),
    "repos.x:y": (FILE, b"colon\n"),
}
"""A tree with something of everything that goes wrong. Linux takes all of its names; macOS refuses the one that is no UTF-8."""

EVERYTHING = Belonging()


def held(store: TreeStore, tree: str) -> dict[str, tuple[str, bytes]]:
    """Return a tree of a store as a value."""
    return {
        path: (entry.mode, store.content(entry.digest))
        for path, entry in store.entries(tree).items()
    }


def taken(store: TreeStore, tree: Tree) -> str:
    """Make the root hold a tree that is given as a value; return the id of its snapshot."""
    lay_out(tree, store.root)
    return store.snapshot(EVERYTHING)


def apply_patch(patch: bytes, folder: Path) -> None:
    """Apply a patch as a person would. Raises CalledProcessError where `git apply` refuses it."""
    if patch:
        subprocess.run(
            ["git", "apply", "--whitespace=nowarn", "-"],
            cwd=folder,
            input=patch,
            check=True,
            capture_output=True,
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent), "LC_ALL": "C"},
        )


def without(tree: Tree, *gone: str) -> dict[str, tuple[str, bytes]]:
    """Return `tree` without some files."""
    return {path: file for path, file in tree.items() if path not in gone}


def instead(old: bytes, new: bytes, *, text: bytes = LINES) -> tuple[str, bytes]:
    """Return a file of `text` with one part replaced."""
    assert old in text
    return FILE, text.replace(old, new)


BASE: dict[str, tuple[str, bytes]] = {
    "text": (FILE, LINES),
    "other": (FILE, b"other\n"),
    "bin": (FILE, b"\0base"),
    "link": (LINK, b"text"),
    "folder/x": (FILE, b"x\n"),
}

CONFLICTS: list[tuple[str, str, Tree, Tree, str]] = [
    (
        "both changed a line",
        "text",
        BASE | {"text": instead(b"line 7\n", b"ours\n")},
        BASE | {"text": instead(b"line 7\n", b"theirs\n")},
        "content",
    ),
    (
        "both made a file",
        "new",
        BASE | {"new": (FILE, b"ours\n")},
        BASE | {"new": (FILE, b"theirs\n")},
        "both_added",
    ),
    (
        "one changed it, one deleted it",
        "other",
        BASE | {"other": (FILE, b"changed\n")},
        without(BASE, "other"),
        "changed_and_deleted",
    ),
    (
        "both changed bytes that are no text",
        "bin",
        BASE | {"bin": (FILE, b"\0ours")},
        BASE | {"bin": (FILE, b"\0theirs")},
        "not_text",
    ),
    (
        "one made a link of it, one changed it",
        "other",
        BASE | {"other": (LINK, b"text")},
        BASE | {"other": (FILE, b"changed\n")},
        "kind",
    ),
    (
        "one made a link, one a file",
        "new",
        BASE | {"new": (LINK, b"text")},
        BASE | {"new": (FILE, b"file\n")},
        "kind",
    ),
    (
        "one renamed it, one changed it",
        "text",
        without(BASE, "text") | {"renamed": BASE["text"]},
        BASE | {"text": instead(b"line 7\n", b"theirs\n")},
        "changed_and_deleted",
    ),
]
"""Name, path, ours, theirs, kind."""

AGREED: list[tuple[str, Tree, Tree, Tree]] = [
    (
        "files apart",
        BASE | {"text": (FILE, b"ours\n"), "a": (FILE, b"a")},
        BASE | {"other": (FILE, b"theirs\n"), "b": (EXECUTABLE, b"b")},
        BASE
        | {
            "text": (FILE, b"ours\n"),
            "a": (FILE, b"a"),
            "other": (FILE, b"theirs\n"),
            "b": (EXECUTABLE, b"b"),
        },
    ),
    (
        "the same change",
        BASE | {"text": (FILE, b"same\n"), "new": (FILE, b"same\n")},
        BASE | {"text": (FILE, b"same\n"), "new": (FILE, b"same\n")},
        BASE | {"text": (FILE, b"same\n"), "new": (FILE, b"same\n")},
    ),
    (
        "both deleted it, one deleted more",
        without(BASE, "text"),
        without(BASE, "text", "bin"),
        without(BASE, "text", "bin"),
    ),
    (
        "both renamed it, each otherwise",
        without(BASE, "text") | {"a": BASE["text"]},
        without(BASE, "text") | {"b": BASE["text"]},
        without(BASE, "text") | {"a": BASE["text"], "b": BASE["text"]},
    ),
    (
        "modes and links",
        BASE | {"other": (EXECUTABLE, b"other\n")},
        BASE | {"link": (LINK, b"other"), "bin": (LINK, b"link")},
        BASE
        | {
            "other": (EXECUTABLE, b"other\n"),
            "link": (LINK, b"other"),
            "bin": (LINK, b"link"),
        },
    ),
    (
        "the mode on one side, the content on the other",
        BASE | {"other": (EXECUTABLE, b"other\n")},
        BASE | {"other": (FILE, b"changed\n")},
        BASE | {"other": (EXECUTABLE, b"changed\n")},
    ),
    (
        "a folder became a file, another file changed",
        without(BASE, "folder/x") | {"folder": (FILE, b"file\n")},
        BASE | {"other": (FILE, b"changed\n")},
        without(BASE, "folder/x") | {"folder": (FILE, b"file\n"), "other": (FILE, b"changed\n")},
    ),
]
"""Name, ours, theirs, merged: what every store merges."""
