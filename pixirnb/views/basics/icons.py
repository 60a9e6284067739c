"""The icons: one shape a status and one a kind, drawn in a 16 × 16 box so that no font has to have them.

Fills and strokes are classes of the palette with `currentColor` behind: grey print keeps the shapes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from zlib import crc32

from pixirnb.views.basics.markup import coordinate
from pixirnb.views.basics.status_marks import Mark

_RING: Final = '<circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" stroke-width="1.6"'
_DISC: Final = '<circle cx="8" cy="8" r="7" fill="currentColor"/>'
_LINE: Final = 'fill="none" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"'

_STATUS: Final = {
    "checkpoint_ready": f'{_DISC}<path class="pixirnb-on" d="M4.6 8.3 7 10.7 11.5 5.8" {_LINE}/>',
    "completed": f'{_DISC}<path class="pixirnb-on" d="M4.6 8.3 7 10.7 11.5 5.8" {_LINE}/>',
    "failed": '<path d="M5 1h6l4 4v6l-4 4H5l-4-4V5z" fill="currentColor"/>'
    f'<path class="pixirnb-on" d="M5.5 5.5l5 5m0-5l-5 5" {_LINE}/>',
    "timed_out": f'{_RING}/><path d="M8 4.4V8l2.6 1.8" stroke="currentColor" {_LINE}/>',
    "partial": f'{_RING}/><path d="M8 2.4a5.6 5.6 0 0 0 0 11.2z" fill="currentColor"/>',
    "needs_orchestrator": '<path d="M2.4 1.2h11.2a1.6 1.6 0 0 1 1.6 1.6v7a1.6 1.6 0 0 1-1.6 1.6H8'
    '.8L5 15.2v-3.8H2.4a1.6 1.6 0 0 1-1.6-1.6v-7a1.6 1.6 0 0 1 1.6-1.6z" fill="currentColor"/>'
    f'<path class="pixirnb-on" d="M6.3 4.7a1.8 1.8 0 1 1 2.4 1.7c-.5.2-.7.4-.7.9M8 9.2v.1" {_LINE}/>',
    "decided": '<path d="M2.4 1.2h11.2a1.6 1.6 0 0 1 1.6 1.6v7a1.6 1.6 0 0 1-1.6 1.6H8'
    '.8L5 15.2v-3.8H2.4a1.6 1.6 0 0 1-1.6-1.6v-7a1.6 1.6 0 0 1 1.6-1.6z" fill="currentColor"/>'
    f'<path class="pixirnb-on" d="M5 6.2 7 8.3 11 4.2" {_LINE}/>',
    "permission": '<path d="M4.9 7V5.2a3.1 3.1 0 0 1 6.2 0V7" fill="none" stroke="currentColor" '
    'stroke-width="1.8"/><rect x="2.2" y="6.6" width="11.6" height="8.4" rx="1.6" fill="currentColor"/>'
    f'<path class="pixirnb-on" d="M8 9.6v2.2" {_LINE}/>',
    "held": '<path d="M5 3.2v9.6M11 3.2v9.6" stroke="currentColor" stroke-width="3" '
    'stroke-linecap="round"/>',
    "skipped": f'<path d="M3 4l4 4-4 4M9 4l4 4-4 4" stroke="currentColor" {_LINE}/>',
    "cancelled": f'{_RING}/><path d="M4 12 12 4" stroke="currentColor" {_LINE}/>',
    "interrupted": '<rect x="2" y="2" width="12" height="12" rx="1.5" fill="currentColor"/>',
    "detached": f'{_RING} stroke-dasharray="7 2.7"/><path d="M4.6 8h6.8" stroke="currentColor" {_LINE}/>',
    "running": f'{_RING}/><path d="M6.4 4.9v6.2L11.4 8z" fill="currentColor"/>',
    "starting": f'{_RING}/><path d="M6.4 4.9v6.2L11.4 8z" fill="none" stroke="currentColor" '
    'stroke-width="1.4" stroke-linejoin="round"/>',
    "maybe": f'{_RING} stroke-dasharray="3.2 2.2"/><path d="M6.4 4.9v6.2L11.4 8z" fill="none" '
    'stroke="currentColor" stroke-width="1.4" stroke-linejoin="round"/>',
    "ended": f'{_RING} stroke-dasharray="1.2 2.4"/><circle cx="8" cy="8" r="2.2" fill="currentColor"/>',
    "retrying": f'<path d="M13.2 9.6A5.6 5.6 0 1 1 12.6 4.8M13.4 1.6v3.8H9.6" stroke="currentColor" {_LINE}/>'
    '<circle cx="8" cy="8" r="1.7" fill="currentColor"/>',
    "unretried": f'<path d="M2.8 9.6A5.6 5.6 0 1 0 3.4 4.8M2.6 1.6v3.8h3.8" stroke="currentColor" {_LINE}/>',
    "recheck": f'{_RING}/><path d="M8 4.6V8M8 11.2v.1M5 8h6" stroke="currentColor" {_LINE}/>',
    "undone": f'<path d="M5.6 2.4 2.4 5.6l3.2 3.2M2.8 5.6h6.4a3.6 3.6 0 0 1 0 7.2H6" stroke="currentColor" {_LINE}/>',
    "lost": '<rect x="2" y="2" width="12" height="12" rx="1.5" fill="currentColor"/>',
    "queued": f"{_RING}/>",
    "planned": f"{_RING}/>",
    "warning": '<path d="M8 1.2 15.4 14.6H.6z" fill="currentColor"/>'
    f'<path class="pixirnb-on" d="M8 6v3.6M8 12.1v.1" {_LINE}/>',
}
_UNKNOWN: Final = (
    f'{_RING}/><path d="M6.4 6.4a1.7 1.7 0 1 1 2.3 1.6c-.5.2-.7.5-.7 1M8 11v.1" '
    f'stroke="currentColor" {_LINE}/>'
)
_THIN: Final = (
    'fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" '
    'stroke-linejoin="round"'
)
KIND_SHAPES: Final[dict[str, str]] = {
    "shell": f'<path d="M2 4l4 4-4 4M8.5 12.5H14" {_THIN}/>',
    "python": f'<path d="M10.8 2.6C8.4 1.9 8 4 7.7 6L6.6 12.2c-.3 1.7-1.5 2-2.8 1.4M4.8 6.6h5.6" {_THIN}/>',
    "agent": '<path d="M8 .8 9.7 6.3 15.2 8 9.7 9.7 8 15.2 6.3 9.7.8 8 6.3 6.3z" fill="currentColor"/>',
    "decision": f'<path d="M2 2.5h12v8H8l-3.4 3v-3H2zM5.4 6.5h.1M8 6.5h.1M10.6 6.5h.1" {_THIN}/>',
    "merge": f'<path d="M2 3c4 0 5 5 12 5M2 13c4 0 5-5 12-5M11.4 5.4 14 8l-2.6 2.6" {_THIN}/>',
}


def status_shape(mark: Mark) -> str:
    """Return the shape of a status: SVG content of a 16 × 16 box."""
    return _STATUS.get(mark.key, _UNKNOWN)


def kind_shape(kind: str | None) -> str:
    """Return the shape of a kind; empty for one that is unknown."""
    return KIND_SHAPES.get(kind or "", "")


def shape_at(shape: str, x: float, y: float, size: float, tone: str) -> str:
    """Return a shape inside a picture; `tone` is a class of the palette."""
    scale = f" scale({size / 16:.3g})" if size != 16 else ""
    return f'<g class="pixirnb-{tone}" transform="translate({coordinate(x)} {coordinate(y)}){scale}">{shape}</g>'


def share(markup: str, parts: Iterable[str]) -> str:
    """Return markup in which each of `parts` that stands there several times is written once, and referred to by the others.

    An id is made of its part: in a page with several pictures, equal ids are equal parts.
    """
    for part in parts:
        before, _, after = markup.partition(part)
        if part in after:
            name = f"px-{crc32(part.encode()):x}"
            after = after.replace(part, f'<use href="#{name}"/>')
            markup = f'{before}<g id="{name}">{part}</g>{after}'
    return markup


def share_shapes(markup: str) -> str:
    """Return the markup of a card in which each shape of a status is written once."""
    return share(markup, dict.fromkeys((*_STATUS.values(), _UNKNOWN)))


def icon(mark: Mark, size: int = 14) -> str:
    """Return a status's shape as an inline picture of its own, hidden from screen readers: its word stands next to it."""
    sized = f' width="{size}" height="{size}"' if size != 14 else ""
    return f'<svg class="pixirnb-icon"{sized} viewBox="0 0 16 16" aria-hidden="true">{status_shape(mark)}</svg>'
