"""Two patterns meet exactly where some path is claimed by both: told by examples, and by paths that are tried."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.auditor.globs import covers, meet
from pixirnb.planning.globs.pattern import Pattern, matches, overlap
from tests.sweeps import examples


@pytest.mark.parametrize(
    ("one", "other", "do_meet"),
    [
        ("lib/**", "lib/a.py", True),
        ("lib/a", "lib/ab", False),
        ("*.py", "a*", True),
        ("lib", "lib/deep/er", True),
        ("lib/*/x", "lib/y", True),
        ("a/**/b", "a/c", True),
        ("a/b", "b/a", False),
        ("./a/", "a", True),
        ("[ab]c", "[!a]c", True),
        ("[a]c", "[!a]c", False),
        ("{a,b}/x", "b/*", True),
        ("{a,b}/x", "c/*", False),
        ("**/*", "anything/at/all", True),
        ("A", "a", False),
        ("\\*", "a", False),
        ("a[*]", "a*", True),
        (".git*", ".gi?", False),
        ("x/.git*", "x/.gi?", True),
        ("repos.one:a", "a", False),
        ("repos.one:a/**", "repos.one:a/b", True),
        ("repos.one:a", "repos.two:a", False),
    ],
)
def test_patterns_meet_as_their_paths_do(one: str, other: str, *, do_meet: bool) -> None:
    assert meet(one, other) is do_meet
    assert meet(other, one) is do_meet


words = st.sampled_from(
    ["a", "b", "*", "**", "?", "a*", "*b", "[ab]", "[!a]", "{a,b}", "x{a,b*}", ".gi?", "??", "*a*"]
)
globs = st.lists(words, min_size=1, max_size=4).map("/".join)


@settings(deadline=None, derandomize=True, max_examples=examples(300))
@given(globs, globs, st.lists(st.text("abx", min_size=1, max_size=3), min_size=1, max_size=4))
def test_a_path_that_both_claim_makes_them_meet_and_the_planner_agrees(
    one: str, other: str, names: list[str]
) -> None:
    first, second = Pattern.parse(one), Pattern.parse(other)
    path = "/".join(names)
    if matches(first, path) and matches(second, path):
        assert meet(one, other)
    assert meet(one, other) == overlap(first, second)


@settings(deadline=None, derandomize=True, max_examples=examples(300))
@given(
    globs, st.lists(st.sampled_from(["a", "b", "ab", "x*", ".git", "[a]"]), min_size=1, max_size=4)
)
def test_a_pattern_covers_the_paths_that_it_claims_and_no_sign_in_a_path_is_one(
    glob: str, names: list[str]
) -> None:
    path = "/".join(names)
    assert covers(glob, path) == matches(Pattern.parse(glob), path)


def test_a_pattern_of_one_repository_covers_nothing_of_another() -> None:
    assert covers("repos.one:src/**", "repos.one:src/a")
    assert not covers("repos.one:src/**", "repos.two:src/a")
    assert not covers("src/**", "repos.one:src/a")
