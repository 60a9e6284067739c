"""Position of each step of a workflow in a picture: columns as given, rows ordered so that few edges cross.

`layout` is deterministic and knows no status, so a plan, a live run and a finished one have the same coordinates. Rows lie on
one grid over all columns; an edge that passes a column goes through an empty cell or between two rows, never through a box.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

SWEEPS = 6


class Grid(Struct, frozen=True):
    """Sizes in pixels."""

    width: float = 132.0
    """Width of the boxes of a column that `widths` does not name."""
    height: float = 38.0
    gap_x: float = 44.0
    gap_y: float = 14.0
    margin: float = 14.0
    lane_gap: float = 24.0
    """Extra room above each lane, for its name."""
    widths: tuple[float, ...] = ()

    def columns(self, count: int) -> list[tuple[float, float]]:
        """Return the left and the right side of the boxes of each of `count` columns."""
        sides, left = [], self.margin
        for number in range(count):
            width = self.widths[number] if number < len(self.widths) else self.width
            sides.append((left, left + width))
            left += width + self.gap_x
        return sides


class Box(Struct, frozen=True):
    """Position of a step."""

    id: str
    column: int
    row: int
    x: float
    y: float
    width: float
    height: float


class Curve(Struct, frozen=True):
    """An edge, from the right of its source to the left of its target, level at every point."""

    source: str
    target: str
    points: tuple[tuple[float, float], ...]
    is_extra: bool = False
    """True for an edge drawn in addition to the graph's own: nothing makes room for it."""


class Layout(Struct, frozen=True):
    """A drawn graph, steps in the order given."""

    boxes: tuple[Box, ...]
    curves: tuple[Curve, ...]
    width: float
    height: float
    columns: int
    crossings: int
    """Pairs of edges between the same two columns that cross."""
    lanes: tuple[tuple[float, float], ...]
    """Top and bottom of each lane; one where there are none."""


def layout(
    ids: Sequence[str],
    waves: Sequence[Sequence[str]],
    edges: Iterable[tuple[str, str]],
    *,
    also: Iterable[tuple[str, str]] = (),
    lanes: Mapping[str, int] | None = None,
    grid: Grid | None = None,
) -> Layout:
    """Place `ids`, each in the column of the wave that names it, and route `edges` (dependency, dependent).

    A step that no wave names stands in the first column; edges to unknown steps are left out. `also` are
    edges that are drawn and move nothing. `lanes` keeps groups of steps apart: a lane's steps share rows with no other.
    """
    grid = grid or Grid()
    index = {step: number for number, step in enumerate(ids)}
    column = [0] * len(index)
    for number, wave in enumerate(waves):
        for step in wave:
            if step in index:
                column[index[step]] = number
    lane = [0] * len(index)
    for step, number in (lanes or {}).items():
        if step in index:
            lane[index[step]] = number
    pairs = list(dict.fromkeys((index[a], index[b]) for a, b in edges if a in index and b in index))
    columns = [[] for _ in range(max(column, default=-1) + 1)]  # type: list[list[int]]
    for number in sorted(range(len(index)), key=lambda node: lane[node]):
        columns[column[number]].append(number)
    crossings = _untangle(columns, column, lane, pairs)
    rows, spans = _rows(columns, lane, pairs)
    seen = set(pairs)
    own = len(pairs)
    for a, b in also:
        pair = (index.get(a, -1), index.get(b, -1))
        if -1 not in pair and pair not in seen:
            seen.add(pair)
            pairs.append(pair)
    return _drawn(
        list(index),
        column,
        rows,
        spans,
        pairs,
        own=own,
        grid=grid,
        crossings=crossings,
        columns=len(columns),
    )


def _untangle(
    columns: list[list[int]], column: list[int], lane: list[int], pairs: list[tuple[int, int]]
) -> int:
    """Reorder `columns` in place by barycenter sweeps, keeping the best order met; returns its crossings."""
    before, after = _neighbours(len(column), pairs)
    position = [0.0] * len(column)
    for nodes in columns:
        _centre(nodes, position)
    best, fewest = [list(nodes) for nodes in columns], _crossings(column, position, pairs)
    for sweep in range(SWEEPS):
        if fewest == 0:
            break
        near = before if sweep % 2 == 0 else after
        for nodes in columns if sweep % 2 == 0 else reversed(columns):
            target = {}
            for node in nodes:
                neighbours = near[node]
                mean = (
                    sum(position[n] for n in neighbours) / len(neighbours)
                    if neighbours
                    else position[node]
                )
                target[node] = (lane[node], mean)
            nodes.sort(key=target.__getitem__)
            _centre(nodes, position)
        count = _crossings(column, position, pairs)
        if count < fewest:
            best, fewest = [list(nodes) for nodes in columns], count
    columns[:] = best
    return fewest


def _neighbours(
    count: int, pairs: list[tuple[int, int]]
) -> tuple[list[list[int]], list[list[int]]]:
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in pairs:
        before[target].append(source)
        after[source].append(target)
    return before, after


def _centre(nodes: list[int], position: list[float]) -> None:
    middle = (len(nodes) - 1) / 2
    for rank, node in enumerate(nodes):
        position[node] = rank - middle


