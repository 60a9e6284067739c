"""What `make unit` runs: three pytest processes side by side, since browsers, kernels and killed runs mostly wait.

Each takes about as long as the others on two cores; a folder of tests that is not named here goes with the last.

    python .ci/unit.py [OPTION …]      options go to all

What the first two print is shown when the last has ended. Exits 0 only where all passed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from typing import IO

PYTEST = [sys.executable, "-m", "pytest"]
NBVAL = ["--nbval", "--nbval-current-env", "--nbval-sanitize-with", "tests/notebook/sanitize.cfg"]
BROWSERS = ["tests/browser", "tests/runners", "tests/tools"]
STORIES = ["tests/stories", "tests/notebook"]
BESIDE = {
    "browsers, runners, tools and notebooks": [*BROWSERS, "notebooks", *NBVAL],
    "stories, and the notebook's side of a kernel": STORIES,
}
OTHERS = ["tests", *(f"--ignore={place}" for place in (*BROWSERS, *STORIES))]


def main(options: list[str]) -> int:
    with ExitStack() as stack:
        beside: list[tuple[str, IO[str], subprocess.Popen[bytes]]] = []
        for name, places in BESIDE.items():
            told = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))
            command = [*PYTEST, *places, *options]
            process = subprocess.Popen(command, stdout=told, stderr=subprocess.STDOUT)
            stack.callback(process.terminate)  # of no effect on one that has ended
            beside.append((name, told, process))
        codes = [subprocess.run([*PYTEST, *OTHERS, *options], check=False).returncode]
        for name, kept, process in beside:
            codes.append(process.wait())
            kept.seek(0)
            print(f"\n{name}, run beside them:\n")
            print(kept.read(), flush=True)
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
