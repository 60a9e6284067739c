"""What the step panel, the controls of a run and the notice promise, in real notebooks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.jupyter_servers import APPS, App
from tests.browser.notebook_page import Notebook, Opening
from tests.sweeps import first_of

RELEASE = """%%workflow release --run --as run
steps:
  - {id: made, run: "echo made it", write_set: [src/*]}
  - {id: broken, posture: read_only, read_set: [], depends_on: [made],
     run: "echo '<img src=x onerror=alert(1)>'; test -e mended"}
  - {id: slow, posture: read_only, read_set: [], depends_on: [made],
     run: "for i in 1 2 3; do echo line $i; sleep 0.2; done; until [ -e go ]; do sleep 0.1; done"}
  - {id: gate, ask: {question: "Ship <b>it</b>?", choices: [now, later]}, depends_on: [slow]}
  - {id: shipped, run: "echo gone", posture: read_only, read_set: [], depends_on: [gate, broken]}
"""
LONG = "\n".join(["# far below"] * 60)
BUSY = "import time, pathlib\nwhile not pathlib.Path('enough').exists(): time.sleep(0.1)"


def events(folder: Path, kind: str) -> list[dict[str, Any]]:
    """What the one run's log says of a kind."""
    (log,) = (folder / ".pixirnb" / "runs").glob("*/log.jsonl")
    lines = (json.loads(line) for line in log.read_text(encoding="utf-8").splitlines())
    return [line["data"] for line in lines if line["kind"] == kind]


def box(notebook: Notebook, step: str, said: str = "") -> Locator:
    """A step in the graph, when it is said to look so."""
    return notebook.output(1).locator(f'.pixirnb-step[aria-label^="{step}: {said}"]')


def view_of(notebook: Notebook) -> Locator:
    """The live view; there once it has been drawn."""
    view = notebook.output(1).get_by_role("region", name="Run r-")
    expect(view).to_have_count(1)
    return view


@pytest.mark.parametrize("app", first_of(APPS))
def test_a_person_sees_decides_and_reruns_steps_in_the_panel(opened: Opening, app: App) -> None:
    notebook = opened([RELEASE, "print('next')"], app)
    notebook.run_cell(1)
    view = view_of(notebook)
    panel = view.get_by_role("complementary")
    expect(box(notebook, "broken", "failed")).to_be_visible()

    box(notebook, "slow").click()
    expect(panel).to_have_accessible_name("Step slow")
    expect(panel.get_by_role("group", name="Output").last).to_have_text("line 1\nline 2\nline 3\n")
    expect(panel.get_by_role("button", name="Cancel step")).to_be_enabled()
    panel.press("Escape")
    expect(panel).to_be_hidden()

    box(notebook, "broken").press("Enter")
    expect(panel).to_contain_text("<img src=x onerror=alert(1)>")
    panel.get_by_role("button", name="Copy error to cell").click()
    expect(panel).to_contain_text("new cell below")
    expect(notebook.cell(2)).to_contain_text("broken · attempt 1 · failed")
    expect(notebook.cell(3)).to_contain_text("next")

    # A click is of what it began on, though the step's clock ticks while the button is down.
    slow = box(notebook, "slow")
    slow.hover()
    mouse = notebook.page.mouse
    mouse.down()
    notebook.page.wait_for_timeout(1_500)
    mouse.up()
    expect(panel).to_have_accessible_name("Step slow")
    panel.press("Escape")

    (notebook.folder / "go").touch()
    expect(box(notebook, "gate", "needs a decision")).to_be_visible()
    expect(view.get_by_role("button", name="Resume …")).to_be_visible()
    box(notebook, "gate").click()
    expect(panel).to_contain_text("Ship <b>it</b>?")
    panel.get_by_label("later").check()
    panel.get_by_label("Note").fill("after the fair")
    notebook.screenshot("panel-question")
    panel.get_by_role("button", name="Accept").click()
    expect(box(notebook, "gate", "ready")).to_be_visible()
    (decision,) = events(notebook.folder, "decision_recorded")
    assert (decision["verdict"], decision["value"], decision["note"]) == (
        "accept",
        "later",
        "after the fair",
    )

    expect(view.get_by_role("button", name="Resume …")).to_be_visible()
    (notebook.folder / "mended").touch()
    box(notebook, "broken").click()
    panel.get_by_role("button", name="Rerun …").click()
    forecast = panel.get_by_role("group", name="Rerun broken")
    expect(forecast).to_contain_text("Would reuse 3 and run 2.")
    notebook.screenshot("panel-forecast")
    forecast.get_by_role("button", name="Start").click()
    expect(view).to_contain_text("5 of 5 steps ready")
    notebook.use_theme("JupyterLab Dark")
    expect(panel).to_contain_text("Attempts (2)")
    notebook.screenshot("panel-dark")

    slider = view.get_by_role("slider", name="Replay").first
    slider.focus()
    slider.press("Home")
    for _ in range(7):
        slider.press("ArrowRight")
    expect(panel).to_contain_text("State at event")
    expect(panel.get_by_role("group", name="Actions")).to_be_hidden()


def test_a_run_is_ruled_from_its_head(opened: Opening) -> None:
    notebook = opened([RELEASE, BUSY])
    notebook.run_cell(1)
    view = view_of(notebook)
    expect(box(notebook, "broken", "failed")).to_be_visible()
    notebook.start_cell(2)

    chip = view.get_by_role("button", name="1 failed")
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(view.locator(".pixirnb-dim")).to_have_count(4)
    chip.click()
    expect(view.locator(".pixirnb-dim")).to_have_count(0)

    find = view.get_by_role("searchbox", name="Find a step")
    find.fill("e")
    expect(view).to_contain_text("1 of 4")
    find.press("Enter")
    expect(view).to_contain_text("2 of 4")
    for _ in range(2):
        find.press("Shift+Enter")
    expect(view).to_contain_text("4 of 4")
    find.press("Escape")
    expect(find).to_have_value("")

    view.get_by_label("More", exact=True).click()
    view.get_by_role("button", name="Checkpoint …").click()
    form = view.get_by_role("form", name="Save a checkpoint")
    form.get_by_label("Name").fill("no good name")
    form.get_by_role("button", name="Save").click()
    expect(view).to_contain_text("Invalid checkpoint name")
    expect(form.get_by_label("Name")).to_have_value("no good name")
    form.get_by_label("Name").fill("half")
    form.get_by_role("button", name="Save").click()
    expect(view).to_contain_text("Saved checkpoint half.")
    assert [each["name"] for each in events(notebook.folder, "checkpoint_saved")] == ["half"]

    view.get_by_role("button", name="Cancel run", exact=True).click()
    expect(view).to_contain_text("interrupted")
    (notebook.folder / "enough").touch()
    notebook.wait_idle()
    view.get_by_role("button", name="Resume …").click()
    forecast = view.get_by_role("group", name="Resume the run")
    expect(forecast).to_contain_text("Would reuse 1")
    notebook.screenshot("controls-forecast")
    forecast.press("Escape")
    expect(forecast).to_have_count(0)
    expect(view.get_by_role("button", name="Resume …")).to_be_focused()
    assert len(events(notebook.folder, "run_resumed")) == 0

    notebook.restart_kernel()
    box(notebook, "made").click()
    expect(view.get_by_role("complementary")).to_contain_text("The kernel does not respond")


def test_who_is_elsewhere_in_the_notebook_is_told(opened: Opening) -> None:
    notebook = opened([RELEASE, LONG, LONG])
    notebook.run_cell(1)
    view = view_of(notebook)
    notice = notebook.page.locator(".pixirnb-toast")
    expect(box(notebook, "broken", "failed")).to_be_visible()

    notebook.cell(3).scroll_into_view_if_needed()
    expect(view).not_to_be_in_viewport()
    (notebook.folder / "go").touch()
    expect(notice).to_contain_text("gate asks: Ship <b>it</b>?")
    notebook.screenshot("notice")
    notice.get_by_role("button", name="Show").click()
    expect(notice).to_have_count(0)
    expect(view).to_be_in_viewport()
    expect(view.get_by_role("form", name="Decide gate")).to_be_visible()
