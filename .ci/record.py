"""What `make record` runs: execute notebooks where they are, and keep the outputs that a reader sees without a kernel.

    python .ci/record.py [notebooks/01_first_run.ipynb …]

Times are written in UTC (the Makefile sets TZ). A notebook that fails stays as it was. Exits 1 if one fails.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError

FOLDER = Path("notebooks")
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
CELL_TIMEOUT_S = 180


def recorded(path: Path) -> bool:
    """Execute a notebook in its folder and write it in place; return whether every cell ran."""
    notebook = nbformat.read(path, as_version=4)
    # Neither the times of cells nor the Python of this machine: a new record differs only where outputs do.
    language_info = notebook.metadata.get("language_info")
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        kernel_name="python3",
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError) as error:
        print(f"{path} failed: {ANSI.sub('', str(error))}", file=sys.stderr)
        return False
    if language_info is not None:
        notebook.metadata.language_info = language_info
    nbformat.write(notebook, path)
    print(f"recorded {path}", flush=True)
    return True


def main(paths: list[str]) -> int:
    notebooks = [Path(path) for path in paths] or sorted(FOLDER.glob("*.ipynb"))
    failed = [path for path in notebooks if not recorded(path)]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
