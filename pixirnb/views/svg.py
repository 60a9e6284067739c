"""The picture of a workflow: an inline `<svg>` without script, link, foreign object, or id; text from runs only as text.

Status shows by shape, word (on hover and for screen readers) and colour; a held step is dashed, with a dashed line to what
holds it; phases are light bands. Long workflows go on below (see lines.py), large ones are folded (see drawing.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from pixirnb.views.drawing import Drawing, Edges, Node, drawing, folded
from pixirnb.views.lines import Phases, broken, starts
from pixirnb.views.markup import fixed, text
from pixirnb.views.plain import line
from pixirnb.views.shapes import kind_shape, placed, status_shape
from pixirnb.views.spans import span
from pixirnb.views.style import PALETTE, PICTURE
from pixirnb.views.waves import Box, Curve, Grid, Layout, layout

_PAGE: Final = 900.0
"""Width a notebook cell offers without scrolling."""
_NARROW, _USUAL, _WIDE = 112.0, 140.0, 172.0
_BOLD: Final = 12.9
"""Size at which the width of a bold 12 px name is reckoned."""
_BAND_TOP: Final = 20.0
_NARROW_LETTERS: Final = frozenset("iljtfr.,:;|!'-()[] I")
_WIDE_LETTERS: Final = frozenset("mwMW@%<>=+~")


def picture(
    plan: Mapping[str, Any] | None,
    outcome: Mapping[str, Any] | None = None,
    edges: Edges = (),
    *,
    kinds: Mapping[str, str] | None = None,
) -> str:
    """An `<svg>` of a plan document, an outcome document or both; empty where there is no step to draw."""
    whole = drawing(plan, outcome, edges, kinds=kinds)
    return draw(folded(whole)) if whole.nodes else ""


def draw(shown: Drawing) -> str:
    """The `<svg>` of a drawing as it is."""
    ids = list(shown.nodes)
    lanes, columns = _phases(shown)
    grid, line_starts = _grid(shown, columns, is_lined=lanes is None)
    placing = layout(ids, shown.waves, shown.edges, also=shown.holds, lanes=lanes, grid=grid)
    sheet = broken(placing, grid, columns, line_starts, _BAND_TOP if columns else 0.0)
    held = set(shown.holds)
    boxes = {box.id: box for box in sheet.boxes}
    parts = [_band(band.name, band.x, band.y, band.width, band.height) for band in sheet.bands]
    parts += _lanes(shown, placing, columns)
    parts += [
        f'<path class="pixirnb-edge" fill="none" stroke="#888" d="{_path(curve)}"/>'
        for curve in sheet.curves
        if (curve.source, curve.target) not in held
    ]
    parts += [
        f'<g class="pixirnb-{shown.nodes[curve.source].mark.tone}">'
        f'<path class="pixirnb-hold" fill="none" stroke="currentColor" stroke-dasharray="4 3" '
        f'd="{_path(curve)}"/></g>'
        for curve in sheet.curves
        if (curve.source, curve.target) in held
    ]
    parts += [_head(boxes[b]) for b in dict.fromkeys(curve.target for curve in sheet.curves)]
    parts += [_node(shown.nodes[box.id], box) for box in sheet.boxes]
    width, height = fixed(sheet.width), fixed(sheet.height)
    body = "".join(parts)
    return (
        f'<svg class="pixirnb-view pixirnb-picture" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>Workflow {text(shown.workflow, 80)}</title><desc>{_description(shown)}</desc>"
        f"<style>{PALETTE}{PICTURE}</style>{body}</svg>"
    )


def _phases(shown: Drawing) -> tuple[dict[str, int] | None, list[tuple[str, int, int]]]:
    """Lanes by step where phases overlap in time; else the columns (name, first, last) each phase spans."""
    if not shown.phases:
        return None, []
    column = {step: place for place, wave in enumerate(shown.waves) for step in wave}
    spans = []
    for name, steps in shown.phases:
        places = [column[step] for step in steps if step in column]
        if places:
            spans.append((name, min(places), max(places)))
    spans.sort(key=lambda entry: entry[1])
    folds = any(step.startswith("+") for step in shown.nodes)
    if all(a[2] < b[1] for a, b in pairwise(spans)):
        return None, spans
    if folds:
        return None, []  # a box that stands for several steps may stand for several phases
    lanes = {s: place for place, (_, steps) in enumerate(shown.phases) for s in steps}
    return lanes, []


def _grid(shown: Drawing, phases: Phases, *, is_lined: bool) -> tuple[Grid, list[int]]:
    """Boxes as wide as their longest name asks, narrower where that lets the picture fit; and the first column of each line."""
    names = [_length(line(step, 64), _BOLD) for step in shown.nodes if not step.startswith("+")]
    notes = [_length(_counted(node), 10.5) - 20 for node in shown.nodes.values() if node.stands_for]
    wish = min(max([*names, *notes, 0.0]) + 38, _WIDE)
    columns = max(len(shown.waves), 1)
    width, gap, line_starts = max(wish, _NARROW), 44.0, [0]
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


def _lanes(shown: Drawing, placing: Layout, columns: Phases) -> list[str]:
    """Bands of phases that overlap in time: one above the other."""
    if columns or not shown.phases or len(placing.lanes) < 2:
        return []
    return [
        _band(name, 4, upper, placing.width - 8, lower - upper)
        for (name, _), (upper, lower) in zip(shown.phases, placing.lanes, strict=False)
    ]


def _band(name: str, x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect class="pixirnb-band" x="{fixed(x)}" y="{fixed(y)}" width="{fixed(width)}" '
        f'height="{fixed(height)}" rx="6" fill="#f4f6f8"/>'
        f'<text class="pixirnb-small" x="{fixed(x + 8)}" y="{fixed(y + 13)}">{text(name, 40)}</text>'
    )


def _path(curve: Curve) -> str:
    (x, y), *rest = curve.points
    parts = [f"M{fixed(x)} {fixed(y)}"]
    for to_x, to_y in rest:
        if to_y == y:
            parts.append(f"H{fixed(to_x)}")
        else:
            mid = fixed((x + to_x) / 2)
            parts.append(f"C{mid} {fixed(y)} {mid} {fixed(to_y)} {fixed(to_x)} {fixed(to_y)}")
        x, y = to_x, to_y
    return "".join(parts)


def _head(box: Box) -> str:
    x, y = box.x, box.y + box.height / 2
    return f'<path class="pixirnb-head" fill="#888" d="M{fixed(x)} {fixed(y)}l-6 -3.4v6.8z"/>'


def _node(node: Node, box: Box) -> str:
    if node.stands_for:
        return _several(node, box)
    mark = node.mark
    held = " pixirnb-held" if mark.key == "held" else ""
    dash = ' stroke-dasharray="4 3"' if held else ""
    tries = f"×{node.attempt}" if node.attempt > 1 else ""
    name = _fit(line(node.id, 64), box.width - 36 - _length(tries, 10.5) * 1.7, _BOLD)
    middle = box.height / 2
    parts = [
        f'<g class="pixirnb-{mark.tone}{held}" transform="translate({fixed(box.x)} {fixed(box.y)})">',
        f"<title>{text(_told(node), 400)}</title>",
        f'<rect class="pixirnb-box" width="{fixed(box.width)}" height="{fixed(box.height)}" rx="7" '
        f'fill="#fff" stroke="currentColor"{dash}/>',
    ]
    if mark.tone != "idle":
        parts.append(
            f'<rect class="pixirnb-tint" width="{fixed(box.width)}" height="{fixed(box.height)}" '
            f'rx="7" fill="none"/>'
        )
    parts.append(placed(status_shape(mark), 8, middle - 8, 16, mark.tone))
    small = _small(node, box.width - 36)
    baseline = 16.0 if small else middle + 4
    parts.append(f'<text class="pixirnb-name" x="30" y="{fixed(baseline)}">{text(name, 80)}</text>')
    if tries:
        parts.append(
            f'<text class="pixirnb-small" x="{fixed(box.width - 8)}" y="16" text-anchor="end">'
            f"{tries}</text>"
        )
    parts.append(small)
    return "".join(parts) + "</g>"


def _small(node: Node, room: float) -> str:
    """The second line of a box: kind, and elapsed at its end."""
    parts = []
    elapsed, shape = span(node.elapsed_ms), kind_shape(node.kind)
    x = 44.0 if shape else 30.0
    if shape:
        parts.append(placed(shape, 30, 23, 10, "mute"))
    if node.kind:
        word = line(node.kind, 20)
        # Room for the longest span, whatever this one is: a slower run must not change a recorded picture.
        left = room - (x - 30) - (_length("59 m 59 s", 10.5) + 8 if elapsed else 0)
        if not shape or _length(word, 10.5) <= left:
            word = _fit(word, max(left, 0), 10.5)
            parts.append(f'<text class="pixirnb-small" x="{fixed(x)}" y="31">{text(word)}</text>')
    if elapsed:
        parts.append(
            f'<text class="pixirnb-small" x="{fixed(room + 28)}" y="31" text-anchor="end">'
            f"{elapsed}</text>"
        )
    return "".join(parts)


def _several(node: Node, box: Box) -> str:
    counts = _counted(node)
    return (
        f'<g class="pixirnb-idle" transform="translate({fixed(box.x)} {fixed(box.y)})">'
        f"<title>{text(f'{node.note}: {counts}', 400)}</title>"
        f'<rect class="pixirnb-band" width="{fixed(box.width)}" height="{fixed(box.height)}" rx="7" '
        f'fill="#eee"/>'
        f'<text class="pixirnb-name" x="10" y="16">{text(_fit("… " + node.note, box.width - 18, _BOLD))}</text>'
        f'<text class="pixirnb-small" x="10" y="31">{text(_fit(counts, box.width - 18, 10.5))}</text></g>'
    )


def _counted(node: Node) -> str:
    return ", ".join(f"{count:,} {mark.word}" for mark, count in node.stands_for)


def _told(node: Node) -> str:
    parts = [f"{node.id}: {node.mark.word}"]
    if node.kind:
        parts.append(f"{node.kind} step")
    if node.attempt > 1:
        parts.append(f"attempt {node.attempt}")
    if node.elapsed_ms is not None and span(node.elapsed_ms):
        parts.append(span(node.elapsed_ms))
    return ", ".join(parts) + (f". {node.note}" if node.note else "")


def _description(shown: Drawing) -> str:
    counts: dict[str, int] = {}
    for node in shown.nodes.values():
        for mark, count in node.stands_for or ((node.mark, 1),):
            counts[mark.word] = counts.get(mark.word, 0) + count
    listed = ", ".join(f"{count:,} {word}" for word, count in counts.items())
    return text(
        f"Steps in columns by wave, lines from each step to those that wait for it: {listed}."
    )


def _length(words: str, size: float) -> float:
    """About how wide `words` is in a proportional font of `size` pixels."""
    total = 0.0
    for letter in words:
        if letter in _NARROW_LETTERS:
            total += 0.37
        elif letter in _WIDE_LETTERS:
            total += 0.95
        elif ord(letter) > 0x10FF:
            total += 1.05
        else:
            total += 0.68 if letter.isupper() else 0.61
    return total * size


def _fit(words: str, room: float, size: float) -> str:
    if _length(words, size) <= room:
        return words
    while words and _length(words, size) + size * 0.8 > room:
        words = words[:-1]
    return words + "…"
