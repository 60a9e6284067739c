"""The site of the docs: built without a warning, from the code as it is, and whole without a network."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import pixirnb
from pixirnb.verbs.app import build

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FOREIGN = re.compile(r"^\s*(https?:)?//", re.IGNORECASE)
CSS = re.compile(r"""url\(\s*['"]?([^'")]*)|@import\s+['"]([^'"]*)""", re.IGNORECASE)
SCRIPTED = re.compile(r"""\b(?:import|fetch|require)\s*\(\s*['"](https?:[^'"]*)""")

pytestmark = pytest.mark.timeout(
    300
)  # a site is built before the first of them: slow on a busy machine


class Loads(HTMLParser):
    """What a browser fetches to show a page: its address, tag and, of styles in it, theirs."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._inside = tag
        if tag == "link" and given.get("rel") not in {"index", "search", "next", "prev"}:
            self.found.append(given.get("href", ""))
        if tag in {"script", "img", "iframe", "embed", "source", "video", "audio", "input"}:
            self.found.append(given.get("src", ""))
        self.found += given.get("srcset", "").split(",")
        self.found += styled(given.get("style", ""))

    def handle_data(self, data: str) -> None:
        if self._inside == "style":
            self.found += styled(data)
        if self._inside == "script":
            self.found += SCRIPTED.findall(data)


def styled(text: str) -> list[str]:
    """Addresses that a style sheet loads."""
    return [first or second for first, second in CSS.findall(text)]


def loads(path: Path) -> Iterator[str]:
    """Addresses that a built page or style sheet loads."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        yield from styled(text)
        return
    parser = Loads()
    parser.feed(text)
    yield from parser.found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once as `make docs` builds it: any warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    built = subprocess.run(
        [*command, "-d", f"{folder}-doctrees", DOCS, folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.stderr + built.stdout == ""
    assert built.returncode == 0
    return folder


def test_no_page_loads_anything_from_the_network(site: Path) -> None:
    files = [path for kind in ("*.html", "*.css") for path in sorted(site.rglob(kind))]
    assert len(files) > 20
    foreign = {
        f"{path.relative_to(site)}: {address}"
        for path in files
        for address in loads(path)
        if FOREIGN.match(address)
    }
    assert foreign == set()


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//cdn.example/x.css">',
        '<style>@import "https://cdn.example/x.css";</style>',
        "<p style=\"background: url('https://cdn.example/x.png')\">",
        '<script>import("https://cdn.example/x.mjs")</script>',
        '<img srcset="a.png, https://cdn.example/b.png 2x">',
    ],
)
def test_what_would_be_loaded_from_elsewhere_is_found(tmp_path: Path, text: str) -> None:
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    assert any(FOREIGN.match(address) for address in loads(tmp_path / "page.html"))


def test_no_page_is_stale() -> None:
    spec = spec_from_file_location("write_pages", DOCS / "_ext" / "write_pages.py")
    assert spec is not None
    assert spec.loader is not None
    writer = module_from_spec(spec)
    sys.path.insert(0, str(DOCS / "_ext"))
    spec.loader.exec_module(writer)
    pages = {path: path.read_text(encoding="utf-8") for path in writer.PAGES}
    stale = [path.name for path, text in pages.items() if writer.written(text) != text]
    assert stale == [], "to write what the code says now: make fix"
    marks = [text.count("<!-- generated: ") for text in pages.values()]
    assert sum(marks) == sum(len(writer.MARK.findall(text)) for text in pages.values())


def test_every_public_name_has_its_place_in_the_reference() -> None:
    text = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    assert [name for name in pixirnb.__all__ if f"\n### {name}\n" not in text] == []
    for shown in ("#### Run.decide\n", "#### Run.value\n", "| `waves` | `tuple[tuple[str, ...]"):
        assert f"\n{shown}" in text


def test_the_help_of_every_verb_is_shown(site: Path) -> None:
    text = (site / "reference" / "cli-help.html").read_text(encoding="utf-8")
    app = build()
    first = {id(app[name]): name for name in reversed([*app]) if not name.startswith("-")}
    verbs = [*first.values()]  # without other names of a verb
    assert {"show", "runs", "schema"} <= {*verbs}
    assert [verb for verb in verbs if f"Usage: pixirnb {verb}" not in text] == []
    assert "%%workflow" in text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_is_a_page_of_the_tutorial(site: Path, path: Path) -> None:
    page = site / "tutorial" / f"{path.stem}.html"
    assert page.is_file()
    assert f'href="{path.stem}.html"' in (site / "tutorial" / "index.html").read_text(
        encoding="utf-8"
    )
    assert "cell_output" in page.read_text(encoding="utf-8")
