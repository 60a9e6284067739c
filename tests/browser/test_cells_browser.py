"""What cells promise in a browser: runs in the background, the stop button, cancels from other cells, restarts."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.jupyter_servers import APPS, App
from tests.browser.notebook_page import Opening
from tests.browser.stories import BACKGROUND, WAITING, last_status, open_gate, run_folder
from tests.sweeps import first_of
from tests.views.pictures import drawn_in


@pytest.mark.parametrize("app", first_of(APPS))
def test_a_run_in_the_background_is_live_in_its_cell_and_ends_true_in_the_file(
    opened: Opening, app: App
) -> None:
    notebook = opened([BACKGROUND, "print(run.status)"], app)

    notebook.run_cell(1)
    window = notebook.window(1)
    window.expect_steps(made="ready", gate="running")
    window.expect_status("running")
    notebook.run_cell(2)
    expect(notebook.output(2)).to_have_text("running")
    notebook.screenshot("live")
    open_gate(notebook.folder)
    window.expect_steps(gate="ready")
    window.expect_status("completed")

    notebook.screenshot("completed")
    assert last_status(notebook.folder) == "completed"
    bundle, _ = notebook.saved_bundles(1)
    assert bundle["text/plain"].startswith("✓ completed · story")
    assert drawn_in(bundle["text/html"])


@pytest.mark.parametrize("app", first_of(APPS))
def test_the_stop_button_ends_the_run_of_a_waiting_cell_in_one_line(
    opened: Opening, app: App
) -> None:
    notebook = opened([WAITING, "print('reached')"], app)

    notebook.start_cell(1)
    notebook.start_cell(2)
    window = notebook.window(1)
    window.expect_steps(made="ready", gate="running")
    notebook.interrupt()
    notebook.wait_idle()

    window.expect_status("interrupted")
    expect(notebook.output(1)).to_contain_text("ended as interrupted")
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
    window = notebook.window(1)
    window.expect_steps(made="ready", gate="running")
    notebook.run_cell(2)

    expect(notebook.output(2)).to_contain_text("Stopping r-")
    window.expect_status("interrupted")
    assert last_status(notebook.folder) == "interrupted"
    notebook.run_cell(3)
    expect(notebook.output(3)).to_contain_text("not_live")


@pytest.mark.parametrize("app", first_of(APPS))
def test_after_a_restart_of_the_kernel_a_cell_finishes_the_run(opened: Opening, app: App) -> None:
    notebook = opened([BACKGROUND], app)
    notebook.run_cell(1)
    notebook.window(1).expect_steps(made="ready", gate="running")

    notebook.restart_kernel()
    assert last_status(notebook.folder) == "interrupted"
    # Its kernel is gone, and what the page heard last is not how things stand.
    before = notebook.window(1)
    before.expect_status("was running")
    before.expect_steps(made="ready", gate="was running")
    expect(before.root).to_contain_text("%pixir show r-")
    expect(before.button("Cancel run")).to_have_count(0)
    notebook.screenshot("restarted")
    notebook.run_cell(0)
    resuming = notebook.add_cell(f"%pixir resume {run_folder(notebook.folder).name} --wait")
    notebook.start_cell(resuming)
    window = notebook.window(resuming)
    window.expect_steps(made="ready", gate="running")
    open_gate(notebook.folder)
    notebook.wait_idle()

    window.expect_status("completed")
    notebook.screenshot("resumed")
    assert (notebook.folder / "trace").read_text() == "once\n"
    assert last_status(notebook.folder) == "completed"


def test_a_view_whose_kernel_was_killed_claims_nothing_to_be_running(opened: Opening) -> None:
    notebook = opened([BACKGROUND, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"])
    notebook.run_cell(1)
    window = notebook.window(1)
    window.expect_steps(made="ready", gate="running")

    notebook.start_cell(2)

    window.expect_status("was running")
    window.expect_steps(made="ready", gate="was running")
