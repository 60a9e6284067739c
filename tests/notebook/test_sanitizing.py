"""What the notebooks' check leaves out of the comparison: what the views say is volatile, and nothing else."""

from __future__ import annotations

from pathlib import Path

from tests.views.blanking import STABLE


def test_only_ids_spans_and_moments_are_blanked_when_notebooks_are_compared() -> None:
    written = (Path(__file__).parent / "sanitize.cfg").read_text(encoding="utf-8")
    rules = [line for line in written.splitlines() if line and not line.startswith("#")]
    wanted = []
    for place, (pattern, word) in enumerate(STABLE, 1):
        wanted += [f"[pixirnb{place}]", f"regex: {pattern}", f"replace: {word}"]
    assert rules == wanted
