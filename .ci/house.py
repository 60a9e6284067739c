"""Print the figures of the house: how much there is of it, and how much of that is hard to live in.

python .ci/house.py [--wheel]     --wheel also builds one, and prints its size
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import networkx

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = [path for path in sorted((ROOT / "pixirnb").rglob("*.py")) if "testing" not in path.parts]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
HARNESS = sorted((ROOT / "harness").rglob("*.py"))
SMALL = 40
"""Lines."""
LOOSE = re.compile(r"\b(?:dict|Mapping)\[str, Any\]")


def lines(paths: list[Path]) -> int:
    return sum(path.read_text(encoding="utf-8").count("\n") for path in paths)


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in PRODUCT:
        name = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        yield name.removesuffix(".__init__"), ast.parse(path.read_text(encoding="utf-8"))


def cycles() -> int:
    """Groups of modules that import each other, for their types too."""
    modules = dict(trees())
    graph = networkx.DiGraph()
    for name, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    found = inner if inner in modules else node.module
                    if found in modules and node.col_offset in {0, 4} and _is_at_load(tree, node):
                        graph.add_edge(name, found)
    return sum(len(group) > 1 for group in networkx.strongly_connected_components(graph))


def _is_at_load(tree: ast.Module, node: ast.ImportFrom) -> bool:
    inside = (f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef))
    return not any(f.lineno <= node.lineno <= (f.end_lineno or f.lineno) for f in inside)


def classes() -> list[str]:
    """Public class names that stand twice."""
    names = Counter(
        node.name
        for _, tree in trees()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sorted(name for name, count in names.items() if count > 1)


def participles() -> list[str]:
    """Public functions whose name is one word that ends like a participle."""
    return sorted(
        f"{module.removeprefix('pixirnb.')}.{node.name}"
        for module, tree in trees()
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and re.fullmatch(r"[a-z]+(?:ed|en|un|ght)", node.name)
        and node.name not in {"then", "when", "open", "listen", "run"}
    )


def wheel() -> int:
    """Bytes."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        return next(Path(folder).glob("*.whl")).stat().st_size


def main() -> None:
    files = [path for path in PRODUCT if path.name != "__init__.py"]
    small = [path for path in files if path.read_text(encoding="utf-8").count("\n") <= SMALL]
    loose = sum(len(LOOSE.findall(path.read_text(encoding="utf-8"))) for path in PRODUCT)
    told = {
        "product, lines": lines(PRODUCT),
        "product, files": len(files),
        "tests, lines": lines(TESTS),
        "harness, lines": lines(HARNESS),
        "modules that import each other, groups": cycles(),
        f"modules of at most {SMALL} lines": len(small),
        "dict[str, Any] and Mapping[str, Any]": loose,
        "public class names that stand twice": len(classes()),
        "public functions called by one participle": len(participles()),
    }
    if "--wheel" in sys.argv:
        told["wheel, bytes"] = wheel()
    for what, count in told.items():
        print(f"{what:<44} {count:>8,}")
    if "--names" in sys.argv:
        print("\nclasses:", *classes())
        print("\nfunctions:", *participles())


if __name__ == "__main__":
    main()
