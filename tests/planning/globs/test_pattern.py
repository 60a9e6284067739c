"""What a glob claims, what it refuses to be, and when two of them meet."""

from __future__ import annotations

import pytest

from pixirnb.planning.globs.pattern import DEEPEST, LONGEST, MOST_CHOICES, Pattern, matches, overlap

MEETINGS = [
    ("lib/**", "lib/a.py", True),
    ("lib/a", "lib/ab", False),
    ("lib/a", "lib/a/deep/er", True),
    ("*.py", "a*", True),
    ("*.py", "*.md", False),
    ("src/*.py", "src/a.p?", True),
    ("src/a?b", "src/ab", False),
    ("A", "a", False),
    ("./lib/", "lib", True),
    ("lib//x", "lib/./x", True),
    ("**/x", "y/**", True),
    ("a/**/b", "a/c", True),
    ("a/**/b", "b", False),
    ("[a-f]x", "[f-z]x", True),
    ("[a-e]x", "[f-z]x", False),
    ("[!a]", "a", False),
    ("[]]", "[[]", False),
    (r"\*", "a", False),
    (r"\*", "[*]", True),
    ("{src,docs}/a", "docs/*", True),
    ("{a,{b,c}d}/x", "cd/x", True),
    ("{a,{b,c}d}/x", "c/x", False),
    ("a*b*c", "*bb*", True),
    ("a*", "*b", True),
    ("a*", "b*a", False),
    ("é*", "?", True),
    ("repos.cloud:src/**", "repos.cloud:src/a", True),
    ("repos.cloud:src/**", "repos.web:src/a", False),
    ("repos.cloud:**", "**/*", False),
    (".gi?", "?git", False),
    (".gi?", ".gi[tx]", True),
    ("x/.gi?", "x/?git", True),
]


@pytest.mark.parametrize(("one", "other", "meets"), MEETINGS)
def test_two_patterns_overlap_when_some_path_is_in_both(one: str, other: str, meets: bool) -> None:
    first, second = Pattern.parse(one), Pattern.parse(other)
    assert overlap(first, second) is meets
    assert overlap(second, first) is meets


CLAIMED = [
    ("lib/**", "lib/a/b.py", True),
    ("**/*.py", "a.py", True),
    ("**/*.py", "x/y/a.py", True),
    ("**/*.py", "x/y/a.md", False),
    ("a/**/z", "a/z", True),
    ("a/**/z", "a/b/c/z/below", True),
    ("src", "src/deep/file", True),
    ("src", "srcs", False),
    ("*", ".hidden", True),
    ("**/*", ".git/config", False),
    ("**/*", ".pixirnb/runs/x", False),
    ("**/*", "sub/.git/config", True),
    ("*", "../up", False),
    ("*", "/abs", False),
    ("*", "", False),
    ("a?c", "abc", True),
    ("repos.cloud:src", "repos.cloud:src/a", True),
    ("src", "repos.cloud:src/a", False),
    ("src/", "./src", True),
]


@pytest.mark.parametrize(("glob", "path", "claimed"), CLAIMED)
def test_a_pattern_claims_what_it_matches_and_all_below(
    glob: str, path: str, claimed: bool
) -> None:
    assert matches(Pattern.parse(glob), path) is claimed


REFUSED = [
    "", ".", "./", "/etc", "a/../b", "..", "a\0b", "repos.cloud:", "repos.:x", "repos.a b:x",
    ".git", ".git/config", ".pixirnb/**", "./.git", ".gi[t]", r"\.git", "{a,.git}/x",
    "repos.cloud:.git/x", "[.]", "{a,/b}", "a[", "a[]", "[z-a]", "[^a]", "[[:alpha:]]", "**.py",
    "a**", "{a", "a}", "{a}", "{}", "a\\", "x" * (LONGEST + 1), "y" * 256,
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_a_pattern_that_claims_nothing_sensible_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        Pattern.parse(text)


def test_braces_spell_a_thousand_patterns_and_not_one_more() -> None:
    digits = "{0,1,2,3,4,5,6,7,8,9}"
    assert len(Pattern.parse(f"x/{digits * 3}").choices) == MOST_CHOICES
    with pytest.raises(ValueError, match="expands to more than"):
        Pattern.parse(f"x/{digits * 3}{{a,b}}")
    with pytest.raises(ValueError, match="expands to more than"):
        Pattern.parse("{" + "a," * MOST_CHOICES + "b}")


def test_braces_nest_to_a_stated_depth() -> None:
    assert len(Pattern.parse("{a," * DEEPEST + "b" + "}" * DEEPEST).choices) == 2
    with pytest.raises(ValueError, match="nest deeper"):
        Pattern.parse("{a," * (DEEPEST + 1) + "b" + "}" * (DEEPEST + 1))


def test_what_writes_everything_says_so() -> None:
    universal = [Pattern.parse(text).is_universal for text in ("**/*", "*", "**", "**/x", "*/*")]
    assert universal == [True] * 5
    assert not Pattern.parse("src/**").is_universal


def test_a_pattern_made_to_be_slow_is_not() -> None:
    one = Pattern.parse("*a" * 80 + "*")
    assert not overlap(one, Pattern.parse("b" * 200))
    assert matches(one, "a" * 200)
    assert not matches(one, "a" * 79 + "b" * 100)
