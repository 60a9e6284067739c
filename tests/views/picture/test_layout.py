"""A picture of waves: no box on another, no line through a box, the same every time, and fewer crossings than as written."""

from __future__ import annotations

import random
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixirnb.views.picture.layout import Box, Layout, layout
from tests.views.view_samples import RELEASE, edges_of, waves_of

Spec = tuple[list[str], list[list[str]], list[tuple[str, str]]]


def random_spec(seed: int, steps: int, waves: int) -> Spec:
    rng = random.Random(seed)
    ids = [f"s{place}" for place in range(steps)]
    column = sorted(rng.randrange(waves) for _ in ids)
    edges = {
        (ids[source], ids[target])
        for target in range(steps)
        for source in rng.sample(range(steps), min(3, steps))
        if column[source] < column[target]
    }
    columns: list[list[str]] = [[] for _ in range(waves)]
    for step, place in zip(ids, column, strict=True):
        columns[place].append(step)
    return ids, columns, sorted(edges)


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    return random_spec(
        draw(st.integers(0, 10_000)), draw(st.integers(1, 40)), draw(st.integers(1, 8))
    )


def brute_crossings(ordered: list[list[str]], edges: list[tuple[str, str]]) -> int:
    at = {step: (c, r) for c, column in enumerate(ordered) for r, step in enumerate(column)}
    ends = [(at[a], at[b]) for a, b in edges]
    return sum(
        1
        for (a, b), (c, d) in combinations(ends, 2)
        if a[0] == c[0] and b[0] == d[0] and (a[1] - c[1]) * (b[1] - d[1]) < 0
    )


def ordered(drawn: Layout, columns: int) -> list[list[str]]:
    found: list[list[Box]] = [[] for _ in range(columns)]
    for box in drawn.boxes:
        found[box.column].append(box)
    return [[box.id for box in sorted(column, key=lambda box: box.y)] for column in found]


def overlaps(a: Box, b: Box) -> bool:
    return (
        a.x < b.x + b.width
        and b.x < a.x + a.width
        and a.y < b.y + b.height
        and b.y < a.y + a.height
    )


@given(specs())
def test_no_two_boxes_overlap_and_all_lie_on_the_picture(spec: Spec) -> None:
    drawn = layout(*spec)

    assert [box.id for box in drawn.boxes] == spec[0]
    assert not any(overlaps(a, b) for a, b in combinations(drawn.boxes, 2))
    for box in drawn.boxes:
        assert box.x >= 0
        assert box.x + box.width <= drawn.width
        assert box.y >= 0
        assert box.y + box.height <= drawn.height


@given(specs())
def test_every_step_stands_in_the_column_of_its_wave(spec: Spec) -> None:
    column = {step: place for place, wave in enumerate(spec[1]) for step in wave}

    assert all(box.column == column[box.id] for box in layout(*spec).boxes)


@given(specs())
def test_sorting_never_makes_more_crossings_than_the_order_as_written(spec: Spec) -> None:
    ids, waves, edges = spec

    drawn = layout(ids, waves, edges)

    assert drawn.crossings == brute_crossings(ordered(drawn, len(waves)), edges)
    assert drawn.crossings <= brute_crossings(waves, edges)


def test_sorting_untangles_what_can_be_untangled() -> None:
    left, right = [f"a{i}" for i in range(8)], [f"b{i}" for i in range(8)]
    edges = [(f"a{i}", f"b{7 - i}") for i in range(8)]

    assert brute_crossings([left, right], edges) == 28
    assert layout(left + right, [left, right], edges).crossings == 0


@given(specs())
def test_no_line_passes_through_a_box(spec: Spec) -> None:
    drawn = layout(*spec)

    for curve in drawn.curves:
        for (x, y), (to_x, to_y) in pairwise(curve.points):
            if y != to_y:
                continue
            for box in drawn.boxes:
                if box.id in {curve.source, curve.target}:
                    continue
                meets = x < box.x + box.width and box.x < to_x
                assert not (meets and box.y < y < box.y + box.height)


@given(specs())
def test_a_line_goes_from_the_right_of_its_source_to_the_left_of_its_target(spec: Spec) -> None:
    drawn = layout(*spec)
    boxes = {box.id: box for box in drawn.boxes}

    assert [(curve.source, curve.target) for curve in drawn.curves] == spec[2]
    for curve in drawn.curves:
        source, target = boxes[curve.source], boxes[curve.target]
        assert curve.points[0] == (source.x + source.width, source.y + source.height / 2)
        assert curve.points[-1] == (target.x, target.y + target.height / 2)


@given(specs())
def test_the_same_workflow_is_drawn_the_same_every_time(spec: Spec) -> None:
    assert layout(*spec) == layout(*spec)


def test_lines_that_are_only_drawn_move_no_box() -> None:
    ids = [step for step, _, _ in RELEASE]
    plain = layout(ids, waves_of(RELEASE), edges_of(RELEASE))

    held = layout(ids, waves_of(RELEASE), edges_of(RELEASE), also=[("lint", "publish")])

    assert held.boxes == plain.boxes
    assert len(held.curves) == len(plain.curves) + 1


def test_a_chain_is_a_straight_line_beside_its_neighbours() -> None:
    chain = [f"c{i}" for i in range(6)]
    side = [f"d{i}" for i in range(5)]
    waves = [[chain[0]], *[[chain[i], side[i - 1]] for i in range(1, 6)]]
    edges = list(pairwise(chain))

    rows = {box.row for box in layout(chain + side, waves, edges).boxes if box.id in chain}

    assert len(rows) == 1


@given(specs(), st.integers(1, 4))
def test_lanes_share_no_row(spec: Spec, lanes: int) -> None:
    lane = {step: place % lanes for place, step in enumerate(spec[0])}

    drawn = layout(*spec, lanes=lane)

    rows: dict[int, set[int]] = {}
    for box in drawn.boxes:
        rows.setdefault(lane[box.id], set()).add(box.row)
    assert all(not a & b for a, b in combinations(rows.values(), 2))
    assert not any(overlaps(a, b) for a, b in combinations(drawn.boxes, 2))


@pytest.mark.parametrize(
    "spec",
    [
        ([], [], []),
        (["a"], [], []),
        (["a"], [["a", "ghost"]], [("a", "ghost"), ("ghost", "a")]),
        (["a", "b"], [["a", "b"]], [("a", "b"), ("b", "a"), ("a", "a")]),
        (["a", "b"], [["b"], ["a"]], [("a", "b")]),
    ],
    ids=["nothing", "no waves", "unknown steps", "a loop in a wave", "backwards"],
)
def test_odd_graphs_are_drawn_too(spec: Spec) -> None:
    drawn = layout(*spec)

    assert [box.id for box in drawn.boxes] == spec[0]


def test_five_thousand_steps_have_a_place_each() -> None:
    ids, waves, edges = random_spec(7, 5_000, 80)

    drawn = layout(ids, waves, edges)

    assert len({(box.column, box.row) for box in drawn.boxes}) == 5_000
