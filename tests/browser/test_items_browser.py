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
    {"id": "list", "run": "python -c 'print(list(range(40)))'", "output": {"format": "json"}, "posture": "read_only"},
    {"id": "half", "title": "Halve each", "depends_on": ["list"], "call": ":half", "with": {"value": "{{ item }}"},
     "for_each": {"items": "{{ steps.list.output }}", "require": "90%"}},
    {"id": "double", "for_each": {"same_as": "half", "require": "any"}, "run": "echo {{ steps.half.output }}", "read_set": []},
]})
run.wait()
"""


def test_the_items_of_a_step_are_one_box_and_a_grid(opened: Opening) -> None:
    notebook = opened([STORY, "run"])
    notebook.run_all()
    window = RunWindow(notebook.output(2))
    window.expect_steps(list="ready", double="ready")
    expect(window.root.locator(".pixirnb-step")).to_have_count(3)
    panel = window.panel("Halve each (half)")
    grid = panel.get_by_role("group", name="Items", exact=True)
    expect(grid).to_contain_text("40 items")
    names = grid.get_by_role("list", name="Items by name").get_by_role("button")
    expect(names.nth(0)).to_have_accessible_name("7 (half@7): failed")
    expect(names.nth(2)).to_have_accessible_name("0 (half@0): ready")
    notebook.screenshot("items")

    grid.get_by_role("button", name="2 failed").click()
    expect(names).to_have_count(2)
    grid.get_by_role("searchbox", name="Find an item").fill("21")
    expect(names).to_have_count(1)
    names.nth(0).press("Enter")
    item = window.root.get_by_label("Step half@21", exact=True)
    expect(item).to_contain_text("no half of 21")
    expect(item).to_contain_text("item of Halve each")
    notebook.screenshot("item")
    item.get_by_role("button", name="Back to Halve each (half)").click()
    expect(grid).to_contain_text("40 items")

    grid.locator("canvas").click(position={"x": 5, "y": 5})
    expect(window.root.get_by_label("Step half@7", exact=True)).to_be_visible()
    window.button("Timeline").click()
    expect(window.root.locator(".pixirnb-timeline-row")).to_have_count(3)
    notebook.screenshot("items-timeline")
    window.slider.press("Home")
    expect(window.root.get_by_label("Step half@7", exact=True)).to_be_visible()
