"""Git comes and goes between two processes of a run: each tree is read where the log says that it is kept."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from pixirnb.errors import Cannot
from pixirnb.planning.roots import Roots
from pixirnb.protocols.trees import Checkout, Layer, MergeInput, Merging
from pixirnb.testing.repositories import make_repository, only_on_path
from pixirnb.workspace.choose_store import forget_run, tree_store
from pixirnb.workspace.local_files import LocalFiles

RUN = "r-1"


class Ground:
    """A project, and processes of a run one after the other."""

    def __init__(self, folder: Path) -> None:
        self.flow = make_repository(folder / "flow", {})
        (self.flow / "a.txt").write_text("1\n")
        self.state = self.flow / ".pixirnb"
        self.state.mkdir()
        self.nothing = folder / "nothing"
        self.nothing.mkdir()

    def move(self, place: Path) -> None:
        """The project is found elsewhere, its state folder with it."""
        self.flow = self.flow.rename(place)
        self.state = self.flow / ".pixirnb"

    def files(self) -> LocalFiles:
        """As a new process has them."""
        return LocalFiles(self.state, Roots.of(str(self.flow), {}))

    def captured(self, step: str, path: str, text: str, **said: Any) -> Layer:
        """What a step changed, as the log names it."""
        files = self.files()
        given = files.give(MergeInput(RUN, f"{step}.1", (".",), **said))
        assert isinstance(given, Checkout)
        (given.workspace / path).write_text(text)
        taken = files.take(given)
        files.drop(given)
        return Layer(step, 1, ".", given.base["."], taken.trees["."], taken.methods["."])

    def merged(self, name: str, *layers: Layer) -> dict[str, Any]:
        """Bring changes back, as the log names it."""

        def describe(merging: Merging) -> dict[str, Any]:
            root = {"root": ".", "method": merging.taken.methods["."]}
            root |= {"before": merging.before["."], "after": merging.after["."]}
            return {"merge": name, "roots": [root]}

        files = self.files()
        done = files.merge(MergeInput(RUN, name, (".",), layers), describe)
        assert isinstance(done, tuple)
        files.recorded(RUN, name)
        return done[0]

    def undone(self, merge: dict[str, Any]) -> None:
        files = self.files()
        done = files.undo(MergeInput(RUN, "m9", (".",)), merge, lambda _: {})
        assert isinstance(done, tuple)
        files.recorded(RUN, "m9")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_what_was_captured_without_git_goes_on_without_it_once_git_is_there(ground: Ground) -> None:
    with only_on_path(ground.nothing):
        one = ground.captured("one", "a.txt", "2\n")
    assert one.method == "copy"
    two = ground.captured("two", "b.txt", "b\n", layers=(one,))
    beside = ground.captured("beside", "c.txt", "c\n", kept={".": {"one": "copy"}})
    assert (two.method, beside.method) == ("copy", "copy")
    merge = ground.merged("m1", one, two, beside)
    assert (ground.flow / "a.txt").read_text() == "2\n"
    assert merge["roots"][0]["method"] == "copy"
    ground.undone(merge)
    assert (ground.flow / "a.txt").read_text() == "1\n"
    assert not (ground.flow / "c.txt").exists()
    assert ground.captured("fresh", "d.txt", "d\n").method == "git"


def test_what_git_keeps_is_asked_of_git_by_name_and_nothing_is_changed(ground: Ground) -> None:
    one = ground.captured("one", "a.txt", "2\n")
    merge = ground.merged("m1", one)
    with only_on_path(ground.nothing):
        for order in (
            MergeInput(RUN, "two.1", (".",), (one,)),
            MergeInput(RUN, "two.1", (".",), kept={".": {"one": "git"}}),
        ):
            with pytest.raises(Cannot) as told:
                ground.files().give(order)
            assert told.value.code == "git_missing"
            assert "`one`" in told.value.message
            assert "2.38" in told.value.fix
            assert f"`resume {RUN} --from one`" in told.value.fix
        with pytest.raises(Cannot) as told:
            ground.files().undo(MergeInput(RUN, "m9", (".",)), merge, lambda _: {})
        assert (told.value.code, told.value.details["steps"]) == ("git_missing", ["m1"])
        assert "resume" not in told.value.fix
        # Run again, it has nothing of git's to build on, and its files are copied; also where others are git's still.
        beside = ground.captured("one", "a.txt", "3\n", kept={".": {"two": "git"}}, is_anew=True)
        assert beside.method == "copy"
        again = ground.captured("one", "a.txt", "3\n")
        assert again.method == "copy"
    assert (ground.flow / "a.txt").read_text() == "2\n"
    ground.undone(merge)
    assert (ground.flow / "a.txt").read_text() == "1\n"


def test_where_an_old_log_names_both_each_is_read_where_it_is_and_they_are_not_mixed(
    ground: Ground,
) -> None:
    with only_on_path(ground.nothing):
        one = ground.captured("one", "a.txt", "2\n")
    two = ground.captured("two", "b.txt", "b\n")
    assert (one.method, two.method) == ("copy", "git")
    with pytest.raises(Cannot) as told:
        ground.merged("m1", one, two)
    assert (told.value.code, told.value.details["steps"]) == ("trees_mixed", ["one"])
    assert f"`resume {RUN} --from one`" in told.value.fix
    assert sorted(path.name for path in ground.flow.glob("*.txt")) == ["a.txt"]
    merges = [ground.merged("m1", one), ground.merged("m2", two)]
    assert (ground.flow / "a.txt").read_text() + (ground.flow / "b.txt").read_text() == "2\nb\n"
    for merge in reversed(merges):
        ground.undone(merge)
    assert (ground.flow / "a.txt").read_text() == "1\n"
    assert not (ground.flow / "b.txt").exists()
    again = ground.captured("one", "a.txt", "3\n", kept={".": {"two": "git"}})
    ground.merged("m3", again, two)


def test_a_fork_keeps_the_trees_of_both(ground: Ground) -> None:
    with only_on_path(ground.nothing):
        one = ground.captured("one", "a.txt", "2\n")
    two = ground.captured("two", "b.txt", "b\n")
    for layer in (one, two):
        ground.files().adopt("r-2", {(".", layer.method): [layer.base, layer.left]})
    forget_run(ground.state, RUN)
    for layer in (one, two):
        store = tree_store(ground.state, ground.flow, layer.method)
        assert "a.txt" in store.entries(layer.left)


def test_without_git_a_run_is_forgotten_that_git_keeps_nothing_of(ground: Ground) -> None:
    ground.captured("one", "a.txt", "2\n")
    with only_on_path(ground.nothing):
        order = MergeInput("r-2", "one.1", (".",))
        files = ground.files()
        given = files.give(order)
        assert isinstance(given, Checkout)
        kept = files.take(given).trees["."]
        forget_run(ground.state, "r-2")
        with pytest.raises(Cannot) as told:
            forget_run(ground.state, RUN)
        assert told.value.code == "git_missing"
    with pytest.raises(Cannot):
        tree_store(ground.state, ground.flow, "copy").entries(kept + "0")
    forget_run(ground.state, RUN)
    refs = (ground.state / "trees").glob("*/git/refs/pixirnb/**/*")
    assert [path for path in refs if path.is_file()] == []


def killed(ground: Ground, layer: Layer) -> Path:
    """A merge that died when every file was in place and nothing said so yet; the folder with what came out."""
    pid = os.fork()
    if pid == 0:
        spoken = iter(range(9))

        def die(event: str, arguments: tuple[Any, ...]) -> None:
            if event == "os.rename" and str(arguments[1]).endswith("m1.json") and next(spoken):
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(die)
        order = MergeInput(RUN, "m1", (".",), (layer,))
        ground.files().merge(order, lambda _: {"merge": "m1"})
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    assert (ground.flow / "a.txt").read_text() == "2\n"
    (staging,) = ground.flow.glob(".pixirnb-merge-*")
    return staging


@pytest.mark.parametrize("is_staging_lost", [False, True])
def test_half_a_merge_is_taken_back_by_the_store_it_was_begun_with(
    ground: Ground, *, is_staging_lost: bool
) -> None:
    with only_on_path(ground.nothing):
        layer = ground.captured("one", "a.txt", "2\n")
        staging = killed(ground, layer)
    if is_staging_lost:
        shutil.rmtree(staging)
    assert ground.files().unrecorded(RUN) == []
    assert (ground.flow / "a.txt").read_text() == "1\n"
    assert list(ground.flow.glob(".pixirnb-*")) == []


def test_half_a_merge_that_git_began_is_taken_back_without_it(ground: Ground) -> None:
    killed(ground, ground.captured("one", "a.txt", "2\n"))
    with only_on_path(ground.nothing):
        assert ground.files().unrecorded(RUN) == []
    assert (ground.flow / "a.txt").read_text() == "1\n"
    assert list(ground.flow.glob(".pixirnb-*")) == []


def test_over_half_a_merge_in_a_folder_that_was_moved_nothing_is_merged(
    ground: Ground, tmp_path: Path
) -> None:
    layer = ground.captured("one", "a.txt", "2\n")
    staging = killed(ground, layer)
    ground.move(tmp_path / "moved")
    other = MergeInput("r-2", "m1", (".",), (layer,))
    for ask in (ground.files().give, lambda order: ground.files().merge(order, lambda _: {})):
        with pytest.raises(Cannot) as told:
            ask(other)
        assert told.value.code == "merge_unfinished"
        assert staging.name in told.value.message
        assert f"`resume {RUN}`" in told.value.fix
    assert ground.files().unrecorded(RUN) == []
    assert (ground.flow / "a.txt").read_text() == "1\n"
    ground.merged("m2", layer)
    assert (ground.flow / "a.txt").read_text() == "2\n"


def test_half_a_merge_whose_run_is_gone_is_a_matter_for_a_person(
    ground: Ground, tmp_path: Path
) -> None:
    layer = ground.captured("one", "a.txt", "2\n")
    staging = killed(ground, layer)
    ground.move(tmp_path / "moved")
    (ground.state / "merges" / f"{RUN}.m1.json").unlink()
    with pytest.raises(Cannot) as told:
        ground.merged("m2", layer)
    assert (told.value.code, told.value.details["run_id"]) == ("merge_unfinished", None)
    assert "by hand" in told.value.fix
    shutil.rmtree(ground.flow / staging.name)
    ground.merged("m2", layer)
