"""A picture too wide for its page goes on below, as text does: at the start of a phase where there is one.

    layout(…) ──▶ Layout, one line however wide ──▶ break_lines(…) ──▶ Sheet: the same columns on several lines

Nothing moves within a line. What crosses to the next line leaves at the right edge as high as it began, and enters at the left
edge as high as it ends.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from pixirnb.views.picture.layout import Box, Curve, Grid, Layout

MOST: Final = 6
"""Lines of a picture. One that would need more stays on one line and scrolls: that is easier to follow."""
HIGHEST: Final = 720.0
"""Pixels that a picture of several lines may be high, for the same reason."""
Sides = Sequence[tuple[float, float]]
"""Left and right of each column, all on one line."""
Phases = Sequence[tuple[str, int, int]]
"""(name, first column, last column), in order, no column in two."""


class Band(Struct, frozen=True):
    """Position of a phase, or of its part on one line."""

    name: str
    x: float
    y: float
    width: float
    height: float


class Sheet(Struct, frozen=True):
    """A layout on one or more lines, in pixels from its upper left corner."""

    boxes: tuple[Box, ...]
    curves: tuple[Curve, ...]
    """An edge that crosses lines is a curve on each of them."""
    bands: tuple[Band, ...]
    width: float
    height: float


def starts(sides: Sides, phases: Phases, room: float) -> list[int]:
    """Return the first column of each line of at most `room` pixels: phases stay whole if they can. `[0]` for one line."""
    full = _broken(sides, frozenset(), room)
    even = max(1, -(-len(sides) // len(full)))
    edges = {first for _, first, _ in phases} or set(range(0, len(sides), even))
    positions = _broken(sides, edges, room)
    if len(positions) <= MOST:
        return positions
    return starts(sides, [], room) if phases else [0]


def _broken(sides: Sides, edges: Collection[int], room: float) -> list[int]:
    """Return the first column of each line, one of `edges` where there is one: as many columns in each as fit, at least one."""
    positions = [0]
    while len(sides) and sides[-1][1] - sides[positions[-1]][0] > room:
        last = positions[-1]
        fitting = last + 1
        while fitting < len(sides) and sides[fitting][1] - sides[last][0] <= room:
            fitting += 1
        if fitting >= len(sides):
            break  # a single column that is wider than the page
        positions.append(max((e for e in edges if last < e <= fitting), default=fitting))
    return positions


def break_lines(
    placing: Layout, grid: Grid, phases: Phases, line_starts: Sequence[int], head: float
) -> Sheet:
    """Return `placing` on lines that begin with the columns `line_starts`. `head` is the room above each for phase names."""
    if len(line_starts) > 1:
        sheet = _sheet(placing, grid, phases, line_starts, head)
        if sheet.height <= HIGHEST:
            return sheet
    return _sheet(placing, grid, phases, [0], head)


def _sheet(
    placing: Layout, grid: Grid, phases: Phases, line_starts: Sequence[int], head: float
) -> Sheet:
    sides = grid.columns(max(placing.columns, 1))
    ends = [*line_starts[1:], placing.columns]
    line_of = [
        line for line, (a, b) in enumerate(zip(line_starts, ends, strict=True)) for _ in range(a, b)
    ]
    at = {box.id: line_of[box.column] for box in placing.boxes}
    pieces = [
        (line, replace(curve, points=points))
        for curve in placing.curves
        for line, points in _cut(curve, at, grid, sides, ends)
    ]
    boxes: list[Box] = list(placing.boxes)
    curves: list[Curve] = []
    bands: list[Band] = []
    top = 0.0
    moves: list[tuple[float, float]] = []
    for line, (start, end) in enumerate(zip(line_starts, ends, strict=True)):
        upper, lower = 0.0, placing.height
        if len(line_starts) > 1:
            own = [curve for on, curve in pieces if on == line and not curve.is_extra]
            levels = [y for curve in own for _, y in curve.points]
            tops = [box.y for box in placing.boxes if at[box.id] == line]
            upper = min([*levels, *tops]) - grid.margin
            lower = max([*levels, *(y + grid.height for y in tops)]) + grid.margin
        moves.append((grid.margin - sides[start][0], top + head - upper))
        height = head + lower - upper
        bands += _bands(phases, range(start, end), grid, sides, y=top + 4, height=height - 8)
        top += height
    for index, box in enumerate(boxes):
        dx, dy = moves[at[box.id]]
        boxes[index] = replace(box, x=box.x + dx, y=box.y + dy)
    for line, curve in pieces:
        dx, dy = moves[line]
        curves.append(replace(curve, points=tuple((x + dx, y + dy) for x, y in curve.points)))
    widest = max(sides[b - 1][1] - sides[a][0] for a, b in zip(line_starts, ends, strict=True))
    width = 2 * grid.margin + widest
    return Sheet(tuple(boxes), tuple(curves), tuple(bands), width, top)


def _cut(
    curve: Curve, at: dict[str, int], grid: Grid, sides: Sides, ends: Sequence[int]
) -> list[tuple[int, tuple[tuple[float, float], ...]]]:
    """Return the parts of a curve, each with its line. One that goes back in time is drawn whole on the source's line."""
    first, last = at[curve.source], at[curve.target]
    if last <= first:
        return [(first, curve.points)]
    reach = min(grid.gap_x / 2, grid.margin)
    parts = []
    points = list(curve.points)
    for line in range(first, last):
        edge = sides[ends[line] - 1][1]
        here = [point for point in points if point[0] <= edge]
        points = points[len(here) :]
        parts.append((line, (*here, (edge + reach, here[-1][1]))))
        entry = sides[ends[line]][0] - reach
        points.insert(0, (entry, points[0][1]))
    return [*parts, (last, tuple(points))]


def _bands(
    phases: Phases, columns: range, grid: Grid, sides: Sides, *, y: float, height: float
) -> list[Band]:
    bands = []
    for name, first, last in phases:
        left, right = max(first, columns.start), min(last + 1, columns.stop)
        if left >= right:
            continue
        x = grid.margin + sides[left][0] - sides[columns.start][0] - grid.gap_x / 2 + 3
        width = sides[right - 1][1] - sides[left][0] + grid.gap_x - 6
        if left == columns.start:
            x, width = x + grid.gap_x / 2 - 10, width - grid.gap_x / 2 + 10
        bands.append(Band(name, x, y, width, height))
    return bands
