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
EXAMPLE = ROOT / "examples" / "partial.yaml"

COMMANDS = {
    "python": ["-c", "pass"],
    "import pixirnb": ["-c", "import pixirnb"],
    "import pydantic": ["-c", "import pydantic"],
    "pixirnb --version": ["-m", "pixirnb", "--version"],
    "pixirnb plan FILE": ["-m", "pixirnb", "plan", str(EXAMPLE)],
}
"""What is measured; `import pydantic` tells how much of a plan is the model's library."""


def main(arguments: list[str]) -> int:
    """Measure every command."""
    best = dict.fromkeys(COMMANDS, float("inf"))
    with tempfile.TemporaryDirectory() as cache:
        env = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        env |= {"PYTHONPYCACHEPREFIX": cache, "PYTHONPATH": str(ROOT)}
        for counted in [False, *[True] * ROUNDS]:
            for name, command in COMMANDS.items():
                started = time.perf_counter()
                subprocess.run(
                    [sys.executable, *command], check=True, env=env, stdout=subprocess.DEVNULL
                )
                if counted:
                    best[name] = min(best[name], time.perf_counter() - started)
    bare = best.pop("python") * 1000
    print(f"python alone: {bare:.0f} ms")
    for name, span in best.items():
        if name != "import pixirnb":
            print(f"{name}: {span * 1000:.0f} ms")
    above = best["import pixirnb"] * 1000 - bare
    kept = verdict("import pixirnb, over python alone", above, Promise(20, "ms"))
    return 0 if kept or "--strict" not in arguments else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
