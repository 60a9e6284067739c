"""How the site is built: `make docs`. What pages generate comes from `_ext/`; nothing is fetched, nothing is executed."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from pixirnb.system.version import release as installed

project = "pixirnb"
author = "the pixirnb authors"
copyright = author  # noqa: A001 - Sphinx reads it under this name
version = release = installed()

extensions = ["myst_nb", "sphinx.ext.autodoc", "generated_pages"]
exclude_patterns = ["_ext"]
highlight_language = "none"  # a block that names no language is a drawing
nitpicky = True
nitpick_ignore_regex = [
    # Names of other projects: their inventories would have to be fetched.
    (r"py:.*", r"(?!pixirnb\b).*"),
    # Types that public signatures mention and that stay inside the house.
    (r"py:.*", r"pixirnb\.(?!testing\b)[a-z_]+\..*"),
]

# Notebooks are shown as they were recorded. That they still say so is for nbval, in `make test`.
nb_execution_mode = "off"
nb_merge_streams = True
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # would come from a CDN
nb_mime_priority_overrides = [
    ("html", "application/vnd.jupyter.widget-view+json", None),  # has its picture beside it
    ("html", "text/latex", None),  # as is what would draw formulas
]
myst_heading_anchors = 4

default_role = "literal"  # docstrings are written for people and editors: `so` is code
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = "pixirnb"
html_copy_source = False
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["pages.css"]
