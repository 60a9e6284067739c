"""How the house is kept: small files named by nouns, one place for each dangerous thing, nothing of one machine."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "pixirnb"
SOURCES = sorted(PACKAGE.rglob("*.py"))
KEPT = [*SOURCES, *sorted((ROOT / "harness").rglob("*.py"))]
"""What is kept like a house: the package, and what tries it."""
TESTS = sorted((ROOT / "tests").rglob("*.py"))
TEXTS = [
    path
    for folder in (
        "pixirnb",
        "harness",
        "tests",
        "docs",
        "examples",
        "notebooks",
        "benchmarks",
        ".ci",
    )
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".md", ".yaml", ".ipynb", ".js", ".css", ".toml", ".jsonl", ""}
    and path.is_file()
    and "__pycache__" not in path.parts
    and ".ipynb_checkpoints" not in path.parts
] + [
    ROOT / name
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "pyproject.toml")
]

LARGE = 300
NO_CODE = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    | {tokenize.ENDMARKER}
)
GRAB_BAGS = frozenset(
    {"util", "utils", "helper", "helpers", "common", "misc", "manager", "managers", "tools"}
)

# Where the world's time and chance may enter: everything else is handed a clock or an id.
CLOCK_KEEPERS = ("engine/services.py", "store/", "runners/", "notebook/", "testing/")
BANNED_CALLS = {
    "datetime.now": CLOCK_KEEPERS,
    "datetime.utcnow": (),
    "datetime.today": CLOCK_KEEPERS,
    "time.time": CLOCK_KEEPERS,
    "time.time_ns": CLOCK_KEEPERS,
    "uuid.uuid4": CLOCK_KEEPERS,
    "uuid4": CLOCK_KEEPERS,
    "eval": ("runners/",),
    "exec": ("runners/",),
    "compile": ("runners/", "notebook/"),
}
# `value_codec` writes and reads signed pickles; a python step's arguments travel to our own child over a pipe,
# and a job to the workers of the cluster that a run is given.
PICKLERS = frozenset(
    {
        "value_codec.py",
        "runners/cluster/packet.py",
        "runners/python/child.py",
        "runners/python/runner.py",
    }
)
PICKLES = frozenset({"pickle", "cloudpickle", "dill", "marshal", "shelve"})


@cache
def tree(path: Path) -> ast.Module:
    """A file as it is parsed: once for all tests."""
    return ast.parse(path.read_text(encoding="utf-8"))


def inside(path: Path) -> str:
    """The path within the package, as posix text."""
    return path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else ROOT).as_posix()


def dotted(node: ast.expr) -> str:
    """`a.b.c` for a name or attribute chain; empty for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{base}.{attr}" if (base := dotted(value)) else ""
        case _:
            return ""


@cache
def calls(path: Path) -> list[tuple[str, int]]:
    """Every call by dotted name, with its line."""
    return [
        (name, node.lineno)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and (name := dotted(node.func))
    ]


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every imported module, with its line."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", node.lineno


def code_lines(path: Path) -> int:
    """Lines with code on them, of a file that could have too many: docstrings, comments and empty lines are free."""
    text = path.read_text(encoding="utf-8")
    if text.count("\n") <= LARGE:
        return 0
    prose = {
        line
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(code - prose)


def test_no_file_has_more_code_than_a_reader_can_hold() -> None:
    assert {inside(path): lines for path in KEPT if (lines := code_lines(path)) > LARGE} == {}


def test_every_module_begins_with_what_it_is_for() -> None:
    silent = [
        inside(path)
        for path in KEPT
        if path.name != "__init__.py" and not ast.get_docstring(tree(path))
    ]
    assert silent == []


def test_packages_hold_no_logic_of_their_own() -> None:
    busy = []
    for path in KEPT:
        # What users import by name hands its names on as they are used.
        if path.name == "__init__.py" and path.parent not in {PACKAGE, PACKAGE / "api"}:
            body = tree(path).body
            if any(
                not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
                for node in body
            ):
                busy.append(inside(path))
    assert busy == []


def test_no_file_is_a_grab_bag() -> None:
    names = [
        path
        for path in KEPT
        if path.stem.strip("_") in GRAB_BAGS or path.parent.name in GRAB_BAGS - {"tools"}
    ]
    assert [inside(path) for path in names] == []


@pytest.mark.parametrize("name", sorted(BANNED_CALLS))
def test_time_chance_and_evaluation_enter_only_where_they_may(name: str) -> None:
    allowed = BANNED_CALLS[name]
    found = [
        f"{inside(path)}:{line}"
        for path in SOURCES
        if not inside(path).startswith(tuple(allowed) or ("\0",))
        for called, line in calls(path)
        if called == name or (("." in name) and called.endswith("." + name))
    ]
    assert found == []


def test_pickles_are_handled_in_one_place() -> None:
    found = [
        f"{inside(path)}:{line}"
        for path in SOURCES
        if inside(path) not in PICKLERS
        for module, line in imports(path)
        if module.partition(".")[0] in PICKLES
    ]
    assert found == []


def test_tests_use_fakes_and_never_mocks() -> None:
    mocked = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in TESTS
        for module, line in [*imports(path), *calls(path)]
        if module.startswith("unittest.mock")
        or module.endswith(("monkeypatch.setattr", "monkeypatch.setitem"))
    ]
    assert mocked == []
    scripts = (ROOT / "tests" / "javascript").glob("*.mjs")
    assert [path.name for path in scripts if "mock." in path.read_text(encoding="utf-8")] == []


def test_tests_are_never_skipped() -> None:
    skipped = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in TESTS
        for name, line in calls(path)
        if name in {"pytest.skip", "pytest.mark.skip", "pytest.mark.skipif", "pytest.importorskip"}
    ]
    assert skipped == []


def test_nothing_names_a_machine_or_a_registry() -> None:
    homes = "|".join(("home", "root", "Users", "work"))
    machine = re.compile(rf"(?<![\w.}}/~*-])/({homes})/[A-Za-z.][\w.-]*")
    registry = re.compile(
        "(" + "|".join((r"pypi\.(org|python)", r"files\.pythonhosted", "--index" + "-url")) + ")"
    )
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in TEXTS
        for number, line in enumerate(
            path.read_text(encoding="utf-8", errors="replace").splitlines(), 1
        )
        if machine.search(line) or registry.search(line)
    ]
    assert found == []


def test_nothing_is_left_for_later() -> None:
    word = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")) + r")\b")
    found = [
        f"{inside(path)}:{number}"
        for path in KEPT
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if word.search(line)
    ]
    assert found == []
