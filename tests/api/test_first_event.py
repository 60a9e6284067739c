"""A run is visible from its id on, though its first event reaches the disk a moment later."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from pixirnb import api
from pixirnb.operations.run import Run
from pixirnb.operations.run_list import list_runs, row_of_live
from pixirnb.store.file_store import FileStore


def test_who_looks_at_a_run_that_is_just_starting_waits_for_its_first_event(tmp_path: Path) -> None:
    workflow = {"name": "w", "steps": [{"id": "a", "run": "true", "posture": "read_only"}]}
    known = api.start(workflow, workspace=tmp_path)
    known.wait()

    store = FileStore(tmp_path / "elsewhere")
    log = store.create(known.id)
    seen: list[str] = []
    looking = threading.Thread(target=lambda: seen.append(Run(known.id, store).status))
    looking.start()
    looking.join(0.2)
    log.append(known.history()[:1])
    looking.join()
    log.close()
    assert seen == ["running"]


def test_a_run_whose_first_event_does_not_come_is_running_and_not_damaged(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    log = store.create("r-20260101-000000-aaaaaa")
    (row,) = list_runs(store, row_of_live(store))
    log.close()
    assert row["status"] == "running"
    assert f"process {os.getpid()} has not written the first event" in row["error"]
