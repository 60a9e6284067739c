"""What `--help` says of every magic that takes options of its own, asked of the classes the extension registers."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from IPython.core.magic import Magics

from pixirnb import notebook


def page() -> str:
    """One section a magic, as Markdown."""
    for folder in map(Path, notebook.__path__):
        for path in sorted(folder.glob("*.py")):
            if "@magics_class" in path.read_text(encoding="utf-8"):
                import_module(f"pixirnb.notebook.{path.stem}")
    return "\n\n".join(
        f"### %%{name}\n\n```text\n{_help(method)}\n```"
        for name, method in sorted(_magics().items())
    )


def _magics() -> dict[str, Any]:
    """Magics of this package with options: name to function."""
    return {
        name: method
        for cls in Magics.__subclasses__()
        if cls.__module__.startswith("pixirnb.")
        for name, method in vars(cls).items()
        if getattr(method, "parser", None) is not None
    }


def _help(method: Any) -> str:
    return str(method.parser.format_help()).strip().removeprefix("::").strip()
