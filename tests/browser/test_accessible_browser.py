"""An audit of accessibility finds nothing in the views of a page, in each of their states, in light, dark and forced colours.

The audit is `axe-core`, put into build/axe by `.ci/wire` where node is there. Elsewhere this file holds no test.
"""

from __future__ import annotations

import json
import sys
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
PLAN = """%%workflow release
steps:
  - {id: build, run: "echo built", posture: read_only}
  - {id: test, run: "echo tested", posture: read_only, depends_on: [build]}
"""
WRONG = """%%workflow wrong --wait
steps:
  - {id: build, run: "make", depend_on: [fetch], timeout: 5 minuts}
"""
LIVE = """%%workflow live --run --as live
steps:
  - {id: fetch, run: "echo fetched", posture: read_only}
  - {id: train, run: "until [ -e go ]; do sleep 0.1; done", posture: read_only, depends_on: [fetch]}
"""
PARTS = "%%workflow parts --wait --expect failed\n" + json.dumps(
    {"steps": [{"id": f"part-{n}", "run": f"exit {n // 19}"} for n in range(20)]}
)
ASKING = """%%workflow asking --run
agents:
  worker: {runner: acp, permission_mode: ask,
    command: [PYTHON, -m, pixirnb.testing.agents.acp, "say:I would.\\n", "ask:edit:a.py"]}
steps:
  - {id: talk, task: "Change it.", agent: worker, workspace: shared}
""".replace("PYTHON", json.dumps(sys.executable))
CLASH = """%%workflow clash --run
steps:
  - {id: types, workspace: isolated, write_set: [a.txt], run: "sed -i s/one/ONE/ a.txt"}
  - {id: api, workspace: isolated, write_set: [a.txt], run: "sed -i s/one/uno/ a.txt"}
  - {id: land, merge: [types, api], depends_on: [types, api]}
"""
MADE = "import pathlib\npathlib.Path('a.txt').write_text('one')"
_AUDIT = """
async () => (await axe.run({include: [[".pixirnb-view"]]})).violations
  .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
"""


class Audit:
    """What is found in each state of the views of a page, in each way in which colours are shown."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook = notebook
        self.found: dict[str, list[Any]] = {}
        notebook.page.evaluate(AXE.read_text(encoding="utf-8"))

    def look(self, state: str) -> None:
        """Audit what is in sight in light, dark and forced colours."""
        notebook = self.notebook
        for theme in ("JupyterLab Light", "JupyterLab Dark"):
            notebook.use_theme(theme)
            self._keep(f"{state}, {theme}")
        notebook.page.emulate_media(forced_colors="active")
        self._keep(f"{state}, forced colours")
        notebook.page.emulate_media(forced_colors="none")

    def _keep(self, state: str) -> None:
        violations: list[Any] = self.notebook.page.evaluate(_AUDIT)
        if violations:
            self.found[state] = violations


if AXE.exists():

    def test_an_audit_of_accessibility_finds_nothing_in_a_run(opened: Opening) -> None:
        notebook = opened([STORY])
        audit = Audit(notebook)
        notebook.run_cell(1)
        window = notebook.window(1)
        window.expect_status("needs a decision")
        gate = window.root.get_by_role("form", name="Decide gate")
        expect(gate).to_be_visible()
        audit.look("a question")
        gate.get_by_label("now").check()
        audit.look("an answer is chosen")
        panel = window.panel("talk")
        expect(panel.get_by_role("log")).to_contain_text("Done")
        audit.look("a conversation")
        window.panel("fails")
        audit.look("a failed step")
        window.button("Timeline").click()
        audit.look("the timeline")
        window.slider.press("Home")
        audit.look("the past")
        window.button("Graph").click()
        audit.look("the past in the graph")
        window.slider.press("End")
        gate.get_by_label("now").check()
        window.root.get_by_role("button", name="Accept").first.click()
        window.expect_status("partial")
        audit.look("partial")
        window.root.get_by_role("button", name="Resume …").click()
        expect(window.root.get_by_role("group", name="Resume the run")).to_contain_text("Would")
        audit.look("the preview of a resume")
        assert audit.found == {}

    def test_an_audit_of_accessibility_finds_nothing_before_and_beside_a_run(
        opened: Opening,
    ) -> None:
        notebook = opened([PLAN, WRONG, LIVE, PARTS])
        audit = Audit(notebook)
        notebook.run_cell(1)
        expect(notebook.output(1).get_by_role("button", name="Run", exact=True)).to_be_visible()
        audit.look("a plan")
        notebook.run_cell(2)
        audit.look("mistakes")
        notebook.run_cell(3)
        notebook.window(3).expect_steps(train="running")
        audit.look("running")
        notebook.run_cell(4)
        notebook.window(4).expect_status("partial")
        audit.look("a stack of steps")
        (notebook.folder / "go").touch()
        notebook.window(3).expect_status("completed")
        audit.look("completed")
        notebook.save()
        notebook.reload()
        audit = Audit(notebook)
        audit.look("opened again")
        assert audit.found == {}

    def test_an_audit_of_accessibility_finds_nothing_where_a_person_is_needed(
        opened: Opening,
    ) -> None:
        notebook = opened([MADE, ASKING, CLASH])
        audit = Audit(notebook)
        notebook.run_cell(1)
        notebook.run_cell(2)
        allow = notebook.output(2).get_by_role("button", name="Allow", exact=True)
        expect(allow.first).to_be_visible()
        audit.look("a permission")
        notebook.window(2).panel("talk")
        audit.look("a permission in its conversation")
        allow.first.click()
        notebook.run_cell(3)
        window = notebook.window(3)
        window.expect_steps(land="needs a decision")
        audit.look("a conflict")
        window.panel("land")
        audit.look("a conflict, opened")
        window.panel("types")
        audit.look("changes")
        assert audit.found == {}
