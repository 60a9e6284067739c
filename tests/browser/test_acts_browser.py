"""A run whose workflow was edited is replayed with the steps it had then, and goes on with those it has now."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.notebook_page import Opening
from tests.browser.run_window import RunWindow

STORY = """
import pixirnb
quiet = {"posture": "read_only", "read_set": []}
first = {"name": "edited", "steps": [{"id": "make", "run": "echo made", **quiet}, {"id": "old", "run": "exit 1", **quiet}]}
then = {"name": "edited", "steps": [{"id": "fresh", "run": "echo new", **quiet}, first["steps"][0]]}
run = pixirnb.start(first)
run.wait()
pixirnb.resume(run.id, spec=then).wait()
run = pixirnb.open_run(run.id)
"""


def test_before_an_edit_the_steps_are_those_of_then(opened: Opening) -> None:
    notebook = opened([STORY, "run"])
    notebook.run_all()
    window = RunWindow(notebook.output(2))
    window.expect_status("completed")
    window.expect_steps(make="ready", fresh="ready")
    assert window.root.get_by_role("button", name="old:").count() == 0

    window.slider.focus()
    window.slider.press("Home")
    window.expect_steps(make="not started", old="not started")
    assert window.root.locator(".pixirnb-step").count() == 2
    while "run resumed" not in (told := window.slider.get_attribute("aria-valuetext") or ""):
        window.slider.press("ArrowRight")
        expect(window.slider).not_to_have_attribute(
            "aria-valuetext", told
        )  # drawn with the next frame
    window.slider.press("ArrowLeft")
    window.expect_steps(make="ready", old="failed")
    notebook.screenshot("before-the-edit")
    window.slider.press("ArrowRight")
    window.expect_steps(make="ready", fresh="not started")
    window.slider.press("End")
    window.expect_steps(make="ready", fresh="ready")
