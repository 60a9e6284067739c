"""A browser asks about a run whose workflow cells define: what it offers and does uses the cells as they are now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.notebook.cells.registry import REGISTRY
from pixirnb.notebook.live.message_handlers import MessageHandlers
from pixirnb.operations.run import Run


def defined(command: str) -> None:
    """A cell defines the workflow."""
    REGISTRY.workflows["celled"] = api.load(
        {"name": "celled", "steps": [{"id": "a", "run": command}]}
    )


@pytest.fixture
def failed(tmp_path: Path) -> Iterator[Run]:
    defined("exit 3")
    run = api.start(REGISTRY.workflows["celled"], workspace=tmp_path)
    assert run.wait().status == "failed"
    yield run
    del REGISTRY.workflows["celled"]


def answer(run: Run, **message: Any) -> dict[str, Any]:
    reply = MessageHandlers(run).answer({"id": 1, **message})
    assert reply["ok"], reply["error"]
    return dict(reply["answer"])


def test_what_is_offered_continues_with_the_cells(failed: Run) -> None:
    offers = answer(failed, ask="run")["actions"] + answer(failed, ask="step", step="a")["actions"]
    assert [each["cell"] for each in offers] == [
        f"%pixir resume {failed.id} --spec celled",
        f"%pixir resume {failed.id} --from a --spec celled",
    ]


def test_a_click_on_rerun_uses_the_edited_cell(failed: Run) -> None:
    defined("echo done")
    answer(failed, do="resume")
    resumed = api.open_run(failed.folder)
    assert resumed.wait().status == "completed"
    assert resumed.value("a") == "done"
