"""The workflow that a run has pinned: what only a later version refuses keeps no old run from its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.errors import InvalidSpec
from pixirnb.store.file_store import FileStore
from tests.operations.household import kept, name_of, parked

CHECKED = [{"file_exists": "never.txt"}]


def test_a_run_of_an_older_version_is_shown_decided_and_resumed(tmp_path: Path) -> None:
    story = parked()
    story.events[0].data["spec"]["steps"][0]["verify"] = CHECKED
    store = FileStore(tmp_path / ".pixirnb")
    kept(store, story.events)
    run = api.open_run(name_of(1), state=store.state)
    assert run.outcome.status == "needs_orchestrator"
    assert run.plan.errors == ()
    run.decide("gate", "accept")
    again = api.resume(run.id, state=store.state)
    assert (again.wait(60).status, again.state.courses) == ("needs_orchestrator", 3)
    with pytest.raises(InvalidSpec):
        api.load(story.events[0].data["spec"])
