"""What an item of `for_each` costs: beside a written step of the same work, as lists grow, and in a resume of a finished run.

    python benchmarks/bench_items.py [ITEMS]

The work is a function that does nothing. Written steps and items are run in turns, each in a process of its own; a resume, too.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from figures import Promise, verdict

from pixirnb import api

ITEMS = 10_000
FINISHED = 100_000
GROWTH = (100, 1_000, 10_000)
BAR = 40


def written(count: int) -> dict[str, Any]:
    """So many steps."""
    steps = [{"id": f"s{n}", "call": "builtins:str", "with": {"object": n}} for n in range(count)]
    return {"name": "written", "max_concurrency": 8, "steps": steps}


def listed(count: int) -> dict[str, Any]:
    """One step with so many items."""
    each = {
        "id": "each",
        "for_each": list(range(count)),
        "call": "builtins:str",
        "with": {"object": "{{ item }}"},
    }
    return {"name": "listed", "max_concurrency": 8, "steps": [each]}


def ran(kind: str, count: int, folder: Path) -> float:
    """CPU of this process for a run, in µs a step or item."""
    spec = {"written": written, "listed": listed}[kind](count)
    api.start(written(10), workspace=folder, state=folder / "state").wait()
    cpu = time.process_time()
    run = api.start(spec, workspace=folder, state=folder / "state")
    assert run.wait().ok
    if folder.joinpath("keep").exists():
        folder.joinpath("run").write_text(run.id)
    return (time.process_time() - cpu) / count * 1e6


def resumed(folder: Path) -> float:
    """Seconds of a resume that finds nothing to do."""
    started = time.perf_counter()
    assert api.resume((folder / "run").read_text(), state=folder / "state").is_no_op
    return time.perf_counter() - started


def apart(*words: object) -> float:
    """The figure of a process of its own."""
    command = [sys.executable, __file__, "--apart", *map(str, words)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main(words: list[str]) -> int:
    """Take the figures in turns."""
    if words[:1] == ["--apart"]:
        _, kind, *rest = words
        folder = Path(rest[-1])
        print(resumed(folder) if kind == "resume" else ran(kind, int(rest[0]), folder))
        return 0
    count = int(words[0]) if words and words[0].isdigit() else ITEMS
    held = True
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as place:
        spans = [(apart("written", count, place), apart("listed", count, place)) for _ in range(3)]
        step, item = (min(each) for each in zip(*spans, strict=True))
        print(f"{count:,} written steps: {step:.0f} µs each; items: {item:.0f} µs each")
        held &= verdict("an item / a written step, CPU", item / step, Promise(1.3))
        for size in GROWTH:
            cpu = apart("listed", size, place)
            print(f"{size:>9,} items: {cpu:5.0f} µs each {'█' * round(BAR * cpu / (2 * item))}")
        Path(place, "keep").touch()
        most = min(FINISHED, 10 * count)
        cpu = apart("listed", most, place)
        print(f"{most:>9,} items: {cpu:5.0f} µs each {'█' * round(BAR * cpu / (2 * item))}")
        spent = min(apart("resume", place) for _ in range(3))
        held &= verdict(f"a finished run of {most:,} items resumed", spent, Promise(5, "s"))
    return 0 if held or "--strict" not in words else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
