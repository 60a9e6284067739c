"""What `make unit` runs: two pytest processes side by side, since browsers and kernels mostly wait, and so do the others.

Runners and the tool surface go with the browsers, so that the two take about as long.

    python .ci/unit.py [OPTION …]      options go to both

What the first prints is shown when the second has ended. Exits 0 only where both passed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

PYTEST = [sys.executable, "-m", "pytest"]
NBVAL = ["--nbval", "--nbval-current-env", "--nbval-sanitize-with", "tests/notebook/sanitize.cfg"]
BESIDE = ["tests/browser", "tests/runners", "tests/tools"]
BROWSERS = [*PYTEST, *BESIDE, "notebooks", *NBVAL]
OTHERS = [*PYTEST, "tests", *(f"--ignore={place}" for place in BESIDE)]


def main(options: list[str]) -> int:
    with tempfile.TemporaryFile("w+", encoding="utf-8") as told:
        browsers = subprocess.Popen([*BROWSERS, *options], stdout=told, stderr=subprocess.STDOUT)
        try:
            others = subprocess.run([*OTHERS, *options], check=False).returncode
            code = browsers.wait()
        except BaseException:
            browsers.terminate()
            browsers.wait()
            raise
        told.seek(0)
        print("\nbrowsers, runners, tools and notebooks, run beside them:\n")
        print(told.read())
    return max(others, code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
