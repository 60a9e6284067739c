"""What it costs the kernel that steps print: memory, disk, and time beyond a time-out.

    python benchmarks/bench_output.py [BYTES] [STEPS]

* a command that prints 1 GB, and eight of them at once: how far the resident size of this process rises, and how many bytes lie
  on the disk for each that was printed;
* an agent that prints on one line for ever: seconds from its time-out to the end of its run;
* 10,000 steps that print 1 kB each: how far this process has grown when they are done, and seconds of the processor to show
  such a run from its log as text, as JSON, and in a cell, also as multiples of reading and folding that log alone.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
from figures import Promise, verdict

from pixirnb import api
from pixirnb.cli.app import perform
from pixirnb.history.run_state import fold
from pixirnb.operations.run import Run
from pixirnb.store.file_store import FileStore
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.picture.drawing import edges_of
from pixirnb.views.run.outcome_view import outcome_blocks

PRINTED = 1_000_000_000
STEPS = 10_000
TIMEOUT_S = 5.0
MB = 1_000_000


class Growth:
    """How far the resident size of this process rises above what it was, looked at a hundred times a second."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._before = self._process.memory_info().rss
        self._most = self._before
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    @property
    def most_mb(self) -> float:
        """While it was entered."""
        return (self._most - self._before) / MB

    @property
    def left_mb(self) -> float:
        """Now."""
        return (self._process.memory_info().rss - self._before) / MB

    def _look(self) -> None:
        while not self._over.wait(0.01):
            self._most = max(self._most, self._process.memory_info().rss)


def ran(folder: Path, steps: list[dict[str, Any]], **fields: Any) -> Run:
    """A run that came to rest in a workspace of its own."""
    folder.mkdir()
    run = api.start(
        {"name": "bench", "steps": steps, **fields}, workspace=folder, state=folder / ".pixirnb"
    )
    run.wait()
    return run


def printing(letter: str, count: int) -> dict[str, Any]:
    """A command that prints so many of a letter, without a line break."""
    return {
        "id": letter,
        "run": f"head -c {count} /dev/zero | tr '\\0' {letter}",
        "allow_long_timeout": True,
        "timeout": "2h",
    }


def on_disk(run: Run) -> int:
    """Bytes of its folder."""
    return sum(file.stat().st_size for file in run.folder.rglob("*") if file.is_file())


def seconds(call: Callable[[], object]) -> float:
    """How long it takes on the clock."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def cpu_seconds(call: Callable[[], object]) -> float:
    """How much of the processor it takes: what others do on the machine is not in it."""
    began = time.process_time()
    call()
    return time.process_time() - began


def shown(run: Run) -> tuple[float, list[tuple[str, float]]]:
    """Seconds of the processor to show a run that is over, from its log, in each of its faces; first to read and fold it."""

    def as_cell() -> None:
        seen = api.open_run(run.folder)
        document, edges = seen.outcome.document(), edges_of(seen.compiled())
        mimebundle(outcome_blocks(document, edges, plan=seen.plan.document()))

    state = str(run.folder.parent.parent)
    quiet, out = os.open(os.devnull, os.O_WRONLY), os.dup(1)
    sys.stdout.flush()
    os.dup2(quiet, 1)
    try:
        text = cpu_seconds(lambda: perform(["show", run.id, "--state", state]))
        document = cpu_seconds(lambda: perform(["show", run.id, "--json", "--state", state]))
        sys.stdout.flush()
    finally:
        os.dup2(out, 1)
    store, name = FileStore.of_folder(run.folder)
    read = cpu_seconds(lambda: fold(store.read(name).events))
    return read, [("text", text), ("JSON", document), ("a cell", cpu_seconds(as_cell))]


def main(printed: int = PRINTED, count: int = STEPS) -> bool:
    """Print every figure; whether all promises are kept."""
    root = Path(tempfile.mkdtemp(prefix="pixirnb-bench-"))
    kept = []
    try:
        ran(root / "warm", [{"id": "a", "run": "true"}])
        for beside in (1, 8):
            with Growth() as growth:
                run = ran(
                    root / f"much-{beside}",
                    [printing(letter, printed) for letter in "abcdefgh"[:beside]],
                    max_concurrency=beside,
                )
            what = f"{beside} x {printed / MB:g} MB printed"
            kept.append(
                verdict(f"{what}: memory a step", growth.most_mb / beside, Promise(64, "MB"))
            )
            ratio = on_disk(run) / (beside * printed)
            kept.append(
                verdict(f"{what}: bytes on disk a byte", ratio, Promise(1 + 11 * MB / printed))
            )
            shutil.rmtree(root / f"much-{beside}")
        endless = [sys.executable, "-c", "while True: print('q' * 1_000_000, end='')"]
        agents = {"endless": {"runner": "cli", "command": endless, "posture": "read_only"}}
        task = {"id": "a", "task": "go on", "agent": "endless", "timeout": TIMEOUT_S}
        took = seconds(lambda: ran(root / "line", [task], agents=agents))
        kept.append(
            verdict(
                "one line without end: seconds beyond its timeout",
                took - TIMEOUT_S,
                Promise(10, "s"),
            )
        )
        steps = [{"id": f"s{n}", "run": ["printf", "%01000d", str(n)]} for n in range(count)]
        with Growth() as growth:
            run = ran(root / "many", steps, max_concurrency=8)
        kept.append(verdict(f"{count} steps of 1 kB: growth", growth.left_mb, Promise(60, "MB")))
        document = len(json.dumps(run.outcome.document()))
        print(f"its JSON has {document / MB:.1f} MB", flush=True)
        read, faces = shown(run)
        for face, took in faces:
            kept.append(verdict(f"{count} steps shown as {face}", took, Promise(2, "s")))
            what = f"{count} steps shown as {face}: times reading and folding"
            kept.append(verdict(what, took / read, Promise(5)))
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return all(kept)


if __name__ == "__main__":
    sizes = [int(given) for given in sys.argv[1:] if given != "--strict"]
    sys.exit(0 if main(*sizes) or "--strict" not in sys.argv else 1)
