"""How long it takes to list many runs: the first time, and every time after, beside looking at their folders at all.

    python benchmarks/bench_runs.py [RUNS]

10,000 runs of 20 steps each, as the store writes them, of one workflow.

* first listing: every log read, checked and folded, its plan made, its outcome worked out; beside parsing the same lines;
* later listing: from the memo of rows, each checked against its log; beside `os.scandir` of `runs` and one `stat` of each log.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench_history import events_of
from figures import Promise, verdict
from pydantic_core import from_json

from pixirnb import api
from pixirnb.history.codec import GENESIS
from pixirnb.history.events import Event
from pixirnb.ids import run_id
from pixirnb.store.blobs import FileBlobs
from pixirnb.store.log_encoding import encode_group

STEPS = 20
SETTLING_S = 2.5
"""So long a row waits before it is kept: its log may change once more within the same tick of the clock."""


def written(runs: Path, number: int) -> Path:
    """A run folder as the store leaves it, without waiting for the disk."""
    name = run_id(f"20261121{number:06}", bytes(6))
    folder = runs / name
    for inside in ("blobs", "output", "sessions", "inbox"):
        (folder / inside).mkdir(parents=True)
    first, *others = events_of(STEPS)
    events = [Event(1, first.at, first.kind, {**first.data, "run_id": name}), *others]
    data, chain = encode_group(events, chain=GENESIS, after=0, put=FileBlobs(folder / "blobs").put)
    (folder / "log.jsonl").write_bytes(data)
    seal = f'{{"chain":"{chain}","seq":{len(events)},"v":1}}\n'
    (folder / "seal.json").write_text(seal, encoding="utf-8")
    (folder / "lock").touch()
    return folder


def parsed(runs: Path) -> int:
    """Every line of every log parsed, and nothing done with it."""
    lines = 0
    for folder in runs.iterdir():
        data = (folder / "log.jsonl").read_bytes()
        lines += len([from_json(line) for line in data.splitlines()])
    return lines


def looked_at(runs: Path) -> int:
    """One look at every folder and its log."""
    with os.scandir(runs) as entries:
        return sum(Path(entry.path, "log.jsonl").stat().st_size for entry in entries)


def clocked(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main(arguments: list[str]) -> int:
    """Measure both."""
    count = int(next((word for word in arguments if word.isdigit()), "10000"))
    state = Path(tempfile.mkdtemp(prefix="pixirnb-bench-"))
    try:
        for number in range(count):
            written(state / "runs", number)
        time.sleep(SETTLING_S)
        parse = clocked(lambda: parsed(state / "runs"))
        first = clocked(lambda: api.runs(state=state))
        later = min(clocked(lambda: api.runs(state=state)) for _ in range(3))
        look = min(clocked(lambda: looked_at(state / "runs")) for _ in range(3))
        rows = api.runs(state=state)
        assert len(rows) == count
        assert {row["status"] for row in rows} == {"completed"}
        size = (state / "catalogue.json").stat().st_size
    finally:
        shutil.rmtree(state)
    print(f"{count} runs of {STEPS} steps: memo of {size / count:.0f} bytes each")
    kept = verdict(
        f"first listing ({first:.1f} s) / parsed ({parse:.1f} s)", first / parse, Promise(4)
    )
    kept &= verdict("later listing", later, Promise(0.5, "s"))
    kept &= verdict(f"later listing / looking at each log ({look:.3f} s)", later / look, Promise(8))
    return 0 if kept or "--strict" not in arguments else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
