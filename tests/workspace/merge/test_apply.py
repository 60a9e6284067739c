"""A merge on the user's files: all of it or none, and nothing a person wrote is lost."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pixirnb.errors import Cannot, InternalError
from pixirnb.protocols.trees import EXECUTABLE, FILE, LINK, TreeEntry
from pixirnb.testing.fakes.memory_trees import MemoryTrees
from pixirnb.workspace.merge.apply import (
    JournalFile,
    Part,
    apply,
    finish_merge,
    left_over,
    lock_roots,
    roll_back,
)

NOBODY = 65534


@dataclass(frozen=True, slots=True)
class Bench:
    """A root, its store, and a folder for journals."""

    store: MemoryTrees
    journals: Path

    @property
    def root(self) -> Path:
        return self.store.root

    @property
    def journal(self) -> Path:
        return self.journals / "merge.json"

    def has(self, **files: str) -> None:
        """Put files there; `__` stands for `/`."""
        for name, text in files.items():
            path = self.root / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def merge(self, changes: Mapping[str, TreeEntry | None]) -> str:
        """Carry changes out on what is there. The tree that was wanted."""
        before = self.store.taken()
        after = self.store.edited(before, changes)
        with lock_roots([self.root]):
            apply([Part(self.store, before, after)], self.journal, {"run": "r-1"})
        return after

    def refused(self, changes: Mapping[str, TreeEntry | None]) -> Cannot:
        """The error of a merge that is not carried out; nothing of ours is left lying."""
        with pytest.raises(Cannot) as caught:
            self.merge(changes)
        assert list(self.journals.iterdir()) == []
        assert list(self.root.glob(".pixirnb*")) == []
        return caught.value

    def text(self, data: str, mode: str = FILE) -> TreeEntry:
        return self.store.file(data.encode(), mode)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    for name in ("root", "journals"):
        (tmp_path / name).mkdir()
    return Bench(MemoryTrees(tmp_path / "root"), tmp_path / "journals")


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that any user may come to; `tmp_path` lies below one of its owner's."""
    place = Path(tempfile.mkdtemp(prefix="pixirnb-open-"))
    place.chmod(0o777)
    yield place
    shutil.rmtree(place)


