"""Hostile text stays text wherever a person meets it: in the live view, in answers and errors, in saved files and exports."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlparse

import pytest
from playwright.sync_api import expect

from tests.browser.hostile import ESCAPES, IDS, MARKUP, SEEN, TEXTS, acting, crowd, workflow
from tests.browser.jupyter_servers import APPS, App
from tests.browser.notebook_page import Notebook, Opening
from tests.browser.stage import Stage
from tests.sweeps import first_of

SPILL = "def spill(words):\n    raise ValueError(words)"
NOTED = "%pixir decide {run.id} valueOf accept --value fine --note $note --no-resume"
MISTAKEN = f"%%workflow wrong --wait\n{json.dumps({'steps': [{'id': MARKUP, MARKUP: 1}]})}"
TEMPLATES_OWN = {"cdnjs.cloudflare.com", "cdn.jsdelivr.net"}
"""Whom nbconvert's pages ask for scripts of their own, whatever the notebook."""


def prepared(opened: Opening, app: App) -> Notebook:
    """A notebook in whose folder the hostile file lies."""
    notebook = opened([SPILL, workflow()], app)
    (notebook.folder / "hostile").write_text(MARKUP + ESCAPES, encoding="utf-8")
    notebook.run_cell(1)
    notebook.run_cell(2)
    return notebook


@pytest.mark.parametrize("app", first_of(APPS))
def test_it_is_text_in_the_live_view_and_in_every_panel(opened: Opening, app: App) -> None:
    notebook = prepared(opened, app)
    window = notebook.window(2)
    window.expect_steps(constructor="ready", toString="failed", length="partial")

    for step in IDS:
        panel = window.panel(step)
        expect(panel).not_to_contain_text("Loading")
        if step != "then":
            expect(panel).to_contain_text(SEEN)
        assert acting(notebook.page) == [], step
    notebook.screenshot("hostile-panel")


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, len(TEXTS), 50))
def test_300_texts_are_text_on_every_surface(opened: Opening, first: int) -> None:
    texts = TEXTS[first : first + 50]
    notebook = opened([crowd(texts)])
    notebook.run_cell(1)
    window = notebook.window(1)
    for place, text in enumerate(texts):
        for step in (f"s{place:02}", f"q{place:02}", f"t{place:02}"):
            window.find(step)
            panel = window.panel(step)
            expect(panel).not_to_contain_text("Loading")
            expect(panel).to_contain_text("zq7")
            assert acting(notebook.page) == [], (step, text)
    notebook.run_new("%pixir show {run.id}")
    notebook.run_new("%pixir explain {run.id}")
    notebook.run_new("%pixir log {run.id}")
    assert acting(notebook.page) == []
    notebook.reload()
    assert acting(notebook.page) == []


def test_it_is_text_in_the_conversation_of_an_agent(opened: Opening) -> None:
    notebook = prepared(opened, "lab")
    window = notebook.window(2)
    talk = window.panel("length").get_by_role("group", name="Conversation", exact=True)
    expect(talk).to_contain_text(SEEN)
    for each in talk.locator("summary").all():
        each.press("Enter")
    expect(talk.locator("details[open]")).to_have_count(2)
    expect(talk).to_contain_text("Result")
    assert acting(notebook.page) == []
    notebook.screenshot("hostile-conversation")


def test_it_is_text_in_answers_errors_saved_files_and_exports(
    opened: Opening, stage: Stage, tmp_path: Path
) -> None:
    notebook = prepared(opened, "lab")
    notebook.run_new(f"note = {MARKUP!r}")
    notebook.run_new(NOTED)
    answers = [
        notebook.run_new(source)
        for source in (
            "%pixir show {run.id}",
            "%pixir show {run.id} constructor",
            "%pixir show {run.id} length",
            "%pixir show {run.id} valueOf",
            "%pixir log {run.id}",
            "%pixir show {run.id} --session length",
            "run.session('length')",
            "run.bundle('constructor')",
            "print(run.output('constructor'))",
        )
    ]
    errors = [
        notebook.run_new(source)
        for source in (MISTAKEN, f"import pixirnb\npixirnb.open_run({MARKUP!r})")
    ]
    for shown in (*answers, *errors):
        expect(shown).to_contain_text(SEEN)
    notebook.screenshot("hostile-answers")
    assert acting(notebook.page) == []

    notebook.reload()
    expect(notebook.output(5)).to_contain_text(SEEN)
    assert acting(notebook.page) == []

    from nbconvert import HTMLExporter  # slow to load: not in every process that collects

    exporter = HTMLExporter()  # type: ignore[no-untyped-call]  # nbconvert is typed in parts
    markup, _ = exporter.from_filename(str(notebook.file))
    exported = tmp_path / "exported.html"
    exported.write_text(markup, encoding="utf-8")
    strangers: list[str] = []
    dialogs: list[str] = []
    context = stage.browser.new_context()
    try:
        page = context.new_page()
        page.on("request", lambda request: strangers.append(urlparse(request.url).hostname or ""))
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        page.goto(exported.as_uri(), wait_until="load")
        expect(page.locator(".pixirnb-picture").first).to_be_visible()
        expect(page.locator("body")).to_contain_text(SEEN)
        assert acting(page) == []
        assert dialogs == []
        assert set(strangers) - {""} <= TEMPLATES_OWN
    finally:
        context.close()
