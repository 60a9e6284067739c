"""Which steps may not run side by side, counted without looking at every pair."""

from __future__ import annotations

import pytest

from pixirnb.planning.claims import (
    Claim,
    ClaimConflict,
    ClaimIndex,
    conflict_between,
    find_conflicts,
)
from pixirnb.planning.globs.pattern import Pattern
from pixirnb.planning.graph import build_graph


def claim(*, reads: str = "", writes: str = "", shared: bool = True) -> Claim:
    return Claim(
        tuple(map(Pattern.parse, reads.split())), tuple(map(Pattern.parse, writes.split())), shared
    )


RULES = [
    (claim(writes="lib/**"), claim(writes="lib/a.py"), "writer_writer"),
    (claim(writes="lib/**", shared=False), claim(writes="lib/a.py", shared=False), "writer_writer"),
    (claim(writes="lib"), claim(reads="lib/a.py"), "writer_reader"),
    (claim(writes="lib"), claim(reads="lib/a.py", shared=False), "writer_reader"),
    (claim(writes="lib", shared=False), claim(reads="lib/a.py"), None),
    (claim(reads="**/*"), claim(reads="**/*"), None),
    (claim(writes="a"), claim(writes="b", reads="c"), None),
    (claim(writes="a", reads="b"), claim(writes="b", reads="a"), "writer_reader"),
    (claim(), claim(writes="**/*"), None),
]


@pytest.mark.parametrize(("one", "other", "rule"), RULES)
def test_the_rules_hold_both_ways_round(one: Claim, other: Claim, rule: str | None) -> None:
    for first, second in ((one, other), (other, one)):
        found = conflict_between(first, second)
        assert (found and found[0]) == rule
        report = find_conflicts([first, second], build_graph([("a", []), ("b", [])]))
        assert report.count == (rule is not None)
        index = ClaimIndex()
        index.add(7, first)
        assert index.conflicts(second) is (rule is not None)
        assert index.conflicting(second) == ([7] if rule else [])


def test_a_conflict_names_the_patterns_in_spec_order() -> None:
    claims = [claim(reads="x lib/*.py"), None, claim(writes="y lib/a*")]
    graph = build_graph([("a", []), ("b", []), ("c", [])])
    report = find_conflicts(claims, graph)
    assert report.listed == (ClaimConflict(0, 2, "writer_reader", ("lib/*.py", "lib/a*")),)
    assert report.steps == {0, 2}


def test_steps_in_order_do_not_conflict_however_far_apart() -> None:
    everything = claim(writes="**/*")
    graph = build_graph([("c", ["b"]), ("b", ["a"]), ("a", []), ("d", [])])
    report = find_conflicts([everything, None, everything, everything], graph)
    assert [(pair.a, pair.b) for pair in report.listed] == [(0, 3), (2, 3)]


def test_ten_thousand_writers_of_everything_are_counted_and_the_first_listed() -> None:
    count = 10_000
    claims = [claim(writes="**/*")] * count
    free = find_conflicts(claims, build_graph([(f"s{n}", []) for n in range(count)]))
    assert free.count == count * (count - 1) // 2
    assert [(pair.a, pair.b) for pair in free.listed] == [(0, n) for n in range(1, 1001)]
    names = [(f"s{n}", [f"s{n + 1}"] if n < count - 1 else []) for n in range(count)]
    assert find_conflicts(claims, build_graph(names)).count == 0


def test_globs_beside_each_other_in_one_folder_are_told_apart() -> None:
    claims = [claim(writes=f"out/part-{n:05}-*.csv") for n in range(3000)]
    claims += [claim(writes=f"in/*-{n:05}.csv") for n in range(3000, 6000)]
    claims += [claim(writes="out/part-00007-x.*"), claim(writes="out/*-00009.csv")]
    report = find_conflicts(claims, build_graph([(f"s{n}", []) for n in range(6002)]))
    assert report.count == 1 + 3000 + 1


def test_steps_on_a_cycle_are_left_out() -> None:
    graph = build_graph([("a", ["b"]), ("b", ["a"]), ("c", []), ("d", [])])
    report = find_conflicts([claim(writes="*")] * 4, graph)
    assert [(pair.a, pair.b) for pair in report.listed] == [(2, 3)]


def test_what_is_let_go_no_longer_conflicts() -> None:
    index = ClaimIndex()
    index.add(1, claim(writes="**/*", reads="a"))
    index.add(2, claim(writes="**/*", shared=False))
    index.remove(1)
    assert not index.conflicts(claim(reads="x"))
    assert index.conflicting(claim(writes="x")) == [2]
    index.remove(2)
    assert len(index) == 0
    assert not index.conflicts(claim(writes="**/*", reads="**/*"))
    with pytest.raises(KeyError):
        index.remove(2)


def test_a_key_holds_one_claim() -> None:
    index = ClaimIndex()
    index.add(1, claim(writes="a"))
    with pytest.raises(ValueError, match="already holds"):
        index.add(1, claim(writes="b"))
