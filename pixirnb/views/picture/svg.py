"""The picture of a workflow: an `<svg>` without script, link or foreign object; text from runs only as text.

A card shows it as an `<img>` with a sentence in its place: front-ends drop inline `<svg>` of notebooks that are not trusted,
and leave its words without blanks.

Status shows by shape, word (on hover and for screen readers) and color; held and skipped steps are dashed, with a dashed line
to the step that holds them; phases are light bands. Long workflows continue below (see wrap.py), large ones are folded (see
fold.py). What several boxes have in common is written once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote

from pixirnb.machine.outcome_documents import RunDocument
from pixirnb.planning.documents import PlanDocument
from pixirnb.views.basics.icons import kind_shape, shape_at, share, status_shape
from pixirnb.views.basics.markup import coordinate, text
from pixirnb.views.basics.sanitize import line
from pixirnb.views.basics.step_names import label as titled
from pixirnb.views.basics.style import LIGHT, PALETTE, PICTURE, UNSHRUNK, used_rules
from pixirnb.views.basics.times import span
from pixirnb.views.picture.drawing import Drawing, Edges, Node, drawing
from pixirnb.views.picture.fold import fold_drawing
from pixirnb.views.picture.label import fit, length
from pixirnb.views.picture.layout import Box
from pixirnb.views.picture.placement import lay_out_drawing, path_of
from pixirnb.views.picture.wrap import Band

_READABLE: Final = " !'()*+,-./:;=?@[]_{|}~"
"""Characters of SVG that may stand in an address as they are."""


def picture(
    plan: PlanDocument | None,
    outcome: RunDocument | None = None,
    edges: Edges = (),
    *,
    kinds: Mapping[str, str] | None = None,
    isolated: Iterable[str] = (),
) -> str:
    """Return an `<svg>` of a plan document, an outcome document or both; empty where there is no step to draw."""
    whole = drawing(plan, outcome, edges, kinds=kinds, isolated=isolated)
    return draw(whole) if whole.nodes else ""


def image(whole: Drawing) -> str:
    """Return an `<img>` of a drawing, for a card; empty where there is no step to draw."""
    if not whole.nodes:
        return ""
    # Not base64: what differs between two recordings of a notebook can be read and blanked.
    source = quote(draw(whole, LIGHT, has_titles=False).replace('"', "'"), safe=_READABLE)
    return f'<img class="pixirnb-picture" alt="{_description(whole)}" style="{UNSHRUNK}" src="data:image/svg+xml,{source}">'


def draw(whole: Drawing, palette: str = PALETTE, *, has_titles: bool = True) -> str:
    """Return the `<svg>` of a drawing, folded where it is large; `has_titles`: boxes have a text for the pointer over them."""
    shown = fold_drawing(whole)
    sheet = lay_out_drawing(shown)
    held = set(shown.holds)
    boxes = {box.id: box for box in sheet.boxes}
    parts = [_band(band) for band in sheet.bands]
    edges = [c for c in sheet.curves if (c.source, c.target) not in held]
    if edges:
        lines = "".join(map(path_of, edges))
        parts.append(f'<path class="pixirnb-edge" fill="none" stroke="#888" d="{lines}"/>')
    parts += [
        f'<g class="pixirnb-{shown.nodes[curve.source].mark.tone}">'
        f'<path class="pixirnb-hold" fill="none" stroke="currentColor" stroke-dasharray="4 3" '
        f'd="{path_of(curve)}"/></g>'
        for curve in sheet.curves
        if (curve.source, curve.target) in held
    ]
    heads = "".join(_head(boxes[b]) for b in dict.fromkeys(c.target for c in sheet.curves))
    if heads:
        parts.append(f'<path class="pixirnb-head" fill="#888" d="{heads}"/>')
    forms = [_form(shown.nodes[box.id], box) for box in sheet.boxes]
    for form, box in zip(forms, sheet.boxes, strict=True):
        node = shown.nodes[box.id]
        title = f"<title>{text(_title(node), 400)}</title>" if has_titles else ""
        words = _words(node, box, sheet.labels[box.id])
        position = f"translate({coordinate(box.x)} {coordinate(box.y)})"
        parts.append(f'<g transform="{position}">{title}{form}{words}</g>')
    width, height = coordinate(sheet.width), coordinate(sheet.height)
    body = share("".join(parts), dict.fromkeys(forms))
    classes = "pixirnb-view pixirnb-picture"
    rules = used_rules(palette + PICTURE, classes + body)
    return (
        f'<svg class="{classes}" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>Workflow {text(titled(shown.workflow, shown.title, 120), 200)}</title><desc>{_description(whole)}</desc>"
        f"<style>{rules}</style>{body}</svg>"
    )


def _band(band: Band) -> str:
    return (
        f'<rect class="pixirnb-band" x="{coordinate(band.x)}" y="{coordinate(band.y)}" width="{coordinate(band.width)}" '
        f'height="{coordinate(band.height)}" rx="6" fill="#f4f6f8"/>'
        f'<text class="pixirnb-small" x="{coordinate(band.x + 8)}" y="{coordinate(band.y + 13)}">{text(band.name, 40)}</text>'
    )


def _head(box: Box) -> str:
    x, y = box.x, box.y + box.height / 2
    return f"M{coordinate(x)} {coordinate(y)}l-6 -3.4v6.8z"


def _form(node: Node, box: Box) -> str:
    """Return what a box shows without words: its frame, the shapes of its status and kind."""
    mark, is_several = node.mark, bool(node.stands_for)
    is_held = not is_several and mark.key in {"held", "skipped"}
    tone = "idle" if is_several else mark.tone
    size = f'width="{coordinate(box.width)}" height="{coordinate(box.height)}" rx="7"'
    parts = [f'<g class="pixirnb-{tone}{" pixirnb-held" * is_held}">']
    if node.is_stack or node.is_isolated or node.times:
        # The edge of a second sheet behind the box: it stands for several, or works in a copy.
        parts.append(
            f'<rect class="pixirnb-copy" x="3" y="3" {size} fill="none" stroke="currentColor"/>'
        )
    dash = ' stroke-dasharray="4 3"' * is_held
    parts.append(f'<rect class="pixirnb-box" {size} fill="#fff" stroke="currentColor"{dash}/>')
    if tone != "idle":
        parts.append(f'<rect class="pixirnb-tint" {size} fill="none"/>')
    if not is_several:
        parts.append(shape_at(status_shape(mark), 8, box.height / 2 - 8, 16, tone))
        if shape := kind_shape(node.kind):
            parts.append(shape_at(shape, 30, 23, 10, "mute"))
    return "".join(parts) + "</g>"


def _words(node: Node, box: Box, label: str) -> str:
    if node.stands_for:
        return (
            f'<text class="pixirnb-name" x="10" y="16">{text(label)}</text>'
            f'<text class="pixirnb-small" x="10" y="31">{text(fit(node.counts, box.width - 18, 10.5))}</text>'
        )
    small = _small(node, box.width - 36)
    baseline = 16.0 if small or kind_shape(node.kind) else box.height / 2 + 4
    tries = ""
    if node.attempt > 1:
        tries = (
            f'<text class="pixirnb-small pixirnb-tries" x="{coordinate(box.width - 8)}" y="3.5" text-anchor="end">'
            f"×{node.attempt}</text>"
        )
    name = f'<text class="pixirnb-name" x="30" y="{coordinate(baseline)}">{text(label, 120)}</text>'
    return name + tries + small + _strip(node, box)


def _strip(node: Node, box: Box) -> str:
    """Return a bar of the statuses of a step's items."""
    whole, at, parts = sum(count for _, count in node.items), 8.0, list[str]()
    for mark, count in node.items:
        wide = (box.width - 16) * count / whole
        parts.append(
            f'<g class="pixirnb-{mark.tone}"><rect x="{coordinate(at)}" y="{coordinate(box.height - 4.5)}" '
            f'width="{coordinate(wide)}" height="2.5" fill="currentColor"/></g>'
        )
        at += wide
    return "".join(parts)


