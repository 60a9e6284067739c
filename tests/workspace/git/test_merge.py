"""How merges on git name their conflicts, beside what every store promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixirnb.history.conflict_hunks import parts_of
from pixirnb.protocols.trees import EXECUTABLE, FILE, LINK, Belonging, Merged
from pixirnb.testing.contracts.tree_samples import LINES, held, taken
from pixirnb.testing.generators.tree_strategies import Tree
from pixirnb.testing.repositories import git, make_repository
from pixirnb.workspace.git.merge import LARGEST_MARKED
from pixirnb.workspace.git.tree_store import GitTrees

BASE: dict[str, tuple[str, bytes]] = {"text": (FILE, LINES), "link": (LINK, b"text")}


@pytest.fixture
def store(tmp_path: Path) -> GitTrees:
    return GitTrees(tmp_path / "state", make_repository(tmp_path / "root", BASE))


def merged(store: GitTrees, ours: Tree, theirs: Tree, base: Tree = BASE) -> Merged:
    return store.merge(taken(store, base), taken(store, ours), taken(store, theirs))


def changed(old: bytes, new: bytes, text: bytes = LINES) -> tuple[str, bytes]:
    assert old in text
    return FILE, text.replace(old, new)


def test_markers_name_the_sides_and_nothing_of_the_machinery(store: GitTrees) -> None:
    found = merged(
        store,
        BASE | {"text": changed(b"line 7\n", b"mine\n")},
        BASE | {"text": changed(b"line 7\n", b"yours\n")},
    )
    (conflict,) = found.conflicts
    expected = b"<<<<<<< ours\nmine\n=======\nyours\n>>>>>>> theirs\n"
    assert conflict.marked == LINES.replace(b"line 7\n", expected)


def test_markers_end_as_the_lines_of_the_file_do(store: GitTrees) -> None:
    base, ours, theirs = ({"n": (FILE, b"1\r\n%s\r\n3\r\n" % word)} for word in (b"2", b"a", b"b"))
    (conflict,) = merged(store, ours, theirs, base).conflicts
    expected = b"1\r\n<<<<<<< ours\r\na\r\n=======\r\nb\r\n>>>>>>> theirs\r\n3\r\n"
    assert conflict.marked == expected


def test_markers_that_a_file_holds_are_not_taken_for_ours(store: GitTrees) -> None:
    text = b"<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n%s\n"
    base, ours, theirs = ({"n": (FILE, text % word)} for word in (b"2", b"a", b"b"))
    (conflict,) = merged(store, ours, theirs, base).conflicts
    assert conflict.marked is not None
    assert parts_of(conflict.marked) is None


def test_two_new_texts_are_shown_in_one(store: GitTrees) -> None:
    found = merged(store, BASE | {"n": (FILE, b"a\n")}, BASE | {"n": (FILE, b"b\n")})
    (conflict,) = found.conflicts
    assert conflict.marked == b"<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"
    assert (conflict.kind, conflict.base) == ("both_added", None)


@pytest.mark.parametrize(
    ("ours", "theirs", "kind"),
    [
        ({"link": (LINK, b"a")}, {"link": (LINK, b"b")}, "not_text"),
        ({"new": (LINK, b"a")}, {"new": (LINK, b"b")}, "both_added"),
        ({"new": (FILE, b"\0a")}, {"new": (FILE, b"\0b")}, "both_added"),
        ({"new": (FILE, b"same\n")}, {"new": (EXECUTABLE, b"same\n")}, "both_added"),
        ({"text": (FILE, b"\0a")}, {"text": (FILE, b"b\n")}, "not_text"),
        ({"text": (LINK, b"a")}, {"text": (FILE, b"b\n")}, "kind"),
    ],
)
def test_what_is_no_text_has_no_markers(
    store: GitTrees, ours: Tree, theirs: Tree, kind: str
) -> None:
    found = merged(store, BASE | dict(ours), BASE | dict(theirs))
    assert [(each.path, each.kind, each.marked) for each in found.conflicts] == [
        (next(iter(ours)), kind, None)
    ]


def test_a_file_against_a_folder_is_told_at_its_own_name(store: GitTrees) -> None:
    ours = BASE | {"new": (FILE, b"file\n")}
    theirs = BASE | {"new/in": (FILE, b"in\n")}
    for sides in ((ours, theirs), (theirs, ours)):
        (conflict,) = merged(store, *sides).conflicts
        assert (conflict.path, conflict.kind, conflict.base) == ("new", "kind", None)
        assert {conflict.ours is None, conflict.theirs is None} == {True, False}


def test_a_folder_that_one_side_made_a_file_and_the_other_wrote_in(store: GitTrees) -> None:
    base = BASE | {"dir/a": (FILE, LINES)}
    found = merged(
        store,
        BASE | {"dir": (FILE, b"file\n")},
        base | {"dir/a": changed(b"line 7\n", b"yours\n")},
        base,
    )
    assert found.tree is None
    assert {each.path: each.kind for each in found.conflicts} == {
        "dir": "kind",
        "dir/a": "changed_and_deleted",
    }


def test_a_rename_is_a_file_gone_and_one_made(store: GitTrees) -> None:
    ours = {"moved": BASE["text"], "link": BASE["link"]}
    found = merged(store, ours, BASE | {"text": changed(b"line 7\n", b"yours\n")})
    (conflict,) = found.conflicts
    assert (conflict.path, conflict.kind, conflict.ours) == ("text", "changed_and_deleted", None)
    folder = {"there/x": (FILE, LINES), "there/y": (FILE, LINES + b"y\n")}
    moved = {"here/x": folder["there/x"], "here/y": folder["there/y"]}
    added = folder | {"there/z": (FILE, b"z\n")}
    tree = merged(store, moved, added, folder).tree
    assert tree is not None
    assert held(store, tree) == moved | {"there/z": (FILE, b"z\n")}


def test_a_text_too_long_to_be_shown_is_a_conflict_all_the_same(store: GitTrees) -> None:
    long = b"line\n" * (LARGEST_MARKED // 5)
    base = BASE | {"long": (FILE, b"first\n" + long)}
    found = merged(
        store,
        base | {"long": (FILE, b"mine\n" + long)},
        base | {"long": (FILE, b"yours\n" + long)},
        base,
    )
    (conflict,) = found.conflicts
    assert (conflict.path, conflict.kind, conflict.marked) == ("long", "content", None)


def test_markers_that_were_there_before_are_only_text(store: GitTrees) -> None:
    text = b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n"
    base = BASE | {"doc": (FILE, text + LINES)}
    found = merged(
        store,
        base | {"doc": (FILE, text.replace(b"a\n", b"c\n") + LINES)},
        base | {"doc": (FILE, text + LINES + b"end\n")},
        base,
    )
    assert found.tree is not None
    assert held(store, found.tree)["doc"][1] == text.replace(b"a\n", b"c\n") + LINES + b"end\n"


def test_no_configuration_of_the_user_plays_a_part(store: GitTrees, tmp_path: Path) -> None:
    sides = (
        BASE | {"text": changed(b"line 7\n", b"mine\n")},
        BASE | {"text": changed(b"line 7\n", b"yours\n")},
    )
    before = merged(store, *sides)
    for key, value in (
        ("merge.conflictStyle", "diff3"),
        ("merge.renames", "true"),
        ("merge.default", "union"),
        ("diff.algorithm", "histogram"),
        ("core.whitespace", "cr-at-eol"),
    ):
        git(store.root, "config", key, value)
    (store.root / ".git" / "info").mkdir(exist_ok=True)
    (store.root / ".git" / "info" / "attributes").write_text("* merge=union -text\n")
    assert merged(store, *sides) == before
    assert store.snapshot(Belonging()) == taken(store, sides[1])


def test_names_of_any_kind_are_conflicts_by_their_names(store: GitTrees) -> None:
    for name in ("with space", "ü", "new\nline", "\udcff", "tab\t", 'quo"te', "a~b", "-dash"):
        path = f"in {name}/{name}"
        found = merged(
            store, BASE | {path: (FILE, b"a\n")}, BASE | {path: (LINK, b"b")}, BASE
        ).conflicts
        assert [(each.path, each.kind) for each in found] == [(path, "kind")]
