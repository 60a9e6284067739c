"""The Sphinx extension of this site: the tutorial's notebooks, and colours. All text stands in the pages (`write_pages.py`)."""

from __future__ import annotations

from pathlib import Path

import cell_lexer
import tutorial_notebooks
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx


def copy(app: Sphinx) -> None:
    """Bring the notebooks beside the tutorial."""
    tutorial_notebooks.copy(Path(app.srcdir))


def turn(_app: Sphinx, name: str, content: list[str]) -> None:
    """Turn the links of the tutorial's index to the copies; `content[0]` is the page."""
    if name == f"{tutorial_notebooks.FOLDER}/index":
        content[0] = tutorial_notebooks.to_copies(content[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_lexer("python", cell_lexer.CellLexer)
    app.add_lexer("ipython3", cell_lexer.CellLexer)
    app.add_lexer("ipythontb", TextLexer)  # errors here are sentences, and look like no traceback
    app.connect("builder-inited", copy)
    app.connect("source-read", turn)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
