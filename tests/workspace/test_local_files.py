"""The files of a run on this machine: folders for attempts, layers merged into them, merges with their journal."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from pixirnb.errors import Cannot
from pixirnb.history.conflict_hunks import HunkChoice
from pixirnb.ids import digest_of
from pixirnb.planning.roots import Roots
from pixirnb.protocols.trees import (
    Checkout,
    CheckoutResult,
    Layer,
    MergeConflict,
    MergeInput,
    Merging,
)
from pixirnb.testing.repositories import make_repository, traces
from pixirnb.workspace.git.command import CALLER, STOPPED, GitCaller
from pixirnb.workspace.local_files import LocalFiles
from pixirnb.workspace.stores_by_root import forget_run, tree_store

RUN = "r-1"


class Ground:
    """A project with a workspace and a repository beside it and one within."""

    def __init__(self, folder: Path) -> None:
        self.flow = make_repository(folder / "p" / "flow", {})
        self.cloud = make_repository(folder / "p" / "cloud", {})
        self.inner = make_repository(self.flow / "libs" / "inner", {})
        for place in (self.flow, self.cloud, self.inner):
            (place / "a.txt").write_text(f"{place.name}\n1\n2\n3\n4\n")
        (self.flow / ".gitignore").write_text("dist/\ncache/\n")
        repos = {"cloud": str(self.cloud), "inner": str(self.inner)}
        self.roots = Roots.of(str(self.flow), repos)
        self.state = self.flow / ".pixirnb"
        self.state.mkdir()
        self.files = LocalFiles(self.state, self.roots)

    def order(self, name: str = "a.1", *roots: str, **said: Any) -> MergeInput:
        return MergeInput(RUN, name, roots or (".",), **said)

    def given(self, *roots: str, name: str = "a.1", **said: Any) -> Checkout:
        given = self.files.give(self.order(name, *roots, **said))
        assert isinstance(given, Checkout)
        return given

    def layer(self, step: str, path: str, text: str) -> Layer:
        """What an attempt changed in the workspace."""
        given = self.given(name=f"{step}.1")
        (given.workspace / path).write_text(text)
        taken = self.files.take(given)
        self.files.drop(given)
        return Layer(step, 1, ".", given.base["."], taken.trees["."])


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def paths(taken: CheckoutResult, root: str = ".") -> list[str]:
    return [change.path for change in taken.changes[root]]


def test_roots_lie_to_each_other_as_the_users_do(ground: Ground) -> None:
    given = ground.given(".", "repos.cloud", "repos.inner")
    beside = (given.workspace / "../cloud/a.txt").resolve()
    assert beside == (given.folders["repos.cloud"] / "a.txt").resolve()
    assert given.folders["repos.inner"] == given.workspace / "libs" / "inner"
    assert (given.workspace / "libs" / "inner" / "a.txt").read_text().startswith("inner")


def test_a_file_belongs_to_the_innermost_root_only(ground: Ground) -> None:
    given = ground.given(".", "repos.inner")
    (given.workspace / "libs" / "inner" / "a.txt").write_text("new\n")
    taken = ground.files.take(given)
    assert (paths(taken), paths(taken, "repos.inner")) == ([], ["a.txt"])


def test_a_root_that_is_not_used_is_not_there_and_the_workspace_always_has_a_folder(
    ground: Ground,
) -> None:
    given = ground.given("repos.cloud")
    assert list(given.workspace.iterdir()) == []
    assert not (ground.given(".").workspace.parent / "cloud").exists()


def test_nothing_of_an_attempt_shows_in_the_users_folders(ground: Ground) -> None:
    before = [traces(place / ".git") for place in (ground.flow, ground.cloud)]
    given = ground.given(".", "repos.cloud")
    (given.workspace / "new.txt").write_text("x")
    subprocess.run(["git", "stash", "-u", "-q"], cwd=given.workspace, check=True)
    ground.files.take(given)
    ground.files.drop(given)
    assert [traces(place / ".git") for place in (ground.flow, ground.cloud)] == before
    assert not (ground.flow / "new.txt").exists()
    assert not (ground.state / "isolated" / RUN).exists()


def test_an_ignored_file_is_taken_where_the_write_set_claims_it_and_told_of_where_not(
    ground: Ground,
) -> None:
    given = ground.given(claimed=("dist/**",))
    for folder in ("dist", "cache"):
        (given.workspace / folder).mkdir()
        (given.workspace / folder / "x").write_text("x")
    taken = ground.files.take(given)
    assert (paths(taken), taken.left_behind) == (["dist/x"], ("cache/x",))


def test_what_claims_everything_claims_no_ignored_file(ground: Ground) -> None:
    given = ground.given(claimed=("**/*",))
    (given.workspace / "dist").mkdir()
    (given.workspace / "dist" / "x").write_text("x")
    taken = ground.files.take(given)
    assert (paths(taken), taken.left_behind) == ([], ("dist/x",))


def test_what_is_carried_is_there_writable_and_no_part_of_the_changes(ground: Ground) -> None:
    (ground.flow / "cache" / "deep").mkdir(parents=True)
    (ground.flow / "cache" / "deep" / "x").write_text("mine")
    (ground.flow / "cache" / "link").symlink_to("deep/x")
    given = ground.given(carry=("cache", "not/there"))
    (given.workspace / "cache" / "deep" / "x").write_text("theirs")
    taken = ground.files.take(given)
    assert (paths(taken), taken.left_behind) == ([], ())
    assert (given.workspace / "cache" / "link").readlink() == Path("deep/x")
    assert (ground.flow / "cache" / "deep" / "x").read_text() == "mine"


def test_what_is_carried_is_copied_no_longer_than_the_step_has_time(ground: Ground) -> None:
    (ground.flow / "cache").mkdir()
    for number in range(100):
        (ground.flow / "cache" / f"{number}").touch()
    asked: list[int] = []
    most = 1000

    def is_over() -> bool:
        asked.append(1)
        return len(asked) > most

    token = CALLER.set(GitCaller({}, lambda _: None, is_over))
    try:
        ground.given()
        most, asked = len(asked) + 5, []
        with pytest.raises(Cannot, match="could not copy") as stopped:
            ground.given(name="a.2", carry=("cache",))
    finally:
        CALLER.reset(token)
    assert stopped.value.code == STOPPED


def test_layers_are_merged_in_and_what_they_brought_is_no_change_of_the_attempt(
    ground: Ground,
) -> None:
    layers = (ground.layer("a", "a.txt", "A\n1\n2\n3\n4\n"), ground.layer("b", "b.txt", "b\n"))
    (ground.flow / "mine.txt").write_text("mine\n")
    given = ground.given(name="c.1", layers=layers)
    assert (given.workspace / "a.txt").read_text().startswith("A\n")
    assert sorted(p.name for p in given.workspace.glob("*.txt")) == ["a.txt", "b.txt", "mine.txt"]
    assert paths(ground.files.take(given)) == []


def test_layers_that_clash_name_their_steps_and_leave_no_folder_behind(ground: Ground) -> None:
    layers = (ground.layer("a", "a.txt", "A\n"), ground.layer("b", "a.txt", "B\n"))
    clash = ground.files.give(ground.order("c.1", layers=layers))
    assert isinstance(clash, MergeConflict)
    assert (clash.between, [c.path for c in clash.conflicts]) == (("a", "b"), ["a.txt"])
    assert not (ground.state / "isolated" / RUN / "c.1").exists()


@pytest.mark.parametrize(("side", "text"), [("a", "A\n"), ("b", "B\n"), ("workspace", "flow")])
def test_a_side_settles_a_clash(ground: Ground, side: str, text: str) -> None:
    layers = (ground.layer("a", "a.txt", "A\n"), ground.layer("b", "a.txt", "B\n"))
    for said in (side, {"a.txt": side}):
        given = ground.given(name="c.1", layers=layers, sides=said)
        assert (given.workspace / "a.txt").read_text().startswith(text)


def test_a_file_that_was_edited_since_the_clash_is_its_solution(ground: Ground) -> None:
    layers = (ground.layer("a", "a.txt", "A\n"), ground.layer("b", "a.txt", "B\n"))
    clash = ground.files.give(ground.order("c.1", layers=layers))
    assert isinstance(clash, MergeConflict)
    seen = {clash.root: clash.seen}
    assert isinstance(
        ground.files.give(ground.order("c.2", layers=layers, seen=seen)), MergeConflict
    )
    (ground.flow / "a.txt").write_text("both A and B\n")
    given = ground.given(name="c.3", layers=layers, seen=seen)
    assert (given.workspace / "a.txt").read_text() == "both A and B\n"


def test_a_word_of_before_holds_while_the_users_file_is_as_it_was_then(ground: Ground) -> None:
    layers = (ground.layer("a", "a.txt", "A\n"), ground.layer("b", "a.txt", "B\n"))
    then = dict(ground.given(name="c.1", layers=layers, sides="b").seen)
    given = ground.given(name="c.2", layers=layers, sides="b", decided_on=then)
    assert (given.workspace / "a.txt").read_text() == "B\n"
    unheard = ground.order("c.3", layers=layers, sides="b", decided_on={})
    assert isinstance(ground.files.give(unheard), MergeConflict)
    (ground.flow / "a.txt").write_text("written since\n")
    for side in ("a", "b", "workspace", {"a.txt": "b"}):
        later = ground.order("c.4", layers=layers, sides=side, seen=then, decided_on=then)
        assert isinstance(ground.files.give(later), MergeConflict)
        merge = ground.files.preview(replace(later, name="m1"))
        assert isinstance(merge, MergeConflict), "nothing that the user wrote since is written over"


def test_an_own_solution_holds_while_it_is_what_was_said_to_be_right(ground: Ground) -> None:
    layers = (ground.layer("a", "a.txt", "A\n"), ground.layer("b", "a.txt", "B\n"))
    clash = ground.files.give(ground.order("c.1", layers=layers))
    assert isinstance(clash, MergeConflict)
    (ground.flow / "a.txt").write_text("both\n")
    seen = {clash.root: clash.seen}
    held = dict(ground.given(name="c.2", layers=layers, seen=seen).seen)
    unknown = ground.order("c.3", layers=layers, seen=seen, held={})
    assert isinstance(ground.files.give(unknown), MergeConflict)
    given = ground.given(name="c.3", layers=layers, seen=seen, held=held)
    assert (given.workspace / "a.txt").read_text() == "both\n"
    (ground.flow / "a.txt").write_text("another thing\n")
    later = ground.order("c.4", layers=layers, seen=seen, held=held)
    assert isinstance(ground.files.give(later), MergeConflict)


def hunks(clash: Checkout | MergeConflict, *chosen: str) -> dict[str, HunkChoice]:
    """Choices for the hunks of its first file."""
    assert isinstance(clash, MergeConflict)
    marked = clash.conflicts[0].marked
    assert marked is not None
    return {clash.conflicts[0].path: {"hunks": [*chosen], "of": digest_of(marked)}}


def test_a_clash_is_settled_hunk_by_hunk(ground: Ground) -> None:
    layers = (
        ground.layer("a", "a.txt", "A\n1\n2\n3\n4\nA\n"),
        ground.layer("b", "a.txt", "B\n1\n2\n3\n4\nB\n"),
    )
    clash = ground.files.give(ground.order("c.1", layers=layers))
    given = ground.given(name="c.2", layers=layers, sides=hunks(clash, "b+a", "a"))
    assert (given.workspace / "a.txt").read_text() == "B\nA\n1\n2\n3\n4\nA\n"

    for wrong in (hunks(clash, "a"), {"a.txt": {"hunks": ["a", "b"], "of": digest_of(b"")}}):
        assert isinstance(
            ground.files.give(ground.order("c.3", layers=layers, sides=wrong)), MergeConflict
        )


def test_hunks_hold_while_the_users_file_is_as_it_was_then(ground: Ground) -> None:
    layers = (ground.layer("a", "a.txt", "A\n"), ground.layer("b", "a.txt", "B\n"))
    clash = ground.files.give(ground.order("c.1", layers=layers))
    assert isinstance(clash, MergeConflict)
    then = {clash.root: clash.seen}
    said: Any = {"layers": layers, "sides": hunks(clash, "b"), "seen": then, "decided_on": then}
    assert isinstance(ground.files.give(ground.order("c.2", **said)), Checkout)
    (ground.flow / "a.txt").write_text("written since\n")
    assert isinstance(ground.files.give(ground.order("c.3", **said)), MergeConflict)


def test_hunks_of_two_clashes_in_one_file_are_settled_one_after_the_other(ground: Ground) -> None:
    layers = tuple(ground.layer(step, "a.txt", f"{step}\n") for step in "abc")
    first = ground.files.give(ground.order("d.1", layers=layers))
    sides = hunks(first, "a+b")
    second = ground.files.give(ground.order("d.2", layers=layers, sides=sides))
    assert isinstance(second, MergeConflict)
    assert second.between == ("b", "c")

    known: Any = {"layers": layers, "seen": second.looked_at, "solved": second.solved}
    given = ground.given(name="d.3", sides=hunks(second, "c+b"), **known)
    assert (given.workspace / "a.txt").read_text() == "c\na\nb\n"
    again = ground.files.give(ground.order("d.4", **known))
    assert isinstance(again, MergeConflict), "what was chosen in one text says nothing of another"
    assert again.between == ("b", "c")


def test_a_side_takes_only_what_its_step_changed(ground: Ground) -> None:
    layers = (ground.layer("a", "b.txt", "A\n"), ground.layer("b", "a.txt", "B\n"))
    third = ground.layer("c", "c.txt", "C\n")
    (ground.flow / "a.txt").write_text("mine\n")
    for side in ("a", "c"):
        order = ground.order("d.1", layers=(*layers, third), sides=side)
        assert isinstance(ground.files.give(order), MergeConflict), (
            "neither has an `a.txt` of its own"
        )


def test_what_was_solved_stays_solved_while_other_files_are(ground: Ground) -> None:
    (ground.flow / "b.txt").write_text("b\n")
    layers = (ground.layer("a", "a.txt", "A\n"), ground.layer("b", "b.txt", "B\n"))
    for name in ("a.txt", "b.txt"):
        (ground.flow / name).write_text("mine\n")

    def again(last: MergeConflict | None, name: str) -> Checkout | MergeConflict:
        known = {} if last is None else {"seen": last.looked_at, "solved": last.solved}
        return ground.files.give(ground.order(name, layers=layers, **known))

    first = again(None, "c.1")
    assert isinstance(first, MergeConflict)
    (ground.flow / "a.txt").write_text("both\n")
    second = again(first, "c.2")
    assert isinstance(second, MergeConflict)
    assert [conflict.path for conflict in second.conflicts] == ["b.txt"]
    (ground.flow / "b.txt").write_text("both\n")
    assert isinstance(again(second, "c.3"), Checkout)
    (ground.flow / "a.txt").write_text("thought better of it\n")
    third = again(second, "c.4")
    assert isinstance(third, Checkout), "edited since: solved as it is now"
    assert (third.workspace / "a.txt").read_text() == "thought better of it\n"


def merged(ground: Ground, *layers: Layer, name: str = "m1", **said: Any) -> Any:
    order = ground.order(name, layers=layers, **said)
    return ground.files.merge(
        order, lambda merging: cast("Any", {"merge": name, "roots": roots_of(merging)})
    )


def roots_of(merging: Merging) -> list[dict[str, str]]:
    return [
        {"root": root, "before": merging.before[root], "after": merging.after[root]}
        for root in merging.before
    ]


def test_a_merge_keeps_what_the_user_wrote_meanwhile_and_its_undo_too(ground: Ground) -> None:
    layer = ground.layer("a", "a.txt", "A\n1\n2\n3\n4\n")
    (ground.flow / "a.txt").write_text("flow\n1\n2\n3\nfour\n")
    data, _ = merged(ground, layer)
    assert (ground.flow / "a.txt").read_text() == "A\n1\n2\n3\nfour\n"
    again, merging = merged(ground, layer, name="m2")
    assert roots_of(merging)[0]["before"] == roots_of(merging)[0]["after"], "nothing twice"
    del again
    (ground.flow / "a.txt").write_text("A\n1\ntwo\n3\nfour\n")
    ground.files.undo(ground.order("m3"), data, lambda _: cast("Any", {"merge": "m3"}))
    assert (ground.flow / "a.txt").read_text() == "flow\n1\ntwo\n3\nfour\n"


def test_a_file_of_the_users_that_git_ignores_is_not_written_over(ground: Ground) -> None:
    given = ground.given(claimed=("dist/**",))
    (given.workspace / "dist").mkdir()
    (given.workspace / "dist" / "x").write_text("theirs")
    taken = ground.files.take(given)
    (ground.flow / "dist").mkdir()
    (ground.flow / "dist" / "x").write_text("mine")
    clash = merged(ground, Layer("a", 1, ".", given.base["."], taken.trees["."]))
    assert isinstance(clash, MergeConflict)
    assert (ground.flow / "dist" / "x").read_text() == "mine"


def test_a_merge_that_the_log_has_not_is_found_until_it_is_recorded(ground: Ground) -> None:
    data, _ = merged(ground, ground.layer("a", "a.txt", "A\n"))
    later = LocalFiles(ground.state, ground.roots)
    assert later.unrecorded("r-2") == []
    assert later.unrecorded(RUN) == [data]
    later.recorded(RUN, "m1")
    assert later.unrecorded(RUN) == []


def test_a_dead_owners_folders_are_swept_and_what_was_set_aside_stays(ground: Ground) -> None:
    given, other = ground.given(name="a.1"), ground.given(name="b.1")
    (given.workspace / "work.txt").write_text("hours of it")
    other.workspace.chmod(0o500)
    aside = ground.files.set_aside(given)
    LocalFiles(ground.state, ground.roots).sweep(RUN)
    assert [path.name for path in (ground.state / "isolated" / RUN).iterdir()] == [aside.name]
    assert next(aside.rglob("work.txt")).read_text() == "hours of it"


def test_a_fork_keeps_trees_that_the_run_they_came_from_lets_go_of(ground: Ground) -> None:
    layer = ground.layer("a", "a.txt", "A\n")
    ground.files.adopt("r-2", {".": [layer.base, layer.left]})
    forget_run(ground.state, RUN)
    assert "a.txt" in tree_store(ground.state, ground.flow).entries(layer.left)


def test_a_moved_project_finds_its_trees(ground: Ground, tmp_path: Path) -> None:
    layer = ground.layer("a", "a.txt", "A\n")
    moved = (tmp_path / "p").rename(tmp_path / "q")
    roots = Roots.of(str(moved / "flow"), {"inner": str(moved / "flow" / "libs" / "inner")})
    files = LocalFiles(moved / "flow" / ".pixirnb", roots)
    given = files.give(MergeInput(RUN, "c.1", (".",), (layer,)))
    assert isinstance(given, Checkout)
    assert (given.workspace / "a.txt").read_text() == "A\n"


def test_marks_change_with_every_write_and_name_each_file_once(ground: Ground) -> None:
    before = ground.files.marks((".", "repos.cloud"))
    assert (".", "a.txt") in before
    assert ("repos.cloud", "a.txt") in before
    (ground.cloud / "a.txt").write_text("new\n")
    after = ground.files.marks((".", "repos.cloud"))
    assert [f for f in after if before.get(f) != after[f]] == [("repos.cloud", "a.txt")]


def test_trees_that_are_lost_are_told_of(ground: Ground) -> None:
    layer = ground.layer("a", "a.txt", "A\n")
    lost = Layer("b", 1, ".", layer.base, "0" * len(layer.left))
    order = ground.order("c.1", layers=(layer, lost))
    for ask in (ground.files.give, ground.files.preview):
        with pytest.raises(Cannot) as told:
            ask(order)
        assert told.value.code == "tree_missing"
        assert told.value.message.startswith("the changes of `b` are missing from the snapshots")
        assert f"`pixirnb resume {RUN} --from b`" in told.value.fix
        assert "exports contain no snapshots" in told.value.fix


def described(_: Merging) -> Any:
    return {}


@pytest.mark.parametrize("is_git", [True, False])
def test_a_state_folder_without_its_trees_says_whose_changes_are_gone(
    tmp_path: Path, is_git: bool
) -> None:
    project = tmp_path / "p"
    if is_git:
        make_repository(project, {})
    project.mkdir(exist_ok=True)
    (project / "a.txt").write_text("1\n")
    roots = Roots.of(str(project), {})
    files = LocalFiles(project / ".pixirnb", roots)
    given = files.give(MergeInput(RUN, "a.1", (".",)))
    assert isinstance(given, Checkout)
    (given.workspace / "a.txt").write_text("2\n")
    left = files.take(given).trees["."]
    layers = (Layer("a", 1, ".", given.base["."], left),)
    merged = files.merge(MergeInput(RUN, "m1", (".",), layers), described)
    assert not isinstance(merged, MergeConflict)
    elsewhere = LocalFiles(tmp_path / "state", roots)
    with pytest.raises(Cannot) as told:
        elsewhere.merge(MergeInput(RUN, "m2", (".",), layers), described)
    assert (told.value.code, told.value.details["steps"]) == ("tree_missing", ["a"])
    entry = {"root": ".", "before": given.base["."], "after": left}
    with pytest.raises(Cannot) as told:
        elsewhere.undo(
            MergeInput(RUN, "m2", (".",)), cast("Any", {"merge": "m1", "roots": [entry]}), described
        )
    assert (
        told.value.message
        == "the changes of m1 are missing from the snapshots; nothing was changed"
    )


def test_nothing_that_is_kept_back_is_carried(ground: Ground) -> None:
    files = LocalFiles(ground.state, ground.roots, never_copy=("*.private", "cache/own/**"))
    for path in (".env", "id_rsa", "a.private", "cache/.env", "cache/d/b.private", "cache/own/x"):
        (ground.flow / path).parent.mkdir(parents=True, exist_ok=True)
        (ground.flow / path).write_text("KEY=1")
    (ground.flow / "cache" / "d" / "fine").write_text("x")
    (ground.flow / ".gitignore").write_text("cache/\n.env\nid_rsa\n*.private\ndist\nkeys\n")
    (ground.flow / "dist").symlink_to(".env")
    (ground.state.parent.parent / ".ssh").mkdir()
    (ground.state.parent.parent / ".ssh" / "known").write_text("KEY=1")
    (ground.flow / "keys").symlink_to("../.ssh")
    given = files.give(
        ground.order(carry=(".env", "./id_rsa", "a.private", "cache", "dist", "keys"))
    )
    assert isinstance(given, Checkout)
    there = {str(p.relative_to(given.workspace)) for p in given.workspace.rglob("*")}
    assert {each for each in there if not each.startswith((".git/", "libs"))} == {
        *(".git", ".gitignore", "a.txt", "cache", "cache/d", "cache/d/fine")
    }


def test_a_secret_that_a_step_makes_where_something_is_carried_is_told_of(ground: Ground) -> None:
    (ground.flow / "cache").mkdir()
    for number in range(1100):
        (ground.flow / "cache" / str(number)).touch()
    given = ground.given(carry=("./cache/",))
    (given.workspace / "cache" / ".env").write_text("KEY=2")
    (given.workspace / "dist").write_text("also ignored, also by the second rule\n")
    (given.workspace / ".gitignore").write_text("dist\ncache/\n")
    taken = ground.files.take(given)
    assert taken.left_behind == ("cache/.env", "dist")


def test_a_folder_of_a_repository_is_carried_by_its_name_there(ground: Ground) -> None:
    (ground.cloud / ".gitignore").write_text("deps/\n")
    (ground.cloud / "deps").mkdir()
    (ground.cloud / "deps" / "x").write_text("x")
    given = ground.given(".", "repos.cloud", carry=("repos.cloud:deps",))
    assert (given.folders["repos.cloud"] / "deps" / "x").read_text() == "x"
    assert ground.files.take(given).left_behind == ()
