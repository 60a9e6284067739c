"""An agent's session in the panel of its step: live, whole, honest about what was cut, and the same after a reload."""

from __future__ import annotations

import json
import sys

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.jupyter_servers import APPS, App
from tests.browser.notebook_page import Notebook, Opening
from tests.browser.stories import events
from tests.sweeps import first_of

TALKING = """%%workflow talking --run --as run
agents:
  worker: {runner: scripted, role: "You refactor with care.", script: {
    talk: [[{tool: list, args: {path: src}, result: a.py}, {say: "I look around first.\\n"}, {hang: true}]],
    done: [[
      {tool: read_file, args: {path: src/a.py, lines: 40}, result: "x = 1\\ny = 2"},
      {say: "I wrote <b>it</b>.\\n"},
      {report: {checkpoint_status: checkpoint_ready, summary: "wrote it", limitations: [untested]}}]]}}
steps:
  - {id: talk, task: "Look around.", agent: worker, write_set: [a]}
  - {id: done, task: "Refactor src/a.py.", agent: worker, write_set: [b]}
"""
BREAKING = """%%workflow breaking --wait --expect failed,timed_out,partial --as run
agents:
  worker: {runner: scripted, script: {"*": [[{say: "I begin and never"}, {hang: true}]]}}
steps:
  - {id: talk, task: "Do it.", agent: worker, timeout: 1s, retry: {max_attempts: 2, delay: 0s}}
"""
ASKING = """%%workflow asking --run --as run
agents:
  worker: {runner: acp, permission_mode: ask, command: [PYTHON, -m, pixirnb.testing.agents.acp,
    "say:I would change a file.\\n", "ask:edit:src/<b>a.py", "say:On I go.\\ncheckpoint_status: checkpoint_ready\\n"]}
steps:
  - {id: talk, task: "Change it.", agent: worker, workspace: shared}
  - {id: after, run: "cat 'src/<b>a.py'", depends_on: [talk], posture: read_only}
""".replace("PYTHON", json.dumps(sys.executable))


def long_story(calls: int) -> str:
    """A workflow whose agent uses a tool again and again."""
    used = [{"tool": "look", "args": {"path": f"file-{n}"}, "result": "x"} for n in range(calls)]
    report = {"report": {"checkpoint_status": "checkpoint_ready", "summary": "seen"}}
    agent = {"runner": "scripted", "script": {"*": [[*used, report]]}}
    steps = [{"id": "talk", "task": "Look.", "agent": "worker"}]
    return "%%workflow long --wait --as run\n" + json.dumps(
        {"agents": {"worker": agent}, "steps": steps}
    )


def talk_of(notebook: Notebook, step: str = "talk") -> Locator:
    """The conversation in the panel of a step, which is chosen for it."""
    panel = notebook.window(1).panel(step)
    return panel.get_by_role("group", name="Conversation", exact=True)


@pytest.mark.parametrize("app", first_of(APPS))
def test_a_conversation_appears_as_it_is_held_and_stays_the_same(opened: Opening, app: App) -> None:
    notebook = opened([TALKING], app)
    notebook.run_cell(1)
    window = notebook.window(1)
    talk = talk_of(notebook)
    expect(talk).to_contain_text("I look around first.")
    expect(talk).to_contain_text("in progress")
    expect(talk.get_by_text("Agent (typing)")).to_be_visible()
    expect(talk.locator("summary", has_text="list")).to_contain_text("src")
    notebook.screenshot("conversation-live")
    panel = window.root.get_by_role("complementary")
    panel.get_by_role("button", name="Cancel step").click()
    expect(talk).to_contain_text("Cut off.")
    expect(talk).to_contain_text("The turn was interrupted")
    expect(talk.get_by_text("Agent (typing)")).to_be_hidden()

    window.expect_steps(done="ready")
    done = talk_of(notebook, "done")
    expect(done).to_contain_text("I wrote <b>it</b>.")
    expect(done).to_contain_text("Report: checkpoint ready")
    expect(done).to_contain_text("untested")
    expect(done).to_contain_text("completed")
    call = done.locator("details", has_text="read_file")
    expect(call.locator("summary")).to_contain_text("src/a.py")
    call.locator("summary").press("Enter")
    expect(call.get_by_role("group", name="Result of read_file")).to_have_text("x = 1\ny = 2")
    told = done.get_by_role("log").inner_text()

    notebook.reload()
    done = talk_of(notebook, "done")
    expect(done).to_contain_text("completed")
    done.locator("details", has_text="read_file").locator("summary").press("Enter")
    expect(done.get_by_role("log")).to_have_text(told, use_inner_text=True)
    notebook.use_theme("JupyterLab Dark")
    notebook.screenshot("conversation-dark")


