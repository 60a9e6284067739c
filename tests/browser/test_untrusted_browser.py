"""A notebook that came from somebody else is not trusted: its style sheets and inline `<svg>` are dropped, its words and pictures stay."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.chromium import ROOT
from tests.browser.conftest import HEIGHT, WIDTH
from tests.browser.jupyter_servers import APPS, App, Server
from tests.browser.notebook_page import Notebook
from tests.browser.stage import Stage
from tests.sweeps import first_of

CARDS = """
async () => {
  const panel = [...window.jupyterapp.shell.widgets('main')].find(w => w.content?.widgets);
  panel.content.notebookConfig = {...panel.content.notebookConfig, windowingMode: 'none'};
  const cards = () => [...document.querySelectorAll('div.pixirnb-view')];
  const wanted = panel.content.model.sharedModel.cells.flatMap(cell => cell.toJSON().outputs ?? [])
    .filter(output => output.data && [output.data['text/html'] ?? ''].flat().join('').includes('div class="pixirnb-view')).length;
  while (cards().length < wanted) await new Promise(done => setTimeout(done, 50));
  const pictures = cards().flatMap(card => [...card.querySelectorAll('img')]);
  await Promise.all(pictures.map(picture => picture.decode()));
  return cards().map(card => [card.innerText, [...card.querySelectorAll('img')].map(picture => picture.naturalWidth)]);
}
"""
"""Words and widths of the pictures of each card on a page."""


def saved_cards(file: Path) -> list[str]:
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    bundles = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    cards = ["".join(bundle.get("text/html", "")) for bundle in bundles]
    return [card for card in cards if '<div class="pixirnb-view' in card]


def words(text: str) -> list[str]:
    """The words of a card. A symbol stands only where no icon can."""
    return [word for word in text.split() if any(map(str.isalnum, word))]


@pytest.mark.parametrize("app", first_of(APPS))
def test_each_shipped_notebook_shows_its_words_and_pictures_untrusted(
    stage: Stage, serve: Callable[[App], Server], app: App
) -> None:
    server = serve(app)
    server.settle_settings()
    context = stage.browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    page, trusting = context.new_page(), context.new_page()
    seen = 0
    for source in sorted((ROOT / "notebooks").glob("*.ipynb")):
        shutil.copy(source, server.root / source.name)
        notebook = Notebook(page, server, source.name)
        shown = page.evaluate(CARDS)
        saved = saved_cards(source)
        assert len(shown) == len(saved)
        for card, (text, widths) in zip(saved, shown, strict=True):
            trusting.set_content(card)
            assert words(text) == words(trusting.locator("div.pixirnb-view").inner_text())
            assert len(widths) == card.count("<img ")
            assert all(width > 100 for width in widths)
            seen += len(widths)
        if source.name.startswith("01"):
            notebook.screenshot("untrusted")
        notebook.close()
    context.close()
    assert seen > 10
