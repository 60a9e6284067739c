"""Contract of a store about two trees: their differences, their patch, their merge. Part of `tree.py`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pixirnb.protocols.trees import EXECUTABLE, FILE, LINK, Merged, TreeChange
from pixirnb.testing.contracts.tree_samples import (
    AGREED,
    BASE,
    CONFLICTS,
    LINES,
    SAMPLE,
    apply_patch,
    held,
    instead,
    taken,
    without,
)
from pixirnb.testing.generators.tree_strategies import Tree, lay_out, read_back

if TYPE_CHECKING:
    from pixirnb.protocols.trees import TreeStore


class TreeMergeContract:
    """Inherited by `TreeContract`: diff, patch and merge."""

    def make_store(self, folder: Path, root: Path) -> TreeStore:
        """Return a store of `root` that keeps what it keeps in `folder`, which may be there already."""
        raise NotImplementedError

    def prepare_root(self, root: Path) -> None:
        """Prepare a root before it is used: make it a repository, for one."""

    @staticmethod
    def folder(tmp_path: Path) -> Path:
        """Return the folder of the store of a test."""
        return tmp_path / "state" / "trees" / "key"

    @pytest.fixture
    def store(self, tmp_path: Path) -> TreeStore:
        """Return a store of an empty root."""
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
