"""A saved notebook that is opened again, without the kernel that ran it, shows how its runs ended."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.jupyter_servers import APPS, App
from tests.browser.notebook_page import Opening
from tests.browser.stories import BACKGROUND, open_gate
from tests.sweeps import first_of


@pytest.mark.parametrize("app", first_of(APPS))
def test_a_notebook_opened_again_shows_the_picture_and_no_broken_widget(
    opened: Opening, app: App
) -> None:
    notebook = opened([BACKGROUND], app)
    notebook.run_cell(1)
    open_gate(notebook.folder)
    notebook.window(1).expect_status("completed")
    notebook.save()
    notebook.close()
    notebook.reload()

    expect(notebook.output(1).locator(".pixirnb-picture")).to_be_visible()
    expect(notebook.output(1)).to_contain_text("2 of 2 steps ready")
    expect(notebook.output(1).get_by_text("Error displaying widget")).to_be_hidden()
    notebook.complaints.clear()  # the console says that there is no widget; nobody sees it
