"""Positions of the parts of a drawing, in pixels: common to the saved picture and the live one.

    drawing ──▶ place_drawing(drawing) ──▶ Placed: boxes, curves and bands, none of them depending on any status

Boxes are as wide as their longest name asks, narrower where that lets the picture fit a notebook's page.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from pixirnb.views.basics.markup import coordinate
from pixirnb.views.picture.drawing import Drawing
from pixirnb.views.picture.layout import Box, Curve, Grid, Layout, layout
from pixirnb.views.picture.wrap import Band, Phases, break_lines, starts

BOLD: Final = 12.9
"""Size at which the width of a bold 12 px name is reckoned."""
_PAGE: Final = 900.0
"""Width a notebook cell offers without scrolling."""
_NARROW, _USUAL, _WIDE = 112.0, 140.0, 172.0
_BAND_TOP: Final = 20.0
_NARROW_LETTERS: Final = frozenset("iljtfr.,:;|!'-()[] I")
_WIDE_LETTERS: Final = frozenset("mwMW@%<>=+~жмфшщыюЖМФШЩЫЮ")


@dataclass(frozen=True, slots=True)
class Placed:
    """A drawing with a place for each of its parts."""

    boxes: tuple[Box, ...]
    curves: tuple[Curve, ...]
    bands: tuple[Band, ...]
    """Phases: side by side, or one above the other where they overlap in time."""
    width: float
    height: float


def lay_out_drawing(shown: Drawing) -> Placed:
    """Place every node, edge and phase. Holds are routed too, and move nothing."""
    lanes, columns = _phases(shown)
    grid, line_starts = _grid(shown, columns, is_lined=lanes is None)
    ids = list(shown.nodes)
    placing = layout(ids, shown.waves, shown.edges, also=shown.holds, lanes=lanes, grid=grid)
    sheet = break_lines(placing, grid, columns, line_starts, _BAND_TOP if columns else 0.0)
    bands = (*sheet.bands, *_lanes(shown, placing, columns))
    return Placed(sheet.boxes, sheet.curves, bands, sheet.width, sheet.height)


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


def length(words: str, size: float) -> float:
    """Return about how wide `words` is in a proportional font of `size` pixels."""
    total = 0.0
    for letter in words:
        if letter in _NARROW_LETTERS:
            total += 0.37
        elif letter in _WIDE_LETTERS:
            total += 0.95
        elif ord(letter) > 0x10FF:
            total += 1.05 if ord(letter) < 0x1F000 else 1.4
        else:
            total += 0.68 if letter.isupper() else 0.61
    return total * size


def _phases(shown: Drawing) -> tuple[dict[str, int] | None, list[tuple[str, int, int]]]:
    """Return lanes by step where phases overlap in time; else the columns (name, first, last) each phase spans."""
    if not shown.phases:
        return None, []
    column = {step: number for number, wave in enumerate(shown.waves) for step in wave}
    spans = []
    for name, steps in shown.phases:
        columns = [column[step] for step in steps if step in column]
        if columns:
            spans.append((name, min(columns), max(columns)))
    spans.sort(key=lambda entry: entry[1])
    folds = any(step.startswith("+") for step in shown.nodes)
    if all(a[2] < b[1] for a, b in pairwise(spans)):
        return None, spans
    if folds:
        return None, []  # a box that stands for several steps may stand for several phases
    lanes = {s: number for number, (_, steps) in enumerate(shown.phases) for s in steps}
    return lanes, []


def _grid(shown: Drawing, phases: Phases, *, is_lined: bool) -> tuple[Grid, list[int]]:
    """Return boxes as wide as their longest name, narrower if that lets the picture fit; and the first column of each line."""
    names = [length(node.name, BOLD) for node in shown.nodes.values() if not node.stands_for]
    folds = [_USUAL - 38.0] if any(node.stands_for for node in shown.nodes.values()) else []
    width = min(max([*names, *folds, 0.0]) + 38, _WIDE)
    columns = max(len(shown.waves), 1)
    width, gap, line_starts = max(width, _NARROW), 44.0, [0]
    if columns * (width + gap) > _PAGE:
        gap = 28.0
        fitting = (_PAGE - 28 + gap) / columns - gap
        if fitting < _NARROW and is_lined:
            line_starts = starts(columns, phases, int((_PAGE - 28 + gap) / (_USUAL + gap)))
        if len(line_starts) > 1:
            widest = max(b - a for a, b in pairwise([*line_starts, columns]))
            fitting = (_PAGE - 28 + gap) / widest - gap
        width = min(width, fitting if fitting >= _NARROW else _USUAL)
    return Grid(width=width, gap_x=gap), line_starts


def _lanes(shown: Drawing, placing: Layout, columns: Phases) -> list[Band]:
    """Return bands of phases that overlap in time: one above the other."""
    if columns or not shown.phases or len(placing.lanes) < 2:
        return []
    return [
        Band(name, 4, upper, placing.width - 8, lower - upper)
        for (name, _), (upper, lower) in zip(shown.phases, placing.lanes, strict=False)
    ]
