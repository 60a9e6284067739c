"""The Sphinx extension of this site: pages whose words come from the code.

A line `<!-- generated: NAME -->` in a page is replaced, when the page is read, by the Markdown of the generator of that
name. An unknown name ends the build. The notebooks are copied beside the tutorial before pages are looked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import cell_lexer
import error_tree
import event_kinds
import magic_help
import spec_keys
import tool_definitions
import tutorial_notebooks
import verb_help
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.ext.napoleon import Config, GoogleDocstring

MARK: Final = re.compile(r"^<!-- generated: ([a-z-]+) -->$", re.MULTILINE)
GENERATORS: Final[dict[str, Callable[[Path], str]]] = {
    "error-tree": error_tree.page,
    "events": event_kinds.page,
    "live-view": tutorial_notebooks.picture,
    "magics": magic_help.page,
    "spec": spec_keys.page,
    "tools": tool_definitions.page,
    "tutorial": tutorial_notebooks.page,
    "verbs": verb_help.page,
}
"""Each is handed the folder of the site's sources."""


def fill(app: Sphinx, name: str, content: list[str]) -> None:
    """Put generated text where a page asks for it; `content[0]` is the page."""

    def generated(found: re.Match[str]) -> str:
        generator = GENERATORS.get(found[1])
        if generator is None:
            raise ExtensionError(f"{name}: nothing generates `{found[1]}`")
        return generator(Path(app.srcdir))

    content[0] = MARK.sub(generated, content[0])


def follow(
    app: Sphinx, env: Any, _added: set[str], _changed: set[str], _removed: set[str]
) -> list[str]:
    """Pages with generated parts are always read again: they depend on code."""
    return [
        name
        for name in sorted(env.found_docs)
        if (path := Path(app.srcdir, f"{name}.md")).is_file()
        and MARK.search(path.read_text(encoding="utf-8"))
    ]


def copy(app: Sphinx) -> None:
    """Bring the notebooks beside the tutorial."""
    tutorial_notebooks.copy(Path(app.srcdir))


def without_fields(
    _app: Sphinx, what: str, name: str, _object: Any, _options: Any, _words: str, _returns: str
) -> tuple[str, str] | None:
    """No signature for what only pixirnb makes: its fields are listed beneath it anyway."""
    if what in {"class", "exception"} and not name.startswith("pixirnb.testing."):
        return "", ""
    return None


def sections(
    _app: Sphinx, what: str, _name: str, _object: Any, _options: Any, lines: list[str]
) -> None:
    """Set `Args`, `Raises` and `Example` as lists; a sentence beneath an attribute has none."""
    if what not in {"attribute", "property"}:
        lines[:] = GoogleDocstring(lines, Config(), what=what).lines()


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_lexer("python", cell_lexer.CellLexer)
    app.add_lexer("ipython3", cell_lexer.CellLexer)
    app.add_lexer("ipythontb", TextLexer)  # errors here are sentences, and look like no traceback
    app.connect("builder-inited", copy)
    app.connect("autodoc-process-signature", without_fields)
    app.connect("autodoc-process-docstring", sections)
    app.connect("env-get-outdated", follow)
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
