"""What `make demo` runs: execute the first notebook on a copy, show how its runs ended, and explain what was shown.

    python .ci/demo.py

The notebook itself stays as it is; the executed copy goes to build/demo. Exits 1 with the broken cell if one raises.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from nbformat import NotebookNode

NOTEBOOK = Path("notebooks/01_first_run.ipynb")
FOLDER = Path("build/demo")
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
CELL_TIMEOUT_S = 180
EXPLANATION = """\
What you saw
  measure   Two commands ran in parallel, then a Python function used both results.
  weekly    `report` exited with 0, but its check failed. So `send` was held: a held step never
            starts on a result that is not ready. The run is partial, not completed.
  resume    The fixed workflow continued the same run: `figures` was reused, the other two ran.

What to try next
  make lab                                                      open the notebooks in JupyterLab
  .venv/bin/pixirnb run examples/held.yaml --workspace .        see a failed check hold two steps
  .venv/bin/pixirnb run examples/self_check.yaml --workspace .  check this repository in parallel;
            takes some minutes of CPU time, and skips the steps that only `scope=full` needs
"""


def shown_by(cell: NotebookNode) -> str:
    """Return what a code cell showed, as text."""
    parts: list[str] = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            parts.append(output.text)
        elif output.output_type in {"execute_result", "display_data"}:
            parts.append(output.data.get("text/plain", ""))
    return ANSI.sub("", "\n".join(part.rstrip("\n") for part in parts if part.strip()))


def main() -> int:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    copy = FOLDER / NOTEBOOK.name
    FOLDER.mkdir(parents=True, exist_ok=True)
    # The kernel starts where Jupyter would start it: in the notebook's own folder. Its warnings about TCP are not ours.
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(NOTEBOOK.parent)}},
    )
    print(f"running {NOTEBOOK} …\n", flush=True)
    began = time.monotonic()
    broken: Exception | None = None
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError) as error:
        broken = error
    finally:
        nbformat.write(notebook, copy)
    if broken is not None:
        print(f"the notebook failed: {ANSI.sub('', str(broken))}", file=sys.stderr)
        return 1
    for cell in notebook.cells:
        if (
            cell.cell_type == "code"
            and cell.source.startswith("%pixir r")
            and "--wait" in cell.source
        ):
            print(f"{cell.source.split(' --wait')[0]}\n{shown_by(cell)}\n")
    print(f"The notebook ran in {time.monotonic() - began:.0f} s; the executed copy is {copy}.\n")
    print(EXPLANATION, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
