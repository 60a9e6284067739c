"""Contract of a store of trees, as tests it inherits.

Subclass `TreeContract`, say how a store is made, and pytest runs the rest. In other files: how two trees differ and merge
(`tree_merge.py`), and which files belong to one (`tree_belonging.py`).

    class TestGitTrees(TreeContract):
        def make_store(self, folder, root): return GitTrees(folder, root)

Child processes create the store again as `CLASS(folder, root)`. `prepare_root` may make the root a repository.
A store that passes sees what is there, touches nothing, and gives back what it saw.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pixirnb.errors import Cannot
from pixirnb.protocols.trees import EXECUTABLE, FILE, LINK, TreeEntry
from pixirnb.testing import tree_child
from pixirnb.testing.contracts.tree_belonging import TreeBelongingContract
from pixirnb.testing.contracts.tree_samples import EVERYTHING, SAMPLE, held
from pixirnb.testing.generators.tree_strategies import lay_out, read_back

if TYPE_CHECKING:
    from pixirnb.protocols.trees import TreeStore

__all__ = ["SAMPLE", "TreeContract", "held"]

KILLS = 4


def footprint(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return modes, sizes, times, inodes and links of all in a folder: a change shows that something was touched."""
    facts: dict[str, tuple[int, ...]] = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.lstat()
        facts[str(path)] = (
            status.st_mode,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_ino,
            status.st_nlink,
        )
    return facts


