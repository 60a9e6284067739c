"""Replay and timeline: any event as it was, of a run that goes on, is over, was moved, or is driven by another process."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import Locator, expect

from pixirnb.history.codec import decode_lines
from pixirnb.history.events import Event
from pixirnb.history.run_state import fold
from pixirnb.views.basics.status_marks import run_mark, state_mark
from tests.browser.notebook_page import Opening
from tests.browser.run_window import RunWindow

STORY = """%%workflow story OPTIONS
steps:
  - {id: made, run: "echo made it", write_set: [made]}
  - {id: odd, run: "test -e odd || { touch odd; exit 3; }", retry: {max_attempts: 2, delay: 1s, jitter: 0}}
  - {id: gate, ask: {question: "Go on?"}, depends_on: [made]}
  - {id: last, run: "until [ -e go ]; do sleep 0.1; done", posture: read_only, read_set: [], depends_on: [made]}
  - {id: never, run: "true", depends_on: [gate]}
"""
STEPS = ("made", "odd", "gate", "last", "never")
MOVED = """
import shutil
import pixirnb
shutil.move(str(run.folder), "kept/" + run.id)
pixirnb.open_run("kept/" + run.id)
"""
ANOTHERS = """
import pathlib
import subprocess
import sys
import time
import pixirnb
pathlib.Path("story.yaml").write_text(SPEC)
subprocess.Popen([sys.executable, "-m", "pixirnb", "run", "story.yaml", "--json"], stdout=subprocess.DEVNULL)
while not list(pathlib.Path(".pixirnb/runs").glob("*/log.jsonl")):
    time.sleep(0.05)
