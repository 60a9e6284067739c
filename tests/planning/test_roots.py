"""Folders of a run: which file is whose, what it is called, and whether two globs meet whatever names they go by."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pixirnb.planning.globs.pattern import Pattern, overlap
from pixirnb.planning.roots import Root, Roots
from tests.sweeps import examples

BESIDE = Roots.of("/srv/ana/shop", {"cloud": "/srv/ana/cloud", "web": "/srv/ana/web"})
WITHIN = Roots.of(
    "/w", {"cloud": "/w/libs/cloud", "deep": "/w/libs/cloud/sub", "again": "/w/libs/cloud"}
)
ABOVE = Roots.of("/top/w", {"top": "/top", "same": "/top/w"})


def meet(roots: Roots, one: str, other: str) -> bool:
    return overlap(Pattern.parse(roots.canonical(one)), Pattern.parse(roots.canonical(other)))


def test_roots_are_the_workspace_and_then_repositories_as_declared() -> None:
    assert [root.name for root in BESIDE.roots] == [".", "repos.cloud", "repos.web"]
    assert BESIDE.named("repos.cloud") == Root("repos.cloud", "/srv/ana/cloud")
    assert BESIDE.is_plain
    with pytest.raises(KeyError):
        BESIDE.named("repos.nobody")


def test_two_names_for_one_folder_are_one_root() -> None:
    assert WITHIN.named("repos.again") == WITHIN.named("repos.cloud")
    assert ABOVE.named("repos.same") == ABOVE.named(".")
    assert [root.name for root in WITHIN.roots] == [".", "repos.cloud", "repos.deep"]
    assert list(WITHIN.names) == [".", "repos.cloud", "repos.deep", "repos.again"]


def test_a_root_knows_which_folders_below_it_are_roots() -> None:
    assert WITHIN.nested(".") == ("libs/cloud", "libs/cloud/sub")
    assert WITHIN.nested("repos.again") == ("sub",)
    assert WITHIN.nested("repos.deep") == ()
    assert ABOVE.nested("repos.top") == ("w",)


@pytest.mark.parametrize(
    ("roots", "name", "path", "shown"),
    [
        (BESIDE, ".", "src/a.py", "src/a.py"),
        (BESIDE, "repos.cloud", "src/a.py", "repos.cloud:src/a.py"),
        (WITHIN, ".", "libs/cloud/a", "repos.cloud:a"),
        (WITHIN, "repos.again", "sub/a", "repos.deep:a"),
        (ABOVE, "repos.top", "w/a", "a"),
        (ABOVE, "repos.top", "wide", "repos.top:wide"),
        (BESIDE, ".", "repos.cloud:a", "./repos.cloud:a"),
    ],
)
def test_a_file_is_shown_by_the_innermost_root_and_found_again(
    roots: Roots, name: str, path: str, shown: str
) -> None:
    assert roots.shown(name, path) == shown
    root, inside = roots.located(shown)
    assert roots.shown(root.name, inside) == shown


@pytest.mark.parametrize(
    ("said", "root", "path"),
    [
        ("libs/cloud/a", "repos.cloud", "a"),
        ("libs/cloud", "repos.cloud", ""),
        ("libs/../src/a", ".", "src/a"),
        ("repos.cloud:../a", ".", "libs/a"),
        ("/w/libs/cloud/sub/x", "repos.deep", "x"),
        (".", ".", ""),
    ],
)
def test_a_named_file_is_located_where_it_really_is(said: str, root: str, path: str) -> None:
    found, inside = WITHIN.located(said)
    assert (found.name, inside) == (root, path)


@pytest.mark.parametrize("said", ["../a", "/elsewhere", "repos.cloud:../../../a"])
def test_what_lies_in_no_root_is_not_located(said: str) -> None:
    with pytest.raises(ValueError, match="is not in a folder"):
        WITHIN.located(said)


def test_a_file_may_be_claimed_by_every_name_it_has() -> None:
    assert WITHIN.spellings("repos.deep", "a") == (
        "libs/cloud/sub/a",
        "repos.cloud:sub/a",
        "repos.deep:a",
        "repos.again:sub/a",
    )
    assert BESIDE.spellings(".", "a") == ("a",)


@pytest.mark.parametrize("folder", [".git", ".pixirnb"])
def test_history_and_ours_are_in_no_set_of_any_root(folder: str) -> None:
    claimed = WITHIN.claims(["**/*", "repos.cloud:**/*", f"libs/cloud/{folder}/x"])
    assert not claimed("repos.cloud", f"{folder}/x")
    assert not claimed(".", f"libs/cloud/{folder}/x")
    assert claimed("repos.cloud", f"kept/{folder}/x")


def test_a_repository_within_our_own_folder_is_claimed_by_its_own_name_alone() -> None:
    roots = Roots.of("/w", {"inner": "/w/.pixirnb/inner"})
    assert roots.spellings("repos.inner", "a") == ("repos.inner:a",)
    assert not meet(roots, "**/*", "repos.inner:**/*")


def test_globs_are_compared_as_the_outermost_root_spells_them() -> None:
    assert WITHIN.canonical("repos.again:src/{a,b}/*") == "libs/cloud/src/{a,b}/*"
    assert WITHIN.canonical("src/**") == "src/**"
    assert ABOVE.canonical("src/**") == "repos.top:w/src/**"
    assert ABOVE.canonical("repos.same:src/**") == "repos.top:w/src/**"
    assert BESIDE.canonical("repos.cloud:src/**") == "repos.cloud:src/**"
    assert WITHIN.canonical("repos.nobody:a") == "repos.nobody:a"


def test_a_folder_with_magic_in_its_name_is_taken_by_the_letter() -> None:
    roots = Roots.of("/w", {"odd": "/w/[a]*{b,c}", "like": "/w/repos.odd:x"})
    assert meet(roots, "repos.odd:x", r"\[a]\*\{b,c\}/x")
    assert not meet(roots, "repos.odd:x", "a*b/x")
    assert meet(roots, "repos.like:y", "./repos.odd:x/y")
    assert not meet(roots, "repos.like:y", "repos.odd:y")


def test_a_pattern_in_canonical_spelling_still_goes_by_its_own_text() -> None:
    pattern = WITHIN.pattern("repos.cloud:src/**")
    assert pattern.text == "repos.cloud:src/**"
    assert pattern.repo is None
    assert overlap(pattern, WITHIN.pattern("libs/*/src/a"))


def test_where_nothing_was_surveyed_names_stay_as_they_are() -> None:
    roots = Roots.of("", {})
    assert roots.is_plain
    assert roots.shown(".", "a/b") == "a/b"
    assert roots.spellings(".", "a/b") == ("a/b",)
    assert roots.canonical("repos.cloud:a") == "repos.cloud:a"


_NAMES = ("a", "b")
_PATHS = [
    "/".join(names) for depth in range(1, 7) for names in itertools.product(_NAMES, repeat=depth)
]
_FOLDERS = [""] + [f"/{path}" for path in _PATHS if path.count("/") < 2]
_SEGMENTS = st.sampled_from(["a", "b", "*", "**", "?", "[ab]", "{a,b}", "a*"])


@st.composite
def _cases(draw: st.DrawFn) -> tuple[Roots, str, str]:
    folders = draw(st.lists(st.sampled_from(_FOLDERS), min_size=1, max_size=4))
    repos = {name: f"/top{folder}" for name, folder in zip("xyz", folders[1:], strict=False)}
    roots = Roots.of(f"/top{folders[0]}", repos)
    names = ["", *(f"repos.{name}:" for name in repos)]
    globs = [
        draw(st.sampled_from(names)) + "/".join(draw(st.lists(_SEGMENTS, min_size=1, max_size=3)))
        for _ in range(2)
    ]
    return roots, globs[0], globs[1]


@settings(deadline=None, max_examples=examples(150))
@given(_cases())
@example((Roots.of("/top/a", {"x": "/top", "y": "/top/a/b"}), "b/*", "repos.y:**"))
def test_two_globs_overlap_just_where_some_file_is_claimed_by_both(
    case: tuple[Roots, str, str],
) -> None:
    roots, one, other = case
    first, second = roots.claims([one]), roots.claims([other])
    shared = [path for path in _PATHS if _both(roots, path, first, second)]
    assert meet(roots, one, other) is bool(shared)


def _both(roots: Roots, path: str, first: object, second: object) -> bool:
    try:
        root, inside = roots.located(f"/top/{path}")
    except ValueError:
        return False
    assert callable(first)
    assert callable(second)
    return bool(first(root.name, inside) and second(root.name, inside))
