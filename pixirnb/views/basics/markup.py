"""Escaping for HTML and SVG: the only way text gets into either. Attributes hold numbers and words of ours alone."""

from __future__ import annotations

import re
from typing import Final

from pixirnb.views.basics.sanitize import line, plain

_ESCAPES: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "`": "&#96;"}
)

_QUOTED: Final = re.compile(f"{_ESCAPES[ord('`')]}(.+?){_ESCAPES[ord('`')]}")


def text(value: object, limit: int = 300) -> str:
    """Return one line of run data as markup text."""
    return line(value, limit).translate(_ESCAPES)


def prose(value: object, limit: int = 600) -> str:
    """Return one line of words, what stands between backticks set in `<code>`."""
    return _QUOTED.sub(r"<code>\1</code>", text(value, limit))


def block(value: object, limit: int = 8_000) -> str:
    """Return lines of run data as markup text."""
    return plain(value, limit).translate(_ESCAPES)


def verbatim(row: str) -> str:
    """Return one row of a file as it stands, blanks too; `plain.spelled` has cleaned it."""
    return row.translate(_ESCAPES)


def coordinate(value: float) -> str:
    """Return a coordinate: at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def code(value: object, limit: int = 300) -> str:
    """Return a cell, a code or an id, set in `<code>`."""
    return f"<code>{text(value, limit)}</code>"


def whole(name: object) -> str:
    """Return a step's id in `<code>` that no line breaks in two."""
    return f'<span class="pixirnb-nowrap">{code(name, 80)}</span>'
