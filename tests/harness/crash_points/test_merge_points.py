"""Killed, refused or edited beside at any operation, a merge leaves the files as before or as after, and loses no byte.

Every point of a kill is tried, and some of each other fault and edit; `make crashes` tries them all.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.sweeps import first_of

ROOT = Path(__file__).parents[3]
MEMORY = Path("/dev/shm")
"""Where syncing takes no time, on Linux; elsewhere the usual place does."""

FORMS: dict[str, list[str]] = {
    "killed at every operation": ["--faults", "die-before", "--edits"],
    "refused, interrupted, cut short": [
        *("--faults", "die-after", "enospc", "eio", "eacces", "enospc-on", "eintr"),
        *("short-death", "short-return", "--edits", "--stride", "23"),
    ],
    "the power fails": ["--faults", "lose-tail", "--edits", "--stride", "9"],
    "an editor beside": ["--faults", "--stride", "19"],
    "killed twice": ["--faults", "--edits", "save", "--stride", "40", "--doubles", "37"],
    "no two names can be traded": ["--faults", "die-after", "--edits", "--stride", "17", "--links"],
}


@pytest.mark.parametrize("form", first_of(FORMS, 2))
def test_a_merge_is_whole_or_not_at_all(form: str, tmp_path: Path) -> None:
    place = MEMORY if MEMORY.is_dir() else tmp_path
    command = [sys.executable, "-m", "harness.crash_points.merges", "--place", str(place)]
    done = subprocess.run(
        [*command, *FORMS[form]], check=False, cwd=ROOT, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
