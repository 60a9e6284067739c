"""Texts that a user reads use the words of docs/internals/message-style.md: strings of the product that hold a sentence."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "pixirnb"
SOURCES = sorted(
    path
    for pattern in ("*.py", "*.js")
    for path in PACKAGE.rglob(pattern)
    if "testing" not in path.relative_to(PACKAGE).parts
)

WORDS = {
    r"mend(?:s|ed|ing)?": "fix",
    r"told": "reported, given, shown",
    r"stands?|stood": "is, was",
    r"course": "invocation",
    r"acts?|acted": "run, revision",
    r"words?": "decision, answer, text",
    r"leaves?": "permission, keeps",
    r"sides?(?! effects?)": "version, end",
    r"try|tries|tried": "attempt, run",
    r"whoever": "the owner, the process that",
    r"of ours|of our own": "native, pixirnb's",
    r"anew": "again",
    r"nobody": "no process, no person",
    r"beside": "next to, in parallel with, in addition to",
    r"time-outs?": "timeout",
    r"comes? to rest|came to rest": "finishes, pauses",
    r"is no|are no": "unknown X; is not a",
    r"kept apart": "serialized",
    r"tak(?:es?|en|ing) (?:it )?back": "undo",
    r"put right": "fix",
}
"""Pattern of a word to what says more."""
ALLOWED = re.compile(r"try again|side effects?|side by side|left side|right side", re.IGNORECASE)
QUOTED = re.compile(r"`[^`]*`|\{[^{}]*\}|--[\w-]+|https?://\S+")
"""Keys, options, names and what the user wrote: not our words."""


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """Return every text of a file that holds a blank, with its line; docstrings, comments and logs aside."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".js":
        bare = re.sub(
            r"/\*.*?\*/", lambda found: "\n" * found.group().count("\n"), source, flags=re.DOTALL
        )
        for number, row in enumerate(bare.splitlines(), 1):
            code = re.sub(r"(^|\s)//.*", "", row)
            for text in re.findall(r'"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`', code):
                joined = re.sub(r"\$\{[^}]*\}", "{}", "".join(text))
                if " " in joined:
                    yield number, joined
        return
    tree = ast.parse(source)
    aside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            aside.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            aside.update(id(part) for part in node.values)
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr(values=parts):
                text = "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in parts)
            case ast.Constant(value=str(text)) if id(node) not in aside:
                pass
            case _:
                continue
        if " " in text:
            yield node.lineno, text


def offences(path: Path) -> list[str]:
    """Return `file:line: word (better word): text` for each text of a file that breaks the list."""
    where = path.relative_to(ROOT).as_posix()
    return [
        f"{where}:{line}: {found.group()} ({better}): {text[:90]}"
        for line, text in sentences(path)
        for word, better in WORDS.items()
        for found in re.finditer(
            rf"(?<![\w.-])(?:{word})(?![\w-])", ALLOWED.sub("", QUOTED.sub("", text)), re.IGNORECASE
        )
    ]


def room(path: Path) -> str:
    """Return the folder of a file below the package."""
    return path.parent.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("name", sorted({room(path) for path in SOURCES}))
def test_a_room_says_nothing_in_words_of_our_own(name: str) -> None:
    assert [each for path in SOURCES if room(path) == name for each in offences(path)] == []
