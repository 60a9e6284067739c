"""Milliseconds from the call of `resume` to the first step that runs: runs of 200 and of 10,000 steps, all done but the last.

    python benchmarks/bench_resume.py

The run is left by a step that fails; each resume is made in a process of its own, from its log alone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from figures import Promise, verdict

from pixirnb import api

SIZES = {200: Promise(20, "ms"), 10_000: Promise(400, "ms")}
ROUNDS = 5


def last(folder: str) -> None:
    """The step that is resumed: says when it began, and fails."""
    Path(folder, "began").write_text(str(time.time_ns()), encoding="ascii")
    raise ValueError("not yet")


def workflow(count: int, folder: Path) -> dict[str, Any]:
    """`count` steps, the last after some of the others; tried once."""
    steps: list[dict[str, Any]] = [
        {"id": f"s{n}", "call": "builtins:dict"} for n in range(count - 1)
    ]
    steps.append(
        {
            "id": "last",
            "call": "bench_resume:last",
            "with": {"folder": str(folder)},
            "depends_on": [step["id"] for step in steps[:100]],
            "retry": {"max_attempts": 1},
        }
    )
    return {"name": "resumed", "max_concurrency": 8, "steps": steps}


def resumed(run: str, folder: Path) -> float:
    """Milliseconds, measured in this process."""
    resume = api.resume  # loads what it needs
    called = time.time_ns()
    resume(run, state=folder / "state").wait()
    return (int((folder / "began").read_text()) - called) / 1e6


def main(words: list[str]) -> int:
    """Leave the runs, resume each several times."""
    if words[:1] == ["--resume"]:
        print(resumed(words[1], Path(words[2])))
        return 0
    held = True
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as place:
        folder = Path(place)
        for count, promise in SIZES.items():
            run = api.start(workflow(count, folder), workspace=folder, state=folder / "state")
            assert run.wait().counts["checkpoint_ready"] == count - 1
            command = [sys.executable, __file__, "--resume", run.id, str(folder)]
            spans = [
                float(subprocess.run(command, check=True, capture_output=True).stdout)
                for _ in range(ROUNDS)
            ]
            held &= verdict(f"{count} steps, resumed at the last", median(spans), promise)
    return 0 if held or "--strict" not in words else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