pixirnb.open_run(next(pathlib.Path(".pixirnb/runs").iterdir()).name)
"""


def events_of(folder: Path) -> list[Event]:
    """The events of the one run in a folder."""
    (log,) = folder.glob("**/log.jsonl")
    return list(decode_lines(log.read_bytes()).events)


def bar(window: RunWindow, name: str) -> Locator:
    """A bar of the timeline, by the beginning of what it is called."""
    return window.root.get_by_role("grid").get_by_role("button", name=re.compile(rf"^{name}"))


def test_each_event_of_a_moved_run_is_shown_as_its_history_folds(opened: Opening) -> None:
    notebook = opened(
        [STORY.replace("OPTIONS", "--wait --expect needs_orchestrator --as run"), MOVED]
    )
    (notebook.folder / "go").touch()
    notebook.run_cell(1)
    notebook.run_cell(2)
    window = notebook.window(2)
    events = events_of(notebook.folder / "kept")
    assert sum(event.kind == "attempt_ended" for event in events) == 4
    window.expect_status("needs a decision")

    window.slider.focus()
    notebook.page.keyboard.press("Home")
    for upto in range(len(events)):
        run = fold(events[:upto])
        expect(window.root.locator(".pixirnb-event-count")).to_contain_text(
            f"As it was at event {upto} of {len(events)}"
        )
        window.expect_steps(**{step: state_mark(run.step(step)).word for step in STEPS})
        status = "running" if run.finished is None else run.finished["status"]
        window.expect_status(run_mark(status).word)
        notebook.page.keyboard.press("ArrowRight")
    expect(window.root.locator(".pixirnb-event-count")).to_have_text(f"{len(events)} events")
    window.expect_status("needs a decision")
    expect(window.button("Back to now")).to_be_hidden()


def test_the_timeline_shows_attempts_waits_and_the_critical_path(opened: Opening) -> None:
    notebook = opened([STORY.replace("OPTIONS", "--wait --expect needs_orchestrator --as run")])
    (notebook.folder / "go").touch()
    notebook.run_cell(1)
    window = notebook.window(1)

    window.button("Timeline").click()
    expect(bar(window, "made, attempt 1: ready, ")).to_be_visible()
    expect(bar(window, "odd, attempt 1: failed, ")).to_be_visible()
    expect(bar(window, "odd: waiting to retry, 1.0 s")).to_be_visible()
    expect(bar(window, "odd, attempt 2: ready, ")).to_be_visible()
    expect(bar(window, "gate: decision requested, no answer")).to_be_visible()
    expect(window.root.get_by_role("grid")).to_have_attribute("aria-rowcount", "4")
    expect(window.root.locator(".pixirnb-rest")).to_have_text("1 step never started")
    expect(window.root.locator(".pixirnb-path")).to_have_text(
        re.compile(
            r"^Critical path [1-9]\d*\.\d s of \d+\.\d s: odd$"
        )  # its wait of 1.0 s is in it
    )
    notebook.screenshot("timeline")

    first = bar(window, "odd, attempt 1")
    first.focus()
    for key, name in [
        ("ArrowRight", "odd: waiting"),
        ("ArrowRight", "odd, attempt 2"),
        ("Home", ""),
    ]:
        notebook.page.keyboard.press(key)
        if name:
            expect(bar(window, name)).to_be_focused()
    first.focus()
    notebook.page.keyboard.press("Enter")
    expect(window.root.get_by_label("Step odd", exact=True)).to_be_visible()

    landmark = window.root.get_by_role("button", name=re.compile(r"^Event \d+: odd: failed"))
    landmark.click()
    expect(bar(window, "odd, attempt 1: failed, ")).to_be_visible()
    expect(bar(window, "odd: waiting")).to_have_count(0)
    expect(bar(window, "odd, attempt 2")).to_have_count(0)
    notebook.screenshot("timeline-then")

    window.button("Back to now").click()
    expect(window.root.get_by_role("form", name="Decide gate")).to_be_visible()
    strip = window.root.locator(".pixirnb-track")
    strip.scroll_into_view_if_needed()
    place = strip.bounding_box()
    assert place is not None
    mouse = notebook.page.mouse
    mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] - 6)
    mouse.down()
    expect(window.slider).to_be_focused()
    expect(bar(window, "odd: waiting")).to_be_visible()
    expect(bar(window, "odd, attempt 2")).to_have_count(0)
    held = strip.bounding_box()
    assert held is not None
    assert abs(held["y"] - place["y"]) < 2  # it stays under the hand
    mouse.move(place["x"] + place["width"] + 40, place["y"])
    expect(window.button("Back to now")).to_be_hidden()
    mouse.move(place["x"] - 40, place["y"])
    mouse.up()
    expect(window.slider).to_have_value("0")
    axis = window.root.locator(".pixirnb-axis").bounding_box()
    assert axis is not None
    mouse.move(axis["x"] + axis["width"] * 0.6, axis["y"] + 8)
    mouse.down()
    expect(bar(window, "odd: waiting")).to_be_visible()
    expect(bar(window, "odd, attempt 2")).to_have_count(0)
    mouse.up()

    notebook.page.emulate_media(reduced_motion="reduce")
    window.root.get_by_role("combobox", name="Playback speed").select_option("× 16")
    window.button("Play").click()
    expect(window.button("Pause")).to_be_visible()
    expect(window.button("Back to now")).to_be_hidden()
    expect(window.button("Play")).to_be_visible()
    expect(bar(window, "odd, attempt 2: ready, ")).to_be_visible()


def test_a_run_goes_on_while_one_looks_at_its_past(opened: Opening) -> None:
    notebook = opened([STORY.replace("OPTIONS", "--run --as run")])
    notebook.run_cell(1)
    window = notebook.window(1)
    window.expect_steps(odd="ready", last="running", gate="needs a decision")
    told = int(window.slider.input_value())

    window.slider.focus()
    for _ in range(3):
        notebook.page.keyboard.press("ArrowLeft")
    expect(window.slider).to_have_value(str(told - 3))
    expect(window.slider).to_have_attribute(
        "aria-valuetext", re.compile(rf"^Event {told - 3} of {told} · ")
    )
    window.button("Timeline").click()
    (notebook.folder / "go").touch()
    expect(window.slider).not_to_have_attribute("max", str(told))
    expect(window.slider).to_have_value(str(told - 3))
    window.expect_status("running")
    expect(bar(window, "last, attempt 1: running")).to_be_visible()
    notebook.screenshot("looking-back")

    window.button("Back to now").click()
    window.expect_status("needs a decision")
    expect(bar(window, "last, attempt 1: ready")).to_be_visible()
    expect(window.button("End")).to_have_attribute("aria-pressed", "true")

    notebook.run_new("%pixir decide {run.id} gate accept")
    window.root.get_by_role("button", name="Show the run now").click()
    window.expect_status("completed")
    expect(window.root.locator(".pixirnb-resumed")).to_have_text(re.compile(r"^resumed .+ later$"))
    expect(bar(window, "gate: decision requested, accepted")).to_be_visible()
    expect(bar(window, "never, attempt 1: ready")).to_be_visible()
    expect(window.root.locator(".pixirnb-path")).to_have_text(
        re.compile(r"^Invocation 2, critical path .+: never$")
    )
    notebook.screenshot("two-courses")


def test_a_run_that_another_process_drives_is_followed_to_its_end(opened: Opening) -> None:
    spec = "name: story" + STORY.partition("OPTIONS")[2]
    notebook = opened([f"SPEC = {json.dumps(spec)}", ANOTHERS])
    notebook.run_cell(1)
    notebook.run_cell(2)
    window = notebook.window(2)

    window.expect_steps(odd="ready", last="running", gate="needs a decision")
    window.expect_status("running")
    expect(window.button("Live")).to_have_attribute("aria-pressed", "true")
    (notebook.folder / "go").touch()
    window.expect_status("needs a decision")
    window.expect_steps(last="ready", never="held")
    events = events_of(notebook.folder)
    expect(window.slider).to_have_value(str(len(events)))
