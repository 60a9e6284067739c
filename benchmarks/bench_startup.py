"""How long a person waits before anything happens, beside an interpreter that does nothing, in one run.

    python benchmarks/bench_startup.py

Each command is a process of its own, with its bytecode compiled beforehand, as it is after an installation. The best of
several rounds, taken in turns, counts. `import pixirnb` promises to cost next to nothing: no name's home is imported before
the name is used.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from figures import Promise, verdict

ROUNDS = 8
ROOT = Path(__file__).parents[1]

ONE = "name: one\nsteps:\n  - {id: a, run: 'true'}\n"
LOADED = "from IPython.testing.globalipapp import start_ipython; shell = start_ipython(); import ipywidgets"

COMMANDS: dict[str, tuple[list[str], str, Promise | None]] = {
    "python": (["-c", "pass"], "", None),
    "import pydantic": (["-c", "import pydantic"], "python", None),
    "import pixirnb": (["-c", "import pixirnb"], "python", Promise(20, "ms")),
    "pixirnb --version": (["-m", "pixirnb", "--version"], "python", None),
    "pixirnb --help": (["-m", "pixirnb", "--help"], "python", Promise(150, "ms")),
    "pixirnb plan FILE": (["-m", "pixirnb", "plan", "one.yaml"], "python", Promise(200, "ms")),
    "pixirnb run FILE": (["-m", "pixirnb", "run", "one.yaml"], "python", Promise(250, "ms")),
    "pixirnb runs": (["-m", "pixirnb", "runs"], "python", Promise(200, "ms")),
    "IPython and ipywidgets": (["-c", LOADED], "python", None),
    "%load_ext pixirnb": (
        ["-c", f"{LOADED}; shell.run_line_magic('load_ext', 'pixirnb')"],
        "IPython and ipywidgets",
        Promise(250, "ms"),
    ),
}
"""What is measured, over what, and what it may cost; `import pydantic` tells how much of a plan is the model's library."""


def main(arguments: list[str]) -> int:
    """Measure every command."""
    best = dict.fromkeys(COMMANDS, float("inf"))
    with tempfile.TemporaryDirectory() as place:
        Path(place, "one.yaml").write_text(ONE, encoding="utf-8")
        env = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        env |= {"PYTHONPYCACHEPREFIX": f"{place}/cache", "PYTHONPATH": str(ROOT)}
        for counted in [False, *[True] * ROUNDS]:
            for name, (command, *_) in COMMANDS.items():
                started = time.perf_counter()
                subprocess.run(
                    [sys.executable, *command],
                    check=True,
                    env=env,
                    cwd=place,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                if counted:
                    best[name] = min(best[name], (time.perf_counter() - started) * 1000)
    kept = True
    for name, (_, over, promise) in COMMANDS.items():
        if promise is None:
            print(f"{name}: {best[name]:.0f} ms")
        else:
            kept &= verdict(f"{name}, over {over} alone", best[name] - best[over], promise)
    return 0 if kept or "--strict" not in arguments else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
