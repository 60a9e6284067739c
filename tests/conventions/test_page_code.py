"""The browser's part of the code: modules joined into one text. What does not need node to be checked is checked here."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from pixirnb.notebook.live import widget
from pixirnb.notebook.live.widget import STATIC
from pixirnb.views.basics.ansi import WORDS

MODULES = sorted(STATIC.rglob("*.js"))
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|srcdoc|document\.write|\beval\(|\bFunction\(|javascript:"
)
"""Ways by which text becomes markup or code."""


def named(path: Path) -> str:
    return path.relative_to(STATIC).as_posix()


def uncommented(text: str) -> str:
    return re.sub(r"^\s*//[^\n]*$|/\*.*?\*/", "", text, flags=re.MULTILINE | re.DOTALL)


def test_every_file_is_joined_into_the_page_once() -> None:
    joined = Counter(map(named, (*widget.modules(), *widget.sheets())))
    files = {named(path) for path in STATIC.rglob("*") if path.is_file()}
    assert joined == Counter(files - {"main.css", "package.json", "loader.js"})


@pytest.mark.parametrize("main", [widget.MAIN, widget.LOADER], ids=named)
def test_a_module_stands_after_those_it_imports(main: Path) -> None:
    joined = widget.modules(main)
    for place, module in enumerate(joined):
        imported = re.findall(r'^import .* from "(.*)";$', module.read_text(), re.MULTILINE)
        assert {(module.parent / path).resolve() for path in imported} <= set(joined[:place])
    assert joined[-1] == main


@pytest.mark.parametrize("main", [widget.MAIN, widget.LOADER], ids=named)
def test_the_joined_page_imports_nothing_and_exports_the_widget_alone(main: Path) -> None:
    linked = re.findall(r"^(?:import|export) [^\n]*", widget.browser_code(main), re.MULTILINE)
    assert [words.split()[:2] for words in linked] == [["export", "default"]]


def test_a_name_is_given_once_in_the_one_scope_of_the_page() -> None:
    declared = re.compile(r"^(?:async )?(?:const|let|function|class) (\w+)", re.MULTILINE)
    names = Counter(declared.findall(uncommented(widget.browser_code())))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("module", MODULES, ids=named)
def test_text_never_becomes_markup_or_code(module: Path) -> None:
    code = uncommented(module.read_text())
    assert MARKUP.search(code) is None
    # The package's own shapes are parsed, in one place.
    assert ("DOMParser" in code) is (named(module) == "dom/elements.js")


@pytest.mark.parametrize("path", [*MODULES, *sorted(STATIC.rglob("*.css"))], ids=named)
def test_a_file_of_the_page_is_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


def test_every_style_of_printed_text_has_a_look() -> None:
    looks = widget.style_sheet()
    assert [
        word for word in sorted(WORDS) if not re.search(rf"\.pixirnb-ansi-{word}\b", looks)
    ] == []
