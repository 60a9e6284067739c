"""What a notebook holds once it is saved: how each run ended, drawn and in words, shown by whatever opens the file."""

from __future__ import annotations

import copy
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import bleach  # type: ignore[import-untyped]
import pytest
from nbconvert import HTMLExporter
from nbconvert.preprocessors import ClearMetadataPreprocessor

import pixirnb
from tests.notebook.unattended_notebooks import (
    WIDGET,
    WIDGET_STATE,
    execute,
    papermill,
    read,
    save,
    shown,
    write_notebook,
)
from tests.views.pictures import drawn_in

TEMPLATES = ("lab", "classic", "basic")
STOOD = "Snapshot; follow it with"
PARTIAL = """%%workflow half --wait --expect partial
steps:
  - {id: make, run: "echo made", posture: read_only}
  - {id: breaks, run: "exit 3", posture: read_only, depends_on: [make]}
"""
HOSTILE = """%%workflow hostile --wait --expect partial
description: "<script>alert(0)</script>"
steps:
  - {id: says, call: ":hostile"}
  - id: fails
    posture: read_only
    run: ["sh", "-c", "echo \\"$1\\" >&2; echo \\"$1\\"; exit 3", "sh", "{{ steps.says.output }}"]
    depends_on: [says]
"""
SAID = (
    "<script>alert(1)</script><img src=x-evil onerror=alert(2)><a href='javascript:alert(3)'>x</a>"
    "</svg></style></div><iframe src=//evil.example></iframe><form id=jp-main action=x-evil>"
    "<button data-commandlinker-command='x'>x</button>\\x1b[31mred\\x1b]0;title\\x07 ![x](x-evil) <!--"
)
TELLS_IT = "def hostile():\n    return " + repr(SAID)
LATER = """%%workflow later --run --as later
steps:
  - {id: ends, run: "sleep 0.5", posture: read_only}
"""
LIVE = """%%workflow live --run
steps:
  - {id: stays, run: "sleep 100", posture: read_only}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `saved.ipynb`, as papermill has left it."""
    place = tmp_path_factory.mktemp("saved")
    source = write_notebook(place / "source.ipynb", PARTIAL, LATER, "await later", LIVE, "1 + 1")
    done = papermill(source, place / "saved.ipynb")
    assert done.code == 0, done.said
    return place


@pytest.fixture
def saved(folder: Path) -> Any:
    return read(folder / "saved.ipynb")


def test_a_saved_notebook_holds_how_each_awaited_run_ended_drawn_and_in_words(saved: Any) -> None:
    half, later, awaited, live, _ = shown(saved)
    assert half["text/plain"].startswith("◐ partial · half · r-")
    assert "✗ breaks" in half["text/plain"]
    assert later["text/plain"].startswith("✓ completed · later · r-")
    assert awaited["text/plain"] == later["text/plain"]
    for bundle in (half, later, awaited, live):
        assert set(bundle) == {"text/plain", "text/html"}, "no widget that nobody could show"
        assert len(drawn_in(bundle["text/html"])) == 1
    assert "widgets" not in saved.metadata


def test_a_viewer_that_keeps_no_style_and_no_address_shows_the_words_and_the_sentence_of_the_picture(
    saved: Any,
) -> None:
    card = re.sub(r"<style>.*?</style>", "", shown(saved)[0]["text/html"])
    tags = {"b", "code", "details", "div", "img", "p", "span", "summary", "table", "td", "th", "tr"}
    kept = bleach.clean(card, tags, {"img": ["alt", "src"]}, {"http", "https"}, strip=True)
    words = " ".join(re.sub(r"<(?!img)[^>]*>", "", kept).split())
    assert re.match(r"◐ partial half r-\S+ [\d.]+ m?s.* ready", words)
    assert '<img alt="Steps in columns by wave' in words
    assert "1 failed" in re.findall('alt="(.*?)"', words)[0]


def test_a_run_that_was_live_when_the_notebook_ended_is_shown_as_it_stood(
    saved: Any, folder: Path
) -> None:
    live = shown(saved)[3]
    row = next(row for row in pixirnb.runs(workspace=folder) if row["workflow"] == "live")
    assert row["status"] == "interrupted", "its kernel is gone"
    assert live["text/plain"].startswith("▸ running · live")
    assert f"{STOOD}: %pixir watch {row['run_id']}" in live["text/plain"]
    assert STOOD in live["text/html"]
    assert all(STOOD not in bundle["text/html"] for bundle in shown(saved)[:3])


DRAWN = "data:image/svg+xml,"


