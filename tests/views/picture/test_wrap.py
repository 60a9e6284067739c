"""A long workflow is seen whole: its picture goes on below, phase by phase, and no line of it gets lost on the way."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixirnb.views.picture.layout import Grid, layout
from pixirnb.views.picture.svg import picture
from pixirnb.views.picture.wrap import HIGHEST, MOST, Sheet, break_lines, starts

GRID = Grid(width=140, gap_x=28)
FIVE = 5 * 140 + 4 * 28
"""Room for five columns."""


@pytest.mark.parametrize(
    ("columns", "phases", "expected"),
    [
        (5, [], [0]),
        (10, [], [0, 5]),
        (11, [], [0, 4, 8]),
        (13, [("a", 0, 2), ("b", 3, 7), ("c", 8, 9), ("d", 10, 12)], [0, 3, 8]),
        (9, [("long", 0, 7), ("end", 8, 8)], [0, 5]),
        (5 * MOST, [], list(range(0, 5 * MOST, 5))),
        (5 * MOST, [(f"p{n}", 3 * n, 3 * n + 2) for n in range(10)], list(range(0, 5 * MOST, 5))),
        (5 * MOST + 1, [], [0]),
    ],
)
def test_lines_begin_where_phases_do_and_are_few(
    columns: int, phases: list[tuple[str, int, int]], expected: list[int]
) -> None:
    assert starts(GRID.columns(columns), phases, FIVE) == expected


def made(waves: list[list[str]], edges: list[tuple[str, str]], line_starts: list[int]) -> Sheet:
    ids = [step for wave in waves for step in wave]
    return break_lines(layout(ids, waves, edges, grid=GRID), GRID, [], line_starts, 20.0)


@given(st.lists(st.integers(1, 3), min_size=6, max_size=16), st.randoms(use_true_random=False))
def test_nothing_overlaps_nothing_leaves_the_page_and_every_edge_arrives(
    sizes: list[int], random: object
) -> None:
    waves = [[f"s{place}-{n}" for n in range(size)] for place, size in enumerate(sizes)]
    choice = random.choice  # type: ignore[attr-defined] # hypothesis hands out a random.Random
    edges = [(choice(before), step) for before, wave in pairwise(waves) for step in wave]
    edges += [(waves[0][0], waves[-1][0])]
    line_starts = starts(GRID.columns(len(waves)), [], FIVE)
    sheet = made(waves, edges, line_starts)
    boxes = {box.id: box for box in sheet.boxes}
    assert len(boxes) == sum(sizes)
    for box in boxes.values():
        assert box.x >= 0
        assert box.x + box.width <= sheet.width
        assert box.y >= 0
        assert box.y + box.height <= sheet.height
    for a, b in combinations(boxes.values(), 2):
        assert (
            a.x + a.width < b.x
            or b.x + b.width < a.x
            or a.y + a.height < b.y
            or b.y + b.height < a.y
        )
    for curve in sheet.curves:
        for (x, y), (to_x, _) in pairwise(curve.points):
            assert x <= to_x
            assert 0 <= x <= to_x <= sheet.width
            assert 0 <= y <= sheet.height
    for source, target in edges:
        points = [c.points for c in sheet.curves if (c.source, c.target) == (source, target)]
        assert points[0][0] == (boxes[source].x + 140, boxes[source].y + GRID.height / 2)
        assert points[-1][-1] == (boxes[target].x, boxes[target].y + GRID.height / 2)


def test_one_line_is_the_layout_as_it_was() -> None:
    waves = [["a"], ["b", "c"], ["d"]]
    placing = layout(["a", "b", "c", "d"], waves, [("a", "b"), ("b", "d")], grid=GRID)
    sheet = break_lines(placing, GRID, [], [0], 0.0)
    assert (sheet.boxes, sheet.curves) == (placing.boxes, placing.curves)
    assert (sheet.width, sheet.height) == (placing.width, placing.height)


def test_what_would_be_too_high_stays_on_one_line() -> None:
    waves = [[f"s{place}-{n}" for n in range(9)] for place in range(10)]
    sheet = made(waves, [], [0, 5])
    assert sheet.height < HIGHEST
    assert sheet.width > 10 * 140


def test_a_chain_of_thirty_steps_fits_the_page_and_says_each_phase_where_it_stands() -> None:
    ids = [f"step-{place}" for place in range(30)]
    plan: Any = {
        "workflow": "long",
        "waves": [[step] for step in ids],
        "phases": [
            {"name": "first", "steps": ids[:5]},
            {"name": "second", "steps": ids[5:9]},
            {"name": "third", "steps": ids[9:14]},
            {"name": "fourth", "steps": ids[14:]},
        ],
    }
    svg = picture(plan, None, list(pairwise(ids)))
    [width] = re.findall(r'role="img" width="([\d.]+)"', svg)
    assert float(width) <= 900
    assert all(f">{step}</text>" in svg for step in ids)
    assert svg.count(">second</text>") == 1
