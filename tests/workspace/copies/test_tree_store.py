"""The store of trees without git keeps every promise of the contract suite, and some of its own."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from pathlib import Path

import pytest

from pixirnb.errors import Cannot
from pixirnb.protocols.trees import (
    EXECUTABLE,
    FILE,
    LARGEST_FILE,
    MOST_BYTES,
    MOST_FILES,
    Belonging,
    TreeStore,
)
from pixirnb.testing.contracts.tree import SAMPLE, TreeContract, held
from pixirnb.testing.contracts.tree_merge import apply_patch
from pixirnb.testing.generators.tree_strategies import lay_out, read_back
from pixirnb.workspace.copies.listing import refuse_too_much
from pixirnb.workspace.copies.objects import PlainObjects
from pixirnb.workspace.copies.retention import GRACE
from pixirnb.workspace.copies.stat_cache import known_path, load_known
from pixirnb.workspace.copies.tree_store import PlainTrees
from pixirnb.workspace.line_diff import MOST_LINES
from pixirnb.workspace.rules import LEFT_OUT

EVERYTHING = Belonging()

# Linux has a disk of memory there: faster than its clock ticks, and not the one that temporary folders are on.
MEMORY = next((place for place in ("/dev/shm",) if os.access(place, os.W_OK)), None)


class TestPlainTrees(TreeContract):
    def make_store(self, folder: Path, root: Path) -> TreeStore:
        return PlainTrees(folder, root)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def store(tmp_path: Path, root: Path) -> PlainTrees:
    return PlainTrees(tmp_path / "trees", root)


def settled(store: PlainTrees, root: Path, folder: Path) -> Path:
    """Take snapshots until the clock of the disk has ticked and every file is remembered; where they are remembered."""
    known = known_path(folder, root)
    while len(load_known(known)) < len(read_back(root)):
        store.snapshot(EVERYTHING)
    return known


def aged(folder: Path) -> None:
    """Make all that a store holds a little older than what it keeps for its youth."""
    for path in folder.rglob("*"):
        if path.is_file():
            at = path.stat().st_mtime_ns - GRACE - 1_000_000_000
            os.utime(path, ns=(at, at))


def test_a_file_that_is_the_same_is_not_read_again(
    store: PlainTrees, root: Path, tmp_path: Path
) -> None:
    lay_out({"a": (FILE, b"one"), "b": (FILE, b"two")}, root)
    known = settled(store, root, tmp_path / "trees")
    document = json.loads(known.read_bytes())
    rows = document["files"]
    rows["a"][4], rows["b"][4] = rows["b"][4], rows["a"][4]
    known.write_text(json.dumps(document))
    assert held(store, store.snapshot(EVERYTHING)) == {"a": (FILE, b"two"), "b": (FILE, b"one")}


def test_edits_within_one_tick_of_the_clock_are_seen() -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        store = PlainTrees(Path(folder, "trees"), Path(folder, "root"))
        store.root.mkdir()
        for number in range(300):
            (store.root / "a").write_bytes(b"%04d" % number)
            assert held(store, store.snapshot(EVERYTHING)) == {"a": (FILE, b"%04d" % number)}


def test_a_file_changed_just_now_on_another_disk_is_not_remembered(tmp_path: Path) -> None:
    # The clock of that disk may tick every two seconds: until then nothing tells the next edit from this one.
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        root = Path(folder)
        store = PlainTrees(tmp_path / "trees", root)
        (root / "a").write_bytes(b"one")
        store.snapshot(EVERYTHING)
        is_elsewhere = root.stat().st_dev != tmp_path.stat().st_dev
        assert not (is_elsewhere and load_known(known_path(tmp_path / "trees", root)))


def test_an_edit_that_hides_its_size_and_time_is_seen(
    store: PlainTrees, root: Path, tmp_path: Path
) -> None:
    (root / "a").write_bytes(b"one")
    settled(store, root, tmp_path / "trees")
    status = (root / "a").stat()
    (root / "a").write_bytes(b"two")
    os.utime(root / "a", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert held(store, store.snapshot(EVERYTHING)) == {"a": (FILE, b"two")}


@pytest.mark.parametrize(
    "left", [b"", b"{", b"[]", b'{"files": {"a": [1]}}', b'{"files": 3}', b"\xff"]
)
def test_what_is_remembered_may_be_lost(
    store: PlainTrees, root: Path, tmp_path: Path, left: bytes
) -> None:
    (root / "a").write_bytes(b"one")
    tree = store.snapshot(EVERYTHING)
    known_path(tmp_path / "trees", root).write_bytes(left)
    assert store.snapshot(EVERYTHING) == tree


def test_what_is_remembered_and_lost_from_the_store_is_read_again(
    store: PlainTrees, root: Path, tmp_path: Path
) -> None:
    (root / "a").write_bytes(b"one")
    settled(store, root, tmp_path / "trees")
    tree = store.snapshot(EVERYTHING)
    for path in (tmp_path / "trees" / "objects").glob("*/*"):
        path.unlink()
    assert store.snapshot(EVERYTHING) == tree
    assert held(store, tree) == {"a": (FILE, b"one")}


@pytest.mark.parametrize("name", sorted(LEFT_OUT))
def test_what_tools_fill_is_left_out_at_any_depth(store: PlainTrees, root: Path, name: str) -> None:
    lay_out({f"{name}/x": (FILE, b""), f"a/{name}/b/x": (FILE, b""), "a/x": (FILE, b"")}, root)
    assert set(store.entries(store.snapshot(EVERYTHING))) == {"a/x"}


def test_ignore_files_are_not_read(store: PlainTrees, root: Path) -> None:
    lay_out({".gitignore": (FILE, b"*\n"), "a": (FILE, b"a")}, root)
    assert set(store.entries(store.snapshot(EVERYTHING))) == {".gitignore", "a"}


@pytest.mark.parametrize("damage", [b"", b"other", None])
def test_a_content_that_is_not_what_it_was_is_never_given(
    store: PlainTrees, root: Path, tmp_path: Path, damage: bytes | None
) -> None:
    lay_out({"a": (FILE, b"content"), "b": (FILE, b"else")}, root)
    tree = store.snapshot(EVERYTHING)
    path = PlainObjects(tmp_path / "trees").path(store.entries(tree)["b"].digest)
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    with pytest.raises(Cannot) as lost:
        store.give(tree, tmp_path / "given")
    assert lost.value.code == "tree_missing"
    assert not (tmp_path / "given").exists()
    known_path(tmp_path / "trees", root).unlink(missing_ok=True)
    if damage != b"other":
        assert store.snapshot(EVERYTHING) == tree
        assert held(store, tree)["b"] == (FILE, b"else")


def test_what_nobody_keeps_and_nobody_asked_for_in_a_day_is_dropped(
    store: PlainTrees, root: Path, tmp_path: Path
) -> None:
    trees = []
    for number in range(3):
        lay_out({"shared": (FILE, b"shared"), "own": (FILE, b"%d" % number)}, root)
        trees.append(store.snapshot(EVERYTHING))
        store.keep(f"r-{number}/base", [trees[-1]])
    own = [store.entries(tree)["own"].digest for tree in trees]
    store.forget("r-0")
    assert held(store, trees[0])["own"] == (FILE, b"0")
    aged(tmp_path / "trees")
    assert store.snapshot(EVERYTHING) == trees[2]
    store.forget("r-2")
    for gone in (lambda: store.entries(trees[0]), lambda: store.content(own[0])):
        with pytest.raises(Cannot):
            gone()
    assert held(store, trees[1]) == {"shared": (FILE, b"shared"), "own": (FILE, b"1")}
    assert held(store, trees[2]) == {"shared": (FILE, b"shared"), "own": (FILE, b"2")}


def test_nothing_is_dropped_while_another_writes(
    store: PlainTrees, root: Path, tmp_path: Path
) -> None:
    (root / "a").write_bytes(b"one")
    tree = store.snapshot(EVERYTHING)
    store.keep("r-1/base", [tree])
    aged(tmp_path / "trees")
    with PlainObjects(tmp_path / "trees").locked(fcntl.LOCK_SH):
        store.forget("r-1")
    assert held(store, tree) == {"a": (FILE, b"one")}


def test_what_a_killed_writer_left_unfinished_goes(
    store: PlainTrees, root: Path, tmp_path: Path
) -> None:
    store.snapshot(EVERYTHING)
    (tmp_path / "trees" / "tmp" / "half").write_bytes(b"half")
    store.snapshot(EVERYTHING)
    assert list((tmp_path / "trees" / "tmp").iterdir()) == []


def test_the_folder_of_the_store_is_this_users_alone(
    store: PlainTrees, root: Path, tmp_path: Path
) -> None:
    lay_out(SAMPLE, root)
    store.keep("r-1/x", [store.snapshot(EVERYTHING)])
    modes = {
        path.stat().st_mode & 0o077
        for path in [tmp_path / "trees", *(tmp_path / "trees").rglob("*")]
    }
    assert modes == {0}


def test_a_store_that_cannot_be_made_says_so(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    store = PlainTrees(tmp_path / "file" / "trees", root)
    with pytest.raises(Cannot) as refused:
        store.snapshot(EVERYTHING)
    assert refused.value.code == "tree_store_unusable"
    assert refused.value.fix


def test_a_root_that_is_not_there_says_so(tmp_path: Path) -> None:
    store = PlainTrees(tmp_path / "trees", tmp_path / "missing")
    with pytest.raises(Cannot) as refused:
        store.snapshot(EVERYTHING)
    assert refused.value.code == "snapshot_unreadable"


def test_a_snapshot_takes_as_much_as_the_limits_say_and_no_more() -> None:
    refuse_too_much({str(number): 0 for number in range(MOST_FILES)}, MOST_BYTES)
    refuse_too_much({"a": LARGEST_FILE}, 0)
    for sizes, stored, limit in (
        ({str(number): 0 for number in range(MOST_FILES + 1)}, 0, "files"),
        ({"a": LARGEST_FILE + 1}, 0, "file"),
        ({}, MOST_BYTES + 1, "bytes"),
    ):
        with pytest.raises(Cannot) as refused:
            refuse_too_much(sizes, stored)
        assert refused.value.code == "snapshot_limit"
        assert refused.value.details["limit"] == limit


def test_a_text_too_long_to_compare_has_a_patch_and_no_counts(
    store: PlainTrees, root: Path, tmp_path: Path
) -> None:
    texts = [
        b"head\n" + b"".join(b"%s %d\n" % (word, n) for n in range(MOST_LINES + 1)) + b"tail"
        for word in (b"one", b"two")
    ]
    trees = []
    for text in texts:
        (root / "long").write_bytes(text)
        trees.append(store.snapshot(EVERYTHING))
    (change,) = store.diff(trees[0], trees[1])
    assert (change.added, change.deleted) == (None, None)
    lay_out({"long": (FILE, texts[0])}, tmp_path / "patched")
    apply_patch(store.patch(trees[0], trees[1]), tmp_path / "patched")
    assert read_back(tmp_path / "patched") == {"long": (FILE, texts[1])}


def test_a_patch_of_names_with_blanks_applies(
    store: PlainTrees, root: Path, tmp_path: Path
) -> None:
    trees = []
    for begin, end in ((b"", b""), (b"", b"\0"), (b"x", b"y")):
        lay_out({"x /a": (FILE, begin), "b /c d": (FILE, begin)}, root)
        trees = [store.snapshot(EVERYTHING)]
        lay_out({"x /a": (EXECUTABLE, end)}, root)
        trees.append(store.snapshot(EVERYTHING))
        apply_patch(store.patch(trees[1], trees[0]), root)
        apply_patch(store.patch(trees[0], trees[1]), root)
        assert read_back(root) == {"x /a": (EXECUTABLE, end)}


def test_a_patch_reads_as_one_of_git(store: PlainTrees, root: Path) -> None:
    lay_out({"a b": (FILE, b"1\n2\n3\n4\n5\n")}, root)
    before = store.snapshot(EVERYTHING)
    lay_out({"a b": (FILE, b"1\n2\nthree\n4\n5\n")}, root)
    assert store.patch(before, store.snapshot(EVERYTHING)).decode() == (
        'diff --git "a/a b" "b/a b"\n'
        "index 8a1218a1024a212bb3db30becd860315f9f3ac52..c4fcee863777bd2988f67846f73dc360f051ebda 100644\n"
        "--- a/a b\t\n"
        "+++ b/a b\t\n"
        "@@ -1,5 +1,5 @@\n"
        " 1\n 2\n-3\n+three\n 4\n 5\n"
    )
