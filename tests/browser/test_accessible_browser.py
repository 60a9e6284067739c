"""What an audit of accessibility finds in the live view: nothing, in each of its states, in light, dark and forced colours.

The audit is `axe-core`, put into build/axe by `.ci/wire` where node is there. Elsewhere this file holds no test.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.browser.notebook_page import Notebook, Opening

AXE = Path(__file__).parents[2] / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
STORY = """%%workflow story --run
agents:
  worker: {runner: scripted, script: {"*": [[{say: "I."}, {tool: look, args: {path: a}, result: "b"}, {say: "**Done**."}]]}}
steps:
  - {id: make, run: "echo made", posture: read_only}
  - {id: talk, task: "Look around.", agent: worker, posture: read_only, depends_on: [make]}
  - {id: fails, run: "echo no; exit 3", posture: read_only, depends_on: [make]}
  - {id: gate, ask: {question: "Ship it?", choices: [now, later]}, depends_on: [make]}
  - {id: last, run: "echo last", posture: read_only, depends_on: [fails, gate]}
"""
_AUDIT = """
async () => (await axe.run({include: [[".pixirnb-window"]]})).violations
  .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
"""


def found(notebook: Notebook) -> list[Any]:
    """What the audit finds in the views of a page."""
    if not notebook.page.evaluate("'axe' in window"):
        notebook.page.evaluate(AXE.read_text(encoding="utf-8"))
    violations: list[Any] = notebook.page.evaluate(_AUDIT)
    return violations


if AXE.exists():

    def test_an_audit_of_accessibility_finds_nothing_in_any_state(opened: Opening) -> None:
        notebook = opened([STORY])
        notebook.run_cell(1)
        window = notebook.window(1)
        window.expect_status("needs a decision")
        expect(window.root.get_by_role("form", name="Decide gate")).to_be_visible()
        states = {"asks": found(notebook)}
        panel = window.panel("talk")
        expect(panel.get_by_role("log")).to_contain_text("Done")
        states["conversation"] = found(notebook)
        window.panel("fails")
        window.button("Timeline").click()
        states["timeline"] = found(notebook)
        for theme in ("JupyterLab Dark", "JupyterLab Light"):
            notebook.use_theme(theme)
            states[theme] = found(notebook)
        window.slider.press("Home")
        states["past"] = found(notebook)
        window.button("Graph").click()
        notebook.page.emulate_media(forced_colors="active")
        states["forced colours"] = found(notebook)
        notebook.page.emulate_media(forced_colors="none")
        window.slider.press("End")
        window.root.get_by_role("form", name="Decide gate").get_by_label("now").check()
        window.root.get_by_role("button", name="Accept").first.click()
        window.expect_status("partial")
        states["failed"] = found(notebook)
        assert {state: told for state, told in states.items() if told} == {}
