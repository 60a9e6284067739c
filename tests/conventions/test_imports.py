"""No two modules need each other, not even for a type."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx

ROOT = Path(__file__).parents[2]
MODULES = {
    path.relative_to(ROOT)
    .with_suffix("")
    .as_posix()
    .replace("/", ".")
    .removesuffix(".__init__"): path
    for folder in ("pixirnb", "harness")
    for path in sorted((ROOT / folder).rglob("*.py"))
}


def imported(path: Path) -> Iterator[str]:
    """Modules of ours that a module imports when it is loaded or for its types; what a function imports is not asked."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        waiting.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if (found := inner if inner in MODULES else node.module) in MODULES:
                    yield found


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = networkx.DiGraph(
        (name, other) for name, path in MODULES.items() for other in imported(path)
    )
    circles = [
        sorted(each) for each in networkx.strongly_connected_components(graph) if len(each) > 1
    ]
    assert circles == []
