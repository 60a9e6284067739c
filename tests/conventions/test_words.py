"""Names and docstrings use words that an engineer of another house understands at first reading."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "pixirnb"
SOURCES = sorted(PACKAGE.rglob("*.py"))

NAMES = {
    "anew": "recomputed, live_row",
    "around": "context",
    "attend": "wait",
    "asked": "requested, request",
    "beside": "concurrent, additional",
    "cautions": "warnings",
    "course": "prepared",
    "found": "result, or a noun for it",
    "gallery": "open_views",
    "hear": "on_news, on_event, on_output",
    "heed": "raise_refusal",
    "lent": "released",
    "nobody": "none",
    "place": "position, location, folder",
    "places": "positions, locations, source_map",
    "said": "message, text, data",
    "shelf": "registry",
    "stay": "wait",
    "told": "message, reported, logged",
    "wanted": "requested, required, expected",
    "whoever": "owner, caller",
    "wish": "request",
}
"""Part of a name to what says more."""
OPENINGS = {
    "The same": "name the function it resembles: `Like `merge`, …`",
    "Those": "a noun",
    "Of": "a noun: `Maximum number of …`, `The … of …`",
    "What": "Return …, or a noun",
    "Where": "Return the position of …, or a noun",
    "Whether": "Return whether …; of an attribute: True if …",
    "Who": "Return the owner of …, or a noun",
    "Whose": "Return the owner of …, or a noun",
}
"""How a docstring begins to how it could."""
NO_VERB = re.compile(
    r"(?:An?|All|As|At|Both|Each|Every|Everything|For|From|How|In|Its?|No|None|Not|Nothing|On|Once|One|Only|Our"
    r"|Something|That|The|There|These|They|This|Under|Up|When|While|Why|With|Without)(?!\w)|`"
)
"""Beginning of a docstring that says what a function is, and not what it does."""
IDIOMS = {
    "anew": "again",
    "beside": "next to, in addition to",
    "nobody": "no process, no person",
    "told": "reported, logged, given",
    "whoever": "the owner, the caller, a process that",
}
"""Words inside a docstring."""
SHOWN = {
    "spec/policies.py": None,
    "spec/steps.py": None,
    "spec/workflow.py": None,
    "verbs/decisions.py": "",
    "verbs/files.py": "add.",
    "verbs/housekeeping.py": "add.",
    "verbs/interchange.py": "add.",
    "verbs/inspection.py": "add.",
    "verbs/running.py": "add.",
    "verbs/smoke/verb.py": "add.",
}
"""Docstrings that users read, in `--help` or on a page: all of a file, or what lies in a function of it."""


def pieces(name: str) -> set[str]:
    """Return the words of a name in snake_case or CamelCase."""
    return set(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_"))


@cache
def names(path: Path) -> list[tuple[int, str]]:
    """Return every name that a file gives, with its line. Keys of a TypedDict are promised to readers of the document."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    keys = {
        entry.target
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any(ast.unparse(b) == "TypedDict" for b in node.bases)
        for entry in node.body
        if isinstance(entry, ast.AnnAssign)
    }
    given = []
    for node in ast.walk(tree):
        if node in keys:
            continue
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if not name.startswith("test_"):  # a promise, in a sentence
                    given.append((node.lineno, name))
            case ast.ClassDef(name=name) | ast.arg(arg=name):
                given.append((node.lineno, name))
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                given.append((node.lineno, name))
            case ast.MatchAs(name=str(name)):
                given.append((node.lineno, name))
            case _:
                continue
    return given


@cache
def docstrings(path: Path) -> list[tuple[int, str]]:
    """Return every docstring of a file, those below attributes too, with its line."""
    shown = SHOWN.get(path.relative_to(PACKAGE).as_posix(), "never")
    return [
        (line, text)
        for line, within, text in _docstrings(ast.parse(path.read_text(encoding="utf-8")), "")
        if not within or (shown is not None and not within.startswith(shown))
    ]


def _docstrings(node: ast.AST, within: str) -> Iterator[tuple[int, str, str]]:
    for child in getattr(node, "body", ()) if not isinstance(node, ast.Lambda) else ():
        match child:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield child.lineno, within, " ".join(text.split())
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield from _docstrings(child, f"{within}{child.name}.")
            case ast.If():
                yield from _docstrings(child, within)
            case _:
                continue


def offences(path: Path) -> list[str]:
    """Return `file:line: word, better word` for each name and docstring of a file that breaks a rule."""
    where = path.relative_to(PACKAGE.parent).as_posix()
    bad = [
        f"{where}:{line}: `{name}`: not {word}, but {NAMES[word]}"
        for line, name in names(path)
        for word in sorted(pieces(name) & NAMES.keys())
    ]
    for line, text in docstrings(path):
        bad += [
            f"{where}:{line}: begins with `{opening}`; better: {better}"
            for opening, better in OPENINGS.items()
            if re.match(rf"{opening}\b", text)
        ]
        prose = re.sub(r"`[^`]*`", "", text)
        bad += [
            f"{where}:{line}: says `{word}`; better: {better}"
            for word, better in IDIOMS.items()
            if re.search(rf"\b{word}\b", prose, re.IGNORECASE)
        ]
    return bad


def test_a_docstring_of_a_function_begins_with_a_verb() -> None:
    nouns = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {text[:60]}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name != "__init__"  # says what its parameters are
        and not any("property" in ast.unparse(each) for each in node.decorator_list)
        and (text := ast.get_docstring(node))
        and NO_VERB.match(text)
    ]
    assert nouns == []


def test_no_file_has_a_word_of_the_house() -> None:
    assert [offence for path in SOURCES for offence in offences(path)] == []
