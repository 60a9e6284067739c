"""Text of others, marked as data; it lives with the prompts, one floor down."""

from __future__ import annotations

from pixirnb.planning.quoting import quoted

__all__ = ["quoted"]
