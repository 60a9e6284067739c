"""Pages for users use the words of docs/internals/message-style.md, as texts of the product do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conventions.test_user_text import QUOTED, WORDS

ROOT = Path(__file__).parents[2]
COMMON = frozenset({r"acts?|acted", r"words?", r"leaves?", r"sides?(?! effects?)", r"is no|are no"})
COMMON |= {r"try|tries|tried"}
"""Words that have an ordinary meaning in longer prose."""
INSIDE = frozenset({"decisions.md", "design.md"})
"""Pages of the folder that belong to Internals."""
PAGES = [
    ROOT / "README.md",
    ROOT / "SECURITY.md",
    *(
        path
        for folder in ("", "quickstart", "how-to", "tutorial", "reference")
        for path in sorted((ROOT / "docs" / folder).glob("*.md"))
        if path.name not in INSIDE
    ),
]


def offences(text: str) -> list[str]:
    """Return every use of a listed word outside code, links and quotations."""
    prose = re.sub(r"^```.*?^```$|\]\([^)]*\)", "", text, flags=re.DOTALL | re.MULTILINE)
    return [
        f"{found[0]} ({better}): {line.strip()[:100]}"
        for line in QUOTED.sub("", prose).splitlines()
        for word, better in WORDS.items()
        if word not in COMMON
        for found in re.finditer(rf"(?<![\w.-])(?:{word})(?![\w-])", line, re.IGNORECASE)
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_says_nothing_in_words_of_the_house(path: Path) -> None:
    assert offences(path.read_text(encoding="utf-8")) == []


def test_a_word_of_the_house_is_found() -> None:
    assert offences("It stands there, and nobody is told.\n") != []
    assert offences("```text\nnobody\n```\n`told` [here](nobody.md)\n") == []
