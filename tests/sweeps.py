"""Variants of one promise: `make test` tries the first few, `make test-all` all of them (docs/internals/sweeps.md)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first_of(values: Iterable[Any], count: int = 1) -> list[Any]:
    """Return the values as parameters, those after the first `count` marked `sweep`."""
    return [
        value if n < count else pytest.param(value, marks=pytest.mark.sweep)
        for n, value in enumerate(values)
    ]
