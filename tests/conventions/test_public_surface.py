"""What a user may lean on: the public names, what an import costs, the drawn tree of errors, the declared packages."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pixirnb
from pixirnb import errors

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "pixirnb"

PUBLIC = [
    "Cannot",
    "HeldByAnother",
    "InternalError",
    "InvalidArguments",
    "InvalidSpec",
    "LogDamaged",
    "LogWriteFailed",
    "PixirnbError",
    "PlanReport",
    "Problem",
    "Run",
    "RunInterrupted",
    "RunNotCompleted",
    "RunOutcome",
    "SessionView",
    "StateUnusable",
    "StepOutcome",
    "UnknownRun",
    "Workflow",
    "expect",
    "load",
    "load_ipython_extension",
    "open_run",
    "plan",
    "plan_resume",
    "progress",
    "resume",
    "run",
    "runs",
    "start",
    "unload_ipython_extension",
]
"""Frozen: a name is added on purpose, with a line in the changelog, and never taken away quietly."""

HEAVY = [
    "IPython",
    "anywidget",
    "cyclopts",
    "jsonschema",
    "networkx",
    "numpy",
    "pandas",
    "pyarrow",
    "rich",
]

INDIRECT = {
    "IPython": "ipykernel",
    "traitlets": "ipykernel",
    "pydantic_core": "pydantic",
    "mcp_types": "mcp",
}
"""Packages we import that another declared one stands for."""


def test_public_names_are_exactly_the_frozen_ones() -> None:
    assert pixirnb.__all__ == PUBLIC


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    silent = [
        name for name in pixirnb.__all__ if not (getattr(pixirnb, name).__doc__ or "").strip()
    ]
    assert silent == []


def test_no_module_bears_the_name_of_a_public_function() -> None:
    modules = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert modules.isdisjoint(pixirnb.__all__)


def test_import_is_light() -> None:
    script = (
        "import json, sys; import pixirnb; names = pixirnb.__all__; "
        "[getattr(pixirnb, name) for name in names if 'ipython' not in name]; "
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert json.loads(done.stdout) == []


def test_the_drawn_tree_of_errors_is_the_tree_of_errors() -> None:
    drawn = []
    stack: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"^(?P<lead>[\s│├└─]*)(?P<name>[A-Z]\w+)\s{2,}\S", line):
            # Each level of the drawing is four columns wide and begins after the first four.
            depth = len(found["lead"]) // 4 - 1
            del stack[depth:]
            drawn.append((found["name"], stack[-1] if stack else "Exception"))
            stack.append(found["name"])
    real = [
        (name, kind.__base__.__name__ if kind.__base__ else "")
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, Exception)
    ]
    assert sorted(drawn) == sorted(real)


def test_every_imported_package_is_declared_and_every_declared_one_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def name_of(requirement: str) -> str:
        return re.split(r"[^A-Za-z0-9_.-]", requirement, maxsplit=1)[0].lower().replace("_", "-")

    required = {name_of(item) for item in project["dependencies"]}
    extras = project["optional-dependencies"]
    optional = {
        name_of(item) for extra in ("frames", "llm", "acp", "mcp", "dask") for item in extras[extra]
    }
    distribution = packages_distributions()
    used = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            for top in {module.partition(".")[0] for module in modules} - {
                "pixirnb",
                "__future__",
                "",
            }:
                if top not in sys.stdlib_module_names:
                    owner = INDIRECT.get(top, distribution.get(top, [top])[0])
                    used.add(owner.lower().replace("_", "-"))
    # Only tests import these, and the test floor is shipped for those who have them.
    used -= {"pytest", "hypothesis"}
    assert used - required - optional == set(), "imported and not declared"
    assert required - used == set(), "declared and not imported"
