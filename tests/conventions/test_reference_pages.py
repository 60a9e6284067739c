"""The reference pages cannot rot: what the code can say, they explain."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report, require
from pixirnb.spec import limits
from pixirnb.spec.loader import load_text
from pixirnb.verbs.app import build

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
VERBS = build()
CODE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def page(name: str) -> str:
    """The text of a reference page."""
    return (REFERENCE / name).read_text(encoding="utf-8")


def verb_names() -> list[str]:
    """Every verb of the command line by its first name, without its flags for help and version."""
    names = [name for name in VERBS if not name.startswith("-")]
    return sorted({id(VERBS[name]): name for name in reversed(names)}.values())


def said(path: Path) -> Iterator[ast.expr]:
    """Every expression of a module that stands where a code or an error kind belongs."""
    raised = {
        "InvalidSpec",
        "InvalidArguments",
        "Cannot",
        "UnknownRun",
        "HeldByAnother",
        "LogDamaged",
    }
    raised |= {"LogWriteFailed", "StateUnusable", "InternalError", "Problem", "Mistake"}
    first = {"Problem", "Mistake", "mistake", "BadReference", "WorkRefused", "Damage"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = (
                node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            )
            if name in first or (name == "add" and path.match("spec/yaml/reader.py")):
                yield from node.args[:1]
            if name in raised:
                yield from (keyword.value for keyword in node.keywords if keyword.arg == "code")
            if name == "Ended":
                yield from node.args[1:2]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield from [node.value] if node.target.id == "code" and node.value else []
        elif isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            yield from (
                value
                for key, value in pairs
                if isinstance(key, ast.Constant) and key.value == "code"
            )


def error_codes() -> set[str]:
    """Every code and error kind that is written out in the package."""
    return {
        node.value
        for path in sorted((ROOT / "pixirnb").rglob("*.py"))
        if "testing" not in path.parts
        for expression in said(path)
        for node in ast.walk(expression)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and CODE.fullmatch(node.value)
    }


def test_every_verb_is_in_the_command_line_reference() -> None:
    text = page("cli.md")
    assert [name for name in verb_names() if f"## {name}\n" not in text] == []


def test_the_command_line_reference_names_no_verb_that_is_not_there() -> None:
    assert sorted(re.findall(r"^## ([a-z]+)$", page("cli.md"), re.MULTILINE)) == verb_names()


@pytest.mark.parametrize("verb", verb_names())
def test_every_flag_of_a_verb_is_in_its_section(verb: str) -> None:
    section = re.split(
        r"^## ", page("cli.md").split(f"## {verb}\n")[1], maxsplit=1, flags=re.MULTILINE
    )[0]
    for_all = {"--state", "--json"}
    flags = {
        name
        for flag in VERBS[verb].assemble_argument_collection()
        if flag.index is None and flag.parse
        for name in flag.names
        if name.startswith("--")
    }
    assert sorted(flag for flag in flags - for_all if not re.search(rf"{flag}\b", section)) == []


def test_every_sweep_is_on_the_page_that_says_where() -> None:
    page = (ROOT / "docs/internals/sweeps.md").read_text(encoding="utf-8")
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if re.search(r"first_of\(|mark\.sweep\b", path.read_text(encoding="utf-8")):
            shown = path.relative_to(ROOT)
            assert f"`{shown}`" in page or f"`{shown.parent}`" in page, shown


def test_every_error_code_is_explained() -> None:
    text = page("errors.md")
    assert sorted(code for code in error_codes() if f"`{code}`" not in text) == []


DELIBERATE = {"dashboard_refactor": ["decompose"]}
"""Warnings that an example is there to show."""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_plans_with_no_warning_but_those_it_is_there_to_show(path: Path) -> None:
    found = report(require(load_text(path.read_text(encoding="utf-8"), path.name)), Environment())
    told = [problem.code for problem in (*found.errors, *found.warnings)]
    assert told == DELIBERATE.get(path.stem, [])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_begins_with_what_you_will_see(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# ")


def test_the_first_workflow_of_the_readme_plans_without_a_warning() -> None:
    block = re.search(
        r"```yaml\n%%workflow [^\n]*\n(.*?)```",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        re.DOTALL,
    )
    assert block is not None
    text = f"name: hello\n{block[1]}"
    found = report(require(load_text(text, "README.md")), Environment())
    assert [problem.sentence() for problem in (*found.errors, *found.warnings)] == []
    assert found.waves == (("make",), ("read",))


def test_every_size_a_workflow_may_have_is_in_the_reference() -> None:
    text = page("limits.md").replace(",", "").replace("\u202f", "")
    sizes = {
        name: value
        for name, value in vars(limits).items()
        if name.isupper() and isinstance(value, int)
    }
    told = {
        name: f"{value // 1024**2} MiB" if name.endswith("_BYTES") else str(value)
        for name, value in sizes.items()
    }
    assert [name for name, words in told.items() if not re.search(rf"\b{words}\b", text)] == []