class TreeContract(TreeBelongingContract):
    """Inherit it; every test is a promise of `pixirnb.protocols.trees.TreeStore`."""

    def test_a_snapshot_holds_what_the_root_holds(self, store: TreeStore) -> None:
        lay_out(SAMPLE, store.root)
        assert held(store, store.snapshot(EVERYTHING)) == SAMPLE

    def test_a_root_without_files_has_a_tree(self, store: TreeStore, tmp_path: Path) -> None:
        (store.root / "empty" / "folder").mkdir(parents=True)
        tree = store.snapshot(EVERYTHING)
        assert store.entries(tree) == {}
        store.give(tree, tmp_path / "given")
        assert read_back(tmp_path / "given") == {}

    def test_the_same_files_are_the_same_tree(self, store: TreeStore) -> None:
        lay_out(SAMPLE, store.root)
        first = store.snapshot(EVERYTHING)
        assert store.snapshot(EVERYTHING) == first
        lay_out(SAMPLE | {"more": (FILE, b"more")}, store.root)
        assert store.snapshot(EVERYTHING) != first
        lay_out(SAMPLE, store.root)
        assert store.snapshot(EVERYTHING) == first

    def test_an_edit_of_equal_size_just_after_a_snapshot_is_seen(self, store: TreeStore) -> None:
        for number in range(20):
            (store.root / "file").write_bytes(b"%04d" % number)
            tree = store.snapshot(EVERYTHING)
            assert held(store, tree)["file"] == (FILE, b"%04d" % number)

    def test_every_kind_of_edit_is_seen_by_the_next_snapshot(self, store: TreeStore) -> None:
        lay_out(SAMPLE, store.root)
        store.snapshot(EVERYTHING)
        now = dict(SAMPLE)
        for path, value in [
            ("src/a.py", (EXECUTABLE, SAMPLE["src/a.py"][1])),
            ("run.sh", (FILE, b"other")),
            ("to-file", (LINK, b"src")),
            ("empty", (LINK, b"empty")),
            ("dangling", (FILE, b"nowhere")),
            ("src/made", (FILE, b"")),
            ("crlf.txt", None),
            ("src/deep/er/x", None),
            ("src/deep", (FILE, b"a folder was here")),
            ("bin", None),
            ("bin/now/a/folder", (FILE, b"a file was here")),
        ]:
            now = {at: file for at, file in now.items() if not at.startswith(f"{path}/")}
            if value is None:
                del now[path]
            else:
                now[path] = value
            lay_out(now, store.root)
            assert held(store, store.snapshot(EVERYTHING)) == now

    def test_nothing_in_the_root_is_touched(self, store: TreeStore, tmp_path: Path) -> None:
        lay_out(SAMPLE, store.root)
        self.prepare_root(store.root)
        before = footprint(store.root)
        first = store.snapshot(EVERYTHING)
        store.give(first, tmp_path / "given")
        (tmp_path / "given" / "src" / "a.py").write_bytes(b"changed")
        second = store.capture(tmp_path / "given", first, EVERYTHING)
        store.merge(first, first, second)
        store.patch(first, second)
        store.keep("r-1/kept", [first, second])
        store.snapshot(EVERYTHING)
        store.digest_of(store.root / "run.sh")
        store.forget("r-1")
        assert footprint(store.root) == before

    def test_what_is_given_is_what_was_taken(self, store: TreeStore, tmp_path: Path) -> None:
        lay_out(SAMPLE, store.root)
        store.give(store.snapshot(EVERYTHING), tmp_path / "given")
        assert read_back(tmp_path / "given") == SAMPLE

    def test_a_folder_that_is_there_is_given_nothing(
        self, store: TreeStore, tmp_path: Path
    ) -> None:
        lay_out(SAMPLE, store.root)
        tree = store.snapshot(EVERYTHING)
        (tmp_path / "there").mkdir()
        (tmp_path / "there" / "mine").write_bytes(b"mine")
        with pytest.raises(Cannot):
            store.give(tree, tmp_path / "there")
        assert read_back(tmp_path / "there") == {"mine": (FILE, b"mine")}

    def test_files_given_are_copies(self, store: TreeStore, tmp_path: Path) -> None:
        lay_out(SAMPLE, store.root)
        tree = store.snapshot(EVERYTHING)
        for name in ("one", "two"):
            store.give(tree, tmp_path / name)
        for path, (mode, _) in SAMPLE.items():
            if mode != LINK:
                with (tmp_path / "one" / path).open("r+b") as file:
                    file.write(b"written in place")
        for folder in (store.root, tmp_path / "two"):
            assert read_back(folder) == SAMPLE
        store.give(tree, tmp_path / "three")
        assert read_back(tmp_path / "three") == SAMPLE

    def test_a_capture_holds_what_was_made_of_a_tree(
        self, store: TreeStore, tmp_path: Path
    ) -> None:
        lay_out(SAMPLE, store.root)
        base = store.snapshot(EVERYTHING)
        given = tmp_path / "given"
        store.give(base, given)
        assert store.capture(given, base, EVERYTHING) == base
        after = {path: file for path, file in SAMPLE.items() if path != "crlf.txt"} | {
            "src/a.py": (EXECUTABLE, b"other\n"),
            "new/file": (FILE, b"\0new"),
            "empty": (LINK, b"src/a.py"),
        }
        lay_out(after, given)
        left = store.capture(given, base, EVERYTHING)
        assert held(store, left) == after
        assert store.capture(given, base, EVERYTHING) == left
        lay_out(after, store.root)
        assert store.snapshot(EVERYTHING) == left

    def test_a_capture_of_a_folder_never_seen_before_is_as_good(
        self, store: TreeStore, tmp_path: Path
    ) -> None:
        lay_out(SAMPLE, store.root)
        base = store.snapshot(EVERYTHING)
        lay_out(SAMPLE | {"new": (FILE, b"new")}, tmp_path / "moved")
        left = store.capture(tmp_path / "moved", base, EVERYTHING)
        assert held(store, left) == SAMPLE | {"new": (FILE, b"new")}

    def test_the_entry_of_a_file_is_that_of_a_snapshot(self, store: TreeStore) -> None:
        lay_out(SAMPLE, store.root)
        entries = store.entries(store.snapshot(EVERYTHING))
        assert {path: store.digest_of(store.root / path) for path in SAMPLE} == entries
        assert store.digest_of(store.root / "src") is None
        assert store.digest_of(store.root / "missing") is None
        assert store.digest_of(store.root / "src" / "a.py" / "below") is None

    def test_what_was_put_is_there_byte_for_byte(self, store: TreeStore) -> None:
        store.snapshot(EVERYTHING)
        data = b"a\r\n\0$Id$\n"
        assert store.content(store.put(data)) == data

    def test_the_entry_of_a_file_is_not_kept(self, store: TreeStore) -> None:
        (store.root / "file").write_bytes(b"never captured")
        entry = store.digest_of(store.root / "file")
        assert entry is not None
        with pytest.raises(Cannot) as lost:
            store.content(entry.digest)
        assert lost.value.code == "tree_missing"

    def test_content_goes_to_a_descriptor_whole(self, store: TreeStore, tmp_path: Path) -> None:
        lay_out({"file": (FILE, bytes(range(256)) * 20_000)}, store.root)
        entry = store.entries(store.snapshot(EVERYTHING))["file"]
        with (tmp_path / "copy").open("wb") as file:
            store.write_content(entry.digest, file.fileno())
        assert (tmp_path / "copy").read_bytes() == bytes(range(256)) * 20_000
        assert store.content(entry.digest) == bytes(range(256)) * 20_000

    def test_sizes_are_told_of_contents_that_are_there(self, store: TreeStore) -> None:
        lay_out({"a": (FILE, b"abc"), "empty": (FILE, b""), "link": (LINK, b"a/b/c")}, store.root)
        entries = store.entries(store.snapshot(EVERYTHING))
        digests = {path: entry.digest for path, entry in entries.items()}
        lost = digests["a"][:-6] + "000000"
        sizes = store.sizes([*digests.values(), lost])
        assert sizes == {digests["a"]: 3, digests["empty"]: 0, digests["link"]: 5}
        assert store.sizes([]) == {}

    def test_a_tree_that_there_is_not_is_said_to_be_missing(
        self, store: TreeStore, tmp_path: Path
    ) -> None:
        (store.root / "a").write_bytes(b"a")
        tree = store.snapshot(EVERYTHING)
        last = "0" if tree[-1] != "0" else "1"
        for missing in (tree[:-1] + last, "", "../x", "--all", "HEAD"):
            for act in (
                lambda missing=missing: store.entries(missing),
                lambda missing=missing: store.give(missing, tmp_path / "given"),
                lambda missing=missing: store.diff(tree, missing),
                lambda missing=missing: store.merge(tree, tree, missing),
                lambda missing=missing: store.keep("r-1/x", [missing]),
                lambda missing=missing: store.content(missing),
            ):
                with pytest.raises(Cannot) as lost:
                    act()
                assert lost.value.code == "tree_missing"
            assert not (tmp_path / "given").exists()

    def test_some_files_put_in_and_some_taken_out(self, store: TreeStore) -> None:
        lay_out(SAMPLE, store.root)
        tree = store.snapshot(EVERYTHING)
        entries = store.entries(tree)
        changed = store.edited(
            tree,
            {
                "src/a.py": None,
                "missing": None,
                "new/place": entries["run.sh"],
                "run.sh": TreeEntry(FILE, entries["run.sh"].digest),
            },
        )
        expected = {path: file for path, file in SAMPLE.items() if path != "src/a.py"}
        expected |= {"new/place": SAMPLE["run.sh"], "run.sh": (FILE, SAMPLE["run.sh"][1])}
        assert held(store, changed) == expected
        assert store.edited(tree, {}) == tree
        assert store.edited(tree, {"run.sh": entries["run.sh"]}) == tree
        assert store.entries(store.edited(tree, dict.fromkeys(SAMPLE))) == {}

    def test_what_is_kept_outlives_what_is_forgotten(
        self, store: TreeStore, tmp_path: Path
    ) -> None:
        lay_out(SAMPLE, store.root)
        kept = store.snapshot(EVERYTHING)
        lay_out(SAMPLE | {"more": (FILE, b"more")}, store.root)
        other = store.snapshot(EVERYTHING)
        store.keep("r-1/a.1/base", [kept, other])
        store.keep("r-10/a.1/base", [kept])
        store.keep("r-2/a.1/base", [other])
        store.forget("r-1")
        store.forget("r-2")
        store.forget("r-3")
        assert held(store, kept) == SAMPLE
        store.give(kept, tmp_path / "given")
        assert read_back(tmp_path / "given") == SAMPLE
        again = store.snapshot(EVERYTHING)
        assert held(store, again) == SAMPLE | {"more": (FILE, b"more")}

    def test_another_process_reads_what_this_one_took(
        self, store: TreeStore, tmp_path: Path
    ) -> None:
        lay_out(SAMPLE, store.root)
        tree = store.snapshot(EVERYTHING)
        again = self.make_store(self.folder(tmp_path), store.root)
        assert held(again, tree) == SAMPLE
        tree_child.run(store, self.folder(tmp_path), "give", tree, str(tmp_path / "given"))
        assert read_back(tmp_path / "given") == SAMPLE
        lay_out(SAMPLE | {"more": (FILE, b"more")}, store.root)
        later = tree_child.run(store, self.folder(tmp_path), "snapshot")
        assert held(store, later) == SAMPLE | {"more": (FILE, b"more")}
        assert store.snapshot(EVERYTHING) == later

    def test_threads_may_use_one_store_at_once(self, store: TreeStore, tmp_path: Path) -> None:
        lay_out(SAMPLE, store.root)
        base = store.snapshot(EVERYTHING)

        def work(number: int) -> bool:
            mine = f"src/{number}"
            given = tmp_path / f"given-{number}"
            store.give(base, given)
            (given / mine).write_bytes(b"%d" % number)
            left = store.capture(given, base, EVERYTHING)
            ours = store.snapshot(EVERYTHING)
            merged = store.merge(base, ours, left).tree
            assert merged is not None
            store.keep(f"r-{number}/x", [left])
            store.forget(f"r-{number}")
            return held(store, merged) == SAMPLE | {mine: (FILE, b"%d" % number)}

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(work, range(8)))

    def test_a_process_that_is_killed_at_any_time_leaves_a_store_that_works(
        self, store: TreeStore, tmp_path: Path
    ) -> None:
        lay_out(SAMPLE, store.root)
        store.keep("r-1/x", [base := store.snapshot(EVERYTHING)])
        for number in range(KILLS):
            child = subprocess.Popen(
                tree_child.command(store, self.folder(tmp_path), "churn"),
                env=tree_child.environment(),
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            with child:
                assert child.stdout is not None
                assert child.stdout.readline() == b"ready\n"
                time.sleep(0.013 * (number + 1))
                os.killpg(child.pid, signal.SIGKILL)
            now = read_back(store.root)
            assert held(store, store.snapshot(EVERYTHING)) == now
            assert held(store, base) == SAMPLE
        store.give(base, tmp_path / "given")
        assert read_back(tmp_path / "given") == SAMPLE
