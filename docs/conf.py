"""How the site is built: `make docs`. Nothing is fetched or executed; `_ext/write_pages.py` writes what the code says."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from pixirnb.system.version import release as installed

project = "pixirnb"
author = "the pixirnb authors"
copyright = author  # noqa: A001 - Sphinx reads it under this name
version = release = installed()

extensions = ["myst_nb", "site_notebooks"]
exclude_patterns = ["_ext"]
highlight_language = "none"  # a block that names no language is a drawing
nitpicky = True

# Notebooks are shown as they were recorded. That they still say so is for nbval, in `make test`.
nb_execution_mode = "off"
nb_merge_streams = True
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # would come from a CDN
nb_mime_priority_overrides = [
    ("html", "application/vnd.jupyter.widget-view+json", None),  # has its picture beside it
    ("html", "text/latex", None),  # as is what would draw formulas
]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "pixirnb"
html_copy_source = False
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["pages.css"]
