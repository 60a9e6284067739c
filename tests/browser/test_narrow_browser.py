"""Looks that a person notices: in a narrow output nothing sticks out or is cut off, and words stay whole."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, ViewportSize, expect

from tests.browser.notebook_page import Opening
from tests.browser.test_conversation_browser import ASKING
from tests.sweeps import first_of

NARROW: ViewportSize = {"width": 640, "height": 900}
WIDE: ViewportSize = {"width": 1280, "height": 1100}
UNSURE = """%%workflow unsure --run --as run
agents:
  worker: {runner: scripted, script: {"*": [[{say: "I cannot tell.\\n"},
    {report: {checkpoint_status: needs_orchestrator, summary: "which colour has `talk`?"}}]]}}
steps:
  - {id: talk, task: "Choose a colour.", agent: worker, posture: read_only}
"""
PLANNED = """%%workflow planned
agents:
  worker: {runner: scripted, script: {"*": [[{say: done}]]}}
steps:
  - {id: talk, agent: worker, posture: read_only,
     task: "Look around, and say in many plain words what it is that there is to be seen."}
"""
# Words of a text that stand on two lines.
BROKEN = """
element => {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    for (const match of texts.currentNode.textContent.matchAll(/[a-z]+/gi)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, match.index);
      range.setEnd(texts.currentNode, match.index + match[0].length);
      const tops = new Set([...range.getClientRects()].filter(({ width }) => width).map(({ top }) => Math.round(top)));
      if (tops.size > 1) found.push(match[0]);
    }
  }
  return found;
}
"""
# Controls that stick out of the view they are in.
OUTSIDE = """
root => {
  const { left, right } = root.getBoundingClientRect();
  const isOutside = box => box.right > right || box.left < left;
  return [...root.querySelectorAll("button, input, select, h3 > span")]
    .filter(each => each.getClientRects().length && !each.closest(".pixirnb-bookmarks, .pixirnb-frame"))
    .filter(each => isOutside(each.getBoundingClientRect()))
    .map(each => each.getAttribute("aria-label") ?? each.textContent);
}
"""


def broken(place: Locator) -> list[str]:
    found: list[str] = place.evaluate(BROKEN)
    return found


@pytest.mark.parametrize("theme", first_of(["JupyterLab Light", "JupyterLab Dark"]))
def test_in_a_narrow_output_nothing_sticks_out_and_names_stay_whole(
    opened: Opening, theme: str
) -> None:
    notebook = opened([ASKING])
    notebook.use_theme(theme)
    notebook.page.set_viewport_size(NARROW)
    notebook.run_cell(1)
    window = notebook.window(1)
    window.expect_steps(talk="needs permission")
    panel = window.panel("talk")
    asked = panel.get_by_role("form", name="Permission for")
    expect(asked).to_be_visible()
    asked.scroll_into_view_if_needed()
    notebook.screenshot(f"narrow-{theme.split()[1]}")
    assert broken(panel.get_by_role("heading", name="talk")) == []
    assert broken(asked.get_by_text("input", exact=True)) == []
    assert window.root.evaluate(OUTSIDE) == []
    window.root.get_by_label("Find a step").scroll_into_view_if_needed()
    notebook.screenshot(f"narrow-head-{theme.split()[1]}")
    pace = window.root.get_by_label("Playback speed")
    pace.scroll_into_view_if_needed()
    track, end = window.slider.bounding_box(), pace.locator("+ button").bounding_box()
    assert track is not None
    assert end is not None
    assert track["width"] >= 90
    assert end["y"] >= track["y"] + track["height"]
    notebook.screenshot(f"narrow-foot-{theme.split()[1]}")


@pytest.mark.parametrize("theme", first_of(["JupyterLab Light", "JupyterLab Dark"]))
def test_a_question_in_the_panel_shows_names_as_code(opened: Opening, theme: str) -> None:
    notebook = opened([UNSURE])
    notebook.use_theme(theme)
    notebook.page.set_viewport_size(WIDE)
    notebook.run_cell(1)
    window = notebook.window(1)
    window.expect_steps(talk="needs a decision")
    panel = window.panel("talk")
    asked = panel.get_by_role("form", name="Decide talk")
    expect(asked).to_be_visible()
    notebook.screenshot(f"wide-{theme.split()[1]}")
    question = panel.get_by_role("group", name="Question")
    expect(question.locator("code").first).to_have_text("talk")
    assert "`" not in question.inner_text()


def test_a_plan_sets_names_as_code_and_breaks_its_prompts_between_words(opened: Opening) -> None:
    notebook = opened([PLANNED])
    notebook.page.set_viewport_size(NARROW)
    notebook.run_cell(1)
    card = notebook.output(1)
    card.get_by_text("Prompt of talk").click()
    prompt = card.locator("pre")
    expect(prompt).to_contain_text("many plain words")
    notebook.screenshot("plan-narrow")
    assert broken(prompt) == []
    warnings = card.locator("h4", has_text="Warnings").locator("+ ul")
    expect(warnings.locator("code").first).to_have_text("talk")
    assert "`" not in warnings.inner_text()
