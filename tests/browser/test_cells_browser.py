"""What cells promise in a browser: pictures, waiting, the stop button, cancels, restarts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jupyter_servers import APPS, App
from notebook_page import Notebook, Opening
from playwright.sync_api import expect

STORY = """%%workflow story OPTIONS
steps:
  - {id: made, run: "echo once >> trace; echo made it", write_set: [trace]}
  - {id: gate, run: "until [ -e go ]; do sleep 0.1; done; echo through", posture: read_only, read_set: [], depends_on: [made]}
"""
WAITING, BACKGROUND = (
    STORY.replace("OPTIONS", "--wait --as run"),
    STORY.replace("OPTIONS", "--run --as run"),
)


def log_of(folder: Path) -> list[dict[str, Any]]:
    """The events of the one run there is."""
    (log,) = (folder / ".pixirnb" / "runs").glob("*/log.jsonl")
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def last_status(folder: Path) -> str:
    """How the one run came to rest."""
    last = log_of(folder)[-1]
    assert last["kind"] == "run_finished"
    return str(last["data"]["status"])


def run_id(notebook: Notebook) -> str:
    """The id of the one run there is."""
    (run,) = (notebook.folder / ".pixirnb" / "runs").iterdir()
    return run.name


@pytest.mark.parametrize("app", APPS)
def test_a_run_in_the_background_ends_true_in_the_cell_and_in_the_file(
    opened: Opening, app: App
) -> None:
    notebook = opened([BACKGROUND, "print(run.status)"], app)

    notebook.run_cell(1)
    expect(notebook.output(1)).to_contain_text("running")
    notebook.run_cell(2)
    expect(notebook.output(2)).to_have_text("running")
    (notebook.folder / "go").touch()

    expect(notebook.output(1)).to_contain_text("2 of 2 steps ready")
    notebook.screenshot("background")
    assert last_status(notebook.folder) == "completed"
    bundle = notebook.saved_bundles(1)[0]
    assert bundle["text/plain"].startswith("✓ completed · story")
    assert "<svg" in bundle["text/html"]


@pytest.mark.parametrize("app", APPS)
def test_the_stop_button_ends_the_run_of_a_waiting_cell_in_one_line(
    opened: Opening, app: App
) -> None:
    notebook = opened([WAITING, "print('reached')"], app)

    notebook.start_cell(1)
    notebook.start_cell(2)
    expect(notebook.output(1)).to_contain_text("made it")
    notebook.interrupt()
    notebook.wait_idle()

    expect(notebook.output(1)).to_contain_text("interrupted: r-")
    expect(notebook.output(2)).to_have_text("")
    notebook.screenshot("interrupted")
    errors = [
        output
        for cell in notebook.saved()["cells"]
        for output in cell["outputs"]
        if output["output_type"] == "error"
    ]
    assert [len(error["traceback"]) for error in errors] == [1]
    assert "\n" not in errors[0]["traceback"][0]
    assert notebook.saved_bundles(1)[0]["text/plain"].startswith("■ interrupted · story")
    assert last_status(notebook.folder) == "interrupted"
    expect(notebook.run_new("print(run.status)")).to_have_text("interrupted")


def test_a_cancel_from_another_cell_shows_in_the_first(opened: Opening) -> None:
    notebook = opened([BACKGROUND, "%pixir cancel {run.id}", "%pixir cancel {run.id}"])

    notebook.run_cell(1)
    expect(notebook.output(1)).to_contain_text("made it")
    notebook.run_cell(2)

    expect(notebook.output(2)).to_contain_text("Asked r-")
    expect(notebook.output(1)).to_contain_text("interrupted")
    assert last_status(notebook.folder) == "interrupted"
    notebook.run_cell(3)
    expect(notebook.output(3)).to_contain_text("not_live: r-")


@pytest.mark.parametrize("app", APPS)
def test_after_a_restart_of_the_kernel_a_cell_finishes_the_run(opened: Opening, app: App) -> None:
    notebook = opened([BACKGROUND], app)
    notebook.run_cell(1)
    expect(notebook.output(1)).to_contain_text("made it")

    notebook.restart_kernel()
    assert last_status(notebook.folder) == "interrupted"
    notebook.run_cell(0)
    resuming = notebook.add_cell(f"%pixir resume {run_id(notebook)} --wait")
    notebook.start_cell(resuming)
    expect(notebook.output(resuming)).to_contain_text("running")
    (notebook.folder / "go").touch()
    notebook.wait_idle()

    expect(notebook.output(resuming)).to_contain_text("2 of 2 steps ready")
    notebook.screenshot("resumed")
    assert (notebook.folder / "trace").read_text() == "once\n"
    assert last_status(notebook.folder) == "completed"
