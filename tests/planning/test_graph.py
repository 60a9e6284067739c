"""Levels, cycles and ancestors of a workflow's steps."""

from __future__ import annotations

from pixirnb.planning.graph import (
    Duplicate,
    Unknown,
    build_graph,
    cycle_text,
    find_cycles,
    topological_levels,
)

DIAMOND = [("end", ["left", "right"]), ("left", ["top"]), ("right", ["top"]), ("top", [])]


def test_levels_are_generations_in_spec_order() -> None:
    assert topological_levels(build_graph(DIAMOND)) == [[3], [1, 2], [0]]


def test_duplicates_and_unknown_names_come_back_together() -> None:
    graph = build_graph([("build", []), ("test", ["biuld", "build"]), ("build", ["zzz"])])
    assert graph.duplicates == (Duplicate(2, 0, "build"),)
    assert graph.unknown == (Unknown(1, 0, "biuld", ("build", "build")), Unknown(2, 0, "zzz", ()))
    assert graph.depends_on == [[], [0], []]


def test_a_dependency_named_twice_is_one_edge() -> None:
    graph = build_graph([("a", []), ("b", ["a", "a"])])
    assert topological_levels(graph) == [[0], [1]]


def test_each_knot_shows_one_shortest_cycle() -> None:
    graph = build_graph(
        [
            ("free", []),
            ("a", ["b", "c"]),
            ("b", ["d"]),
            ("d", ["a"]),
            ("c", ["a"]),
            ("self", ["self"]),
            ("behind", ["a"]),
        ]
    )
    assert [cycle_text(graph, cycle) for cycle in find_cycles(graph)] == [
        "a → c → a",
        "self → self",
    ]
    assert topological_levels(graph) == [[0]]


def test_a_cycle_of_every_step_is_found_without_recursion() -> None:
    count = 20_000
    graph = build_graph([(f"s{n}", [f"s{(n + 1) % count}"]) for n in range(count)])
    assert find_cycles(graph) == [[*range(count), 0]]


def test_a_graph_without_cycles_has_none() -> None:
    assert find_cycles(build_graph(DIAMOND)) == []


def test_ancestors_are_direct_or_further_and_never_oneself() -> None:
    graph = build_graph(DIAMOND)
    assert graph.is_ancestor(3, 0)
    assert graph.is_ancestor(1, 0)
    assert not graph.is_ancestor(0, 3)
    assert not graph.is_ancestor(1, 2)
    assert not graph.is_ancestor(0, 0)