def test_what_a_time_out_cut_off_is_marked_in_every_attempt(opened: Opening) -> None:
    notebook = opened([BREAKING])
    notebook.run_cell(1)
    talk = talk_of(notebook)
    expect(talk).to_contain_text("I begin and never")
    expect(talk).to_contain_text("Cut off.")
    expect(talk).to_contain_text("The turn timed out")
    talk.get_by_role("combobox").select_option("attempt 1")
    expect(talk).to_contain_text("Cut off.")
    notebook.screenshot("conversation-cut")


def test_a_permission_is_allowed_with_a_click_and_the_run_goes_on(opened: Opening) -> None:
    notebook = opened([ASKING])
    notebook.run_cell(1)
    window = notebook.window(1)
    window.expect_steps(talk="needs permission")
    panel = window.panel("talk")
    asked = panel.get_by_role("form", name="Permission for")
    expect(asked).to_contain_text("src/<b>a.py")
    talk = panel.get_by_role("group", name="Conversation", exact=True)
    expect(talk).to_contain_text("I would change a file.")
    notebook.screenshot("permission-asked")
    notebook.use_theme("JupyterLab Dark")
    notebook.screenshot("permission-asked-dark")
    asked.get_by_label("Note").fill("only this one")
    asked.get_by_role("button", name="Allow").click()
    window.expect_status("completed")
    expect(asked).to_have_count(0)
    expect(panel.get_by_role("group", name="Permission")).to_contain_text("Allowed by")
    expect(talk).to_contain_text("On I go.")
    notebook.screenshot("permission-allowed-dark")
    (decided,) = [
        each
        for each in events(notebook.folder, "subagent_event")
        if each["event"] == "permission_decided"
    ]
    assert (decided["verdict"], decided["note"]) == ("allow", "only this one")


def test_a_request_answered_elsewhere_takes_its_buttons_along(opened: Opening) -> None:
    notebook = opened([ASKING])
    notebook.run_cell(1)
    window = notebook.window(1)
    window.expect_steps(talk="needs permission")
    panel = window.panel("talk")
    asked = panel.get_by_role("form", name="Permission for")
    expect(asked.get_by_role("button", name="Deny")).to_be_enabled()
    notebook.run_new("run.deny(run.state.open_permissions()[0]['request_id'], note='not now')")
    expect(asked).to_have_count(0)
    told = panel.get_by_role("group", name="Permission")
    expect(told).to_contain_text("Denied by")
    told.get_by_text("Denied by").click()
    expect(told).to_contain_text("not now")


def test_of_a_long_conversation_a_few_pages_are_held_and_the_rest_comes_when_wanted(
    opened: Opening,
) -> None:
    notebook = opened([long_story(700)])
    notebook.run_cell(1)
    talk = talk_of(notebook)
    entries = talk.get_by_role("log").locator(":scope > div")
    expect(entries).to_have_count(60)
    expect(talk.locator("summary", has_text="file-699")).to_be_in_viewport()
    expect(talk.get_by_role("button", name="Jump to latest")).to_be_hidden()

    for pages in range(2, 6):
        talk.get_by_role("button", name="Earlier").click()
        expect(entries).to_have_count(min(60 * pages, 240))
    expect(talk.locator("summary", has_text="file-699")).to_have_count(0)
    expect(talk.locator("summary", has_text="file-405")).to_have_count(1)
    talk.get_by_role("button", name="Jump to latest").click()
    expect(talk.locator("summary", has_text="file-699")).to_be_in_viewport()
    expect(entries).to_have_count(60)
    notebook.screenshot("conversation-long")
