"""What the live view promises in a browser: heard while cells wait, right after a reload, in two places, in the dark."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.jupyter_servers import APPS, App
from tests.browser.notebook_page import Notebook, Opening
from tests.browser.run_window import RunWindow
from tests.browser.stories import ASKING, BACKGROUND, WAITING, events, last_status, open_gate
from tests.sweeps import first_of

READABLE = 4.5
"""The least contrast of small text (WCAG 2, AA)."""


@pytest.mark.parametrize("app", first_of(APPS))
def test_its_cancel_button_ends_the_run_of_a_cell_that_waits(opened: Opening, app: App) -> None:
    notebook = opened([WAITING], app)
    notebook.start_cell(1)
    window = notebook.window(1)
    window.expect_steps(made="ready", gate="running")

    window.button("Cancel run").click()
    notebook.wait_idle()

    window.expect_status("interrupted")
    expect(notebook.output(1)).to_contain_text("ended as interrupted")
    notebook.screenshot("cancelled")
    assert last_status(notebook.folder) == "interrupted"


@pytest.mark.parametrize("app", first_of(APPS))
def test_its_cancel_button_is_heard_while_another_cell_keeps_the_kernel_busy(
    opened: Opening, app: App
) -> None:
    busy = "import time\nwhile run.status == 'running': time.sleep(0.05)\nprint(run.status)"
    notebook = opened([BACKGROUND, busy], app)
    notebook.run_cell(1)
    window = notebook.window(1)
    window.expect_steps(made="ready", gate="running")
    notebook.start_cell(2)

    window.button("Cancel run").click()
    notebook.wait_idle()

    expect(notebook.output(2)).to_have_text("interrupted")
    window.expect_status("interrupted")


def test_it_comes_back_right_after_a_reload_and_goes_on(opened: Opening) -> None:
    notebook = opened([BACKGROUND])
    notebook.run_cell(1)
    notebook.window(1).expect_steps(made="ready", gate="running")

    notebook.reload()
    window = notebook.window(1)
    window.expect_steps(made="ready", gate="running")
    open_gate(notebook.folder)

    window.expect_steps(gate="ready")
    window.expect_status("completed")
    notebook.screenshot("reloaded")
    # Jupyter forgets with the page which output an update is for: the file keeps what it had, and says of when it is.
    bundle, _ = notebook.saved_bundles(1)
    assert "Snapshot;" in bundle["text/plain"]


def test_all_views_of_one_run_are_one(opened: Opening) -> None:
    notebook = opened([BACKGROUND, "run"])
    notebook.run_cell(1)
    notebook.run_cell(2)
    beside = RunWindow(notebook.copy_output(1))
    windows = [notebook.window(1), notebook.window(2), beside]
    for window in windows:
        window.expect_steps(made="ready", gate="running")
    windows[1].button("Timeline").click()
    expect(windows[1].graph).to_be_hidden()
    expect(windows[0].graph).to_be_visible()
    windows[1].button("Graph").click()
    notebook.screenshot("views")
    open_gate(notebook.folder)

    for window in windows:
        window.expect_steps(gate="ready")
        window.expect_status("completed")


def test_every_text_can_be_read_in_the_light_and_in_the_dark(opened: Opening) -> None:
    notebook = opened([BACKGROUND])
    notebook.run_cell(1)
    window = notebook.window(1)
    window.expect_steps(made="ready", gate="running")
    window.panel("made")

    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        notebook.use_theme(theme)
        notebook.screenshot(theme.split()[1].lower())
        told = window.contrasts()
        assert {"made", "gate", "story"} <= {words for words, _, _ in told}
        assert [entry for entry in told if entry[1] < READABLE] == []
        grounds = {ground for _, _, ground in told}
        assert max(grounds) < 0.3 if "Dark" in theme else min(grounds) > 0.6


def test_a_person_decides_in_the_panel_and_the_run_goes_on(opened: Opening) -> None:
    notebook = opened([ASKING])
    notebook.run_cell(1)
    window = notebook.window(1)
    window.expect_steps(made="ready", ship="needs", sent="held")

    panel = window.panel("ship")
    panel.get_by_role("radio", name="later").check()
    panel.get_by_label("Note").fill("after <b>the</b> freeze")
    notebook.screenshot("asking")
    panel.get_by_role("button", name="Accept").click()

    window.expect_steps(ship="ready", sent="ready")
    window.expect_status("completed")
    expect(panel).to_contain_text("after <b>the</b> freeze")
    notebook.screenshot("decided")
    (decided,) = events(notebook.folder, "decision_recorded")
    assert (decided["verdict"], decided["value"]) == ("accept", "later")
    assert decided["note"] == "after <b>the</b> freeze"


def test_the_slider_goes_through_the_history_and_back_to_the_end(opened: Opening) -> None:
    notebook = opened([WAITING])
    notebook.start_cell(1)
    window = notebook.window(1)
    window.expect_steps(made="ready", gate="running")

    replayed(window)
    window.slider.press("End")
    open_gate(notebook.folder)
    notebook.wait_idle()
    window.expect_steps(gate="ready")
    replayed(window)
    notebook.screenshot("replay")
    kernel_gone(notebook)
    window.slider.press("End")
    window.expect_steps(made="ready", gate="ready")
    replayed(window)


def replayed(window: RunWindow) -> None:
    """At the beginning nothing had started; a little later `made` was ready and `gate` was not."""
    window.slider.press("Home")
    window.expect_steps(made="not started", gate="not started")
    while window.step("made", "ready").count() == 0:
        window.slider.press("ArrowRight")
    assert window.step("gate", "ready").count() == 0


def kernel_gone(notebook: Notebook) -> None:
    """End the kernel: what the page knows, it knows."""
    kernel = notebook.server.kernel_of(notebook.path)
    assert kernel is not None
    notebook.server.shut_down(kernel)
