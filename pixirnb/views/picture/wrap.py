"""A picture too wide for its page goes on below, as text does: at the start of a phase where there is one.

    layout(…) ──▶ Layout, one line however wide ──▶ break_lines(…) ──▶ Sheet: the same columns on several lines

Nothing moves within a line. What crosses to the next line leaves at the right edge as high as it began, and enters at the left
edge as high as it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pixirnb.views.picture.layout import Box, Curve, Grid, Layout

MOST: Final = 6
"""Lines of a picture. One that would need more stays on one line and scrolls: that is easier to follow."""
HIGHEST: Final = 720.0
"""Pixels that a picture of several lines may be high, for the same reason."""
Phases = Sequence[tuple[str, int, int]]
"""(name, first column, last column), in order, no column in two."""


@dataclass(frozen=True, slots=True)
class Band:
    """Position of a phase, or of its part on one line."""

    name: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Sheet:
    """A layout on one or more lines, in pixels from its upper left corner."""

    boxes: tuple[Box, ...]
    curves: tuple[Curve, ...]
    """An edge that crosses lines is a curve on each of them."""
    bands: tuple[Band, ...]
    width: float
    height: float


def starts(columns: int, phases: Phases, fitting: int) -> list[int]:
    """Return the first column of each line of at most `fitting` columns: phases stay whole if they can. `[0]` for one line."""
    if columns <= fitting:
        return [0]
    lines = -(-columns // fitting)
    even = -(-columns // lines)
    edges = {first for _, first, _ in phases} or set(range(0, columns, even))
    positions = [0]
    while columns - positions[-1] > fitting:
        last = positions[-1]
        here = [edge for edge in edges if last < edge <= last + fitting]
        positions.append(max(here, default=last + fitting))
    if len(positions) <= MOST:
        return positions
    return starts(columns, [], fitting) if phases else [0]


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
    pitch = grid.width + grid.gap_x
    ends = [*line_starts[1:], placing.columns]
    line_of = [
        line for line, (a, b) in enumerate(zip(line_starts, ends, strict=True)) for _ in range(a, b)
    ]
    at = {box.id: line_of[box.column] for box in placing.boxes}
    pieces = [
        (line, replace(curve, points=points))
        for curve in placing.curves
        for line, points in _cut(curve, at, grid, line_starts, ends)
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
        moves.append((-start * pitch, top + head - upper))
        bands += _bands(phases, range(start, end), grid, top + 4, head + lower - upper - 8)
        top += head + lower - upper
    for index, box in enumerate(boxes):
        dx, dy = moves[at[box.id]]
        boxes[index] = replace(box, x=box.x + dx, y=box.y + dy)
    for line, curve in pieces:
        dx, dy = moves[line]
        curves.append(replace(curve, points=tuple((x + dx, y + dy) for x, y in curve.points)))
    widest = max((end - start for start, end in zip(line_starts, ends, strict=True)), default=1)
    width = 2 * grid.margin + max(widest, 1) * pitch - grid.gap_x
    return Sheet(tuple(boxes), tuple(curves), tuple(bands), width, top)


def _cut(
    curve: Curve, at: dict[str, int], grid: Grid, line_starts: Sequence[int], ends: Sequence[int]
) -> list[tuple[int, tuple[tuple[float, float], ...]]]:
    """Return the parts of a curve, each with its line. One that goes back in time is drawn whole on the source's line."""
    first, last = at[curve.source], at[curve.target]
    if last <= first:
        return [(first, curve.points)]
    pitch, reach = grid.width + grid.gap_x, min(grid.gap_x / 2, grid.margin)
    parts = []
    points = list(curve.points)
    for line in range(first, last):
        edge = grid.margin + ends[line] * pitch - grid.gap_x
        here = [point for point in points if point[0] <= edge]
        points = points[len(here) :]
        parts.append((line, (*here, (edge + reach, here[-1][1]))))
        entry = grid.margin + line_starts[line + 1] * pitch - reach
        points.insert(0, (entry, points[0][1]))
    return [*parts, (last, tuple(points))]


def _bands(phases: Phases, columns: range, grid: Grid, y: float, height: float) -> list[Band]:
    bands = []
    pitch = grid.width + grid.gap_x
    for name, first, last in phases:
        left, right = max(first, columns.start), min(last + 1, columns.stop)
        if left >= right:
            continue
        x = grid.margin + (left - columns.start) * pitch - grid.gap_x / 2 + 3
        width = (right - left) * pitch - 6
        if left == columns.start:
            x, width = x + grid.gap_x / 2 - 10, width - grid.gap_x / 2 + 10
        bands.append(Band(name, x, y, width, height))
    return bands
