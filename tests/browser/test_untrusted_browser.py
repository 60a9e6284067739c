"""A notebook from somebody else is not trusted: style sheets and inline `<svg>` are dropped, words and pictures stay."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.chromium import ROOT
from tests.browser.conftest import HEIGHT, WIDTH
from tests.browser.jupyter_servers import APPS, App, Server
from tests.browser.notebook_page import Notebook
from tests.browser.stage import Stage
from tests.sweeps import first_of

CARDS = """
async wanted => {
  const panel = [...window.jupyterapp.shell.widgets('main')].find(w => w.content?.widgets);
  panel.content.notebookConfig = {...panel.content.notebookConfig, windowingMode: 'none'};
  const cards = () => [...document.querySelectorAll('div.pixirnb-view')];
  const pictures = card => [...card.querySelectorAll('img')];
  const areThere = () => cards().length >= wanted && cards().flatMap(pictures).every(picture => picture.complete);
  while (!areThere()) await new Promise(done => setTimeout(done, 50));
  return cards().map(card => [card.innerText, pictures(card).map(picture => picture.naturalWidth)]);
}
"""
"""Words, and widths of the pictures, of each card on a page."""


def shipped() -> dict[str, Any]:
    """A notebook with a cell for each shipped one, which shows all that its cells show: an editor costs more than a card."""
    files = sorted((ROOT / "notebooks").glob("*.ipynb"))
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"cell-{number}",
            "metadata": {},
            "outputs": [shown for cell in document["cells"] for shown in cell.get("outputs", [])],
            "source": "",
        }
        for number, document in enumerate(documents)
    ]
    return {**documents[0], "cells": cells}


def cards_of(document: dict[str, Any]) -> list[str]:
    outputs = [output for cell in document["cells"] for output in cell.get("outputs", [])]
    found = ["".join(output.get("data", {}).get("text/html", "")) for output in outputs]
    return [card for card in found if '<div class="pixirnb-view' in card]


def words(text: str) -> list[str]:
    """The words of a card. A symbol stands only where no icon can."""
    return [word for word in text.split() if any(map(str.isalnum, word))]


@pytest.mark.parametrize("app", first_of(APPS))
def test_the_shipped_notebooks_show_their_words_and_pictures_untrusted(
    stage: Stage, serve: Callable[[App], Server], app: App
) -> None:
    server, document = serve(app), shipped()
    (server.root / "shipped.ipynb").write_text(json.dumps(document), encoding="utf-8")
    context = stage.browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    notebook = Notebook(context.new_page(), server, "shipped.ipynb")
    saved = cards_of(document)
    shown = notebook.page.evaluate(CARDS, len(saved))
    trusting = context.new_page()
    for card, (text, widths) in zip(saved, shown, strict=True):
        trusting.set_content(card)
        assert words(text) == words(trusting.locator("div.pixirnb-view").inner_text())
        assert len(widths) == card.count("<img ")
        assert all(width > 100 for width in widths)
    assert sum(len(widths) for _, widths in shown) > 20
    notebook.close()
    context.close()
