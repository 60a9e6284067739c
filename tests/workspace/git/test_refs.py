"""A store on git survives what kills, clocks and neighbours do to it, and keeps exactly what is still wanted."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pixirnb.errors import Cannot
from pixirnb.protocols.trees import EXECUTABLE, FILE, Belonging
from pixirnb.testing.contracts.tree_samples import LINES, held
from pixirnb.testing.generators.tree_strategies import lay_out, read_back
from pixirnb.testing.repositories import commit, git, make_repository, only_on_path
from pixirnb.workspace.git.refs import GRACE_S
from pixirnb.workspace.git.tree_store import GitTrees
from pixirnb.workspace.stores_by_root import forget_run, tree_store

PLAIN = Belonging()
TREE = {"a": (FILE, b"a\n"), "b/c": (EXECUTABLE, b"c\n"), "text": (FILE, LINES)}


@pytest.fixture
def store(tmp_path: Path) -> GitTrees:
    root = make_repository(tmp_path / "root", TREE)
    return GitTrees(tmp_path / "state" / "trees" / "key", root)


def place(store: GitTrees, tmp_path: Path) -> Path:
    assert store.root == tmp_path / "root"
    return tmp_path / "state" / "trees" / "key"


def age(folder: Path) -> None:
    """Let everything in a store look as if it were old."""
    for path in folder.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (time.time() - 2 * GRACE_S,) * 2)


def test_a_store_is_made_with_its_first_tree_and_is_the_users_alone(
    store: GitTrees, tmp_path: Path
) -> None:
    folder = place(store, tmp_path)
    assert not (tmp_path / "state").exists()
    store.snapshot(PLAIN)
    for path in (folder.parent, folder, folder / "git", folder / "index", folder / "borrowed"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert (folder / "root").read_text() == f"{store.root}\n"


@pytest.mark.parametrize("spoilt", [b"", b"DIRC", b"\0" * 500])
def test_an_index_that_is_spoilt_is_made_anew(
    store: GitTrees, tmp_path: Path, spoilt: bytes
) -> None:
    tree = store.snapshot(PLAIN)
    index = place(store, tmp_path) / "index" / "root"
    index.write_bytes(spoilt)
    index.with_name("root.lock").write_bytes(spoilt)
    assert store.snapshot(PLAIN) == tree
    assert store.snapshot(PLAIN) == tree
    store.give(tree, tmp_path / "given")
    (given,) = [path for path in index.parent.glob("given-*") if path.suffix != ".held"]
    given.write_bytes(spoilt)
    assert store.capture(tmp_path / "given", tree, PLAIN) == tree


def test_an_index_that_names_what_is_lost_is_made_anew(store: GitTrees, tmp_path: Path) -> None:
    (store.root / "new").write_bytes(b"new\n")
    tree = store.snapshot(PLAIN)
    shutil.rmtree(place(store, tmp_path) / "git" / "objects" / tree[:2])
    digest = store.digest_of(store.root / "new")
    assert digest is not None
    shutil.rmtree(
        place(store, tmp_path) / "git" / "objects" / digest.digest[:2], ignore_errors=True
    )
    assert store.snapshot(PLAIN) == tree
    assert held(store, tree)["new"] == (FILE, b"new\n")


def test_a_tree_of_which_a_file_is_lost_is_missing(store: GitTrees, tmp_path: Path) -> None:
    (store.root / "new").write_bytes(b"new\n")
    tree = store.snapshot(PLAIN)
    entry = store.entries(tree)["new"]
    (place(store, tmp_path) / "git" / "objects" / entry.digest[:2] / entry.digest[2:]).unlink()
    for act in (lambda: store.give(tree, tmp_path / "given"), lambda: store.content(entry.digest)):
        with pytest.raises(Cannot) as lost:
            act()
        assert lost.value.code == "tree_missing"
    assert not (tmp_path / "given").exists()


def test_what_is_kept_stays_and_what_is_let_go_of_goes_in_time(
    store: GitTrees, tmp_path: Path
) -> None:
    trees = {}
    for name in ("kept", "gone", "unnamed"):
        (store.root / "file").write_bytes(name.encode())
        trees[name] = store.snapshot(PLAIN)
    lay_out(TREE, store.root)
    store.snapshot(PLAIN)
    store.keep("r-1/kept in a/b..c", [trees["kept"]])
    store.keep("r-2/x", [trees["gone"], trees["kept"]])
    age(place(store, tmp_path))
    (store.root / "file").write_bytes(b"young")
    young = store.snapshot(PLAIN)
    store.forget("r-2")
    assert held(store, trees["kept"])["file"] == (FILE, b"kept")
    assert held(store, young)["file"] == (FILE, b"young")
    for name in ("gone", "unnamed"):
        with pytest.raises(Cannot) as lost:
            store.entries(trees[name])
        assert lost.value.code == "tree_missing"
    assert store.snapshot(PLAIN) == young


def test_a_tree_taken_again_after_long_is_young_again(store: GitTrees, tmp_path: Path) -> None:
    (store.root / "file").write_bytes(b"1")
    first = store.snapshot(PLAIN)
    store.keep("r-1/x", [first])
    age(place(store, tmp_path))
    assert store.snapshot(PLAIN) == first
    (store.root / "file").write_bytes(b"2")
    store.snapshot(PLAIN)
    store.forget("r-1")
    assert held(store, first)["file"] == (FILE, b"1")


def test_nothing_is_pruned_while_somebody_is_at_work(store: GitTrees, tmp_path: Path) -> None:
    (store.root / "file").write_bytes(b"1")
    tree = store.snapshot(PLAIN)
    store.keep("r-1/x", [tree])
    lay_out(TREE, store.root)
    store.snapshot(PLAIN)
    age(place(store, tmp_path))
    with (place(store, tmp_path) / "lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        store.forget("r-1")
        assert store.entries(tree)
    store.keep("r-2/x", [store.snapshot(PLAIN)])
    store.forget("r-2")
    with pytest.raises(Cannot):
        store.entries(tree)


def test_the_history_of_a_folder_outlives_a_pruning(store: GitTrees, tmp_path: Path) -> None:
    base = store.snapshot(PLAIN)
    store.keep("r-1/x", [base])
    store.keep("r-2/x", [base])
    store.give(base, tmp_path / "given")
    shutil.rmtree(store.root / ".git")
    age(place(store, tmp_path))
    store.forget("r-1")
    assert git(tmp_path / "given", "log", "--patch", "--format=%s").startswith("the files")
    git(tmp_path / "given", "fsck")


def test_a_file_that_goes_while_it_is_read_is_gone(store: GitTrees) -> None:
    def churn() -> None:
        for number in range(300):
            path = store.root / f"passing-{number % 40}"
            path.write_bytes(b"x" * 2000)
            path.unlink()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(churn)
        while not done.done():
            assert set(TREE) <= store.entries(store.snapshot(PLAIN)).keys()
    assert held(store, store.snapshot(PLAIN)) == TREE


def test_the_clock_of_a_file_may_be_set_back(store: GitTrees) -> None:
    path = store.root / "a"
    status = path.stat()
    store.snapshot(PLAIN)
    time.sleep(1.1)  # git reads the date of the last change of a file in whole seconds
    path.write_bytes(b"A\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert held(store, store.snapshot(PLAIN))["a"] == (FILE, b"A\n")


def test_a_large_file_comes_and_goes_whole(store: GitTrees, tmp_path: Path) -> None:
    size = 200 * 1024 * 1024
    with (store.root / "large").open("wb") as file:
        file.write(b"begin")
        file.truncate(size)
        file.seek(size - 3)
        file.write(b"end")
    base = store.snapshot(PLAIN)
    store.give(base, tmp_path / "given")
    assert (tmp_path / "given" / "large").stat().st_size == size
    with (tmp_path / "given" / "large").open("r+b") as file:
        file.write(b"again")
    left = store.capture(tmp_path / "given", base, PLAIN)
    (change,) = store.diff(base, left)
    assert (change.path, change.added) == ("large", None)
    with (tmp_path / "out").open("wb") as file:
        store.write_content(store.entries(left)["large"].digest, file.fileno())
    assert (tmp_path / "out").stat().st_size == size
    with (tmp_path / "out").open("rb") as file:
        assert file.read(5) == b"again"


def test_a_folder_that_may_not_be_written_is_read_all_the_same(store: GitTrees) -> None:
    folders = [store.root, *(path for path in store.root.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert held(store, store.snapshot(PLAIN)) == TREE
    finally:
        for folder in folders:
            folder.chmod(0o755)


def test_a_place_that_takes_no_store_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"a file")
    root = make_repository(tmp_path / "root", TREE)
    with pytest.raises(Cannot) as refused:
        GitTrees(tmp_path / "state" / "trees" / "key", root).snapshot(PLAIN)
    assert refused.value.code == "tree_store_unusable"
    assert "state" in refused.value.message


def test_a_root_that_became_a_repository_goes_on(tmp_path: Path) -> None:
    root = tmp_path / "root"
    lay_out(TREE, root)
    store = GitTrees(tmp_path / "state", root)
    plain = store.snapshot(PLAIN)
    git(root, "init", "--quiet")
    commit(root)
    assert store.snapshot(PLAIN) == plain
    store.give(plain, tmp_path / "given")
    assert git(tmp_path / "given", "log", "--format=%s").count("\n") == 1
    shutil.rmtree(root / ".git")
    git(root, "init", "--quiet", "--object-format=sha256")
    commit(root)
    assert store.snapshot(PLAIN) == plain
    store.give(plain, tmp_path / "again")
    assert read_back(tmp_path / "again") == TREE


def test_each_root_has_a_store_of_its_own_under_all_its_names(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(name)
    (tmp_path / "link").symlink_to("one")
    stores = {
        name: tree_store(tmp_path / "state", tmp_path / name) for name in ("one", "two", "link")
    }
    trees = {name: store.snapshot(PLAIN) for name, store in stores.items()}
    assert trees["one"] == trees["link"] != trees["two"]
    assert len(list((tmp_path / "state" / "trees").iterdir())) == 2
    for name, store in stores.items():
        store.keep(f"r-1/{name}", [trees[name]])
    forget_run(tmp_path / "state", "r-1")
    forget_run(tmp_path / "other", "r-1")
    refs = (tmp_path / "state" / "trees").glob("*/git/refs/pixirnb/**/*")
    assert [path for path in refs if path.is_file()] == []


@pytest.mark.parametrize("version", [None, "git version 2.37.1", "git version 2.38.0 (Apple)"])
def test_without_a_git_that_is_new_enough_there_is_no_store(
    tmp_path: Path, version: str | None
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    if version is not None:
        (programs / "git").write_text(f"#!/bin/sh\necho '{version}'\n")
        (programs / "git").chmod(0o755)
    (tmp_path / "root").mkdir()
    with only_on_path(programs):
        if version is not None and "2.38" in version:
            tree_store(tmp_path / "state", tmp_path / "root")
            return
        with pytest.raises(Cannot) as told:
            tree_store(tmp_path / "state", tmp_path / "root")
    assert (told.value.code, told.value.fix) == ("git_missing", "install git 2.38 or later")


def test_a_git_that_cannot_be_started_now_is_not_taken_for_none(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    program = programs / "git"
    program.write_text("#!/bin/sh\necho 'git version 2.45.0'\n")
    program.chmod(0o755)
    (tmp_path / "root").mkdir()
    with only_on_path(programs):
        with program.open("a"), pytest.raises(Cannot) as refused:  # ETXTBSY while someone writes it
            tree_store(tmp_path / "state", tmp_path / "root")
        assert refused.value.code == "tree_store_unusable"
        assert refused.value.message.startswith("git could not start: ")
        tree_store(tmp_path / "state", tmp_path / "root")


def test_a_git_that_outlives_its_owner_is_waited_for(store: GitTrees, tmp_path: Path) -> None:
    store.snapshot(PLAIN)
    script = f"""
import os, sys
from pathlib import Path
from pixirnb.workspace.git.store_folder import GitStore
store = GitStore(Path({str(place(store, tmp_path))!r}), Path({str(store.root)!r}))
with store.index_held(store.indexes / "root") as held:
    # What an orphan is: a child that holds the lock and goes on.
    if os.fork() == 0:
        print("held", flush=True)
        sys.stdin.read()
        Path({str(tmp_path / "done")!r}).touch()
        os._exit(0)
    os._exit(0)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == b"held\n"
        with ThreadPoolExecutor(1) as pool:
            taken = pool.submit(store.snapshot, PLAIN)
            assert not taken.done()
            child.stdin.close()
            taken.result()
            assert (tmp_path / "done").exists()
