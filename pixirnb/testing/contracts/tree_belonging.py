"""Which files any store of trees must take along and which it must leave behind. Part of `tree.py`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pixirnb.errors import Cannot
from pixirnb.planning.globs.pattern import Pattern
from pixirnb.protocols.trees import FILE, LARGEST_FILE, LINK, MOST_BYTES, Belonging
from pixirnb.testing import tree_child
from pixirnb.testing.contracts.tree_merge import TreeMergeContract
from pixirnb.testing.contracts.tree_samples import EVERYTHING, held
from pixirnb.testing.generators.tree_strategies import lay_out

if TYPE_CHECKING:
    from pixirnb.protocols.trees import TreeStore


class TreeBelongingContract(TreeMergeContract):
    """Inherited by `TreeContract`: secrets, ignored files, roots within roots, limits."""

    def test_a_link_is_never_followed(self, store: TreeStore, tmp_path: Path) -> None:
        lay_out({"folder/file": (FILE, b"inside")}, store.root)
        base = store.snapshot(EVERYTHING)
        given = tmp_path / "given"
        store.give(base, given)
        lay_out({"file": (FILE, b"outside")}, tmp_path / "outside")
        lay_out({"folder": (LINK, os.fsencode(tmp_path / "outside"))}, given)
        left = store.capture(given, base, Belonging(also=frozenset(["folder/file"])))
        assert set(store.entries(left)) == {"folder"}

    def test_secrets_and_what_is_never_copied_stay_behind(
        self, store: TreeStore, tmp_path: Path
    ) -> None:
        belonging = Belonging(never_copy=("*.dat", "private/*.txt"))
        taken = {"a": (FILE, b"a"), "x/private/b.txt": (FILE, b"b"), "private/c": (FILE, b"c")}
        left = {
            ".env": (FILE, b"KEY=1"),
            "deep/er/.env.local": (FILE, b"KEY=2"),
            "id_rsa": (FILE, b"key"),
            "big.dat": (FILE, b"data"),
            "deep/other.dat": (FILE, b"data"),
            "private/b.txt": (FILE, b"b"),
        }
        lay_out(taken | left, store.root)
        tree = store.snapshot(belonging)
        assert held(store, tree) == taken
        store.give(tree, tmp_path / "given")
        lay_out(taken | left, tmp_path / "given")
        assert store.capture(tmp_path / "given", tree, belonging) == tree
        assert sorted(store.left_behind(tmp_path / "given", tree, belonging)) == sorted(left)

    def test_a_pipe_or_a_socket_is_named_and_never_opened(
        self, store: TreeStore, tmp_path: Path
    ) -> None:
        given, kept = tmp_path / "given", {"a": (FILE, b"a"), "b": (FILE, b"b")}
        lay_out(kept, store.root)
        os.mkfifo(store.root / "pipe")
        tree = store.snapshot(Belonging())
        assert held(store, tree) == kept
        store.give(tree, given)
        (given / "b").unlink()
        (given / "deep").mkdir()
        os.mkfifo(given / "b")
        os.mkfifo(given / "deep" / "pipe")
        left = store.capture(given, tree, Belonging())
        assert held(store, left) == {"a": (FILE, b"a")}
        named = store.left_behind(given, tree, Belonging())
        assert sorted(named) == ["b", "deep/pipe"]

    def test_no_claim_and_no_list_brings_a_secret_in(self, store: TreeStore) -> None:
        lay_out({".env": (FILE, b"KEY=1"), "x.dat": (FILE, b"x"), "a": (FILE, b"a")}, store.root)
        belonging = Belonging(
            never_copy=("*.dat",),
            claimed=(Pattern.parse("**/*"),),
            also=frozenset([".env", "x.dat", "a"]),
        )
        assert set(store.entries(store.snapshot(belonging))) == {"a"}

    def test_ignored_files_stay_out_unless_they_are_claimed_or_named(
        self, store: TreeStore, tmp_path: Path
    ) -> None:
        tree = {
            ".gitignore": (FILE, b"node_modules/\n__pycache__/\n"),
            "a": (FILE, b"a"),
            "node_modules/lib/index.js": (FILE, b"lib"),
            "node_modules/lib/other.js": (FILE, b"other"),
            "src/__pycache__/a.pyc": (FILE, b"cache"),
        }
        lay_out(tree, store.root)
        plain = {".gitignore", "a"}
        base = store.snapshot(EVERYTHING)
        assert set(store.entries(base)) == plain
        claimed = Belonging(claimed=(Pattern.parse("node_modules/*/index.js"),))
        assert set(store.entries(store.snapshot(claimed))) == plain | {"node_modules/lib/index.js"}
        named = Belonging(also=frozenset(["src/__pycache__/a.pyc", "src/missing", "node_modules"]))
        assert set(store.entries(store.snapshot(named))) == plain | {"src/__pycache__/a.pyc"}
        store.give(base, tmp_path / "given")
        lay_out(tree, tmp_path / "given")
        given = tmp_path / "given"
        assert store.capture(given, base, EVERYTHING) == base
        assert "node_modules/lib/other.js" in store.left_behind(given, base, EVERYTHING)
        assert store.capture(given, base, claimed) == store.snapshot(claimed)
        assert "node_modules/lib/index.js" not in store.left_behind(given, base, claimed)

    def test_what_was_given_is_captured_though_it_is_ignored(
        self, store: TreeStore, tmp_path: Path
    ) -> None:
        lay_out({".gitignore": (FILE, b"venv/\n"), "venv/pin": (FILE, b"1")}, store.root)
        base = store.snapshot(Belonging(also=frozenset(["venv/pin"])))
        given = tmp_path / "given"
        store.give(base, given)
        (given / "venv" / "pin").write_bytes(b"2")
        assert held(store, store.capture(given, base, EVERYTHING))["venv/pin"] == (FILE, b"2")
        assert store.left_behind(given, base, EVERYTHING) == []

    def test_what_was_carried_is_not_left_behind_but_for_what_is_kept_back(
        self, store: TreeStore, tmp_path: Path
    ) -> None:
        ignoring = {".gitignore": (FILE, b"node_modules/\nvenv/\n")}
        lay_out(ignoring, store.root)
        base = store.snapshot(EVERYTHING)
        given = tmp_path / "given"
        store.give(base, given)
        files = ["node_modules/.env", "node_modules/a", "venv/a"]
        lay_out(ignoring | dict.fromkeys(files, (FILE, b"x")), given)
        carried = Belonging(carried=("node_modules",))
        assert store.left_behind(given, base, EVERYTHING) == files
        assert store.left_behind(given, base, carried) == ["node_modules/.env", "venv/a"]

    def test_what_is_left_behind_is_listed_up_to_a_thousand(
        self, store: TreeStore, tmp_path: Path
    ) -> None:
        lay_out({"a": (FILE, b"a")}, store.root)
        base = store.snapshot(EVERYTHING)
        given = tmp_path / "given"
        store.give(base, given)
        assert store.left_behind(given, base, EVERYTHING) == []
        (given / "keys").mkdir()
        for number in range(1001):
            (given / "keys" / f"{number}.pem").touch()
        assert len(store.left_behind(given, base, EVERYTHING)) == 1000

    def test_roots_within_the_root_are_no_part_of_it(
        self, store: TreeStore, tmp_path: Path
    ) -> None:
        tree = {"a": (FILE, b"a"), "in/ner/b": (FILE, b"b"), "in/nerd": (FILE, b"c")}
        lay_out(tree, store.root)
        belonging = Belonging(
            nested=("in/ner",),
            claimed=(Pattern.parse("**/*"),),
            also=frozenset(["in/ner/b"]),
        )
        base = store.snapshot(belonging)
        assert set(store.entries(base)) == {"a", "in/nerd"}
        store.give(base, tmp_path / "given")
        lay_out(tree, tmp_path / "given")
        assert store.capture(tmp_path / "given", base, belonging) == base
        assert store.left_behind(tmp_path / "given", base, belonging) == []

    def test_the_folders_of_git_and_of_ours_are_in_no_tree(self, store: TreeStore) -> None:
        lay_out({"a": (FILE, b"a"), "sub/.pixirnb/x": (FILE, b"x")}, store.root)
        (store.root / ".pixirnb").mkdir()
        (store.root / ".pixirnb" / "log").write_bytes(b"log")
        claim = Belonging(claimed=(Pattern.parse("**/*"),), also=frozenset([".pixirnb/log"]))
        assert set(store.entries(store.snapshot(claim))) == {"a"}

    def test_pipes_and_sockets_are_no_files(self, store: TreeStore) -> None:
        lay_out({"a": (FILE, b"a")}, store.root)
        os.mkfifo(store.root / "pipe")
        assert set(store.entries(store.snapshot(EVERYTHING))) == {"a"}
        assert store.digest_of(store.root / "pipe") is None

    def test_a_file_or_folder_that_cannot_be_read_is_named(
        self, store: TreeStore, tmp_path: Path
    ) -> None:
        lay_out({"a": (FILE, b"a"), "shut/file": (FILE, b"b")}, store.root)
        for path, mode in (("a", 0o200), ("shut", 0o300)):
            was = (store.root / path).stat().st_mode
            (store.root / path).chmod(mode)
            printed = tree_child.run(store, self.folder(tmp_path), "bereft")
            (store.root / path).chmod(was)
            assert printed.startswith("snapshot_unreadable ")
            assert path in printed
        assert set(store.entries(store.snapshot(EVERYTHING))) == {"a", "shut/file"}

    def test_a_mark_changes_when_its_file_is_written(self, store: TreeStore) -> None:
        lay_out({"a": (FILE, b"a"), "b/c": (FILE, b"c"), ".env": (FILE, b"KEY")}, store.root)
        before = store.marks(EVERYTHING)
        assert set(before) == {"a", "b/c"}
        assert store.marks(EVERYTHING) == before
        (store.root / "a").write_bytes(b"more")
        (store.root / "new").touch()
        after = store.marks(EVERYTHING)
        assert {path for path in after if after[path] != before.get(path)} == {"a", "new"}

    def test_a_file_too_large_is_refused_before_it_is_read(self, store: TreeStore) -> None:
        with (store.root / "large.bin").open("wb") as file:
            file.truncate(LARGEST_FILE + 1)
        with pytest.raises(Cannot) as refused:
            store.snapshot(EVERYTHING)
        assert refused.value.code == "snapshot_limit"
        assert "large.bin" in refused.value.message
        assert refused.value.fix
        assert store.entries(store.snapshot(Belonging(never_copy=("large.bin",)))) == {}

    def test_too_many_bytes_are_refused_before_they_are_read(self, store: TreeStore) -> None:
        for number in range(MOST_BYTES // LARGEST_FILE + 1):
            with (store.root / f"large-{number}.bin").open("wb") as file:
                file.truncate(LARGEST_FILE)
        with pytest.raises(Cannot) as refused:
            store.snapshot(EVERYTHING)
        assert refused.value.code == "snapshot_limit"
