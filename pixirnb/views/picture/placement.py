"""Positions of the parts of a drawing, in pixels: common to the saved picture and the live one.

    drawing ──▶ lay_out_drawing(drawing) ──▶ Placed: boxes, curves and bands, none of them depending on any status

Boxes are as wide as the longest name of their column asks, narrower where that lets the picture fit a notebook's page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from pixirnb.views.basics.markup import coordinate
from pixirnb.views.basics.step_names import name_of
from pixirnb.views.picture.drawing import Drawing
from pixirnb.views.picture.label import BOLD, fit_middle, length, tell_apart
from pixirnb.views.picture.layout import Box, Curve, Grid, Layout, layout
from pixirnb.views.picture.wrap import Band, Phases, break_lines, starts

_PAGE: Final = 900.0
"""Width a notebook cell offers without scrolling."""
_NARROW, _USUAL, _STACK, _WIDE = 112.0, 140.0, 172.0, 260.0
"""Widths of boxes. A stack has room for counts of four statuses."""
_BAND_TOP: Final = 20.0


class Placed(Struct, frozen=True):
    """A drawing with a place for each of its parts."""

    boxes: tuple[Box, ...]
    curves: tuple[Curve, ...]
    bands: tuple[Band, ...]
    """Phases: side by side, or one above the other where they overlap in time."""
    width: float
    height: float
    labels: Mapping[str, str]
    """Name in each box, cut to its room."""


def lay_out_drawing(shown: Drawing) -> Placed:
    """Place every node, edge and phase. Holds are routed too, and move nothing."""
    lanes, columns = _phases(shown)
    grid, line_starts = _grid(shown, columns, is_lined=lanes is None)
    ids = list(shown.nodes)
    placing = layout(ids, shown.columns, shown.edges, also=shown.holds, lanes=lanes, grid=grid)
    sheet = break_lines(placing, grid, columns, line_starts, _BAND_TOP if columns else 0.0)
    bands = (*sheet.bands, *_lanes(shown, placing, columns))
    labels = _labels(shown, sheet.boxes)
    return Placed(sheet.boxes, sheet.curves, bands, sheet.width, sheet.height, labels)


def path_of(curve: Curve) -> str:
    """Return a curve as the `d` of an SVG path."""
    (x, y), *rest = curve.points
    parts = [f"M{coordinate(x)} {coordinate(y)}"]
    for to_x, to_y in rest:
        if to_y == y:
            parts.append(f"H{coordinate(to_x)}")
        else:
            mid = coordinate((x + to_x) / 2)
            parts.append(
                f"C{mid} {coordinate(y)} {mid} {coordinate(to_y)} {coordinate(to_x)} {coordinate(to_y)}"
            )
        x, y = to_x, to_y
    return "".join(parts)


def _phases(shown: Drawing) -> tuple[dict[str, int] | None, list[tuple[str, int, int]]]:
    """Return lanes by step where phases overlap in time; else the columns (name, first, last) each phase spans."""
    if not shown.phases:
        return None, []
    column = {step: number for number, wave in enumerate(shown.columns) for step in wave}
    spans = []
    for name, steps in shown.phases:
        columns = [column[step] for step in steps if step in column]
        if columns:
            spans.append((name, min(columns), max(columns)))
    spans.sort(key=lambda entry: entry[1])
    folds = any(node.stands_for and not node.is_stack for node in shown.nodes.values())
    if all(a[2] < b[1] for a, b in pairwise(spans)):
        return None, spans
    if folds:
        return None, []  # a box that stands for several steps may stand for several phases
    lanes = {s: number for number, (_, steps) in enumerate(shown.phases) for s in steps}
    return lanes, []


def _grid(shown: Drawing, phases: Phases, *, is_lined: bool) -> tuple[Grid, list[int]]:
    """Return columns as wide as their longest label, narrower where the page asks; and the first column of each line."""
    widths = [_width(shown, column) for column in shown.columns]
    gap, line_starts = 44.0, [0]
    if sum(widths) + len(widths) * gap <= _PAGE:
        return Grid(gap_x=gap, widths=tuple(widths)), line_starts
    gap, room = 28.0, _PAGE - 28.0
    cap = _cap(widths, room, gap)
    if cap < _NARROW and is_lined:
        usual = Grid(gap_x=gap, widths=tuple(min(width, _USUAL) for width in widths))
        line_starts = starts(usual.columns(len(widths)), phases, room)
    if cap >= _NARROW or len(line_starts) > 1:
        lines = [widths[a:b] for a, b in pairwise([*line_starts, len(widths)])]
        widths = [min(width, _cap(line, room, gap)) for line in lines for width in line]
    return Grid(gap_x=gap, widths=tuple(widths)), line_starts


def _width(shown: Drawing, column: Sequence[str]) -> float:
    nodes = [shown.nodes[step] for step in column]
    least = _STACK if any(node.stands_for or node.times for node in nodes) else _NARROW
    return min(max(least, *(length(node.name, BOLD) + 38 for node in nodes)), _WIDE)


def _cap(widths: Sequence[float], room: float, gap: float) -> float:
    """Return the width to which the widest boxes of a line have to shrink so that all fit in `room`."""
    room -= (len(widths) - 1) * gap
    for number, width in enumerate(sorted(widths)):
        share = room / (len(widths) - number)
        if width > share:
            return share
        room -= width
    return _WIDE


def _labels(shown: Drawing, boxes: Sequence[Box]) -> dict[str, str]:
    """Return the label of each box, and of each step in a stack: names as far as there is room, such that they differ."""
    labels: dict[str, str] = {}
    names: dict[str, tuple[str, float]] = {}
    for box in boxes:
        node, room = shown.nodes[box.id], box.width - 36
        if node.stands_for:
            labels[box.id] = fit_middle(node.name, node.name.rfind(" … "), room + 18)
        else:
            names[box.id] = node.name, room
        steps = node.steps if node.is_stack else ()
        names.update((each, (name_of(each, shown.titles.get(each)), room)) for each in steps)
    cut = tell_apart([name for name, _ in names.values()], [room for _, room in names.values()])
    return labels | dict(zip(names, cut, strict=True))


def _lanes(shown: Drawing, placing: Layout, columns: Phases) -> list[Band]:
    """Return bands of phases that overlap in time: one above the other."""
    if columns or not shown.phases or len(placing.lanes) < 2:
        return []
    return [
        Band(name, 4, upper, placing.width - 8, lower - upper)
        for (name, _), (upper, lower) in zip(shown.phases, placing.lanes, strict=False)
    ]
