"""Maximum sizes of a workflow. Exceeding one is `limit_exceeded`, which names the limit (contract.md §10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

SPEC_TEXT_BYTES: Final = 64 * 1024 * 1024
STEPS: Final = 100_000
DEPENDS_ON: Final = 1_000
MAX_CONCURRENCY: Final = 1_000
MAX_ATTEMPTS: Final = 100
TITLE: Final = 120
"""Maximum number of characters of a title."""
CONFLICTS_LISTED: Final = 1_000
OFFERED_BYTES: Final = 8 * 1024 * 1024
"""Maximum size of printed text as a step's value; `output_path` names the file with all of it."""
NESTING: Final = 50
"""Maximum nesting of YAML, and of any value in a spec."""
ALIAS_NODES: Final = 1_000
"""Maximum number of nodes that aliases of a YAML text may add: a few lines must not grow into gigabytes."""


def nests_too_deep(value: object) -> bool:
    """Return whether lists and mappings are nested deeper than NESTING. Walks in layers: the author decides the depth."""
    layer: list[object] = [value]
    for _ in range(NESTING + 1):
        layer = [inner for outer in layer for inner in _inside(outer)]
        if not layer:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()
