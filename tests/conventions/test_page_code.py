"""The browser's part of the code: plain files in one scope. Nobody compiles them, so what a compiler would say is said here."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from pixirnb.notebook.live import widget
from pixirnb.views.basics.ansi import WORDS

STATIC = Path(widget.__file__).parents[1] / "static"
SCRIPTS = sorted(STATIC.glob("*.js"))
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|srcdoc|document\.write|\beval\(|\bFunction\(|javascript:"
)
"""Ways by which text becomes markup or code."""


def uncommented(script: Path) -> str:
    return re.sub(
        r"^\s*//[^\n]*$|/\*.*?\*/", "", script.read_text(), flags=re.MULTILINE | re.DOTALL
    )


def test_every_file_is_joined_into_the_page_once() -> None:
    joined = Counter((*widget.PARTS, *widget.SHEETS))
    assert joined == Counter(path.name for path in STATIC.iterdir())


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_text_never_becomes_markup_or_code(script: Path) -> None:
    said = uncommented(script)
    assert MARKUP.search(said) is None
    # The package's own shapes are parsed, in one place.
    assert ("DOMParser" in said) is (script.name == "elements.js")


@pytest.mark.parametrize("path", sorted(STATIC.iterdir()), ids=lambda path: path.name)
def test_a_file_of_the_page_is_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


def test_a_name_is_given_once_in_the_one_scope_of_the_page() -> None:
    declared = re.compile(r"^(?:async )?(?:const|let|function|class) (\w+)", re.MULTILINE)
    names = Counter(name for script in SCRIPTS for name in declared.findall(uncommented(script)))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_what_is_reckoned_is_not_set(script: Path) -> None:
    said = uncommented(script)
    reckoned = set(re.findall(r"^  get (\w+)\(", said, re.MULTILINE))
    settable = set(re.findall(r"^  set (\w+)\(", said, re.MULTILINE))
    assigned = set(re.findall(r"this\.(\w+) (?:\?\?|[-+|&])?=(?!=)", said))
    assert (reckoned - settable) & assigned == set()


def test_every_style_of_printed_text_has_a_look() -> None:
    looks = widget.style_sheet()
    assert [
        word for word in sorted(WORDS) if not re.search(rf"\.pixirnb-ansi-{word}\b", looks)
    ] == []
