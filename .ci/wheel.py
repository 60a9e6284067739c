"""The notebooks of a wheel: without their recorded outputs, which are a tenth of it. The site and a checkout keep them."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NotebookHook(BuildHookInterface):
    """Adds the notebooks to a wheel. Hatchling calls `initialize` before it is built, and `finalize` after."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        self._folder = TemporaryDirectory()
        for path in sorted(Path(self.root, "notebooks").glob("*.ipynb")):
            notebook = json.loads(path.read_text(encoding="utf-8"))
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    cell.update(outputs=[], execution_count=None)
            bare = Path(self._folder.name, path.name)
            bare.write_text(
                json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
            )
            build_data["force_include"][str(bare)] = f"pixirnb/shipped/notebooks/{path.name}"

    def finalize(self, *_built: object) -> None:
        self._folder.cleanup()
