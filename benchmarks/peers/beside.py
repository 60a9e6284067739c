"""Measure pixirnb beside its peers, one after another in one go, and keep what was read in `read.json`.

    python benchmarks/peers/beside.py HARNESS [--repeats N]

HARNESS is a folder with `harness.py` and a `peer_NAME.py` for each peer: a fresh process and folder a sample, steps that do
nothing, the disk's own syncs measured before and after. The peers live in an environment of their own, `build/peers`.
`make fix` writes the page and its chart from what was kept: docs/reference/figures.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ENVIRONMENT = ROOT / "build/peers"
ROWS = ("A", "B", "C", "E")
PEERS = {
    "parsl": ("Parsl", "checkpoint", "written, not synced", ["parsl"]),
    "langgraph": (
        "LangGraph",
        "sync",
        "synced (SQLite)",
        ["langgraph", "langgraph-checkpoint-sqlite"],
    ),
    "burr": ("Burr", "sqlite", "synced (SQLite)", ["apache-burr"]),
    "hamilton": ("Hamilton", "cache", "synced (SQLite), and a file", ["apache-hamilton"]),
    "dbos": ("DBOS", "", "synced (SQLite)", ["dbos"]),
}
"""File to name, variant, what a finished step is on the disk, and what to install."""


def environment() -> Path:
    """The Python that has the peers, made once."""
    python = ENVIRONMENT / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
    wanted = [name for *_, names in PEERS.values() for name in names]
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *wanted], check=True)
    return python


def measured(python: Path, file: Path, harness: Path, variant: str, repeats: int) -> dict[str, Any]:
    """What a peer's file prints."""
    words = [str(python), str(file), "--rows", ",".join(ROWS), "--repeats", str(repeats)]
    words += ["--variant", variant] if variant else []
    told = subprocess.run(
        words, env={**os.environ, "PYTHONPATH": str(harness)}, stdout=subprocess.PIPE, check=True
    )
    return json.loads(told.stdout)


def brief(name: str, durability: str, report: dict[str, Any], variant: str) -> dict[str, Any]:
    """What the page shows of a report: medians, by row."""
    rows: dict[str, Any] = {}
    for row, figures in report[variant or "default"].items():
        if "steps_per_s" in figures:
            rows[row] = {
                "steps_per_s": figures["steps_per_s"]["median"],
                "of_disk": figures["ratio_to_fdatasync"]["median"],
                "cpu_us": figures["cpu_us_per_step"]["median"],
                "bytes": figures["bytes_per_step"]["median"],
                "syncs_per_s": figures["fdatasync_per_s"]["median"],
            }
        elif "resume_call_to_first_new_step_ms" in figures:
            rows[row] = {
                "first_step_ms": figures["resume_call_to_first_new_step_ms"]["median"],
                "run_again": max(figures["completed_steps_run_again"]),
            }
        else:
            rows[row] = {"error": figures.get("error", "")[-200:]}
    version = next(iter(report["versions"].values()))
    return {"name": name, "version": version, "durability": durability, "rows": rows}


def main() -> None:
    """Measure all, print each, keep what was read."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("harness", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    python, harness = environment(), given.harness.resolve()
    engines = []
    ours = measured(Path(sys.executable), HERE / "peer_pixirnb.py", harness, "", given.repeats)
    engines.append(brief("pixirnb", "synced", ours, ""))
    for file, (name, variant, durability, _) in PEERS.items():
        report = measured(python, harness / f"peer_{file}.py", harness, variant, given.repeats)
        engines.append(brief(name, durability, report, variant))
    kept = {
        "read_on": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "engines": engines,
    }
    (HERE / "read.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
