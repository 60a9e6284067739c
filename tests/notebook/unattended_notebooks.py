"""Notebooks that nobody watches, run by the programs people run them with, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

import pixirnb

ROOT = Path(pixirnb.__file__).parents[1]
"""Of the package under test, which may be a copy with a bug."""
WIDGET = "application/vnd.jupyter.widget-view+json"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
LOAD = "%load_ext pixirnb"
PORT_TAKEN = "ZMQError: Address already in use"
NOT_STARTED = ("Kernel died before replying", "Kernel didn't respond")


@dataclass(frozen=True)
class Finished:
    """A process that has ended."""

    code: int
    said: str


def write_notebook(path: Path, *cells: str) -> Path:
    """A notebook of code cells; the one that begins with `# parameters` is tagged so."""
    made: Any = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]  # nbformat is typed in parts
    for number, source in enumerate((LOAD, *cells)):
        tags = ["parameters"] if source.startswith("# parameters") else []
        cell: Any = nbformat.v4.new_code_cell(source, id=f"c{number}", metadata={"tags": tags})  # type: ignore[no-untyped-call]  # as above
        made.cells.append(cell)
    made.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    save(path, made)
    return path


def read(path: Path) -> Any:
    """The notebook in a file."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]  # nbformat is typed in parts


def save(path: Path, notebook: Any) -> None:
    """Write a notebook."""
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]  # nbformat is typed in parts


def shown(notebook: Any) -> list[dict[str, Any]]:
    """The mime bundles a saved notebook holds, in order."""
    return [
        dict(output["data"])
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "data" in output
    ]


def execute(folder: Path, *words: str) -> Finished:
    """Run `python -m WORDS` in a folder, with this environment's Python and Jupyter.

    Jupyter chooses a kernel's ports before the kernel binds them. Where another program took one in between, the
    kernel ends or never answers, and nothing of the notebook has run: it is run again.
    """
    while True:
        done = _execute(folder, *words)
        if PORT_TAKEN not in done.said or not any(text in done.said for text in NOT_STARTED):
            return done


def _execute(folder: Path, *words: str) -> Finished:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    return Finished(done.returncode, done.stdout + done.stderr)


def papermill(source: Path, target: Path, *options: str) -> Finished:
    """Run a notebook as papermill does."""
    words = ("papermill", "--no-progress-bar", "-k", "python3", source.name, target.name)
    return execute(source.parent, *words, *options)


def jupyter_execute(path: Path) -> Finished:
    """Run a notebook in its place, as `jupyter execute --inplace` does."""
    return execute(path.parent, "jupyter", "execute", "--inplace", path.name)
