"""What the panel promises of files, in real notebooks: diffs that open, merges looked at first, conflicts, seams."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.jupyter_servers import APPS, App
from tests.browser.notebook_page import Notebook, Opening
from tests.browser.run_window import RunWindow
from tests.browser.stories import events, run_folder
from tests.sweeps import first_of

MADE = """import pathlib
pathlib.Path('a.txt').write_text('\\n'.join(['one', *(f'line {n}' for n in range(30))]))
pathlib.Path('old.py').write_text('x = 1\\n')"""
TWO = """%%workflow two --run --as run
steps:
  - {id: types, workspace: isolated, write_set: [a.txt, "n*", old.py],
     run: "sed -i s/one/ONE/ a.txt; echo '<img src=x onerror=alert(1)>' > 'n <b>.txt'; rm old.py; touch .env"}
  - {id: api, workspace: isolated, write_set: [a.txt], run: "sed -i s/one/uno/ a.txt"}
  - {id: land, merge: [types, api], depends_on: [types, api]}
"""
MANY = """%%workflow many --run
steps:
  - {id: many, workspace: isolated, write_set: ["**"],
     run: "mkdir d; for n in $(seq 61); do echo $n > d/$n; done; printf '\\\\0' > bin.dat"}
"""
NARROW = 700


def clashed(opened: Opening, app: App = "lab") -> tuple[Notebook, RunWindow]:
    """Two writers who changed one line otherwise; the merge step waits for a person."""
    notebook = opened([MADE, TWO], app)
    notebook.run_cell(1)
    notebook.run_cell(2)
    window = notebook.window(2)
    window.expect_steps(types="ready", api="ready", land="needs a decision")
    return notebook, window


def changes(panel: Locator) -> Locator:
    return panel.get_by_role("group", name="Changes", exact=True)


def text_of(notebook: Notebook, name: str) -> str:
    return Path(notebook.folder / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("app", first_of(APPS))
def test_changes_are_read_file_by_file_looked_at_and_merged(opened: Opening, app: App) -> None:
    notebook, window = clashed(opened, app)
    part = changes(window.panel("types"))
    expect(part).to_contain_text("3 files, +2 -2")
    expect(part).to_contain_text("Not in your files until you merge the step.")
    expect(part).to_contain_text(".env")

    # By keys alone, as by hand.
    summary = part.locator("summary", has_text="n <b>.txt")
    summary.focus()
    summary.press("Enter")
    diff = part.get_by_role("group", name="Diff of n <b>.txt")
    expect(diff).to_contain_text("+<img src=x onerror=alert(1)>")
    part.locator("summary", has_text="a.txt").first.click()
    expect(part.get_by_role("group", name="Diff of a.txt")).to_contain_text("-one")
    notebook.screenshot("changes")

    part.get_by_role("button", name="Merge …").click()
    card = part.get_by_role("group", name="Merge into your files")
    expect(card).to_contain_text("Nothing was changed.")
    assert not (notebook.folder / "n <b>.txt").exists()
    notebook.screenshot("merge-preview")
    card.press("Escape")
    expect(card).to_have_count(0)
    opener = part.get_by_role("button", name="Merge …")
    expect(opener).to_be_focused()
    opener.press("Enter")
    expect(card.get_by_role("button", name="Merge", exact=True)).to_be_focused()
    notebook.page.keyboard.press("Enter")
    expect(part).to_contain_text("In your files since merge m1.")
    assert text_of(notebook, "a.txt").startswith("ONE\n")

    # Whoever went by keys goes on where they were.
    expect(part.get_by_role("button", name="Undo merge …")).to_be_focused()
    notebook.page.keyboard.press("Enter")
    expect(part.get_by_role("button", name="Undo merge", exact=True)).to_be_focused()
    notebook.page.keyboard.press("Enter")
    expect(part).to_contain_text("Not in your files until you merge the step.")
    expect(part.get_by_role("button", name="Merge …")).to_be_focused()
    assert text_of(notebook, "a.txt").startswith("one\n")
    assert [each["merge"] for each in events(notebook.folder, "merge_applied")] == ["m1", "m2"]


def test_a_conflict_stands_side_by_side_or_one_above_the_other_and_goes_on_with_the_version_chosen(
    opened: Opening,
) -> None:
    notebook, window = clashed(opened)
    panel = window.panel("land")
    clash = panel.get_by_role("group", name="Conflict", exact=True)
    expect(clash.get_by_role("group", name="hunk 1 of a.txt, api")).to_contain_text("uno")
    expect(clash.get_by_role("group", name="hunk 1 of a.txt, types")).to_contain_text("ONE")
    hunk = clash.get_by_role("group", name="Version of hunk 1 of a.txt")
    whole = clash.get_by_role("group", name="Version of a.txt")
    expect(hunk.get_by_role("button")).to_have_text(["types", "api", "both"])
    expect(whole.get_by_role("button")).to_have_text(["yours", "types", "api"])
    expect(clash.locator("[aria-pressed=true]")).to_have_count(0)
    resolve = clash.get_by_role("button", name="Resolve")
    expect(resolve).to_be_disabled()
    assert [each for each in window.contrasts() if each[1] < 4.5] == []
    notebook.use_theme("JupyterLab Dark")
    assert [each for each in window.contrasts() if each[1] < 4.5] == []
    notebook.screenshot("conflict-dark")

    size = notebook.page.viewport_size
    assert size is not None
    notebook.page.set_viewport_size({"width": NARROW, "height": 1500})
    sides = panel.locator(".pixirnb-pair > div")
    expect(sides).to_have_count(2)
    notebook.screenshot("conflict-narrow")
    first, second = (sides.nth(place).bounding_box() for place in (0, 1))
    assert first is not None
    assert second is not None
    assert second["y"] >= first["y"] + first["height"] - 1
    notebook.page.set_viewport_size(size)

    hunk.get_by_role("button", name="both").press("Enter")
    expect(clash.get_by_role("group", name="Result in a.txt")).to_contain_text("ONE\nuno\n")
    clash.get_by_label("Note").fill("both are needed")
    notebook.screenshot("conflict-hunks")
    resolve.press("Enter")
    window.expect_status("completed")
    expect(clash).to_be_hidden()
    assert text_of(notebook, "a.txt").startswith("ONE\nuno\nline 0\n")
    (word,) = events(notebook.folder, "decision_recorded")
    assert (word["value"]["a.txt"]["hunks"], word["note"]) == (["types+api"], "both are needed")


def test_trying_again_with_nothing_solved_says_which_file_is_as_it_was(opened: Opening) -> None:
    notebook, window = clashed(opened)
    panel = window.panel("land")
    clash = panel.get_by_role("group", name="Conflict", exact=True)
    expect(clash.get_by_role("group", name="hunk 1 of a.txt, api")).to_be_visible()
    clash.get_by_label("Note").fill("not yet")
    again = clash.get_by_role("button", name="Retry merge")
    again.press("Enter")
    expect(clash).to_contain_text(
        "a.txt is unchanged since the conflict was found. Edit it in your folder"
    )
    expect(clash.get_by_label("Note")).to_have_value("not yet")
    expect(again).to_be_focused()
    expect(panel.get_by_text("Retried by")).to_be_attached()
    notebook.screenshot("conflict-unsolved")

    mine = notebook.folder / "a.txt"
    mine.write_text(mine.read_text(encoding="utf-8").replace("one", "both"), encoding="utf-8")
    again.press("Enter")
    window.expect_status("completed")
    assert text_of(notebook, "a.txt").startswith("both\n")
    expect(panel).to_be_focused()


def test_an_undo_that_conflicts_is_recorded_and_taken_back_once_the_file_is_put_right(
    opened: Opening,
) -> None:
    notebook, window = clashed(opened)
    part = changes(window.panel("types"))
    part.get_by_role("button", name="Merge …").click()
    part.get_by_role("button", name="Merge", exact=True).click()
    expect(part).to_contain_text("In your files since merge m1.")
    mine = notebook.folder / "a.txt"
    mine.write_text("final\n", encoding="utf-8")

    part.get_by_role("button", name="Undo merge …").click()
    card = part.get_by_role("group", name="Undo the last merge")
    expect(card).to_contain_text("These files changed after the merge.")
    expect(card.locator("[aria-pressed]")).to_have_count(0)
    notebook.screenshot("undo-conflict")
    take = card.get_by_role("button", name="Undo merge", exact=True)
    take.click()
    expect(card).to_contain_text("The conflict is recorded; no file was changed.")
    expect(take).to_be_focused()
    take.press("Enter")
    expect(card).to_contain_text("a.txt is unchanged since the conflict was found.")
    notebook.screenshot("undo-unsolved")

    mine.write_text("mine\n", encoding="utf-8")
    take.press("Enter")
    expect(card).to_have_count(0)
    expect(part).to_contain_text("Not in your files until you merge the step.")
    expect(part.get_by_role("button", name="Merge …")).to_be_focused()
    assert text_of(notebook, "a.txt") == "mine\n"


def test_a_merge_of_many_files_has_its_button_in_sight(opened: Opening) -> None:
    notebook = opened([MANY])
    notebook.page.set_viewport_size({"width": 1400, "height": 900})
    notebook.run_cell(1)
    window = notebook.window(1)
    part = changes(window.panel("many"))
    part.get_by_role("button", name="Merge …").click()
    expect(part.get_by_role("button", name="Merge", exact=True)).to_be_focused()
    expect(part.get_by_role("button", name="Merge", exact=True)).to_be_in_viewport(ratio=1)
    expect(part.get_by_role("button", name="Merge", exact=True)).to_be_visible()
    lines = part.get_by_role("group", name="Merge into your files").locator(
        ".pixirnb-file > summary, .pixirnb-bare"
    )
    expect(lines).to_have_count(62)
    expect(lines.filter(has_text="bin.dat")).to_contain_text("not text")
    expect(lines.filter(has_text="bin.dat")).not_to_contain_text("+0")
    signs = lines.locator(".pixirnb-sign")
    left = {round((signs.nth(place).bounding_box() or {"x": -1})["x"]) for place in range(62)}
    assert len(left) == 1
    notebook.screenshot("merge-many")


def test_seams_are_listed_with_the_run_and_resolved_with_a_note(opened: Opening) -> None:
    notebook, window = clashed(opened)
    window.root.get_by_text("2 seams, 2 open").click()
    note = window.root.get_by_label("Why the changes at seam s1 are compatible")
    send = window.root.get_by_role("button", name="Resolve seam s1")
    send.click()
    expect(note).to_be_focused()
    note.fill("one rename, twice")
    note.press("Enter")
    expect(window.root).to_contain_text("2 seams, 1 open")
    expect(window.root).to_contain_text("one rename, twice")
    notebook.screenshot("seams")
    (resolved,) = events(notebook.folder, "seam_resolved")
    assert (resolved["id"], resolved["note"]) == ("s1", "one rename, twice")


def test_a_diff_and_a_merge_show_themselves_in_a_cell_and_the_head_of_the_run_asks_whose_version_counts(
    opened: Opening,
) -> None:
    notebook, window = clashed(opened)
    shown = notebook.run_new("run.diff()")
    expect(shown).to_contain_text("3 files, +2 -2 · not merged")
    shown.get_by_text("A n <b>.txt").click()
    expect(shown).to_contain_text("+<img src=x onerror=alert(1)>")
    notebook.screenshot("diff-cell")
    told = notebook.run_new("%pixir merge {run.id} --preview")
    expect(told).to_contain_text("in different ways")
    expect(told).to_contain_text("--side workspace")
    notebook.screenshot("merge-cell")

    part = changes(window.panel("types"))
    window.root.get_by_text(re.compile(r"^Actions")).click()
    window.root.get_by_role("button", name="Merge …").first.click()
    card = window.root.get_by_role("group", name="Merge into your files")
    expect(card).to_contain_text("in different ways")
    card.get_by_role("group", name="Version of a.txt").get_by_role("button", name="types").click()
    notebook.screenshot("merge-sides")
    card.get_by_role("button", name="Merge with these choices").click()
    expect(card).to_be_hidden()
    expect(window.root.locator(":focus")).to_have_count(1)
    expect(part).to_contain_text("In your files since merge m1.")
    assert text_of(notebook, "a.txt").startswith("ONE\n")


def test_what_another_process_merges_is_seen_here(opened: Opening) -> None:
    notebook, window = clashed(opened)
    part = changes(window.panel("types"))
    expect(part).to_contain_text("Not in your files until you merge the step.")
    part.get_by_role("button", name="Merge …").click()
    card = part.get_by_role("group", name="Merge into your files")
    expect(card.get_by_role("button", name="Merge", exact=True)).to_be_focused()
    run = run_folder(notebook.folder).name
    done = subprocess.run(
        [sys.executable, "-m", "pixirnb", "merge", run, "types"],
        cwd=notebook.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    expect(part).to_contain_text("In your files since merge m1.")
    expect(window.root.get_by_text("1 merge", exact=True)).to_be_visible()

    # The card that was open offers nothing that is done already.
    expect(card).to_contain_text("Nothing to merge")
    expect(card.get_by_role("button", name="Merge", exact=True)).to_have_count(0)
    card.get_by_role("button", name="Close").click()
    expect(part.get_by_role("button", name="Undo merge …")).to_be_focused()
