"""Workflows the browser tests tell, and what the disk says of them. A file `go` in the notebook's folder opens the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

_STORY: Final = """%%workflow story OPTIONS
steps:
  - {id: made, run: "echo once >> trace; echo made it", write_set: [trace]}
  - {id: gate, run: "until [ -e go ]; do sleep 0.1; done; echo through", posture: read_only, read_set: [], depends_on: [made]}
"""
WAITING: Final = _STORY.replace("OPTIONS", "--wait --as run")
BACKGROUND: Final = _STORY.replace("OPTIONS", "--run --as run")
ASKING: Final = """%%workflow asking --run --as run
steps:
  - {id: made, run: "echo ready to go", posture: read_only}
  - {id: ship, ask: {question: "Ship it?", choices: [now, later]}, depends_on: [made]}
  - {id: sent, run: "echo sent {{ steps.ship.output }}", depends_on: [ship], posture: read_only}
"""


def open_gate(folder: Path) -> None:
    """Let the step that waits go on."""
    (folder / "go").touch()


def run_folder(folder: Path) -> Path:
    """Where the one run there is lies; its name is the run's id."""
    (run,) = (folder / ".pixirnb" / "runs").iterdir()
    return run


def events(folder: Path, kind: str = "") -> list[dict[str, Any]]:
    """The data of the one run's events of a kind; with none, whole events."""
    lines = (run_folder(folder) / "log.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    return [event["data"] for event in found if event["kind"] == kind] if kind else found


def last_status(folder: Path) -> str:
    """How the one run came to rest."""
    last = events(folder)[-1]
    assert last["kind"] == "run_finished"
    return str(last["data"]["status"])