def _small(node: Node, room: float) -> str:
    """Return the words of a box's second line: kind, and elapsed at its end."""
    parts = []
    elapsed, shape = span(node.elapsed_ms), kind_shape(node.kind)
    x = 44.0 if shape else 30.0
    if node.kind:
        word = line(node.work, 30)
        # Room for the longest span, whatever this one is: a slower run must not change a recorded picture.
        left = room - (x - 30) - (length("59 m 59 s", 10.5) + 8 if elapsed else 0)
        if node.times and length(word, 10.5) > left:
            word = node.times
        if not shape or length(word, 10.5) <= left:
            word = fit(word, max(left, 0), 10.5)
            parts.append(
                f'<text class="pixirnb-small" x="{coordinate(x)}" y="31">{text(word)}</text>'
            )
    if elapsed:
        parts.append(
            f'<text class="pixirnb-small" x="{coordinate(room + 28)}" y="31" text-anchor="end">'
            f"{elapsed}</text>"
        )
    return "".join(parts)


def _title(node: Node) -> str:
    if node.stands_for:
        counts = ", ".join(f"{count:,} {mark.counted(count)}" for mark, count in node.stands_for)
        return f"{node.note}: {counts}"
    parts = [f"{titled(node.id, node.title, 200)}: {node.mark.word}"]
    if node.kind:
        parts.append(f"{node.kind} step{' in an isolated workspace' if node.is_isolated else ''}")
    if node.times:
        counts = ", ".join(f"{count:,} {mark.counted(count)}" for mark, count in node.items)
        parts.append(f"{node.times.removeprefix('× ')} items{f' ({counts})' if counts else ''}")
    if node.attempt > 1:
        parts.append(f"attempt {node.attempt}")
    if node.elapsed_ms is not None and span(node.elapsed_ms):
        parts.append(span(node.elapsed_ms))
    return ", ".join(parts) + (f". {node.note}" if node.note else "")


def _description(whole: Drawing) -> str:
    counts: dict[str, int] = {}
    for node in whole.nodes.values():
        counts[node.mark.word] = counts.get(node.mark.word, 0) + 1
    listed = ", ".join(f"{count:,} {word}" for word, count in counts.items())
    return text(f"Steps in columns by wave, lines from each step to its dependents: {listed}.")
