"""Overlap of globs is exact: whatever the patterns, it agrees with trying every path."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from pixirnb.planning.claims import Claim, ClaimIndex, conflict_between, find_conflicts
from pixirnb.planning.globs.index import PatternIndex
from pixirnb.planning.globs.pattern import Pattern, matches, overlap
from pixirnb.planning.graph import build_graph
from tests.sweeps import examples

# Patterns spell `a` and `b`; `c` in a name is what only a wildcard matches.

pieces = st.sampled_from(["a", "b", "a", "b", "*", "*", "?", "[ab]", "[!a]", "{a,b}", "{,a}b"])
words = st.lists(pieces, min_size=1, max_size=3).map("".join)
one_segment = words.filter(lambda text: "**" not in text)
segments = st.one_of(st.sampled_from(["a", "b", "*", "**"]), one_segment)
globs = st.lists(segments, min_size=1, max_size=3).map("/".join)


def parsed(text: str) -> Pattern:
    return Pattern.parse(text)


def literal_words(pattern: Pattern) -> int:
    """The longest name a pattern can insist on."""
    return max(
        len(segment if isinstance(segment, str) else segment.tokens)
        for choice in pattern.choices
        for segment in choice
        if segment is not None
    )


@given(one_segment.map(parsed), one_segment.map(parsed))
@settings(max_examples=examples(400), deadline=None)
def test_two_names_overlap_exactly_when_some_file_has_both(one: Pattern, other: Pattern) -> None:
    # Six letters hold both patterns side by side, which is as long as a shortest witness gets.
    longest = min(6, literal_words(one) + literal_words(other))
    names = ("".join(n) for size in range(1, longest + 1) for n in product("abc", repeat=size))
    witness = any(matches(one, name) and matches(other, name) for name in names)
    assert overlap(one, other) == overlap(other, one) == witness


PATHS = [
    "/".join(names) for size in (1, 2, 3, 4) for names in product(["a", "b", "c"], repeat=size)
]
plain = st.sampled_from(["a", "b", "*", "**", "?", "[ab]", "[!a]", "{a,b/a}"])
trees = st.lists(plain, min_size=1, max_size=4).map("/".join).map(parsed)


@given(trees, trees)
@settings(max_examples=examples(200), deadline=None)
def test_two_trees_overlap_exactly_when_some_path_is_claimed_by_both(
    one: Pattern, other: Pattern
) -> None:
    # One-letter names, and paths as deep as one pattern after the other.
    deepest = max(len(c) for c in one.choices) + max(len(c) for c in other.choices)
    shallow = any(matches(one, path) and matches(other, path) for path in PATHS)
    witness = shallow or any(
        matches(one, "/".join(names)) and matches(other, "/".join(names))
        for size in range(5, deepest + 1)
        for names in product("ab", repeat=size)
    )
    assert overlap(one, other) == overlap(other, one) == witness


@given(
    st.sampled_from(["git", "?git", ".gi?", ".g?t", ".*", "*t", ".git?", "????"]),
    st.sampled_from([".???", "?git", ".gi[tx]", "*git", ".g*", "[!a]gi[!x]", ".[g]?t"]),
)
@settings(max_examples=examples(60), deadline=None)
def test_the_top_folders_of_git_and_pixirnb_are_no_witness(one: str, other: str) -> None:
    first, second = Pattern.parse(one), Pattern.parse(other)
    names = ("".join(n) for size in (4, 3, 5) for n in product(".gitx", repeat=size))
    witness = any(matches(first, name) and matches(second, name) for name in names)
    assert overlap(first, second) == witness


@given(st.lists(globs.map(parsed), min_size=1, max_size=30), globs.map(parsed), st.data())
@settings(max_examples=examples(100), deadline=None)
def test_the_index_finds_what_asking_each_finds(
    held: list[Pattern], asked: Pattern, data: st.DataObject
) -> None:
    index: PatternIndex[set[int]] = PatternIndex(set)
    for key, pattern in enumerate(held):
        index.at(pattern).add(key)
    gone = data.draw(st.sets(st.sampled_from(held)))
    list(index.overlapping(asked))
    for pattern in gone:
        index.remove(pattern)
    found = sorted(key for keys in index.overlapping(asked) for key in keys)
    assert found == [
        key for key, item in enumerate(held) if item not in gone and overlap(item, asked)
    ]


sets = st.lists(globs.map(parsed), max_size=2).map(tuple)
claims = st.one_of(st.none(), st.builds(Claim, sets, sets, st.booleans()))


@given(st.data())
@settings(max_examples=examples(200), deadline=None)
def test_conflicts_are_the_unordered_pairs_whose_claims_meet(data: st.DataObject) -> None:
    given_claims = data.draw(st.lists(claims, min_size=1, max_size=12))
    count = len(given_claims)
    order = data.draw(st.permutations(range(count)))
    edges: dict[int, list[str]] = {step: [] for step in range(count)}
    for place, step in enumerate(order[1:], 1):
        earlier = data.draw(st.lists(st.sampled_from(order[:place]), max_size=2))
        edges[step] = [f"s{index}" for index in earlier]
    graph = build_graph([(f"s{step}", edges[step]) for step in range(count)])
    expected = []
    for a in range(count):
        for b in range(a + 1, count):
            one, other = given_claims[a], given_claims[b]
            ordered = graph.is_ancestor(a, b) or graph.is_ancestor(b, a)
            if one is None or other is None or ordered:
                continue
            if (found := conflict_between(one, other)) is not None:
                expected.append((a, b, *found))
    limit = data.draw(st.integers(0, 5))
    report = find_conflicts(given_claims, graph, limit=limit)
    assert report.count == len(expected)
    assert [(c.a, c.b, c.rule, c.paths) for c in report.listed] == expected[:limit]


@given(st.lists(claims, min_size=1, max_size=10), st.builds(Claim, sets, sets, st.booleans()))
@settings(max_examples=examples(200), deadline=None)
def test_the_live_index_agrees_with_comparing_claims(
    held: list[Claim | None], asked: Claim
) -> None:
    index = ClaimIndex()
    for key, claim in enumerate(held):
        if claim is not None:
            index.add(key, claim)
    for key in list(range(0, len(held), 3)):
        if key in index:
            index.remove(key)
    expected = [
        key
        for key, claim in enumerate(held)
        if claim is not None and key % 3 and conflict_between(claim, asked)
    ]
    assert index.conflicting(asked) == expected
    assert index.conflicts(asked) == bool(expected)
