"""Contract of a store about two trees: their differences, their patch, their merge. Part of `tree.py`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pixirnb.protocols.trees import EXECUTABLE, FILE, LINK, Belonging, Merged, TreeChange
from pixirnb.testing.generators.tree_strategies import Tree, lay_out, read_back

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
    """A tree of a store as a value."""
    return {
        path: (entry.mode, store.content(entry.digest))
        for path, entry in store.entries(tree).items()
    }


def taken(store: TreeStore, tree: Tree) -> str:
    """The id of a tree that is given as a value: the root is made to hold it, and a snapshot is taken."""
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
    """`tree` without some files."""
    return {path: file for path, file in tree.items() if path not in gone}


def instead(old: bytes, new: bytes, *, text: bytes = LINES) -> tuple[str, bytes]:
    """A file of `text` with one part replaced."""
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


class TreeMergeContract:
    """Inherited by `TreeContract`: diff, patch and merge."""

    def make_store(self, folder: Path, root: Path) -> TreeStore:
        """A store of `root` that keeps what it keeps in `folder`, which may be there already."""
        raise NotImplementedError

    def prepare_root(self, root: Path) -> None:
        """Whatever is to be done to a root before it is used, such as making it a repository."""

    @staticmethod
    def folder(tmp_path: Path) -> Path:
        """The folder of the store of a test."""
        return tmp_path / "state" / "trees" / "key"

    @pytest.fixture
    def store(self, tmp_path: Path) -> TreeStore:
        """A store of an empty root."""
        (tmp_path / "state" / "trees").mkdir(parents=True)
        root = tmp_path / "root"
        root.mkdir()
        self.prepare_root(root)
        return self.make_store(self.folder(tmp_path), root)

    def merge(self, store: TreeStore, base: Tree, ours: Tree, theirs: Tree) -> Merged:
        """Merge trees that are given as values."""
        return store.merge(taken(store, base), taken(store, ours), taken(store, theirs))

    def test_how_two_trees_differ(self, store: TreeStore) -> None:
        before, after = (
            taken(store, BASE),
            {
                "text": instead(b"line 7\n", b"seven\nand more\n"),
                "other": (EXECUTABLE, b"other\n"),
                "bin": (FILE, b"\0changed"),
                "new/text": (FILE, b"one\ntwo"),
                "empty": (FILE, b""),
                "folder": (FILE, b"x\n"),
            },
        )
        left = taken(store, after)
        one, two = store.entries(before), store.entries(left)
        assert sorted(store.diff(before, left), key=lambda change: change.path) == [
            TreeChange("bin", one["bin"], two["bin"], None, None),
            TreeChange("empty", None, two["empty"], 0, 0),
            TreeChange("folder", None, two["folder"], 1, 0),
            TreeChange("folder/x", one["folder/x"], None, 0, 1),
            TreeChange("link", one["link"], None, 0, 1),
            TreeChange("new/text", None, two["new/text"], 2, 0),
            TreeChange("other", one["other"], two["other"], 0, 0),
            TreeChange("text", one["text"], two["text"], 2, 1),
        ]
        assert store.diff(left, left) == []

    def test_a_patch_makes_one_tree_of_another(self, store: TreeStore, tmp_path: Path) -> None:
        before = taken(store, SAMPLE)
        after = without(SAMPLE, "run.sh", "dangling", "bin", "-dash") | {
            "src/a.py": instead(b"line 7\n", b"seven\n"),
            "src/deep/y": (EXECUTABLE, b"y\n"),
            "empty": (FILE, b"no more"),
            "no-end": (FILE, b"first\nlast\n"),
            "crlf.txt": (FILE, b"one\ntwo\r\n"),
            "latin-1": (FILE, b"caf\xe9s\n"),
            "to-file": (LINK, b"crlf.txt"),
            "to-folder": (FILE, b"a file\n"),
            "with space/ü/name ": (FILE, b"blanks\n"),
            "new\nline\t": (FILE, b"ctrl\n"),
            'quo"te\\': (FILE, b"quoted\n"),
            "no-utf8-\udcff": (FILE, b"\0bytes"),
            "bin/now/folder": (FILE, b"\0\1\2" * 5000),
            "made/empty": (FILE, b""),
            "made/run": (EXECUTABLE, b"no end"),
            "made/link": (LINK, b"run"),
        }
        left = taken(store, after)
        for one, two, begin, end in ((before, left, SAMPLE, after), (left, before, after, SAMPLE)):
            folder = tmp_path / f"patched-{one == before}"
            lay_out(begin, folder)
            apply_patch(store.patch(one, two), folder)
            assert read_back(folder) == end
        assert store.patch(left, left) == b""

    def test_a_patch_of_some_files_is_of_them_alone(self, store: TreeStore, tmp_path: Path) -> None:
        before = taken(store, SAMPLE)
        changes: Tree = {"src/a.py": (FILE, b"a\n"), "*": (FILE, b"s\n"), "bin": (FILE, b"\0")}
        left = taken(store, SAMPLE | dict(changes))
        for paths in (["*"], ["src/a.py", "missing"], []):
            folder = tmp_path / f"patched-{len(paths)}-{paths[:1] == ['*']}"
            lay_out(SAMPLE, folder)
            apply_patch(store.patch(before, left, iter(paths)), folder)
            expected = {path: file for path, file in changes.items() if path in paths}
            assert read_back(folder) == SAMPLE | expected

    @pytest.mark.parametrize(
        ("ours", "theirs", "merged"),
        [case[1:] for case in AGREED],
        ids=[case[0] for case in AGREED],
    )
    def test_what_does_not_meet_is_merged(
        self, store: TreeStore, ours: Tree, theirs: Tree, merged: Tree
    ) -> None:
        result = self.merge(store, BASE, ours, theirs)
        assert result.conflicts == ()
        assert result.tree is not None
        assert held(store, result.tree) == merged
        assert self.merge(store, BASE, theirs, ours) == result

    @pytest.mark.parametrize(
        ("path", "ours", "theirs", "kind"),
        [case[1:] for case in CONFLICTS],
        ids=[case[0] for case in CONFLICTS],
    )
    def test_what_meets_is_named_and_nothing_is_merged(
        self, store: TreeStore, path: str, ours: Tree, theirs: Tree, kind: str
    ) -> None:
        # What could be merged, beside what cannot: it is whole or not at all.
        ours, theirs = dict(ours) | {"mine": (FILE, b"m")}, dict(theirs) | {"yours": (FILE, b"y")}
        base_id, ours_id, theirs_id = (taken(store, tree) for tree in (BASE, ours, theirs))
        sides = [store.entries(tree).get(path) for tree in (base_id, ours_id, theirs_id)]
        for one, two, order in (
            (ours_id, theirs_id, sides),
            (theirs_id, ours_id, [sides[0], sides[2], sides[1]]),
        ):
            merged = store.merge(base_id, one, two)
            assert merged.tree is None
            assert [(c.path, c.kind) for c in merged.conflicts] == [(path, kind)]
            (conflict,) = merged.conflicts
            assert [conflict.base, conflict.ours, conflict.theirs] == order

    def test_a_file_where_the_other_side_has_a_folder(self, store: TreeStore) -> None:
        ours = BASE | {"new": (FILE, b"file\n")}
        theirs = BASE | {"new/file": (FILE, b"in a folder\n")}
        for one, two in ((ours, theirs), (theirs, ours)):
            merged = self.merge(store, BASE, one, two)
            assert merged.tree is None
            assert "kind" in {conflict.kind for conflict in merged.conflicts}
            assert {conflict.path for conflict in merged.conflicts} <= {"new", "new/file"}

    def test_both_sides_of_a_text_stand_in_one_between_markers(self, store: TreeStore) -> None:
        merged = self.merge(
            store,
            BASE,
            BASE | {"text": instead(b"line 7\n", b"ours\n")},
            BASE | {"text": instead(b"line 7\n", b"theirs\n")},
        )
        marked = merged.conflicts[0].marked
        assert marked is not None
        lines = marked.splitlines()
        marks = [
            next(at for at, line in enumerate(lines) if line.startswith(mark))
            for mark in (b"<<<<<<<", b"=======", b">>>>>>>")
        ]
        assert lines[marks[0] + 1 : marks[1]] == [b"ours"]
        assert lines[marks[1] + 1 : marks[2]] == [b"theirs"]
        assert b"line 0" in lines
        assert b"line 19" in lines

    def test_lines_apart_are_merged(self, store: TreeStore) -> None:
        ours = BASE | {"text": instead(b"line 2\n", b"ours\n")}
        theirs = BASE | {"text": instead(b"line 15\n", b"theirs\n")}
        merged = self.merge(store, BASE, ours, theirs)
        assert merged.tree is not None
        both = LINES.replace(b"line 2\n", b"ours\n").replace(b"line 15\n", b"theirs\n")
        assert held(store, merged.tree)["text"] == (FILE, both)

    def test_a_merge_where_one_side_did_nothing_is_the_other(self, store: TreeStore) -> None:
        base = taken(store, BASE)
        other = taken(store, without(BASE, "bin") | {"text": (LINK, b"x"), "n/w": (FILE, b"")})
        for ours, theirs, merged in ((base, other, other), (other, base, other), (base,) * 3):
            assert store.merge(base, ours, theirs) == Merged(merged)
        assert store.merge(base, other, other) == Merged(other)

    def test_merging_what_is_merged_changes_nothing(self, store: TreeStore) -> None:
        base = taken(store, BASE)
        ours = taken(store, BASE | {"other": (FILE, b"ours\n"), "a": (FILE, b"a")})
        theirs = taken(store, BASE | {"text": instead(b"line 3\n", b""), "b": (FILE, b"b")})
        merged = store.merge(base, ours, theirs)
        assert merged.tree is not None
        for side in (ours, theirs, base, merged.tree):
            assert store.merge(base, merged.tree, side) == merged

    def test_a_merge_is_the_same_every_time(self, store: TreeStore) -> None:
        for _, _, ours, theirs, _ in CONFLICTS:
            first = self.merge(store, BASE, ours, theirs)
            assert self.merge(store, BASE, ours, theirs) == first
