"""A fan-out is one box, which keys unfold and fold again; each of its steps can be found and chosen."""

from __future__ import annotations

import json

from playwright.sync_api import expect

from tests.browser.notebook_page import Opening
from tests.browser.run_window import RunWindow

STORY = """
import pixirnb
quiet = {"posture": "read_only", "read_set": []}
parts = [{"id": f"part-{n:02}", "run": f"exit {int(n == 7)}", "depends_on": ["split"], **quiet} for n in range(12)]
split = {"id": "split", "run": "true", **quiet}
run = pixirnb.start({"name": "fan", "max_concurrency": 4, "steps": [split, *parts]})
run.wait()
"""


def test_a_stack_is_unfolded_by_keys_and_its_steps_are_found(opened: Opening) -> None:
    notebook = opened([STORY, "run"])
    notebook.run_all()
    window = RunWindow(notebook.output(2))
    window.expect_steps(**{"split": "ready", "part-07": "failed"})
    steps = window.root.locator(".pixirnb-step")
    expect(steps).to_have_count(3)
    stack = window.graph.get_by_role("button", name="part-00 … 11, 12 steps: 11 ready, 1 failed.")
    expect(stack).to_have_attribute("aria-expanded", "false")

    stack.focus()
    stack.press("Enter")
    expect(stack).to_have_attribute("aria-expanded", "true")
    expect(stack).to_be_focused()
    expect(steps).to_have_count(14)
    stack.press("ArrowDown")
    expect(stack).not_to_be_focused()
    stack.focus()
    stack.press("Enter")
    expect(steps).to_have_count(3)

    window.find("part-04")
    window.panel("part-04")
    expect(steps).to_have_count(4)
    notebook.screenshot("stack")


def test_a_large_graph_of_a_run_at_rest_opens_at_its_failure(opened: Opening) -> None:
    steps = [
        {
            "id": f"s{n}",
            "run": "false" if n == 30 else "true",
            "posture": "read_only",
            "depends_on": [f"s{n - 1}"] if n else [],
        }
        for n in range(40)
    ]
    cell = f"%%workflow long --wait --expect partial --as run\n{json.dumps({'steps': steps})}"
    notebook = opened([cell, "run"])
    notebook.run_all()
    for shown in (1, 2):  # that comes to rest while it is shown, and that is at rest when it is
        window = RunWindow(notebook.output(shown))
        window.root.scroll_into_view_if_needed()
        expect(window.step("s30", "failed")).to_be_in_viewport()
