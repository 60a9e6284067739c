"""Runs on a disk that nobody drove: rehearsed histories, written as the store writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pixirnb.history.events import Event
from pixirnb.ids import run_id
from pixirnb.store.file_store import FileStore
from pixirnb.testing.generators.histories import Rehearsal, plan_of

PAIR = """
name: pair
steps:
  - {id: make, run: "true"}
  - {id: use, run: "true", depends_on: [make]}
"""
GATE = """
name: gate
steps:
  - {id: gate, ask: {question: "Go on?"}}
"""


def name_of(number: int) -> str:
    """A run id; larger numbers are newer."""
    return run_id(f"20261121{number:06}", bytes(6))


def completed(text: str = PAIR) -> Rehearsal:
    """A run of PAIR that came to its end."""
    return Rehearsal(plan_of(text)).begin().end("make", value=1).end("use", value=2)


def failed(text: str = PAIR) -> Rehearsal:
    """A run of PAIR whose first step failed."""
    return Rehearsal(plan_of(text)).begin().end("make", "failed", error="exit")


def parked() -> Rehearsal:
    """A run that waits for a decision."""
    return Rehearsal(plan_of(GATE)).begin()


def cut_off() -> Rehearsal:
    """A run of PAIR whose process died while its first step ran."""
    return Rehearsal(plan_of(PAIR)).begin()


def kept(
    store: FileStore,
    events: Sequence[Event],
    run: str | None = None,
    *,
    workspace: Path | None = None,
) -> Path:
    """The folder of a run with that history."""
    name = run or name_of(1)
    opening = {**events[0].data, "run_id": name, "workspace": str(workspace or store.state)}
    store.create(name, [replace(events[0], data=opening), *events[1:]]).close()
    return store.folder(name)


def edited(
    events: Sequence[Event], kind: str, change: Callable[[dict[str, Any]], Any]
) -> list[Event]:
    """The history with the data of events of a kind changed."""
    found = []
    for event in events:
        data = json.loads(json.dumps(event.data))
        if event.kind == kind:
            change(data)
        found.append(replace(event, data=data))
    return found


def content(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """Everything under a folder, with modes: to see that nothing was changed."""
    return {
        path.relative_to(folder).as_posix(): (
            path.lstat().st_mode,
            path.read_bytes() if path.is_file() and not path.is_symlink() else None,
        )
        for path in sorted(folder.rglob("*"))
    }
