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


def cut(text: str, limit: int) -> str:
    """`text`, or what of it and `…` have room in `limit` characters."""
    return text if len(text) <= limit else text[: max(0, limit - 1)].rstrip() + "…"


def on_one_line(text: str) -> str:
    """What can be printed of `text`, with one blank wherever there is something else."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
