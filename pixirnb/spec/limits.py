"""The sizes a workflow may have. One past any of them is `limit_exceeded`, naming which (contract.md §10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

SPEC_TEXT_BYTES: Final = 64 * 1024 * 1024
STEPS: Final = 100_000
DEPENDS_ON: Final = 1_000
MAX_CONCURRENCY: Final = 1_000
MAX_ATTEMPTS: Final = 100
CONFLICTS_LISTED: Final = 1_000
OFFERED_BYTES: Final = 8 * 1024 * 1024
"""Of what a step printed, to be handed on as a value; more lies in a file, which `output_path` names."""
NESTING: Final = 50
"""Of YAML, and of any value in a spec."""
ALIAS_NODES: Final = 1_000
"""Nodes a YAML text may add by aliases: what stops a few lines from growing into gigabytes."""


def nests_too_deep(value: object) -> bool:
    """Whether lists and mappings stand inside each other deeper than NESTING. Walks in layers: depth is the author's."""
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
