"""Folders of isolated attempts on another machine: what a step finds and leaves there is what it would find and leave here."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pixirnb.errors import Cannot
from pixirnb.protocols.trees import CopyFolders
from pixirnb.workspace.git.tree_packs import GitTreePacks

Entry = tuple[str, str]


def never() -> bool:
    return False


def files_in(top: Path) -> dict[str, Entry]:
    """Every file and link, by path: its kind with mode, and its content or target. Git's own are left out."""
    found: dict[str, Entry] = {}
    for path in top.rglob("*"):
        name = str(path.relative_to(top))
        if ".git" in path.relative_to(top).parts or (path.is_dir() and not path.is_symlink()):
            continue
        if path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        else:
            kind = "program" if os.access(path, os.X_OK) else "file"
            found[name] = (kind, path.read_bytes().decode(errors="surrogateescape"))
    return found


class Journey:
    """A folder of the driver's, and the same path on another machine: one of both is there at a time."""

    def __init__(self, place: Path) -> None:
        self.top = place / "isolated" / "a.1"
        self.root = self.top / "project"
        self.root.mkdir(parents=True)
        self.here, self.there = GitTreePacks(place / "here"), GitTreePacks(place / "there")
        self._aside = place / "aside"

    def send(self) -> int:
        """Lay the folder out on the other machine; return the bytes of the pack."""
        self.sent = self.here.record(self.top, never)
        size = self._carry(self.here, self.there, self.sent, self.there.known())
        self.top.rename(self._aside)
        self.there.lay_out(self.sent, CopyFolders(self.top, self.top / "workspace", (self.root,)))
        return size

    def fetch(self) -> int:
        """Bring back what is there now; return the bytes of the pack."""
        left = self.there.record(self.top, never)
        size = self._carry(self.there, self.here, left, [self.sent])
        self.there.remove(self.top)
        assert not self.top.exists()
        self._aside.rename(self.top)
        self.here.update(self.top, self.sent, left)
        return size

    def _carry(self, source: GitTreePacks, target: GitTreePacks, tree: str, known: object) -> int:
        pack = source.pack(tree, list(known))  # type: ignore[call-overload]
        arrived = target.incoming()
        arrived.write_bytes(pack.read_bytes())
        size = pack.stat().st_size
        pack.unlink()
        target.add(arrived, tree)
        return size


@pytest.fixture
def journey(tmp_path: Path) -> Journey:
    return Journey(tmp_path)


def many(root: Path) -> None:
    """Files of every kind."""
    (root / ".gitignore").write_text("*.o\n")
    (root / ".gitattributes").write_text("*.txt text eol=crlf filter=lfs\n")
    (root / "lines.txt").write_bytes(b"a\nb\r\n")
    (root / "ignored.o").write_bytes(bytes(range(256)))
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o755)
    (root / "link").symlink_to("sub/deep")
    (root / "folder link").symlink_to("sub")
    (root / "sub").mkdir()
    (root / "sub" / "deep").write_text("deep")
    (root / os.fsdecode(b"not \xff utf-8")).write_text("name")
    (root / "new\nline").write_text("")


def test_a_step_elsewhere_finds_the_same_files_ignored_ones_too(journey: Journey) -> None:
    many(journey.root)
    before = files_in(journey.top)
    journey.send()
    assert files_in(journey.top) == before
    assert (journey.top / "workspace").is_dir()  # also where no file of it is needed


def test_it_finds_a_repository_in_which_nothing_has_changed(journey: Journey) -> None:
    many(journey.root)
    journey.send()

    def git(*words: str) -> str:
        command = ["git", "-C", str(journey.root), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert git("status", "--short") == ""
    assert git("log", "--format=%s") == "the files at the start of this step\n"
    (journey.root / "sub" / "deep").write_text("other")
    assert git("status", "--short") == " M sub/deep\n"


def edit(root: Path) -> None:
    (root / "run").chmod(0o644)
    (root / "lines.txt").write_bytes(b"c\r\n")


def remove(root: Path) -> None:
    shutil.rmtree(root / "sub")
    (root / "link").unlink()


def exchange(root: Path) -> None:
    shutil.rmtree(root / "sub")
    (root / "sub").write_text("a file now")
    (root / "run").unlink()
    (root / "run").mkdir()
    (root / "run" / "inner").write_text("a folder now")


def make(root: Path) -> None:
    (root / "made.o").write_text("ignored")
    (root / "cloned" / ".git").mkdir(parents=True)
    (root / "cloned" / ".git" / "config").write_text("[core]\n")
    (root / "cloned" / "file").write_text("of a repository within")


def empty(root: Path) -> None:
    for path in root.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


@pytest.mark.parametrize("change", [edit, remove, exchange, make, empty])
def test_what_it_leaves_there_is_found_here(
    journey: Journey, change: Callable[[Path], None]
) -> None:
    many(journey.root)
    journey.send()
    change(journey.root)
    left = files_in(journey.top)
    journey.fetch()
    assert files_in(journey.top) == left


def test_what_the_other_side_has_does_not_travel_again(journey: Journey) -> None:
    (journey.root / "large").write_bytes(os.urandom(300_000))
    assert journey.send() > 300_000
    (journey.root / "small").write_text("new")
    assert journey.fetch() < 1000
    assert journey.send() < 1000


def test_a_pipe_left_for_git_to_read_is_given_up_once_the_step_is_over(journey: Journey) -> None:
    (journey.root / "file").write_text("x")
    journey.send()
    os.mkfifo(journey.root / ".gitattributes")
    (journey.root / "file").write_text("y")
    with pytest.raises(Cannot, match="stopped together with the step"):
        journey.there.record(journey.top, lambda: True)


def test_a_folder_that_is_in_the_way_is_no_folder_of_the_step(journey: Journey) -> None:
    (journey.root / "file").write_text("x")
    tree = journey.here.record(journey.top, never)
    with pytest.raises(Cannot, match="File exists"):
        journey.here.lay_out(tree, CopyFolders(journey.top, journey.top, (journey.root,)))


def test_nothing_stays_once_they_are_closed(journey: Journey, tmp_path: Path) -> None:
    many(journey.root)
    journey.send()
    journey.here.close()
    journey.there.close()
    journey.there.close()
    assert not (tmp_path / "here").exists()
    assert not (tmp_path / "there").exists()
