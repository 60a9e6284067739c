"""Which files a store on git takes along: what git lists in a repository, however it is laid out, and never a secret."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pixirnb.errors import Cannot
from pixirnb.planning.globs.pattern import Pattern
from pixirnb.protocols.trees import FILE, LINK, Belonging
from pixirnb.testing.contracts.tree_samples import held
from pixirnb.testing.generators.tree_strategies import NAMES, lay_out, read_back
from pixirnb.testing.repositories import commit, git, make_repository
from pixirnb.workspace.git.tree_store import GitTrees

PLAIN = Belonging()


def store_of(root: Path) -> GitTrees:
    return GitTrees(root.parent / f"state of {root.name}" / "trees" / "key", root)


def names(store: GitTrees, belonging: Belonging = PLAIN) -> set[str]:
    return set(store.entries(store.snapshot(belonging)))


def text(word: str) -> tuple[str, bytes]:
    return FILE, word.encode()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "root", {"tracked": text("1"), ".gitignore": text("*.log\n")})


def test_tracked_staged_changed_and_untracked_files_are_all_taken_as_they_are(root: Path) -> None:
    lay_out(
        {
            "tracked": text("2"),
            ".gitignore": text("*.log\n"),
            "staged": text("staged"),
            "untracked": text("untracked"),
            "a.log": text("ignored"),
        },
        root,
    )
    git(root, "add", "staged", "tracked")
    (root / "staged").write_bytes(b"and changed")
    store = store_of(root)
    assert held(store, store.snapshot(PLAIN)) == {
        "tracked": text("2"),
        ".gitignore": text("*.log\n"),
        "staged": text("and changed"),
        "untracked": text("untracked"),
    }


def test_a_secret_is_left_out_though_it_is_tracked(root: Path) -> None:
    lay_out({".env": text("KEY=1"), "deep/id_rsa": text("k"), "kept": text("k")}, root)
    commit(root)
    assert names(store_of(root), Belonging(never_copy=("t*d",))) == {"kept"}


def test_a_file_that_is_ignored_but_tracked_is_taken(root: Path) -> None:
    (root / "kept.log").write_bytes(b"log")
    git(root, "add", "--force", "kept.log")
    assert "kept.log" in names(store_of(root))


def test_the_users_own_ignore_rules_count_in_a_given_folder_too(root: Path, tmp_path: Path) -> None:
    excludes = tmp_path / "excludes"
    excludes.write_text("*.swp\n")
    git(root, "config", "core.excludesFile", str(excludes))
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text("/build/\n")
    made = {"a.swp": text("s"), "build/x": text("x"), "new/build/y": text("y"), "b.log": text("l")}
    store = store_of(root)
    base = store.snapshot(PLAIN)
    store.give(base, tmp_path / "given")
    for folder in (root, tmp_path / "given"):
        lay_out(read_back(folder) | made, folder)
    expected = {"tracked", ".gitignore", "new/build/y"}
    assert names(store) == expected
    assert set(store.entries(store.capture(tmp_path / "given", base, PLAIN))) == expected
    assert store.left_behind(tmp_path / "given", base, PLAIN) == ["a.swp", "b.log", "build/x"]
    assert git(tmp_path / "given", "status", "--porcelain") == "?? new/"


def test_a_workspace_inside_a_bigger_repository_is_itself_alone(tmp_path: Path) -> None:
    top = make_repository(
        tmp_path / "top",
        {
            ".gitignore": text("*.log\n/work/out/\nother/skip\nwork/sub/skip\n"),
            "outside": text("o"),
            "work/in": text("i"),
            "work/sub/in": text("i"),
        },
    )
    made = {
        "new": text("n"),
        "a.log": text("l"),
        "out/x": text("x"),
        "sub/skip": text("s"),
        "skip": text("s"),
    }
    root = top / "work"
    lay_out(read_back(root) | made, root)
    store = store_of(root)
    base = store.snapshot(PLAIN)
    assert set(store.entries(base)) == {"in", "sub/in", "new", "skip"}
    given = tmp_path / "given"
    store.give(base, given)
    assert git(given, "status", "--porcelain") == ""
    lay_out(read_back(given) | made, given)
    assert store.capture(given, base, PLAIN) == base
    lay_out(read_back(root) | {"in": text("changed")}, root)
    assert held(store, store.snapshot(PLAIN))["in"] == text("changed")


def test_submodules_and_repositories_within_are_files_like_any_other(
    root: Path, tmp_path: Path
) -> None:
    other = make_repository(
        tmp_path / "other", {"lib.py": text("lib"), ".gitignore": text("*.pyc\n")}
    )
    git(root, "submodule", "add", "--quiet", str(other), "sub")
    commit(root)
    lay_out(
        {"lib.py": text("changed"), ".gitignore": text("*.pyc\n"), "x.pyc": text("c")}, root / "sub"
    )
    make_repository(root / "within", {"a": text("a")})
    make_repository(root / "within" / "deeper", {"b": text("b"), ".env": text("s")})
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},not-there")
    store = store_of(root)
    tree = store.snapshot(PLAIN)
    expected = {
        *{"tracked", ".gitignore", ".gitmodules", "sub/lib.py", "sub/.gitignore"},
        *{"within/a", "within/deeper/b"},
    }
    assert set(store.entries(tree)) == expected
    assert held(store, tree)["sub/lib.py"] == text("changed")
    claimed = Belonging(claimed=(Pattern.parse("sub/*.pyc"),))
    assert names(store, claimed) == expected | {"sub/x.pyc"}
    shutil.rmtree(root / "sub" / ".git", ignore_errors=True)
    (root / "sub" / ".git").unlink(missing_ok=True)
    assert names(store) == expected
    store.give(tree, tmp_path / "given")
    assert store.capture(tmp_path / "given", tree, PLAIN) == tree


def test_a_plain_folder_with_a_repository_in_it_is_taken_whole(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    make_repository(root / "inner", {"a": text("a"), ".gitignore": text("b\n")})
    lay_out({"top": text("t"), "inner/a": text("a"), "inner/.gitignore": text("b\n")}, root)
    (root / "inner" / "b").write_bytes(b"ignored")
    assert names(store_of(root)) == {"top", "inner/a", "inner/.gitignore"}


def test_names_of_any_kind_come_and_go(root: Path, tmp_path: Path) -> None:
    tree = {f"folder {name}/{name}": text(name.encode(errors="replace").decode()) for name in NAMES}
    tree |= {".GITmodules": (LINK, b"x"), "git~1": text("g"), "sub/.gitignore ": text("g")}
    lay_out(tree, root)
    store = store_of(root)
    taken = store.snapshot(PLAIN)
    assert held(store, taken).keys() == tree.keys() - {".GITmodules"}
    store.give(taken, tmp_path / "given")
    assert store.capture(tmp_path / "given", taken, PLAIN) == taken


def test_a_head_without_a_commit_is_no_hindrance(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "root", {"a": text("a")})
    store = store_of(root)
    git(root, "symbolic-ref", "HEAD", "refs/heads/unborn")
    assert names(store) == {"a"}
    store.give(store.snapshot(PLAIN), tmp_path / "given")
    assert git(tmp_path / "given", "log", "--format=%s") == "the files at the start of this step"


def test_a_head_that_names_a_lost_commit_is_no_hindrance(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "root", {"a": text("a")})
    (root / ".git" / "refs" / "heads" / "main").write_text("1" * 40 + "\n")
    store = store_of(root)
    assert names(store) == {"a"}
    store.give(store.snapshot(PLAIN), tmp_path / "given")


@pytest.mark.parametrize("part", ["HEAD", "index", "config"])
def test_a_repository_that_git_cannot_read_is_refused(root: Path, part: str) -> None:
    store = store_of(root)
    store.snapshot(PLAIN)
    (root / ".git" / part).write_bytes(b"\0 this is nothing that git knows\n[")
    with pytest.raises(Cannot) as refused:
        store.snapshot(PLAIN)
    assert refused.value.code == "repository_broken"
    assert str(root) in refused.value.message
    assert "shared" in refused.value.fix


def test_a_broken_repository_within_is_refused_by_its_name(root: Path) -> None:
    inner = make_repository(root / "inner", {"a": text("a")})
    (inner / ".git" / "index").write_bytes(b"nothing")
    with pytest.raises(Cannot) as refused:
        store_of(root).snapshot(PLAIN)
    assert refused.value.code == "repository_broken"
    assert "inner" in refused.value.message


def test_content_is_read_from_disk_whatever_the_index_is_told(root: Path) -> None:
    lay_out({"assumed": text("1"), "skipped": text("1"), "absent": text("1")}, root)
    commit(root)
    git(root, "update-index", "--assume-unchanged", "assumed")
    git(root, "update-index", "--skip-worktree", "skipped", "absent")
    lay_out({"assumed": text("2"), "skipped": text("2")}, root)
    store = store_of(root)
    assert held(store, store.snapshot(PLAIN)) == {"assumed": text("2"), "skipped": text("2")}


def test_a_sparse_checkout_holds_what_is_checked_out(tmp_path: Path) -> None:
    root = make_repository(
        tmp_path / "root", {"top": text("t"), "in/a": text("a"), "out/b": text("b")}
    )
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
    store = store_of(root)
    tree = store.snapshot(PLAIN)
    assert set(store.entries(tree)) == {"top", "in/a"}
    store.give(tree, tmp_path / "given")
    assert git(tmp_path / "given", "status", "--porcelain") == ""


def test_a_conflict_in_the_index_is_one_file(root: Path) -> None:
    git(root, "switch", "--quiet", "--create", "other")
    (root / "tracked").write_bytes(b"other\n")
    commit(root)
    git(root, "switch", "--quiet", "main")
    (root / "tracked").write_bytes(b"mine\n")
    commit(root)
    with pytest.raises(subprocess.CalledProcessError):
        git(root, "merge", "other")
    store = store_of(root)
    tree = held(store, store.snapshot(PLAIN))
    assert b"<<<<<<<" in tree["tracked"][1]


def test_a_folder_that_became_a_link_hides_what_was_in_it(root: Path) -> None:
    lay_out({"folder/a": text("a"), "other/a": text("o")}, root)
    commit(root)
    shutil.rmtree(root / "folder")
    (root / "folder").symlink_to("other")
    store = store_of(root)
    assert held(store, store.snapshot(PLAIN)) == {"folder": (LINK, b"other"), "other/a": text("o")}


def test_sockets_are_no_files_and_empty_folders_are_nothing(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"a": text("a")})
    (root / "empty").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(root / "socket"))
        assert names(store_of(root)) == {"a"}


@pytest.mark.parametrize("kind", ["--object-format=sha256", "--object-format=sha1"])
def test_either_kind_of_digest_will_do(tmp_path: Path, kind: str) -> None:
    root = make_repository(tmp_path / "root", {"a": text("a\n"), "b": text("b\n")}, kind)
    store = store_of(root)
    base = store.snapshot(PLAIN)
    store.give(base, tmp_path / "given")
    assert git(tmp_path / "given", "status", "--porcelain") == ""
    assert git(tmp_path / "given", "log", "--format=%s").count("\n") == 1
    (tmp_path / "given" / "a").write_bytes(b"changed\n")
    left = store.capture(tmp_path / "given", base, PLAIN)
    (root / "b").write_bytes(b"mine\n")
    merged = store.merge(base, store.snapshot(PLAIN), left).tree
    assert merged is not None
    assert held(store, merged) == {"a": text("changed\n"), "b": text("mine\n")}
    assert store.digest_of(root / "b") == store.entries(merged)["b"]


def test_a_shallow_clone_hands_its_short_history_on(tmp_path: Path) -> None:
    origin = make_repository(tmp_path / "origin", {"a": text("1")})
    (origin / "a").write_bytes(b"2")
    commit(origin, "the second")
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{origin}", "root")
    store = store_of(tmp_path / "root")
    store.give(store.snapshot(PLAIN), tmp_path / "given")
    assert git(tmp_path / "given", "log", "--format=%s").splitlines()[1:] == ["the second"]


def test_a_partial_clone_hands_on_its_files_and_no_history(tmp_path: Path) -> None:
    origin = make_repository(tmp_path / "origin", {"a": text("1"), "b": text("b")})
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", f"file://{origin}", "root")
    shutil.rmtree(origin)
    store = store_of(tmp_path / "root")
    tree = store.snapshot(PLAIN)
    assert held(store, tree) == {"a": text("1"), "b": text("b")}
    store.give(tree, tmp_path / "given")
    assert git(tmp_path / "given", "log", "--format=%s") == "the files at the start of this step"


def test_a_second_work_tree_and_borrowed_objects_are_followed(root: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--shared", str(root), "clone")
    git(tmp_path / "clone", "worktree", "add", "--quiet", "--detach", str(tmp_path / "second"))
    store = store_of(tmp_path / "second")
    tree = store.snapshot(PLAIN)
    shutil.rmtree(root)
    shutil.rmtree(tmp_path / "clone")
    assert held(store, tree) == {"tracked": text("1"), ".gitignore": text("*.log\n")}


@pytest.mark.parametrize(
    ("closed", "files", "mode"),
    [
        ("closed", ["closed", "a"], "000"),
        ("shut", ["shut/a", "b"], "000"),
        ("listed", ["listed/a", "b"], "444"),
    ],
)
def test_what_may_not_be_read_is_named(closed: str, files: list[str], mode: str) -> None:
    # Not in pytest's folders: those are its user's alone, and whoever tries this has given up being root.
    with tempfile.TemporaryDirectory() as top:
        root = Path(top, "root")
        lay_out({file: text(file) for file in files}, root)
        if os.geteuid() == 0:
            for path in [Path(top), root, *root.rglob("*")]:
                os.chown(path, SOMEBODY, SOMEBODY)
        done = subprocess.run(
            [sys.executable, "-c", _TRY, top, closed, mode],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            check=True,
            capture_output=True,
            text=True,
            cwd="/",
        )
    assert done.stdout.splitlines()[0].startswith(f"snapshot_unreadable: `{closed}")
    assert f"\n`{closed}" in done.stdout, "the name of a file is no beginning of a sentence"
    assert done.stdout.splitlines()[-1] == "left out"


SOMEBODY = 65534

_TRY = f"""
import os, sys
from pathlib import Path
from pixirnb.errors import Cannot
from pixirnb.protocols.trees import Belonging
from pixirnb.workspace.git.tree_store import GitTrees
top, closed, mode = sys.argv[1:]
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({SOMEBODY})
    os.setuid({SOMEBODY})
store = GitTrees(Path(top, "state"), Path(top, "root"))
(store.root / closed).chmod(int(mode, 8))
try:
    store.snapshot(Belonging())
except Cannot as error:
    print(error)
    print(error.one_line())
tree = store.snapshot(Belonging(never_copy=(closed,)))
print("left out" if closed not in store.entries(tree) else "taken")
(store.root / closed).chmod(0o700)
"""
