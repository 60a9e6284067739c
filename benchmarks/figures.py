"""How a figure stands beside its promise, in the same words in every bench."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Promise:
    """The most a figure may be."""

    most: float
    unit: str = ""


def verdict(name: str, figure: float, promise: Promise) -> bool:
    """Print a figure, its promise and `ok` or `MISSED`; whether it is kept."""
    is_kept = figure <= promise.most
    unit = f" {promise.unit}" if promise.unit else ""
    digits = 0 if promise.most >= 20 else 2
    print(
        f"{name}: {figure:.{digits}f}{unit} (at most {promise.most:g}{unit}): "
        + ("ok" if is_kept else "MISSED"),
        flush=True,
    )
    return is_kept
