"""What `make demo` runs: execute a notebook on a copy, print how it ended, say how to open it.

    python .ci/demo.py NOTEBOOK FOLDER

The notebook itself stays as it is; the executed copy goes to FOLDER. Exits 1 with the broken cell if one raises.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from nbformat import NotebookNode

ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
CELL_TIMEOUT_S = 180


def said(cell: NotebookNode) -> str:
    """What a code cell showed, as text."""
    parts: list[str] = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            parts.append(output.text)
        elif output.output_type in {"execute_result", "display_data"}:
            parts.append(output.data.get("text/plain", ""))
    return ANSI.sub("", "\n".join(part.rstrip("\n") for part in parts if part.strip()))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("notebook", type=Path)
    parser.add_argument("folder", type=Path)
    wanted = parser.parse_args()
    notebook = nbformat.read(wanted.notebook, as_version=4)
    copy: Path = wanted.folder / wanted.notebook.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    # The kernel starts where Jupyter would start it: in the notebook's own folder.
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(wanted.notebook.parent)}},
    )
    print(f"running {wanted.notebook} …", flush=True)
    began = time.monotonic()
    broken: Exception | None = None
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError) as error:
        broken = error
    finally:
        nbformat.write(notebook, copy)
    if broken is not None:
        print(f"the notebook broke: {ANSI.sub('', str(broken))}", file=sys.stderr)
        return 1
    shown = [text for cell in notebook.cells if cell.cell_type == "code" and (text := said(cell))]
    print(f"\n{shown[-1] if shown else 'no cell showed anything'}\n")
    print(f"ran in {time.monotonic() - began:.0f} s; the executed copy is {copy}")
    print("open it yourself: make lab")
    return 0


if __name__ == "__main__":
    sys.exit(main())
