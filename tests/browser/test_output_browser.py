"""What a step printed can be read in its panel: searched, unwrapped, and from its first error on."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.notebook_page import Opening
from tests.browser.stories import events

PRINTS = r"""%%workflow prints --run
steps:
  - id: build
    posture: read_only
    run: |
      seq -f 'compiling unit %g of 400: no errors' 180
      printf '\033[31merror: <img src=x onerror=alert(1)>\033[0m %0300d\n' 7
      seq -f 'compiling unit %g of 400: no errors' 181 400
      exit 3
"""


def test_output_is_searched_unwrapped_and_read_from_its_first_error_on(opened: Opening) -> None:
    notebook = opened([PRINTS])
    notebook.run_cell(1)
    window = notebook.window(1)
    window.expect_steps(build="failed")
    output = window.panel("build").get_by_role("group", name="Output", exact=True)
    text = output.get_by_role("group", name="Printed output")
    expect(text).to_contain_text("unit 400")
    is_at_end = "e => e.scrollHeight - e.scrollTop - e.clientHeight < 2"
    assert text.evaluate(is_at_end)

    output.get_by_role("button", name="First error").press("Enter")
    expect(text.locator("mark").first).to_contain_text("error: <img src=x onerror=alert(1)>")
    expect(text.locator("mark").first).to_be_in_viewport()
    output.get_by_role("button", name="Wrap").press("Enter")
    assert text.evaluate("e => e.scrollWidth > e.clientWidth")
    notebook.screenshot("output-error")

    field = output.get_by_role("searchbox", name="Find in output")
    field.fill("UNIT 39")
    expect(output).to_contain_text("1 of 11")
    field.press("Shift+Enter")
    expect(output).to_contain_text("11 of 11")
    expect(text.locator(".pixirnb-here")).to_have_text("unit 39")
    expect(text.locator(".pixirnb-here")).to_be_in_viewport()
    notebook.use_theme("JupyterLab Dark")
    assert [each for each in window.contrasts() if each[1] < 4.5] == []
    notebook.screenshot("output-search-dark")
    field.press("Escape")
    expect(text.locator("mark")).to_have_count(0)
    assert len(events(notebook.folder, "run_started")) == 1
