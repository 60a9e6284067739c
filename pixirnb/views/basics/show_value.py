"""A value as text, and as rows where it is a table. Only plain JSON is looked into; nothing of a value's own is called."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from pixirnb.views.basics.sanitize import plain

_COLUMNS: Final = 12
_GLANCE: Final = 60
"""Characters of JSON up to which it is shown as it is."""


def shown(value: Any, *, indent: int | None = None, limit: int = 8_000) -> str:
    """Return text as it is, other plain data as JSON, anything else as its type's name."""
    if isinstance(value, str):
        return plain(value, limit)
    try:
        written = json.dumps(value, ensure_ascii=False, indent=indent, default=_named)
    except (ValueError, RecursionError):
        written = _named(value)  # it contains itself, or is nested deeper than the stack
    return plain(written, limit)


def glance(value: Any) -> str:
    """Return text and short JSON as they are; of a longer list or mapping its kind and size."""
    text = shown(value)
    if len(text) > _GLANCE and isinstance(value, list | dict):
        return f"{'list' if isinstance(value, list) else 'mapping'} of {len(value):,}"
    return text


def rows_of(value: Any) -> tuple[list[str], list[list[Any]]] | None:
    """Return heads and rows of a list of flat objects with few keys; None for anything else."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or not value:
        return None
    heads: dict[str, None] = {}
    for row in value:
        if not isinstance(row, dict) or not row or any(not isinstance(key, str) for key in row):
            return None
        if any(isinstance(cell, dict | list | tuple) for cell in row.values()):
            return None
        heads.update(dict.fromkeys(row))
        if len(heads) > _COLUMNS:
            return None
    return list(heads), [[row.get(head, "") for head in heads] for row in value]


def _named(value: Any) -> str:
    return f"<{type(value).__module__}.{type(value).__qualname__}>"
