"""The same magics where IPython is a terminal: text, and a wait that blocks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def typed(folder: Path, *lines: str) -> str:
    """What a terminal shows for lines typed into it."""
    told = subprocess.run(
        [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--colors=nocolor"],
        input="\n".join(["%load_ext pixirnb", *lines, "exit", ""]),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout


def test_verbs_answer_in_text_and_a_wait_ends_with_the_run(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(
        'name: typed\nsteps:\n  - {id: a, run: "sleep 0.3", posture: read_only}\n'
    )
    told = typed(
        tmp_path,
        "%pixir run w.yaml --wait --as run",
        "print('then', run.status)",
        "%pixir runs",
        "%pixir show r-none",
    )
    assert "✓ completed · typed" in told
    assert "then completed" in told
    assert "[unknown_run]" in told
    assert "Traceback" not in told
    assert "running" not in told
