"""What the panel shows of a step that failed, was skipped, or waits for a person: each fact once, and what to do next."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.notebook_page import Opening

FAILING = """%%workflow failing --run --as run
steps:
  - id: checked
    run: "echo compiling; echo no such target >&2"
    verify: [{file_exists: build/app}, {exit_code: 0}]
    posture: read_only
  - {id: command, run: "echo one; echo two >&2; exit 3", posture: read_only}
  - {id: raised, call: ":load", posture: read_only}
  - {id: after, run: "echo after", depends_on: [checked, raised], posture: read_only}
"""
FUNCTION = '''def load():
    """Read a table."""
    import json
    return json.loads("{broken")
'''
PARKED = """%%workflow parked --run --as run
steps:
  - {id: triage, run: "echo minor", posture: read_only}
  - {id: fix, run: "echo fixed", depends_on: [triage], when: "{{ steps.triage.output }} == 'major'", posture: read_only}
  - {id: review, run: "echo reviewed", depends_on: [fix], posture: read_only}
  - {id: release, ask: {question: "Release the report?", choices: [now, later]}, depends_on: [triage]}
  - {id: publish, run: "echo {{ steps.release.output }}", depends_on: [release], posture: read_only}
"""


def test_a_failed_step_shows_its_evidence_once_and_the_users_own_line_first(
    opened: Opening,
) -> None:
    notebook = opened([FUNCTION, FAILING])
    notebook.run_cell(1)
    notebook.run_cell(2)
    window = notebook.window(2)
    window.expect_status("failed")

    panel = window.panel("checked")
    checks = panel.get_by_role("table", name="Failed checks")
    expect(checks.get_by_role("row").nth(1)).to_have_text(
        "failedfile_exists build/appa file that matchesno file matches"
    )
    expect(panel.get_by_text("no file matches")).to_have_count(1)
    expect(panel).to_contain_text("checked failed: 1 of 2 checks failed.")
    expect(panel.get_by_role("group", name="Output").last).to_contain_text("no such target")
    notebook.screenshot("failure-check")

    panel = window.panel("command")
    expect(panel.get_by_role("group", name="Output").last).to_contain_text("two")
    notebook.screenshot("failure-command")

    panel = window.panel("raised")
    frames = panel.get_by_role("list", name="Where it failed")
    expect(frames.get_by_role("listitem").first).to_contain_text('json.loads("{broken")')
    notebook.screenshot("failure-call")

    window.panel("after")
    notebook.screenshot("failure-held")


def test_a_run_that_waits_for_a_person_offers_the_decision_and_shows_what_was_skipped(
    opened: Opening,
) -> None:
    notebook = opened([PARKED])
    notebook.run_cell(1)
    window = notebook.window(1)
    window.expect_status("needs a decision")

    expect(window.button("Resume …")).to_have_count(0)
    attention = window.root.get_by_role("group", name="Needs attention")
    expect(attention.get_by_role("form", name="Decide release")).to_be_visible()
    attention.get_by_role("button", name="release").click()
    panel = window.root.get_by_label("Step release", exact=True)
    expect(panel.get_by_role("form", name="Decide release")).to_be_visible()
    expect(attention).to_be_hidden()
    notebook.screenshot("parked")

    window.expect_steps(fix="skipped", review="skipped, since fix was skipped", publish="held")
    window.panel("review")
    notebook.screenshot("skipped")
    window.button("Timeline").click()
    notebook.screenshot("skipped-timeline")
