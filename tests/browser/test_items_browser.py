"""Items of a step: one box with their counts, and in its panel a grid of cells, a list of names, and a panel for each."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.notebook_page import Opening
from tests.browser.run_window import RunWindow

STORY = """
import pixirnb
def half(value):
    if value in {7, 21}:
        raise ValueError(f"no half of {value}")
    return value / 2
run = pixirnb.start({"name": "halves", "steps": [
    {"id": "list", "run": "python -c 'print(list(range(%d)))'", "output": {"format": "json"}, "posture": "read_only"},
    {"id": "half", "title": "Halve each", "depends_on": ["list"], "call": ":half", "with": {"value": "{{ item }}"},
     "for_each": {"items": "{{ steps.list.output }}", "require": "90%%"}},
    {"id": "double", "for_each": {"same_as": "half", "require": "any"}, "run": "echo {{ steps.half.output }}", "read_set": []},
]})
run.wait()
"""


def test_the_items_of_a_step_are_one_box_and_a_grid(opened: Opening) -> None:
    notebook = opened([STORY % 40, "run"])
    notebook.run_all()
    window = RunWindow(notebook.output(2))
    window.expect_steps(list="ready")
    expect(window.root.locator(".pixirnb-step")).to_have_count(3)
    box = window.graph.get_by_role("button", name="Halve each (half): ready")
    notebook.screenshot("items-closed")
    panel = window.panel("Halve each (half)")
    grid = panel.get_by_role("group", name="Items", exact=True)
    expect(grid).to_contain_text("40 items")
    notebook.screenshot("items-open")
