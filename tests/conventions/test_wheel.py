"""What a wheel brings along: every example, and every notebook as it was written."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_wheel_has_every_notebook_and_none_of_their_outputs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        shipped = {Path(name).name: archive.read(name) for name in archive.namelist()}
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        written, bare = json.loads(path.read_bytes()), json.loads(shipped[path.name])
        assert [c["source"] for c in bare["cells"]] == [c["source"] for c in written["cells"]]
        assert not any(cell.get("outputs") for cell in bare["cells"])
    for path in (ROOT / "examples").iterdir():
        assert shipped[path.name] == path.read_bytes()
