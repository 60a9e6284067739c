"""Text of pages that the code says: written between marks in the Markdown files, so that every reader of them has it.

What stands between `<!-- generated: NAME … -->` and `<!-- end -->` is the Markdown of the generator of that name, which is
handed the words behind the name. `make fix` runs this file; a test says which page is stale.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import error_tree
import event_kinds
import magic_help
import public_names
import read_figures
import spec_keys
import tool_definitions
import tutorial_notebooks
import verb_help

DOCS: Final = Path(__file__).parents[1]
MARK: Final = re.compile(
    r"^(<!-- generated: ([a-z-]+)([^>]*?) -->\n).*?^(<!-- end -->)$", re.MULTILINE | re.DOTALL
)
PAGES: Final = sorted([*DOCS.rglob("*.md"), *DOCS.rglob("*.svg")])
GENERATORS: Final[dict[str, Callable[..., str]]] = {
    "error-tree": error_tree.page,
    "events": event_kinds.page,
    "magics": magic_help.page,
    "figures": read_figures.page,
    "python": public_names.page,
    "spec": spec_keys.page,
    "tools": tool_definitions.page,
    "tutorial": tutorial_notebooks.page,
    "verbs": verb_help.page,
}


def written(text: str) -> str:
    """A page with what the code says now."""
    return MARK.sub(
        lambda found: f"{found[1]}\n{GENERATORS[found[2]](*found[3].split())}\n\n{found[4]}", text
    )


def main() -> None:
    """Write what differs, and name it."""
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        if (now := written(text)) != text:
            path.write_text(now, encoding="utf-8")
            print(f"wrote {path.relative_to(DOCS.parent)}")


if __name__ == "__main__":
    main()
