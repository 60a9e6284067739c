"""A plan that is run with a click, and pages on which several runs are shown."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.notebook_page import Opening
from tests.browser.run_window import RunWindow
from tests.browser.stories import ASKING
from tests.stories.storyline import until

PLAN = """%%workflow release
steps:
  - {id: build, run: "until [ -e go ]; do sleep 0.1; done; echo built", posture: read_only}
  - {id: test, run: "echo tested", posture: read_only, depends_on: [build]}
  - {id: ship, run: "echo shipped", posture: read_only, depends_on: [test]}
"""
NEEDY = """%%workflow needy
inputs: {city: {type: string}}
steps: [{id: a, run: "echo {{ inputs.city }}", posture: read_only}]
"""


def test_a_plan_is_run_with_a_click_and_comes_alive_in_its_place(opened: Opening) -> None:
    notebook = opened([PLAN, NEEDY])
    notebook.run_cell(1)
    notebook.run_cell(2)
    needy = notebook.output(2)
    needy.get_by_role("button", name="Run", exact=True).click()
    expect(needy).to_contain_text("Missing input city (string).")
    needy.get_by_role("button", name="Insert cell").click()
    expect(notebook.cell(3)).to_contain_text("%pixir run needy --input city=")

    output = notebook.output(1)
    expect(output.get_by_text("Nothing has run.")).to_be_visible()
    expect(output.get_by_role("button", name="Run until here")).to_be_hidden()
    output.get_by_label("Until").select_option("test")
    notebook.screenshot("plan-light")
    notebook.use_theme("JupyterLab Dark")
    notebook.screenshot("plan-dark")
    output.get_by_role("button", name="Run until here").click()
    window = notebook.window(1)
    window.expect_steps(build="running")
    expect(output.get_by_text("Nothing has run.")).to_be_hidden()
    expect(output.get_by_role("button", name="Run", exact=True)).to_have_count(0)
    expect(window.root).to_be_focused()
    notebook.screenshot("plan-running-dark")
    (notebook.folder / "go").touch()
    window.expect_steps(build="ready", test="ready", ship="held")
    window.expect_status("partial")
    # The picture in the file is another message than the one that the view has shown.
    until(lambda: "partial · release" in notebook.saved_bundles(1)[0]["text/plain"])


def test_views_of_several_runs_are_back_after_a_reload_and_a_plan_can_still_be_run(
    opened: Opening,
) -> None:
    notebook = opened([ASKING, "run", PLAN])
    for cell in (1, 2, 3):
        notebook.run_cell(cell)
    title = notebook.page.title
    first, second = notebook.window(1), notebook.window(2)
    first.expect_steps(ship="needs a decision")
    assert title().startswith("◆ asking · ")
    first.panel("made")
    expect(second.root.get_by_label("Step made", exact=True)).to_have_count(0)
    second.button("Timeline").click()
    expect(first.graph).to_be_visible()
    assert notebook.page.locator("style[id$=PageModule]").count() == 1

    notebook.reload()
    for window in (first, second):
        window.expect_steps(made="ready")
    notebook.output(3).get_by_role("button", name="Run", exact=True).click()
    live: RunWindow = notebook.window(3)
    live.expect_steps(build="running")
    expect(notebook.output(3).get_by_text("Nothing has run.")).to_be_hidden()
    (notebook.folder / "go").touch()
    live.expect_status("completed")
    notebook.screenshot("plan-after-reload")

    form = first.root.get_by_role("form", name="Decide ship")
    form.get_by_label("now").check()
    form.get_by_role("button", name="Accept").click()
    first.expect_status("completed")
    expect(notebook.page).not_to_have_title("◆ asking · ")
    assert "◆" not in title()


def test_after_a_restart_of_the_kernel_the_buttons_of_a_plan_are_off_and_say_why(
    opened: Opening,
) -> None:
    notebook = opened([PLAN])
    notebook.run_cell(1)
    output = notebook.output(1)
    button = output.get_by_role("button", name="Run", exact=True)
    expect(button).to_be_enabled()
    notebook.restart_kernel()
    if button.is_enabled():
        button.click()
    expect(output).to_contain_text("The kernel was restarted. Run this cell again to run the plan.")
    expect(button).to_be_disabled()
    notebook.screenshot("plan-restarted")
