"""The tutorial is the notebooks: listed in its index as they describe themselves, and copied beside it at every build.

Git keeps one of each, in `notebooks/`; the copies are ignored. Links are turned to where the copies stand.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

FOLDER: Final = "tutorial"
LINK: Final = re.compile(r"\]\(\.\./(docs/)?")
FROM_INDEX: Final = "../../notebooks/"
SITE: Final = Path(__file__).parents[1]


def copy(site: Path) -> None:
    """Bring every notebook to `tutorial/`, write only what differs, and remove what is no longer there."""
    wanted = {path.name: _copied(path) for path in _notebooks(site)}
    for old in (site / FOLDER).glob("*.ipynb"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        path = site / FOLDER / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def page() -> str:
    """Every notebook in order, with its title and what it says you will see. Markdown."""
    found = [(path.name, *_opening(path)) for path in _notebooks(SITE)]
    return "\n\n".join(f"## [{title}]({FROM_INDEX}{name})\n\n{lead}" for name, title, lead in found)


def to_copies(text: str) -> str:
    """The index with its links to the copies, which only the site has."""
    return text.replace(f"]({FROM_INDEX}", "](")


def _notebooks(site: Path) -> list[Path]:
    return sorted((site.parent / "notebooks").glob("*.ipynb"))


def _copied(path: Path) -> str:
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    # Of live widgets a page can show nothing: each has its picture beside it.
    notebook["metadata"].pop("widgets", None)
    notebook["metadata"].setdefault("language_info", {"name": "python"})["pygments_lexer"] = (
        "ipython3"
    )
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            text = "".join(cell["source"])
            cell["source"] = LINK.sub(lambda link: "](../" if link[1] else "](../../", text)
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def _opening(path: Path) -> tuple[str, str]:
    """Title and first paragraph of a notebook."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    text = next(
        ("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"),
        "",
    )
    title, _, rest = text.strip().partition("\n")
    lead = rest.strip().split("\n\n")[0]
    return title.lstrip("# ") or path.stem, LINK.sub(
        lambda link: "](../" if link[1] else "](../../", lead
    )
