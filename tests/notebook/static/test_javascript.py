"""The unit tests of the browser's part, which need node and no browser; where node is not on the PATH there are none.

By hand: `node --expose-internals --test tests/javascript/test_graph.mjs`. Node's own parser, which `test_modules.mjs` reads the
modules with, is internal to it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

JAVASCRIPT = Path(__file__).parents[2] / "javascript"
NODE = shutil.which("node")
SCRIPTS = sorted(JAVASCRIPT.glob("test_*.mjs")) if NODE else []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_node_finds_no_fault(script: Path) -> None:
    ran = subprocess.run(
        [str(NODE), "--expose-internals", "--test", script],
        env={"PATH": os.environ["PATH"], "TZ": "UTC"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