class Loads(HTMLParser):
    """Collects what a page would load and do, and counts our pictures."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.loaded: set[str] = set()
        self.active: set[str] = set()
        self.pictures = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in {"script", "iframe", "form", "button", "object", "embed", "base", "meta"}:
            self.active.add(f"<{tag}> {sorted(given)}")
        self.active.update(name for name in given if name.startswith(("on", "data-c")))
        is_drawn = tag == "img" and (given.get("src") or "").startswith(DRAWN)
        self.pictures += is_drawn
        for name in (
            () if is_drawn else ("src", "href", "xlink:href", "data", "srcset", "poster", "action")
        ):
            if (value := given.get(name)) and not value.startswith("#"):
                self.loaded.add(value)
        self.loaded.update(re.findall(r"url\([^)]*\)", given.get("style") or ""))


def page(notebook: Any, template: str) -> str:
    """A notebook as nbconvert writes it."""
    exporter: Any = HTMLExporter(template_name=template)  # type: ignore[no-untyped-call]  # nbconvert is not typed
    body: str = exporter.from_notebook_node(copy.deepcopy(notebook))[0]
    return body


def loads(text: str) -> Loads:
    found = Loads()
    found.feed(text)
    found.loaded.update(re.findall(r"@import[^;]*|url\([^)]*\)", text))
    return found


def without_outputs(notebook: Any) -> Any:
    empty = copy.deepcopy(notebook)
    for cell in empty.cells:
        cell.outputs = []
    return empty


@pytest.mark.parametrize("template", TEMPLATES)
def test_an_exported_page_shows_every_picture_and_loads_nothing_for_it(
    saved: Any, template: str
) -> None:
    found = loads(page(saved, template))
    assert found.pictures == 4
    assert found.loaded == loads(page(without_outputs(saved), template)).loaded
    for bundle in shown(saved)[:4]:
        assert loads(bundle["text/html"]).loaded == set()
        assert "<script" not in bundle["text/html"]


def as_saved_by_jupyterlab(notebook: Any, *, is_state_stored: bool) -> Any:
    """The notebook with a widget beside each picture, as a front-end saves one a person has watched."""
    watched = copy.deepcopy(notebook)
    for bundle in (o["data"] for cell in watched.cells for o in cell.outputs if "data" in o):
        if "text/html" in bundle:
            bundle[WIDGET] = {"model_id": "m1", "version_major": 2, "version_minor": 0}
    if is_state_stored:
        state = {"model_name": "AnyModel", "model_module": "anywidget", "state": {}}
        stored = {"state": {"m1": state}, "version_major": 2, "version_minor": 0}
        watched.metadata["widgets"] = {WIDGET_STATE: stored}
    return watched


@pytest.mark.parametrize("template", TEMPLATES)
def test_what_jupyterlab_saved_is_exported_with_our_picture_in_the_widget_s_place(
    saved: Any, template: str
) -> None:
    watched = as_saved_by_jupyterlab(saved, is_state_stored=False)
    text = page(watched, template)
    found = loads(text)
    assert found.pictures == 4
    assert found.loaded == loads(page(without_outputs(saved), template)).loaded
    assert WIDGET not in text


@pytest.mark.parametrize("template", TEMPLATES)
def test_where_widget_state_was_stored_clearing_it_brings_the_picture_back(
    saved: Any, template: str
) -> None:
    watched = as_saved_by_jupyterlab(saved, is_state_stored=True)
    text = page(watched, template)
    # What cells.md warns of. Should this ever fail, nbconvert has learned to show the picture: say so there.
    assert loads(text).pictures == 0
    assert WIDGET in text

    clearing: Any = ClearMetadataPreprocessor(enabled=True)  # type: ignore[no-untyped-call]  # nbconvert is not typed
    cleared, _ = clearing(copy.deepcopy(watched), {})
    found = loads(page(cleared, template))
    assert found.pictures == 4
    assert found.loaded == loads(page(without_outputs(saved), template)).loaded


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A notebook whose run says hostile things wherever a step can say something."""
    place = tmp_path_factory.mktemp("hostile")
    cells = (
        TELLS_IT,
        HOSTILE,
        "import pixirnb\nrun = pixirnb.open_run(pixirnb.runs()[0]['run_id'])",
    )
    shows = (
        "run",
        "run.bundle('says')",
        "run.history()",
        "run.explain('fails')",
        "run.value('says')",
    )
    source = write_notebook(place / "source.ipynb", *cells, *shows)
    done = papermill(source, place / "hostile.ipynb")
    assert done.code == 0, done.said
    return read(place / "hostile.ipynb")


@pytest.mark.parametrize("template", TEMPLATES)
def test_hostile_text_of_a_run_is_text_in_the_exported_page(hostile: Any, template: str) -> None:
    assert sum("alert(1)" in bundle.get("text/html", "") for bundle in shown(hostile)) >= 3
    found, without = loads(page(hostile, template)), loads(page(without_outputs(hostile), template))
    assert found.loaded == without.loaded
    assert found.active - without.active == set()
    for bundle in shown(hostile):
        seen = loads(bundle.get("text/html", ""))
        assert (seen.loaded, seen.active) == (set(), set())
        assert "\x1b" not in "".join(bundle.values())


def test_nbconvert_itself_runs_a_notebook_into_a_page_that_stands_alone(tmp_path: Path) -> None:
    source = write_notebook(tmp_path / "a.ipynb", PARTIAL)
    words = ("jupyter", "nbconvert", "--execute", "--to", "html", "--template", "basic")
    done = execute(tmp_path, *words, source.name)
    assert done.code == 0, done.said
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    found = loads(text)
    assert found.pictures == 1
    assert found.loaded == set()
    assert "partial" in text


def test_a_saved_notebook_is_the_same_again_when_nbval_runs_it(saved: Any, tmp_path: Path) -> None:
    kept = copy.deepcopy(saved)
    # How far a run has come when its cell returns at once is no two times the same, and nbval sees no redrawing.
    kept.cells = [
        cell for cell in kept.cells if "--run" not in cell.source and "later" not in cell.source
    ]
    save(tmp_path / "again.ipynb", kept)
    words = ("pytest", "-q", "-p", "no:cacheprovider", "--nbval", "--nbval-current-env")
    rules = Path(__file__).parents[1] / "sanitize.cfg"
    done = execute(tmp_path, *words, "--nbval-sanitize-with", str(rules), "again.ipynb")
    assert done.code == 0, done.said
    assert f"{len(kept.cells)} passed" in done.said
