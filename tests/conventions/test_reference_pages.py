"""The reference pages cannot rot: what the code can say, they explain."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from pixirnb.spec import limits

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
CODE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def page(name: str) -> str:
    """The text of a reference page."""
    return (REFERENCE / name).read_text(encoding="utf-8")


def verb_names() -> list[str]:
    """Every verb of the command line, without its flags for help and version."""
    from pixirnb.verbs.app import app

    return sorted(name for name in app if not name.startswith("-"))


def error_codes() -> Iterator[str]:
    """Codes written out where an error is raised or a mistake is named."""
    raised = {
        "Problem",
        "Mistake",
        "mistake",
        "InvalidSpec",
        "InvalidArguments",
        "Cannot",
        "LogDamaged",
    }
    raised |= {"UnknownRun", "HeldByAnother", "LogWriteFailed", "StateUnusable", "InternalError"}
    positional = {"Problem", "Mistake", "mistake"}
    for path in sorted((ROOT / "pixirnb").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = (
                node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            )
            if name not in raised:
                continue
            said = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            said += node.args[:1] if name in positional else []
            for value in said:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    assert CODE.fullmatch(value.value), f"{path.name}: {value.value} is no code"
                    yield value.value


def test_every_verb_is_in_the_command_line_reference() -> None:
    text = page("cli.md")
    assert [name for name in verb_names() if f"## {name}\n" not in text] == []


def test_the_command_line_reference_names_no_verb_that_is_not_there() -> None:
    assert sorted(re.findall(r"^## ([a-z]+)$", page("cli.md"), re.MULTILINE)) == verb_names()


def test_every_error_code_is_explained() -> None:
    text = page("errors.md")
    assert sorted({code for code in error_codes() if f"| `{code}` |" not in text}) == []


def test_every_size_a_workflow_may_have_is_in_the_reference() -> None:
    text = page("limits.md").replace(",", "").replace("\u202f", "")
    sizes = {
        name: value
        for name, value in vars(limits).items()
        if name.isupper() and isinstance(value, int) and name != "SPEC_TEXT_BYTES"
    }
    assert [name for name, value in sizes.items() if not re.search(rf"\b{value}\b", text)] == []
    assert f"{limits.SPEC_TEXT_BYTES // 1024**2} MiB" in text
