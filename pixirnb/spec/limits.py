"""The sizes a workflow may have. One past any of them is `limit_exceeded`, naming which (contract.md §10)."""

from __future__ import annotations

from typing import Final

SPEC_TEXT_BYTES: Final = 64 * 1024 * 1024
STEPS: Final = 100_000
DEPENDS_ON: Final = 1_000
MAX_CONCURRENCY: Final = 1_000
MAX_ATTEMPTS: Final = 100
CONFLICTS_LISTED: Final = 1_000
NESTING: Final = 50
"""Of YAML, and of any value in a spec."""
ALIAS_NODES: Final = 1_000
"""Nodes a YAML text may add by aliases: what stops a few lines from growing into gigabytes."""
