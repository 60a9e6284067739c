"""A store on git leaves nothing in the user's repository, runs nothing of theirs, and loses nothing when theirs is cleaned."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pixirnb.protocols.trees import FILE, Belonging
from pixirnb.testing.contracts.tree_samples import LINES, SAMPLE, held
from pixirnb.testing.generators.tree_strategies import lay_out, read_back
from pixirnb.testing.repositories import commit, git, make_repository, traces
from pixirnb.workspace.git.tree_store import GitTrees

PLAIN = Belonging()


def live(store: GitTrees, given: Path) -> str:
    """All that a run does to a root, but for the merge-back; the tree that was taken."""
    tree = store.snapshot(PLAIN)
    store.keep("r-1/s.1/.", [tree])
    store.give(tree, given)
    (given / "made").write_bytes(b"made\n")
    git(given, "add", "made")
    git(given, "commit", "--quiet", "--message", "a step commits")
    git(given, "stash", "list")
    left = store.capture(given, tree, PLAIN)
    store.merge(tree, store.snapshot(PLAIN), left)
    store.left_behind(given, tree, PLAIN)
    store.patch(tree, left)
    store.marks(PLAIN)
    store.snapshot(PLAIN)
    return tree


@pytest.fixture
def store(tmp_path: Path) -> GitTrees:
    root = make_repository(tmp_path / "root", SAMPLE)
    return GitTrees(tmp_path / "state" / "trees" / "key", root)


@pytest.mark.parametrize("packed", [True, False])
def test_nothing_in_the_repository_is_written(
    store: GitTrees, tmp_path: Path, packed: bool
) -> None:
    if packed:
        git(store.root, "gc", "--quiet")
    lay_out(SAMPLE | {"src/a.py": (FILE, b"dirty\n"), "new": (FILE, b"new")}, store.root)
    git(store.root, "status")
    before = traces(store.root)
    live(store, tmp_path / "given")
    assert traces(store.root) == before
    assert git(store.root, "worktree", "list").count("\n") == 0
    assert git(store.root, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_nothing_is_written_after_another_commit_was_checked_out(
    store: GitTrees, tmp_path: Path
) -> None:
    store.snapshot(PLAIN)
    git(store.root, "switch", "--quiet", "--create", "other")
    lay_out(SAMPLE | {"src/a.py": (FILE, b"other\n"), "src/b.py": (FILE, b"b\n")}, store.root)
    commit(store.root)
    store.snapshot(PLAIN)
    git(store.root, "switch", "--quiet", "main")
    git(store.root, "gc", "--quiet")
    before = traces(store.root)
    live(store, tmp_path / "given")
    assert traces(store.root) == before


def test_what_was_taken_outlives_the_repository(store: GitTrees, tmp_path: Path) -> None:
    tree = live(store, tmp_path / "one")
    (store.root / "x").write_bytes(b"x")
    git(store.root, "checkout", "--quiet", "--orphan", "fresh")
    git(store.root, "rm", "-r", "--quiet", "--force", ".")
    commit(store.root)
    git(store.root, "branch", "--delete", "--force", "main")
    git(store.root, "reflog", "expire", "--expire=now", "--all")
    git(store.root, "gc", "--quiet", "--prune=now")
    assert held(store, tree) == SAMPLE
    assert git(tmp_path / "one", "log", "--format=%s").splitlines()[-1] == "a commit"
    store.give(tree, tmp_path / "two")
    assert read_back(tmp_path / "two") == SAMPLE
    assert store.entries(store.snapshot(PLAIN)).keys() == {"x"}


def test_objects_are_linked_and_not_copied(store: GitTrees) -> None:
    git(store.root, "gc", "--quiet")
    (pack,) = (store.root / ".git" / "objects" / "pack").glob("*.pack")
    store.snapshot(PLAIN)
    assert pack.stat().st_nlink == 2


def test_nothing_that_the_user_has_configured_is_run(store: GitTrees, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    spy = tmp_path / "spy"
    spy.write_text(f'#!/bin/sh\necho "$0 $*" >> {trace}\ncat\n')
    spy.chmod(0o755)
    hooks = store.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction"):
        (hooks / hook).write_text(f'#!/bin/sh\necho "{hook}" >> {trace}\n')
        (hooks / hook).chmod(0o755)
    lay_out(SAMPLE | {".gitattributes": (FILE, b"* filter=spy diff=spy merge=spy\n")}, store.root)
    for key in ("filter.spy.clean", "filter.spy.smudge", "filter.spy.process", "diff.spy.textconv"):
        git(store.root, "config", key, str(spy))
    for key in ("diff.spy.command", "merge.spy.driver", "core.fsmonitor", "core.pager"):
        git(store.root, "config", key, str(spy))
    tree = store.snapshot(PLAIN)
    given = tmp_path / "given"
    store.give(tree, given)
    lay_out(SAMPLE | {"src/a.py": (FILE, b"changed\n")}, given)
    left = store.capture(given, tree, PLAIN)
    lay_out(SAMPLE | {"src/a.py": (FILE, b"otherwise\n")}, store.root)
    store.merge(tree, store.snapshot(PLAIN), left)
    store.patch(tree, left)
    store.diff(tree, left)
    assert not trace.exists()


def test_a_repository_that_a_step_made_or_changed_is_not_obeyed(
    store: GitTrees, tmp_path: Path
) -> None:
    tree = store.snapshot(PLAIN)
    given = tmp_path / "given"
    store.give(tree, given)
    trace = tmp_path / "trace"
    within = make_repository(given / "within", {"a": (FILE, b"a"), "b.o": (FILE, b"b")})
    for folder in (given, within):
        git(folder, "config", "core.fsmonitor", f"touch {trace}; false")
        git(folder, "config", "core.excludesFile", str(given / "src" / "a.py"))
        (folder / ".git" / "info").mkdir(exist_ok=True)
        (folder / ".git" / "info" / "exclude").write_text("*\n")
    left = store.capture(given, tree, PLAIN)
    assert held(store, left) == SAMPLE | {"within/a": (FILE, b"a"), "within/b.o": (FILE, b"b")}
    assert not trace.exists()


def test_a_folder_has_a_history_and_is_clean(store: GitTrees, tmp_path: Path) -> None:
    git(store.root, "config", "user.name", "Ada Lovelace")
    git(store.root, "config", "user.email", "ada@example.org")
    lay_out(SAMPLE | {"src/a.py": (FILE, b"dirty\n"), "new": (FILE, b"new")}, store.root)
    given = tmp_path / "given"
    store.give(store.snapshot(PLAIN), given)
    assert git(given, "status", "--porcelain") == ""
    assert git(given, "log", "--format=%s").splitlines() == [
        "the files at the start of this step",
        "a commit",
    ]
    assert git(given, "diff", "--name-only", "HEAD~").splitlines() == ["new", "src/a.py"]
    assert git(given, "symbolic-ref", "HEAD") == "refs/heads/pixirnb"
    assert git(given, "config", "user.name") == "Ada Lovelace"
    git(given, "fsck", "--connectivity-only")


def test_what_a_step_commits_or_stages_plays_no_part(store: GitTrees, tmp_path: Path) -> None:
    tree = store.snapshot(PLAIN)
    given = tmp_path / "given"
    store.give(tree, given)
    git(given, "rm", "--cached", "--quiet", "src/a.py")
    git(given, "commit", "--quiet", "--message", "gone from the index alone")
    git(given, "checkout", "--quiet", "--orphan", "elsewhere")
    assert store.capture(given, tree, PLAIN) == tree
    (given / "src" / "a.py").unlink()
    (change,) = store.diff(tree, store.capture(given, tree, PLAIN))
    assert (change.path, change.after) == ("src/a.py", None)


def test_bytes_are_kept_whatever_the_attributes_say(store: GitTrees, tmp_path: Path) -> None:
    tree = {
        ".gitattributes": (
            FILE,
            b"*.txt text eol=crlf\n*.u16 working-tree-encoding=UTF-16\n*.id ident\n"
            b"*.bin filter=lfs diff=lfs merge=lfs -text\n*.py -diff\n*.x binary\n",
        ),
        "crlf.txt": (FILE, b"one\r\ntwo\r\n"),
        "lf.txt": (FILE, b"one\ntwo\n"),
        "both.txt": (FILE, b"one\r\ntwo\n"),
        "no.u16": (FILE, b"not UTF-16 at all"),
        "kept.id": (FILE, b"$Id$ $Id: abc $\n"),
        "big.bin": (FILE, b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
        "text.py": (FILE, LINES),
        "text.x": (FILE, LINES),
    }
    git(store.root, "config", "core.autocrlf", "true")
    git(store.root, "config", "core.eol", "crlf")
    lay_out(tree, store.root)
    taken = store.snapshot(PLAIN)
    assert held(store, taken) == tree
    given = tmp_path / "given"
    store.give(taken, given)
    assert read_back(given) == tree
    assert git(given, "status", "--porcelain") == ""
    lay_out(tree | dict.fromkeys(("text.py", "text.x"), (FILE, LINES + b"more\n")), given)
    left = store.capture(given, taken, PLAIN)
    assert {change.added for change in store.diff(taken, left)} == {1}
    assert b"GIT binary patch" not in store.patch(taken, left)


def test_what_the_environment_says_of_git_is_not_believed(store: GitTrees, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "other", {"other": (FILE, b"other")})
    (tmp_path / "hostile").write_text("[core]\n\tbare = maybe\n")
    hostile = {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / ".git" / "index"),
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "nowhere"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(tmp_path / "nowhere"),
        "GIT_NAMESPACE": "other",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "maybe",
        "GIT_CONFIG_PARAMETERS": "'core.bare=maybe'",
        "GIT_PREFIX": "src/",
        "GIT_EXTERNAL_DIFF": "false",
        "GIT_TRACE": "1",
        "GIT_DEFAULT_HASH": "sha256",
        "LANGUAGE": "de",
        "LC_ALL": "de_DE.UTF-8",
    }
    said = subprocess.run(
        [sys.executable, "-c", _CHILD, str(tmp_path), str(store.root)],
        env=os.environ | hostile | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert said == [store.snapshot(PLAIN), "clean"]
    assert read_back(tmp_path / "given") == SAMPLE
    assert git(other, "status", "--porcelain") == ""


_CHILD = """
import sys
from pathlib import Path
from pixirnb.protocols.trees import Belonging
from pixirnb.workspace.git.tree_store import GitTrees
top, root = map(Path, sys.argv[1:])
store = GitTrees(top / "state" / "trees" / "key", root)
tree = store.snapshot(Belonging())
store.give(tree, top / "given")
left = store.capture(top / "given", tree, Belonging())
print(tree, "clean" if store.patch(tree, left) == b"" and left == tree else "dirty")
"""
