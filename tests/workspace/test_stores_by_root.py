"""Git comes and goes between two processes of a run, and a run may be of a release that did without it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from pixirnb.errors import Cannot
from pixirnb.planning.roots import Roots
from pixirnb.protocols.trees import Checkout, Layer, MergeInput, Merging
from pixirnb.testing.repositories import make_repository, only_on_path
from pixirnb.workspace.local_files import LocalFiles
from pixirnb.workspace.stores_by_root import forget_run, tree_store

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
        return Layer(step, 1, ".", given.base["."], taken.trees["."])

    def merged(self, name: str, *layers: Layer) -> Any:
        """Bring changes back, as the log names it."""

        def describe(merging: Merging) -> Any:
            root = {"root": ".", "before": merging.before["."], "after": merging.after["."]}
            return {"merge": name, "roots": [root]}

        files = self.files()
        done = files.merge(MergeInput(RUN, name, (".",), layers), describe)
        assert isinstance(done, tuple)
        files.recorded(RUN, name)
        return done[0]

    def undone(self, merge: Any) -> None:
        files = self.files()
        done = files.undo(MergeInput(RUN, "m9", (".",)), merge, lambda _: cast("Any", {}))
        assert isinstance(done, tuple)
        files.recorded(RUN, "m9")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_without_git_nothing_is_given_merged_or_taken_back_and_git_is_asked_for(
    ground: Ground,
) -> None:
    one = ground.captured("one", "a.txt", "2\n")
    merge = ground.merged("m1", one)
    with only_on_path(ground.nothing):
        for ask in (
            lambda: ground.captured("two", "b.txt", "b\n"),
            lambda: ground.captured("two", "b.txt", "b\n", layers=(one,)),
            lambda: ground.merged("m2", one),
            lambda: ground.undone(merge),
        ):
            with pytest.raises(Cannot) as told:
                ask()
            assert (told.value.code, told.value.fix) == (
                "git_missing",
                "install git 2.38 or later",
            )
    assert sorted(path.name for path in ground.flow.glob("*.txt")) == ["a.txt"]
    assert (ground.flow / "a.txt").read_text() == "2\n"
    ground.undone(merge)
    assert (ground.flow / "a.txt").read_text() == "1\n"


def test_without_git_what_a_shared_step_writes_is_seen(ground: Ground) -> None:
    (ground.flow / "sub" / "node_modules").mkdir(parents=True)
    (ground.flow / "sub" / "node_modules" / "x").write_text("")
    (ground.flow / "sub" / "link").symlink_to("nowhere")
    (ground.flow / "id_rsa").write_text("secret")
    with only_on_path(ground.nothing):
        files = ground.files()
        before = files.marks((".",))
        assert sorted(path for _, path in before) == ["a.txt", "sub/link"]
        (ground.flow / "a.txt").write_text("2\n")
        after = files.marks((".",))
    assert [path for path in after if before[path] != after[path]] == [(".", "a.txt")]
    (ground.flow / "sub").rename(ground.flow / "gone")
    assert sorted(path for _, path in files.marks((".",))) == ["a.txt", "gone/link"]


def test_a_folder_that_cannot_be_read_is_no_folder_without_changes(ground: Ground) -> None:
    with only_on_path(ground.nothing), pytest.raises(Cannot) as told:
        LocalFiles(ground.state, Roots.of(str(ground.flow / "gone"), {})).marks((".",))
    assert told.value.code == "snapshot_unreadable"


def test_what_an_earlier_release_kept_as_copies_is_named_with_what_to_do(ground: Ground) -> None:
    kept = "tree:" + "5" * 64
    one = Layer("one", 1, ".", kept, "tree:" + "d" * 64)
    two = ground.captured("two", "b.txt", "b\n")
    for ask in (
        lambda: ground.captured("three", "c.txt", "c\n", layers=(two, one)),
        lambda: ground.merged("m1", two, one),
    ):
        with pytest.raises(Cannot) as told:
            ask()
        assert (told.value.code, told.value.details["steps"]) == ("tree_missing", ["one"])
        assert (
            "changes of `one` are stored in a format that only an earlier release"
            in told.value.message
        )
        assert told.value.fix == f"run that step again: `pixirnb resume {RUN} --from one`"
    assert not (ground.flow / "b.txt").exists()
    with pytest.raises(Cannot) as told:
        ground.undone({"merge": "m1", "roots": [{"root": ".", "before": kept, "after": kept}]})
    assert told.value.code == "tree_missing"
    assert told.value.message.startswith(
        "the changes of m1 are stored in a format that only an earlier"
    )
    assert told.value.fix == "undo the changes by hand"
    ground.files().adopt("r-2", {".": [one.base, two.base, two.left, one.left]})
    forget_run(ground.state, RUN)
    assert "b.txt" in tree_store(ground.state, ground.flow).entries(two.left)


def test_what_an_earlier_release_kept_as_copies_goes_with_its_last_run(ground: Ground) -> None:
    folder = ground.state / "trees" / "0f-copy"
    for run in ("r-1", "r-2"):
        (folder / "kept" / f"of-{run}").mkdir(parents=True)
        (folder / "kept" / f"of-{run}" / "name").write_text("{}")
    (folder / "objects").mkdir()
    with only_on_path(ground.nothing):
        forget_run(ground.state, "r-1")
        assert [path.name for path in (folder / "kept").iterdir()] == ["of-r-2"]
        forget_run(ground.state, "r-2")
    assert not folder.exists()


def test_without_git_a_run_is_forgotten_that_git_keeps_nothing_of(ground: Ground) -> None:
    ground.captured("one", "a.txt", "2\n")
    with only_on_path(ground.nothing):
        forget_run(ground.state, "r-2")
        with pytest.raises(Cannot) as told:
            forget_run(ground.state, RUN)
        assert told.value.code == "git_missing"
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
        ground.files().merge(order, lambda _: cast("Any", {"merge": "m1"}))
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    assert (ground.flow / "a.txt").read_text() == "2\n"
    (staging,) = ground.flow.glob(".pixirnb-merge-*")
    return staging


@pytest.mark.parametrize("is_staging_lost", [False, True])
def test_half_a_merge_is_taken_back_by_the_store(ground: Ground, *, is_staging_lost: bool) -> None:
    staging = killed(ground, ground.captured("one", "a.txt", "2\n"))
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
    for ask in (
        ground.files().give,
        lambda order: ground.files().merge(order, lambda _: cast("Any", {})),
    ):
        with pytest.raises(Cannot) as told:
            ask(other)
        assert told.value.code == "merge_unfinished"
        assert staging.name in told.value.message
        assert f"`pixirnb resume {RUN}`" in told.value.fix
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
    assert "copy missing files back" in told.value.fix
    shutil.rmtree(ground.flow / staging.name)
    ground.merged("m2", layer)
