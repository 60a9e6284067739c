"""Run every `bench_*.py` beside this file and print its figures under the facts of the machine.

    python benchmarks/bench.py [--strict] [NAME …]
    python benchmarks/bench.py --keep [NAME …]    keeps what was printed in `read.txt`, for docs/reference/figures.md

Each `bench_*.py` is a script of its own: it measures, prints one `figure: value` a line, `ok` or `MISSED` beside each
promise, and exits 0; with `--strict` 1 where a promise is missed. Figures are read by people, on a machine at rest: a busy
one misses some that are kept, so nothing else fails by them. Each script runs in a fresh process, so that no bench warms
another's caches. A durable rate means nothing without the disk it was measured on, so the cost of one small `fdatasync`
stands first, and how busy the machine is beside it.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

SYNCS = 200
LINE = b"x" * 299 + b"\n"


def fdatasync_ms() -> float:
    """Median milliseconds to append and sync one event-sized line in the folder for temporary files."""
    sync = getattr(os, "fdatasync", os.fsync)  # macOS has only fsync
    spans: list[float] = []
    with tempfile.TemporaryFile(buffering=0) as file:
        for _ in range(SYNCS):
            began = time.perf_counter()
            file.write(LINE)
            sync(file.fileno())
            spans.append(time.perf_counter() - began)
    return statistics.median(spans) * 1000


def main(words: list[str]) -> int:
    names = [word for word in words if not word.startswith("--")]
    options = [word for word in words if word.startswith("--")]
    folder = Path(__file__).parent
    scripts = [
        script
        for script in sorted(folder.glob("bench_*.py"))
        if not names or script.stem.removeprefix("bench_") in names
    ]
    printed: list[str] = []

    def say(text: str) -> None:
        print(text, end="", flush=True)
        printed.append(text)

    say(f"read on {datetime.now(UTC).date()}\npython: {platform.python_version()}\n")
    say(f"cores: {os.cpu_count()}, load {os.getloadavg()[0]:.1f}\n")
    say(f"fdatasync: {fdatasync_ms():.3f} ms\n")
    failed = 0
    options = [option for option in options if option != "--keep"]
    for script in scripts:
        say(f"\n{script.stem}\n")
        command = [sys.executable, str(script), *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            for line in running.stdout:
                say(line)
        failed += running.returncode != 0
    if not scripts:
        print("no bench of that name", file=sys.stderr)
    if "--keep" in words:
        kept = folder / "read.txt"
        head, *read = "".join(printed).split("\n\n")
        before = kept.read_text(encoding="utf-8").rstrip("\n").split("\n\n") if names else []
        sections = {section.partition("\n")[0]: section for section in [*before[1:], *read]}
        whole = "\n\n".join([head, *(sections[name].rstrip("\n") for name in sorted(sections))])
        kept.write_text(f"{whole}\n", encoding="utf-8")
    return 1 if failed or not scripts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
