"""Where things stand in the live view: graph at full width, replay below it, the step beneath; and what the head says."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.jupyter_servers import APPS, App
from tests.browser.notebook_page import Opening
from tests.browser.run_window import RunWindow

SMALL = """%%workflow small --wait
steps:
  - {id: a, run: "echo one", posture: read_only}
  - {id: b, run: "echo two", posture: read_only, depends_on: [a]}
  - {id: c, run: "echo three", posture: read_only, depends_on: [b]}
"""
FAILS = """%%workflow fails --wait --expect partial --as run
steps:
  - {id: a, run: "echo one", posture: read_only}
  - {id: b, run: "echo trying; echo 'app.py:12: no <b>such</b> thing' >&2; test -e mended", posture: read_only, depends_on: [a]}
  - {id: c, run: "echo three", posture: read_only, depends_on: [b]}
"""
ASKS = """%%workflow asks --run
steps:
  - {id: gate, ask: {question: "Ship it?", choices: [now, later]}}
  - {id: c, run: "echo {{ steps.gate.output }}", posture: read_only, depends_on: [gate]}
"""
GRAPH = (
    "view => [...view.querySelectorAll('.pixirnb-graph > g')].map(g => g.getAttribute('transform'))"
)
BOX = """(view, selector) => {
  const [{x, y, width, height}, whole] = [view.querySelector(selector), view].map(part => part.getBoundingClientRect());
  return {x, y: y - whole.y, width, height};
}"""


def box(window: RunWindow, selector: str) -> dict[str, float]:
    """Where a part of the view is, within the view; read at one moment, for JupyterLab may scroll between two."""
    found: dict[str, float] = window.root.evaluate(BOX, selector)
    return found


def test_a_step_opens_below_the_graph_and_leaves_it_as_it_was(opened: Opening) -> None:
    notebook = opened([SMALL])
    notebook.run_cell(1)
    window = notebook.window(1)
    window.expect_status("completed")

    def stands() -> Any:
        return box(window, ".pixirnb-frame"), window.root.evaluate(GRAPH)

    before, height = stands(), box(window, ".pixirnb-replay")
    panel = window.panel("b")
    expect(panel).to_contain_text("two")
    notebook.screenshot("zones")
    assert stands() == before
    frame, replay = box(window, ".pixirnb-frame"), box(window, ".pixirnb-replay")
    below = box(window, ".pixirnb-panel")
    assert frame["y"] + frame["height"] <= replay["y"]
    assert replay["y"] + replay["height"] <= below["y"]
    assert below["height"] <= 420
    assert below["width"] >= frame["width"] - 2

    panel.press("Escape")
    expect(panel).to_be_hidden()
    assert (stands(), box(window, ".pixirnb-replay")) == (before, height)


def test_a_small_completed_run_is_no_taller_than_its_graph_needs(opened: Opening) -> None:
    notebook = opened([SMALL])
    notebook.run_cell(1)
    window = notebook.window(1)
    window.expect_status("completed")
    notebook.screenshot("small")
    whole = window.root.bounding_box()
    assert whole is not None
    assert whole["height"] <= 200


def test_the_head_says_why_a_run_is_not_completed_and_previews_the_rerun(opened: Opening) -> None:
    notebook = opened([FAILS])
    notebook.run_cell(1)
    window = notebook.window(1)
    window.expect_status("partial")
    attention = window.root.get_by_role("group", name="Needs attention")
    expect(attention).to_contain_text(
        "b failed: exited with code 1. app.py:12: no <b>such</b> thing"
    )
    notebook.screenshot("head-failed")

    window.panel("b")
    expect(attention).to_be_hidden()
    window.root.get_by_role("button", name="Close the panel").click()
    attention.get_by_role("button", name="Rerun …").click()
    forecast = window.root.get_by_role("group", name="Rerun b")
    expect(forecast).to_contain_text("Would reuse 1 and run 2.")
    (notebook.folder / "mended").touch()
    forecast.get_by_role("button", name="Start").click()
    window.expect_status("completed")
    expect(attention).to_be_hidden()


def test_a_question_is_answered_in_the_head(opened: Opening) -> None:
    notebook = opened([ASKS])
    notebook.run_cell(1)
    window = notebook.window(1)
    form = window.root.get_by_role("form", name="Decide gate")
    form.get_by_label("later").check()
    notebook.screenshot("head-asks")
    form.get_by_role("button", name="Accept").click()
    window.expect_status("completed")
    expect(form).to_have_count(0)


def test_a_cell_keeps_what_it_said_when_the_run_goes_on_in_another(opened: Opening) -> None:
    notebook = opened([FAILS, "open('mended', 'w').close()\n%pixir resume @last --wait"])
    notebook.run_cell(1)
    above, below = notebook.window(1), notebook.window(2)
    above.expect_status("partial")
    notebook.run_cell(2)
    below.expect_status("completed")

    output = notebook.output(1)
    now = output.get_by_role("button", name="Show the run now")
    expect(now).to_be_visible()
    expect(output).to_contain_text("As it ended here. The run went on in cell [3]: completed.")
    expect(output.locator(".pixirnb-status:visible")).to_contain_text("partial")
    expect(above.graph).to_be_hidden()
    notebook.screenshot("pinned")
    bundle, _ = notebook.saved_bundles(1)
    assert "partial · fails" in bundle["text/plain"]

    now.click()
    above.expect_status("completed")
    expect(output.get_by_text("As it ended here")).to_be_hidden()
    now.click()
    expect(output.get_by_text("As it ended here")).to_be_visible()


@pytest.mark.parametrize("app", APPS)
def test_a_view_opens_in_a_tab_where_the_front_end_has_tabs(opened: Opening, app: App) -> None:
    notebook = opened([SMALL], app)
    notebook.run_cell(1)
    window = notebook.window(1)
    window.expect_status("completed")

    window.root.locator("summary").get_by_text("⋯").click()
    button = window.button("Open in a tab")
    if app != "lab":
        expect(button).to_be_hidden()
        return
    button.click()
    tab = RunWindow(notebook.page.locator(".jp-LinkedOutputView"))
    tab.expect_steps(a="ready", b="ready", c="ready")
    tab.panel("b")
    expect(window.root.get_by_label("Step b", exact=True)).to_be_hidden()
    tab.root.locator("summary").get_by_text("⋯").click()
    expect(tab.button("Full screen")).to_be_visible()
    expect(tab.button("Open in a tab")).to_be_hidden()
    notebook.screenshot("tab")
