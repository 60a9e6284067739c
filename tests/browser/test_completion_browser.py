"""Tab, pressed in a browser: what the front-end shows of what the kernel offers, and what it puts into the cell."""

from __future__ import annotations

from contextlib import suppress

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.jupyter_servers import APPS, App
from tests.browser.notebook_page import Notebook, Opening
from tests.sweeps import first_of

HALF = """%%workflow half
agents:
  reviewer: {role: You review.}
steps:
  - {id: make, run: make, write_set: ["dist/**"]}
  - id: ship
    task: Ship it.
    dep"""


def written_in(notebook: Notebook, cell: int) -> Locator:
    """The lines of a cell's source."""
    return notebook.cell(cell).locator(".cm-content")


def go_to_end(notebook: Notebook, cell: int) -> None:
    """Put the cursor behind the last character."""
    written_in(notebook, cell).click()
    notebook.page.keyboard.press("Control+End")


def press_tab_for(notebook: Notebook, cell: int, offer: Locator, says: str) -> None:
    """Press Tab at the end of a cell until an offer says it.

    JupyterLab waits a second for a busy kernel and then offers the cell's own words, among which a second Tab only
    moves on: going to the end again closes them.
    """
    for _ in range(10):
        go_to_end(notebook, cell)
        notebook.page.keyboard.press("Tab")
        with suppress(AssertionError):
            expect(offer).to_contain_text(says, timeout=5_000)
            return
    expect(offer).to_contain_text(says)


@pytest.mark.parametrize("app", first_of(APPS))
def test_tab_completes_a_body_step_by_step(opened: Opening, app: App) -> None:
    notebook = opened([HALF], app)
    page, source = notebook.page, written_in(notebook, 1)
    offers = page.locator(".jp-Completer:visible .jp-Completer-item")

    press_tab_for(notebook, 1, offers.filter(has_text="depends_on:").first, "depends_on:")
    expect(offers.first).to_contain_text("depends_on:")
    page.keyboard.press("Enter")
    expect(source).to_contain_text("depends_on:")
    press_tab_for(notebook, 1, offers.filter(has_text="[make]").first, "[make]")
    expect(offers.first).to_contain_text("[make]")
    page.keyboard.press("Enter")
    expect(source).to_contain_text("depends_on: [make]")


@pytest.mark.parametrize("app", first_of(APPS))
def test_tab_offers_verbs_and_options_with_what_they_do(opened: Opening, app: App) -> None:
    notebook = opened(["%pixir ", "%%workflow half --"], app)
    page = notebook.page
    offers = page.locator(".jp-Completer:visible .jp-Completer-item")

    press_tab_for(notebook, 1, offers.filter(has_text="doctor").first, "check runs for problems")
    notebook.screenshot("completion-of-verbs")
    page.keyboard.press("Escape")
    stay = page.locator('.jp-Completer-item[data-value="--wait"]')
    press_tab_for(notebook, 2, stay, "block until the run finishes")
