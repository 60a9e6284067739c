"""Functions of the steps in workflow.yaml. What they return is the output of their step, what they print is in its log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def load(size: int) -> list[int]:
    """Return the numbers to work on."""
    numbers = [(7 * n) % 23 for n in range(size)]
    print(f"loaded {len(numbers)} numbers")  # noqa: T201 - shown by `pixirnb logs`
    return numbers


def summarize(numbers: list[int]) -> dict[str, float]:
    """Return the count and the mean."""
    return {"count": len(numbers), "mean": sum(numbers) / len(numbers)}


def is_plausible(output: dict[str, float]) -> bool:
    """Check the output of a step: the step is ready only if this returns True."""
    return output["count"] > 0 and 0 <= output["mean"] <= 22


def largest(numbers: list[int]) -> int:
    """Return the largest number."""
    return max(numbers)


def report(summary: dict[str, Any], largest: int) -> str:
    """Write report.txt into the workspace."""
    text = f"{summary['count']} numbers, mean {summary['mean']:.2f}, largest {largest}"
    Path(os.environ.get("PIXIRNB_WORKSPACE", "."), "report.txt").write_text(text + "\n")
    return text
