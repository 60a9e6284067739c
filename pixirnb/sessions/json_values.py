"""What any log can hold of what an agent said: an agent's words are never a reason to fail. Pure.

Numbers that JSON has no word for become text, what nests too deep becomes `…`. Both are to be told where they matter: compare
with what was said. What came of it once is not changed by it again.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

DEPTH: Final = 40
"""Containers inside each other that are kept."""
_BITS: Final = 4096
"""Of the longest integer: every JSON reader takes its digits."""


def plain_data(value: Any, depth: int = 0) -> Any:
    """`value` as plain JSON, equal to it where it was some."""
    if isinstance(value, dict | list | tuple) and depth >= DEPTH:
        return "…"
    if isinstance(value, dict):
        return {str(key): plain_data(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(item, depth + 1) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > _BITS:
        return hex(value)
    return value


def size_of(value: Any) -> int:
    """Bytes that plain data takes, about: its texts, and a little for everything else."""
    size, queue = 0, [value]
    while queue:
        item = queue.pop()
        size += len(item) if isinstance(item, str) else 32
        if isinstance(item, dict):
            queue.extend(item.keys())
            queue.extend(item.values())
        elif isinstance(item, list):
            queue.extend(item)
    return size
