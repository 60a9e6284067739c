"""Reader of the pictures of a card: each is an `<img>`, whose address holds its markup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

from pixirnb.views.blocks.html_renderer import draw_html
from pixirnb.views.blocks.model import Block

_IMAGE = re.compile(
    r'<img class="pixirnb-picture" alt="[^"]*" style="[^"]*" src="data:image/svg\+xml,([^"]*)">'
)


def written_out(markup: str) -> str:
    """Return markup with each part that is written once and referred to in the places of its references."""
    for name in re.findall(r'<g id="([^"]*)">', markup):
        begin = f'<g id="{name}">'
        inside = markup.partition(begin)[2]
        depth, end = 1, 0
        for tag in re.finditer(r"<(/?)g[ >]", inside):
            depth += -1 if tag[1] else 1
            if depth == 0:
                end = tag.start()
                break
        part = inside[:end]
        markup = markup.replace(f"{begin}{part}</g>", part)
        markup = markup.replace(f'<use href="#{name}"/>', part)
    return markup


def _unquoted(address: str) -> str:
    return written_out(unquote(address).replace("'", '"'))


def drawn_in(card: str) -> list[str]:
    """Return the `<svg>` of each picture in a card."""
    return [_unquoted(address) for address in _IMAGE.findall(card)]


def opened(card: str) -> str:
    """Return a card with the markup of each picture in its place."""
    return _IMAGE.sub(lambda image: _unquoted(image[1]), card)


def opened_card(blocks: Sequence[Block]) -> str:
    """Return the card of some blocks, with the markup of each picture in its place."""
    return opened(draw_html(blocks))
