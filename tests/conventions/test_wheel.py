"""What a wheel brings along: every example, every notebook as it was written, and the extension of the front-end."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_wheel_has_every_notebook_and_none_of_their_outputs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        shipped = {Path(name).name: archive.read(name) for name in names}
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        written, bare = json.loads(path.read_bytes()), json.loads(shipped[path.name])
        assert [c["source"] for c in bare["cells"]] == [c["source"] for c in written["cells"]]
        assert not any(cell.get("outputs") for cell in bare["cells"])
    for path in (ROOT / "examples").iterdir():
        assert shipped[path.name] == path.read_bytes()
    place = "data/share/jupyter/labextensions/pixirnb/"
    placed = {name.partition(place)[2] for name in names if place in name}
    assert placed == {"package.json", "install.json", "static/remoteEntry.js"}
    assert not any(name.startswith("pixirnb/notebook/labextension") for name in names)


def test_the_extension_of_the_front_end_is_what_its_package_names() -> None:
    folder = ROOT / "pixirnb" / "notebook" / "labextension"
    package = json.loads((folder / "package.json").read_bytes())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (package["name"], package["version"]) == (project["name"], project["version"])
    assert (folder / package["jupyterlab"]["_build"]["load"]).is_file()
