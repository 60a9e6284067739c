"""JSON values for the log: any value of an agent can be stored. Pure.

Numbers that JSON cannot hold become text, deep nesting becomes `…`. If that matters, report it: compare with the
original. Applying it twice changes nothing more.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

DEPTH: Final = 40
"""Maximum number of nested containers."""
_BITS: Final = 4096
"""Maximum size of an integer, so that every JSON reader accepts its digits."""


def plain_data(value: Any, depth: int = 0) -> Any:
    """Return `value` as plain JSON, equal to it if it was JSON."""
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
    """Return about how many bytes plain data takes: its texts, and a little for everything else."""
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
