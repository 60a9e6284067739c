"""A merge whose process died: taken back by whoever locks the root next, or by its run, and a person's edits since stay."""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from pixirnb import value_codec
from pixirnb.errors import Cannot
from pixirnb.testing.fakes.memory_trees import MemoryTrees
from pixirnb.workspace.merge.apply import (
    Part,
    apply,
    finish_merge,
    left_over,
    lock_roots,
    roll_back,
)

EXCHANGED = 6
"""Looks of the store until the first of two files is exchanged: two before staging, two in it, then one a file."""


@dataclass(frozen=True, slots=True)
class Wreck:
    """What a process left that was killed in the middle of a merge of `changed`, `gone` and `new`."""

    store: MemoryTrees
    journals: Path
    before: str

    @property
    def root(self) -> Path:
        return self.store.root

    def now(self) -> dict[str, str]:
        """Every file below the root, but for what we keep there."""
        paths = (path for path in self.root.rglob("*") if path.is_file())
        names = {str(path.relative_to(self.root)): path.read_text() for path in paths}
        return {name: text for name, text in names.items() if not name.startswith(".pixirnb")}

    def roll_back(self) -> list[str]:
        """By its run."""
        (left,) = left_over(self.journals)
        assert left.state == "pending"
        return roll_back(left, lambda _: self.store)

    def kept(self) -> list[str]:
        """What is kept for people."""
        found = self.root.glob(".pixirnb-kept-*/*")
        return sorted(path.read_text() for path in found if path.name != ".gitignore")

    def is_clean(self) -> bool:
        """Whether nothing of a merge lies anywhere."""
        ours = [*self.root.glob(".pixirnb*"), *self.journals.iterdir()]
        return not ours and not records_below(self.root)


def records_below(folder: Path) -> list[Path]:
    """Records of merges under way whose files lie in the folder. Other tests of the process leave theirs where they kill."""
    records = (value_codec.config_folder() / "roots").glob("*.json")
    return [path for path in records if str(folder) in path.read_text()]


@pytest.fixture
def wreck(tmp_path: Path) -> Wreck:
    for name in ("root", "journals"):
        (tmp_path / name).mkdir()
    store = MemoryTrees(tmp_path / "root")
    for name in ("changed", "gone"):
        (store.root / name).write_text(f"{name} before")
    before = store.taken()
    ours = {"changed": store.file(b"changed after"), "gone": None, "new": store.file(b"new")}
    after = store.edited(before, ours)
    pid = os.fork()
    if pid == 0:
        looks = iter(range(1_000))

        def die(word: str) -> None:
            # The last look round begins: all three are done.
            if word == "look" and next(looks) == EXCHANGED:
                os.kill(os.getpid(), signal.SIGKILL)

        store.meanwhile = die
        with lock_roots([store.root]):
            apply([Part(store, before, after)], tmp_path / "journals" / "merge.json", {"run": "r"})
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    found = Wreck(store, tmp_path / "journals", before)
    assert found.now() == {"changed": "changed after", "new": "new"}
    return found


def test_whoever_locks_the_root_next_takes_it_back(wreck: Wreck) -> None:
    with lock_roots([wreck.root]):
        assert wreck.store.taken() == wreck.before
    assert wreck.is_clean()


def test_its_run_takes_it_back(wreck: Wreck) -> None:
    assert wreck.roll_back() == []
    assert wreck.store.taken() == wreck.before
    assert wreck.is_clean()


def test_a_file_edited_since_stays_and_is_named(wreck: Wreck) -> None:
    (wreck.root / "changed").write_text("person")
    (wreck.root / "new").write_text("person too")
    (wreck.root / "gone").write_text("again")
    names = ("changed", "gone", "new")
    assert sorted(wreck.roll_back()) == [str(wreck.root / name) for name in names]
    assert wreck.now() == {"changed": "person", "new": "person too", "gone": "again"}
    assert wreck.is_clean()


def test_without_a_store_what_has_no_place_any_more_is_kept(wreck: Wreck) -> None:
    (wreck.root / "changed").write_text("person")
    with lock_roots([wreck.root]):
        assert wreck.now() == {"changed": "person", "gone": "gone before"}
    assert wreck.kept() == ["changed before"]
    assert left_over(wreck.journals) == []


def test_what_an_editor_wrote_into_its_open_file_is_kept_where_its_place_is_taken(
    wreck: Wreck,
) -> None:
    (place,) = wreck.root.glob(".pixirnb-merge-*")
    (out,) = (path for path in place.iterdir() if path.read_text() == "changed before")
    out.write_text("typed meanwhile")
    (wreck.root / "changed").write_text("person")
    assert wreck.roll_back() == [str(wreck.root / "changed")]
    assert wreck.now()["changed"] == "person"
    assert wreck.kept() == ["typed meanwhile"]


