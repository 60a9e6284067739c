"""The elapsed time of a run contains the time that a dead process drove it."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from pixirnb import api
from pixirnb.store.file_store import FileStore
from tests.operations.household import cut_off, kept, name_of


def test_a_resume_adds_the_time_from_the_dead_process_taking_the_run_to_its_last_event(
    tmp_path: Path,
) -> None:
    begun, *others = cut_off().events
    story = [
        replace(begun, at="2026-11-21T09:00:00.000000Z"),
        *(replace(event, at="2026-11-21T09:02:05.500000Z") for event in others),
    ]
    store = FileStore(tmp_path / ".pixirnb")
    kept(store, story, workspace=tmp_path)
    dead = api.open_run(name_of(1), state=store.state)
    dead.checkpoint("later")
    resumed = api.resume(dead.id, state=store.state)
    assert resumed.wait(60).status == "completed"
    events = resumed.history()
    (taken_up,) = [event for event in events if event.kind == "run_resumed"]
    assert taken_up.data["unfinished_ms"] == 125_500
    ended = events[-1].data["elapsed_ms"]
    assert resumed.outcome.elapsed_ms == 125_500 + ended


def test_a_run_that_ended_has_no_unfinished_time(tmp_path: Path) -> None:
    flow = {"name": "gate", "steps": [{"id": "gate", "ask": {"question": "Go on?"}}]}
    run = api.start(flow, state=tmp_path / ".pixirnb", workspace=tmp_path)
    run.wait(60)
    run.accept("gate").wait(60)
    (taken_up,) = [event for event in run.history() if event.kind == "run_resumed"]
    assert "unfinished_ms" not in taken_up.data
