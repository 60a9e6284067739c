"""Variants of one promise: `make test` tries the first few, `make test-all` all of them (docs/internals/sweeps.md)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest


def first_of(values: Iterable[Any], count: int = 1) -> list[Any]:
    """Return the values as parameters, those after the first `count` marked `sweep`."""
    return first_rows(((value,) for value in values), count)


def first_rows(rows: Iterable[tuple[Any, ...]], count: int = 1) -> list[Any]:
    """Return the rows of a test with several parameters, those after the first `count` marked `sweep`."""
    return [
        pytest.param(*row, marks=pytest.mark.sweep if n >= count else ())
        for n, row in enumerate(rows)
    ]


def examples(count: int) -> int:
    """Return how many of `count` drawn examples to try: all where `ALL_EXAMPLES` is set, as in `make sweeps`; else a third."""
    return count if "ALL_EXAMPLES" in os.environ else count // 3
