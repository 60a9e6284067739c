"""Pieces of sentences that every floor says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal


def join_names(
    names: Sequence[Any],
    limit: int,
    show: Callable[[Any], str] = str,
    *,
    count: int | None = None,
    group: Literal["", ","] = "",
) -> str:
    """The first `limit` of some names and how many more there are: `a, b and 3 more`.

    `show`: how a name is written. `count`: of all, where `names` are only the first. `group`: stands between thousands.
    """
    told = ", ".join(map(show, names[:limit]))
    more = (len(names) if count is None else count) - min(len(names), limit)
    return f"{told} and {more:{group}} more" if more > 0 else told
