"""Blocks as a mime bundle: `text/plain` next to `text/html`, with pictures inside the HTML, where converters keep them."""

from __future__ import annotations

from collections.abc import Sequence

from pixirnb.views.blocks.html_renderer import draw_html
from pixirnb.views.blocks.model import Block
from pixirnb.views.blocks.text_renderer import draw_text


def mimebundle(blocks: Sequence[Block]) -> dict[str, str]:
    """Return `{"text/plain": …, "text/html": …}`."""
    return {"text/plain": draw_text(blocks), "text/html": draw_html(blocks)}
