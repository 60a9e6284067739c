"""A merge of many files costs little more for each: one git for all contents, one flush of the disk."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from pixirnb.errors import Cannot
from pixirnb.protocols.trees import FILE, Belonging
from pixirnb.testing.repositories import make_repository
from pixirnb.workspace.git.tree_store import GitTrees
from pixirnb.workspace.merge.apply import Part, apply, lock_roots

PLAIN = Belonging()


def merged(store: GitTrees, tmp_path: Path, count: int) -> None:
    """Change `count` files of the root by way of a given folder and a merge."""
    for number in range(count):
        (store.root / f"{number}").write_text("before\n")
    before = store.snapshot(PLAIN)
    given = tmp_path / f"given-{count}"
    store.give(before, given)
    for number in range(count):
        (given / f"{number}").write_text(f"after {number} of {count}\n")
    after = store.capture(given, before, PLAIN)
    calls = tmp_path / "calls"
    calls.write_text("")
    with lock_roots([store.root]):
        apply([Part(store, before, after)], tmp_path / f"{count}.json", {})
    assert store.digest_of(store.root / f"{count - 1}") == store.entries(after)[f"{count - 1}"]


def test_it_starts_no_git_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, shim = tmp_path / "calls", tmp_path / "bin" / "git"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\necho "$@" >> "{calls}"\nexec "{shutil.which("git")}" "$@"\n')
    shim.chmod(0o755)
    root = make_repository(tmp_path / "root", {"a": (FILE, b"a\n")})
    store = GitTrees(tmp_path / "store", root)
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")
    lines = []
    for count in (2, 20):
        merged(store, tmp_path, count)
        lines.append(len(calls.read_text().splitlines()))
    assert lines[0] == lines[1]


def test_files_that_are_flushed_at_once_are_what_was_wanted(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "root", {"a": (FILE, b"a\n")})
    merged(GitTrees(tmp_path / "store", root), tmp_path, 130)
    assert all(
        (root / str(number)).read_text() == f"after {number} of 130\n" for number in range(130)
    )


def test_a_full_disk_is_told_by_whose_it_is_and_content_that_is_lost_too(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "root", {"a": (FILE, b"a\n")})
    store = GitTrees(tmp_path / "store", root)
    entry = store.entries(store.snapshot(PLAIN))["a"]
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        with pytest.raises(OSError, match="No space") as caught:
            store.write_content(entry.digest, full)
        assert caught.value.errno == errno.ENOSPC
        with store.contents() as write, pytest.raises(Cannot) as lost:
            write("0" * 40, full)
        assert lost.value.code == "tree_missing"
    finally:
        os.close(full)
