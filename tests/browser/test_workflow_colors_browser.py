"""The body of a workflow cell is YAML to the front-end's editor, and only that."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.jupyter_servers import APPS, App
from tests.browser.notebook_page import Notebook, Opening
from tests.sweeps import first_of

FLOW = """%%workflow colors
# compile and print
steps:
  - {id: compile, run: "print and"}"""


def editor(notebook: Notebook, cell: int) -> Locator:
    return notebook.cell(cell).locator(".cm-content")


def language(notebook: Notebook, cell: int) -> str | None:
    return editor(notebook, cell).get_attribute("data-language")


@pytest.mark.parametrize("app", first_of(APPS))
def test_a_cell_is_yaml_as_long_as_it_begins_with_the_magic(opened: Opening, app: App) -> None:
    notebook = opened([FLOW, "%%step a\nx and print(x)"], app)
    page = notebook.page

    expect(editor(notebook, 1)).to_have_attribute("data-language", "yaml")
    assert language(notebook, 2) not in {None, "yaml"}
    notebook.screenshot("colors")
    editor(notebook, 1).click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("#")
    expect(editor(notebook, 1)).to_have_attribute("data-language", str(language(notebook, 2)))
    page.keyboard.press("Backspace")
    expect(editor(notebook, 1)).to_have_attribute("data-language", "yaml")
    assert notebook.complaints == []