def unprivileged(place: Path, act: Callable[[], str]) -> str:
    """What `act` says where permissions count: in a child of no privileges, if these are the superuser's tests."""
    if os.geteuid() != 0:
        return act()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = "it ended without a word"
        try:
            for path in (place, *place.rglob("*")):
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.environ["XDG_CONFIG_HOME"] = str(place / "config")
            said = act()
        except BaseException as error:  # noqa: BLE001 - a child must never return into its parent's code
            said = repr(error)
        finally:
            os.write(writing, said.encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        said = file.read()
    os.waitpid(pid, 0)
    return said


def test_every_kind_of_change_is_carried_out(bench: Bench) -> None:
    bench.has(a="a", gone="g", folder__x="x", folder__deep__y="y", becomes_folder="f", twin="t")
    (bench.root / "link").symlink_to("nowhere")
    after = bench.merge(
        {
            "a": bench.text("A"),
            "twin": bench.text("t", EXECUTABLE),
            "gone": None,
            "folder/x": None,
            "folder/deep/y": None,
            "folder": bench.text("a file now"),
            "becomes_folder": None,
            "becomes_folder/in/z": bench.text("z"),
            "link": bench.text("elsewhere", LINK),
            "new/program": bench.text("run", EXECUTABLE),
        }
    )
    assert bench.store.taken() == after
    assert list(bench.root.glob(".pixirnb*")) == []
    assert (bench.root / "link").readlink() == Path("elsewhere")


@pytest.mark.parametrize(
    "name", ["with space", "new\nline", "ünïcode", "\udcff\udcfe", "'quoted\"", "-dash", "*"]
)
def test_any_name_a_file_can_have_is_merged(bench: Bench, name: str) -> None:
    (bench.root / name).write_text("before")
    after = bench.merge({name: bench.text("after"), f"{name}.d/{name}": bench.text("new")})
    assert bench.store.taken() == after


def test_the_journal_says_done_until_it_is_finished(bench: Bench) -> None:
    bench.has(a="a")
    bench.merge({"a": bench.text("A")})
    assert left_over(bench.journals) == [JournalFile(bench.journal, {"run": "r-1"}, "done")]
    finish_merge(bench.journal)
    finish_merge(bench.journal)
    assert left_over(bench.journals) == []
    assert list(bench.journals.iterdir()) == []


def test_other_json_beside_journals_is_none(bench: Bench) -> None:
    (bench.journals / "lease.json").write_text('{"pid":1}')
    assert left_over(bench.journals) == []
    assert left_over(bench.journals / "missing") == []


def test_a_damaged_journal_is_an_error_and_never_passed_over(bench: Bench) -> None:
    (bench.journals / "merge.json").write_text('{"kind":"pixirnb merge","v":1')
    with pytest.raises(Cannot) as caught:
        left_over(bench.journals)
    assert caught.value.code == "merge_journal_damaged"


def test_equal_trees_touch_nothing(bench: Bench) -> None:
    bench.has(a="a")
    seen = (bench.root / "a").stat(), bench.root.stat()
    bench.merge({})
    assert ((bench.root / "a").stat(), bench.root.stat()) == seen
    assert [left.state for left in left_over(bench.journals)] == ["done"]


def test_merging_twice_changes_nothing_more(bench: Bench) -> None:
    bench.has(a="a")
    bench.merge({"a": bench.text("A"), "b/c": bench.text("c")})
    inode = (bench.root / "a").stat().st_ino
    bench.merge({"a": bench.text("A"), "b/c": bench.text("c")})
    assert (bench.root / "a").stat().st_ino == inode


def test_a_private_file_stays_private_and_execution_is_as_the_tree_says(bench: Bench) -> None:
    bench.has(private="p", program="x", shared="s")
    (bench.root / "private").chmod(0o600)
    (bench.root / "program").chmod(0o750)
    (bench.root / "shared").chmod(0o664)
    bench.merge(
        {
            "private": bench.text("P"),
            "program": bench.text("X"),
            "shared": bench.text("S", EXECUTABLE),
        }
    )
    bits = {path.name: stat.S_IMODE(path.stat().st_mode) for path in bench.root.iterdir()}
    assert bits == {"private": 0o600, "program": 0o640, "shared": 0o775}


def test_another_hard_link_keeps_the_old_content(bench: Bench) -> None:
    bench.has(a="a")
    (bench.journals.parent / "other").hardlink_to(bench.root / "a")
    bench.merge({"a": bench.text("A")})
    assert (bench.journals.parent / "other").read_text() == "a"


def test_folders_go_with_their_last_file_and_others_stay(bench: Bench) -> None:
    bench.has(one__deep__x="x", two__y="y")
    (bench.root / "two" / "empty").mkdir()
    (bench.root / "alone").mkdir()
    bench.merge({"one/deep/x": None, "two/y": None})
    assert sorted(str(path.relative_to(bench.root)) for path in bench.root.rglob("*")) == [
        "alone",
        "two",
        "two/empty",
    ]


def test_files_that_changed_since_are_named_and_nothing_is_touched(bench: Bench) -> None:
    bench.has(**{f"f{number}": "before" for number in range(7)})
    before = bench.store.taken()
    after = bench.store.edited(before, {f"f{n}": bench.text("after") for n in range(7)})
    bench.has(**{f"f{number}": "person" for number in range(1, 7)})
    with lock_roots([bench.root]), pytest.raises(Cannot) as caught:
        apply([Part(bench.store, before, after)], bench.journal, {})
    assert caught.value.code == "merge_disturbed"
    assert caught.value.details["files"] == ["f1", "f2", "f3", "f4", "f5"]
    assert (bench.root / "f0").read_text() == "before"
    assert list(bench.journals.iterdir()) == []


def test_a_file_that_came_where_one_is_to_be_made_stays(bench: Bench) -> None:
    bench.has(a="a")
    before = bench.store.taken()
    bench.has(new="person")
    after = bench.store.edited(before, {"new": bench.text("ours"), "a": None})
    with lock_roots([bench.root]), pytest.raises(Cannot) as caught:
        apply([Part(bench.store, before, after)], bench.journal, {})
    assert (caught.value.code, caught.value.details["files"]) == ("merge_disturbed", ["new"])
    assert (bench.root / "new").read_text() == "person"
    assert (bench.root / "a").read_text() == "a"


def test_a_folder_with_files_of_its_own_does_not_give_way_to_a_file(bench: Bench) -> None:
    bench.has(place__x="x")
    before = bench.store.taken()
    bench.has(place__mine="ignored")
    changes = {"place/x": None, "place": bench.text("a file")}
    after = bench.store.edited(before, changes)
    with lock_roots([bench.root]), pytest.raises(Cannot) as caught:
        apply([Part(bench.store, before, after)], bench.journal, {})
    assert (caught.value.code, caught.value.details["files"]) == ("merge_disturbed", ["place"])
    assert {path.name for path in (bench.root / "place").iterdir()} == {"x", "mine"}


def test_an_empty_folder_gives_way_to_a_file(bench: Bench) -> None:
    (bench.root / "place").mkdir()
    after = bench.merge({"place": bench.text("a file")})
    assert bench.store.taken() == after


def test_a_parent_that_is_a_link_leading_out_is_refused(bench: Bench) -> None:
    outside = bench.journals.parent / "outside"
    outside.mkdir()
    (bench.root / "door").symlink_to(outside)
    before = bench.store.tree({})
    after = bench.store.tree({"door/x": bench.text("x")})
    with lock_roots([bench.root]), pytest.raises(Cannot) as caught:
        apply([Part(bench.store, before, after)], bench.journal, {})
    assert caught.value.code == "merge_unsafe"
    assert list(outside.iterdir()) == []


def test_a_link_that_becomes_a_folder_is_not_followed(bench: Bench) -> None:
    outside = bench.journals.parent / "outside"
    outside.mkdir()
    (bench.root / "door").symlink_to(outside)
    after = bench.merge({"door": None, "door/x": bench.text("x")})
    assert bench.store.taken() == after
    assert list(outside.iterdir()) == []


def test_a_parent_that_is_a_link_within_the_root_is_not_followed(bench: Bench) -> None:
    bench.has(real__x="x")
    (bench.root / "door").symlink_to("real")
    before = bench.store.tree({"door/x": bench.text("x")})
    after = bench.store.tree({"door/x": bench.text("X")})
    with lock_roots([bench.root]), pytest.raises(Cannot) as caught:
        apply([Part(bench.store, before, after)], bench.journal, {})
    assert caught.value.code == "merge_disturbed"
    assert (bench.root / "real" / "x").read_text() == "x"


@pytest.mark.parametrize(
    "path",
    ["../x", "/x", "a//b", "a/./b", "", "nul\0", ".git/config", "sub/.GIT/hooks/x", ".pixirnb/x"],
)
def test_a_path_that_leads_elsewhere_or_to_git_or_to_us_is_refused(bench: Bench, path: str) -> None:
    assert bench.refused({path: bench.text("x")}).code == "merge_unsafe"


def test_a_dangling_link_is_a_file_like_any_other(bench: Bench) -> None:
    (bench.root / "dangling").symlink_to("not/there")
    (bench.root / "leaving").symlink_to("/not/there")
    after = bench.merge({"dangling": bench.text("a file"), "leaving": None})
    assert bench.store.taken() == after


def test_an_editor_that_saves_during_the_merge_gets_its_file_again(bench: Bench) -> None:
    bench.has(a="a", b="b", c="c")
    wanted = {name: bench.text(name.upper()) for name in ("a", "b", "c")}
    looks = iter(range(1_000))

    def save(word: str) -> None:
        # Three looks are before the staging, three in it; the first exchange is looked at with the seventh.
        if word == "look" and next(looks) == 6:
            (bench.root / "saving").write_text("person")
            (bench.root / "saving").replace(bench.root / "c")

    bench.store.meanwhile = save
    error = bench.refused(wanted)
    assert (error.code, error.details["files"]) == ("merge_disturbed", ["c"])
    now = {path.name: path.read_text() for path in bench.root.iterdir()}
    assert now == {"a": "a", "b": "b", "c": "person"}


def test_an_editor_that_writes_into_its_open_file_is_noticed(bench: Bench) -> None:
    bench.has(a="a", b="b")
    wanted = {name: bench.text(name.upper()) for name in ("a", "b")}
    looks = iter(range(1_000))
    with (bench.root / "a").open("a") as held:

        def write(word: str) -> None:
            # The seventh look is the first of the last round: all files are exchanged by then.
            if word == "look" and next(looks) == 6:
                held.write(" and more")
                held.flush()

        bench.store.meanwhile = write
        error = bench.refused(wanted)
    assert error.code == "merge_disturbed"
    assert (bench.root / "a").read_text() == "a and more"
    assert (bench.root / "b").read_text() == "b"


def test_two_roots_change_together_or_not_at_all(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    second = MemoryTrees(tmp_path / "second")
    (second.root / "s").write_text("s")
    bench.has(a="a")
    parts = []
    for store, name in ((bench.store, "a"), (second, "s")):
        before = store.taken()
        parts.append(
            Part(store, before, store.edited(before, {name: store.file(b"after")})),
        )
    (second.root / "s").write_text("person")
    with lock_roots([bench.root, second.root]), pytest.raises(Cannot) as caught:
        apply(parts, bench.journal, {})
    assert caught.value.details["root"] == str(second.root)
    assert (bench.root / "a").read_text() == "a"
    (second.root / "s").write_text("s")
    with lock_roots([bench.root, second.root]):
        apply(parts, bench.journal, {})
    assert [p.store.root.joinpath(n).read_text() for p, n in zip(parts, "as", strict=True)] == [
        "after"
    ] * 2


def test_a_root_that_is_not_locked_is_a_mistake_of_ours(bench: Bench) -> None:
    bench.has(a="a")
    before = bench.store.taken()
    after = bench.store.edited(before, {"a": None})
    with pytest.raises(InternalError):
        apply([Part(bench.store, before, after)], bench.journal, {})


def test_a_folder_that_may_not_be_written_is_refused_and_nothing_is_touched(
    open_place: Path,
) -> None:
    def act() -> str:
        bench = Bench(MemoryTrees(open_place / "root"), open_place / "journals")
        bench.has(a="a", locked__b="b")
        bench.journals.mkdir()
        (bench.root / "locked").chmod(0o555)
        error = bench.refused({"a": bench.text("A"), "locked/b": bench.text("B")})
        now = (bench.root / "a").read_text(), (bench.root / "locked/b").read_text()
        (bench.root / "locked").chmod(0o755)
        assert "(`locked/b`)" in error.message, error.message
        return f"{error.code} {now}"

    (open_place / "root").mkdir()
    assert unprivileged(open_place, act) == "merge_refused ('a', 'b')"


def test_a_root_that_may_not_be_written_is_named_itself(open_place: Path) -> None:
    def act() -> str:
        bench = Bench(MemoryTrees(open_place / "root"), open_place / "journals")
        bench.has(a="a")
        bench.journals.mkdir()
        bench.root.chmod(0o555)
        error = bench.refused({"a": bench.text("A")})
        bench.root.chmod(0o755)
        return error.message

    (open_place / "root").mkdir()
    assert f"(`{open_place / 'root'}`)" in unprivileged(open_place, act)


def test_a_file_that_may_not_be_read_is_refused(open_place: Path) -> None:
    def act() -> str:
        bench = Bench(MemoryTrees(open_place / "root"), open_place / "journals")
        bench.has(a="a", b="b")
        bench.journals.mkdir()
        before = bench.store.taken()
        after = bench.store.edited(before, {"a": bench.text("A"), "b": bench.text("B")})
        (bench.root / "b").chmod(0)
        with lock_roots([bench.root]), pytest.raises(Cannot) as caught:
            apply([Part(bench.store, before, after)], bench.journal, {})
        assert "`b`" in caught.value.message, caught.value.message
        return f"{caught.value.code} {(bench.root / 'a').read_text()}"

    (open_place / "root").mkdir()
    assert unprivileged(open_place, act) == "merge_refused a"


def test_what_a_merge_that_is_done_or_gone_left_is_not_rolled_back(bench: Bench) -> None:
    bench.has(a="a")
    bench.merge({"a": bench.text("A")})
    (left,) = left_over(bench.journals)
    assert roll_back(left, lambda _: bench.store) == []
    finish_merge(bench.journal)
    assert roll_back(left, lambda _: bench.store) == []
    assert (bench.root / "a").read_text() == "A"
