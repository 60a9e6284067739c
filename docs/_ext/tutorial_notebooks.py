"""The tutorial is the notebooks: copied beside its index at every build, and listed there as they describe themselves.

Git keeps one of each, in `notebooks/`; the copies are ignored. Links in their text are turned to where the copies stand.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

FOLDER: Final = "tutorial"
LINK: Final = re.compile(r"\]\(\.\./(docs/)?")
PICTURE: Final = "images/live-view.png"


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


def page(site: Path) -> str:
    """Every notebook in order, with its title and what it says you will see; and the toctree. Markdown."""
    found = [(path.stem, *_opening(path)) for path in _notebooks(site)]
    parts = [f"## [{title}]({stem}.ipynb)\n\n{lead}" for stem, title, lead in found]
    tree = "\n".join(["```{toctree}", ":hidden:", "", *(stem for stem, _, _ in found), "```"])
    return "\n\n".join([*parts, tree])


def picture(site: Path) -> str:
    """The live view as a picture, once there is one."""
    if not (site / PICTURE).is_file():
        return ""
    return f"![A run in a notebook cell: five steps ready, one failed, one held, and one that waits for a decision]({PICTURE})"


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