def test_a_file_removed_since_stays_removed(wreck: Wreck) -> None:
    (wreck.root / "changed").unlink()
    (wreck.root / "new").unlink()
    assert wreck.roll_back() == [str(wreck.root / "changed")]
    assert wreck.now() == {"gone": "gone before"}


def test_a_folder_that_became_a_link_since_is_not_followed(wreck: Wreck, tmp_path: Path) -> None:
    shutil.move(wreck.root, tmp_path / "moved")
    (tmp_path / "outside").mkdir()
    (wreck.root).mkdir()
    (wreck.root / "changed").symlink_to(tmp_path / "outside")
    place = next((tmp_path / "moved").glob(".pixirnb-merge-*"))
    shutil.move(place, wreck.root / place.name)
    assert str(wreck.root / "changed") in wreck.roll_back()
    assert list((tmp_path / "outside").iterdir()) == []


def test_where_someone_removed_what_was_set_aside_the_store_has_it(wreck: Wreck) -> None:
    (place,) = wreck.root.glob(".pixirnb-merge-*")
    shutil.rmtree(place)
    with pytest.raises(Cannot) as caught, lock_roots([wreck.root]):
        pass
    assert caught.value.code == "merge_unfinished"
    assert wreck.roll_back() == []
    assert wreck.store.taken() == wreck.before
    with lock_roots([wreck.root]):
        pass
    assert wreck.is_clean()


def test_where_someone_removed_the_journal_what_came_out_is_kept(wreck: Wreck) -> None:
    shutil.rmtree(wreck.journals)
    wreck.journals.mkdir()
    with lock_roots([wreck.root]):
        assert wreck.now() == {"changed": "changed after", "new": "new"}
    assert wreck.kept() == ["changed before", "gone before"]


def test_a_root_that_is_gone_may_have_been_moved_and_keeps_its_journal(
    wreck: Wreck, tmp_path: Path
) -> None:
    wreck.root.rename(tmp_path / "moved")
    with pytest.raises(Cannot, match="does not exist") as caught:
        wreck.roll_back()
    assert caught.value.code == "merge_unfinished"
    assert [left.state for left in left_over(wreck.journals)] == ["pending"]
    (tmp_path / "moved").rename(wreck.root)
    assert wreck.roll_back() == []
    assert wreck.store.taken() == wreck.before
    assert wreck.is_clean()


@pytest.mark.parametrize("stays", [False, True], ids=["moved", "copied"])
def test_a_project_that_was_moved_whole_is_put_back_where_it_lies(
    wreck: Wreck, tmp_path: Path, *, stays: bool
) -> None:
    here = tmp_path / "elsewhere" / "deep"
    for name in ("root", "journals"):
        shutil.copytree(tmp_path / name, here / name, symlinks=True)
        if not stays:
            shutil.rmtree(tmp_path / name)
    (left,) = left_over(here / "journals")
    wreck.store.root = here / "root"
    assert roll_back(left, lambda _: wreck.store) == []
    assert wreck.store.taken() == wreck.before
    assert [*(here / "root").glob(".pixirnb*"), *(here / "journals").iterdir()] == []
    wreck.store.root = tmp_path / "root"
    if stays:
        assert wreck.now() == {"changed": "changed after", "new": "new"}
        assert wreck.roll_back() == []
        assert wreck.store.taken() == wreck.before
    with lock_roots([wreck.root]):
        assert records_below(tmp_path) == []


def test_a_folder_that_only_lies_where_the_root_lay_is_not_touched(
    wreck: Wreck, tmp_path: Path
) -> None:
    here = tmp_path / "elsewhere"
    shutil.move(wreck.journals, here / "journals")
    (here / "root").mkdir()
    (here / "root" / "changed").write_text("another's")
    (left,) = left_over(here / "journals")
    assert roll_back(left, lambda _: wreck.store) == []
    assert wreck.store.taken() == wreck.before
    assert (here / "root" / "changed").read_text() == "another's"
    with lock_roots([wreck.root]):
        assert records_below(tmp_path) == []


def test_finishing_a_merge_that_is_done_tidies_what_its_process_did_not(tmp_path: Path) -> None:
    for name in ("root", "journals"):
        (tmp_path / name).mkdir()
    store = MemoryTrees(tmp_path / "root")
    (store.root / "a").write_text("a")
    before = store.taken()
    journal = tmp_path / "journals" / "merge.json"
    with lock_roots([store.root]):
        apply(
            [Part(store, before, store.edited(before, {"a": None, "b": store.file(b"b")}))],
            journal,
            {},
        )
    said_done = journal.read_bytes()
    finish_merge(journal)
    finish_merge(journal)
    # Killed after the tidying, before the journal went: it is finished once more.
    journal.write_bytes(said_done)
    finish_merge(journal)
    assert Wreck(store, tmp_path / "journals", before).is_clean()