def _crossings(column: list[int], position: list[float], pairs: list[tuple[int, int]]) -> int:
    """Count the inversions among edges that join the same two columns."""
    groups: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for source, target in pairs:
        key = (column[source], column[target])
        groups.setdefault(key, []).append((position[source], position[target]))
    total = 0
    for ends in groups.values():
        ends.sort()
        seen: list[float] = []
        for _, end in ends:
            total += len(seen) - bisect_right(seen, end)
            insort(seen, end)
    return total


def _rows(
    columns: list[list[int]], lane: list[int], pairs: list[tuple[int, int]]
) -> tuple[list[int], list[tuple[int, int]]]:
    """Return a row of the grid for each node, near its neighbours, order kept; and the rows of each lane."""
    count = max(lane, default=0) + 1
    cells: list[list[list[int]]] = []
    tallest = [1 if not lane else 0] * count
    for nodes in columns:
        split: list[list[int]] = [[] for _ in range(count)]
        for node in nodes:
            split[lane[node]].append(node)
        cells.append(split)
        tallest = [max(old, len(part)) for old, part in zip(tallest, split, strict=True)]
    spans, top = [], 0
    for height in tallest:
        spans.append((top, top + height))
        top += height
    rows = [0] * len(lane)
    for split in cells:
        for part, (first, last) in zip(split, spans, strict=True):
            start = first + (last - first - len(part)) // 2
            for rank, node in enumerate(part):
                rows[node] = start + rank
    before, after = _neighbours(len(lane), pairs)
    for near, order in ((before, cells), (after, cells[::-1]), (before, cells)):
        for split in order:
            for part, (first, last) in zip(split, spans, strict=True):
                if len(part) < last - first:
                    _settle(part, rows, near, first, last)
    return rows, spans


def _settle(
    nodes: list[int], rows: list[int], near: list[list[int]], first: int, last: int
) -> None:
    """Move a column's nodes toward the mean row of their neighbours: a monotone least-squares fit."""
    pools: list[tuple[float, int]] = []
    for rank, node in enumerate(nodes):
        neighbours = near[node]
        target = (
            sum(rows[n] for n in neighbours) / len(neighbours) if neighbours else float(rows[node])
        )
        total, size = target - rank, 1
        while pools and pools[-1][0] / pools[-1][1] >= total / size:
            total, size = total + pools[-1][0], size + pools[-1][1]
            pools.pop()
        pools.append((total, size))
    highest, rank = last - len(nodes), 0
    for total, size in pools:
        start = min(max(round(total / size), first), highest)
        for _ in range(size):
            rows[nodes[rank]] = start + rank
            rank += 1


def _drawn(
    ids: list[str],
    column: list[int],
    rows: list[int],
    spans: list[tuple[int, int]],
    pairs: list[tuple[int, int]],
    *,
    own: int,
    grid: Grid,
    crossings: int,
    columns: int,
) -> Layout:
    pitch_y = grid.height + grid.gap_y
    sides = grid.columns(max(columns, 1))
    many = len(spans) > 1
    extra: list[float] = []
    for lane, (first, last) in enumerate(spans):
        extra += [(lane + 1) * grid.lane_gap if many else 0.0] * (last - first)
    tops = [grid.margin + row * pitch_y + extra[row] for row in range(len(extra))]
    boxes = tuple(
        Box(
            id=step,
            column=column[node],
            row=rows[node],
            x=sides[column[node]][0],
            y=tops[rows[node]],
            width=sides[column[node]][1] - sides[column[node]][0],
            height=grid.height,
        )
        for node, step in enumerate(ids)
    )
    taken = {(box.column, box.row) for box in boxes}
    curves = tuple(
        Curve(
            ids[a],
            ids[b],
            _route(boxes[a], boxes[b], taken, tops, grid=grid, sides=sides),
            lane >= own,
        )
        for lane, (a, b) in enumerate(pairs)
    )
    bands = tuple(
        (tops[first] - (grid.lane_gap - 4 if many else 6), tops[last - 1] + grid.height + 6)
        for first, last in spans
        if last > first
    )
    return Layout(
        boxes=boxes,
        curves=curves,
        width=sides[-1][1] + grid.margin,
        height=(tops[-1] if tops else grid.margin) + grid.height + grid.margin,
        columns=columns,
        crossings=crossings,
        lanes=bands,
    )


def _route(
    source: Box,
    target: Box,
    taken: set[tuple[int, int]],
    tops: list[float],
    *,
    grid: Grid,
    sides: list[tuple[float, float]],
) -> tuple[tuple[float, float], ...]:
    start = (source.x + source.width, source.y + source.height / 2)
    end = (target.x, target.y + target.height / 2)
    between = range(source.column + 1, target.column)
    if not between:
        return (start, end)
    level = None
    for row in (target.row, source.row):
        if all((passed, row) not in taken for passed in between):
            level = tops[row] + grid.height / 2
            break
    if level is None:
        # The gap beside the target's row that faces the source; a few tracks keep neighbours apart.
        edge = target.y if start[1] <= end[1] else target.y + grid.height + grid.gap_y
        level = edge - grid.gap_y / 2 + ((source.row + source.column) % 3 - 1) * grid.gap_y / 4
    return (start, (sides[between[0]][0], level), (sides[between[-1]][1], level), end)
