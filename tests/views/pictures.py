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


def drawn_in(card: str) -> list[str]:
    """Return the `<svg>` of each picture in a card."""
    return [unquote(address) for address in _IMAGE.findall(card)]


def opened(card: str) -> str:
    """Return a card with the markup of each picture in its place."""
    return _IMAGE.sub(lambda image: unquote(image[1]), card)


def opened_card(blocks: Sequence[Block]) -> str:
    """Return the card of some blocks, with the markup of each picture in its place."""
    return opened(draw_html(blocks))
