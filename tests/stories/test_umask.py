"""A umask of 000 opens nothing of ours to others, and a merge makes nothing wider than what it lies in."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pixirnb
from pixirnb.testing.repositories import git

ROOT = Path(pixirnb.__file__).parents[1]

RUN = """
import os, sys
os.umask(0)
from pathlib import Path
from pixirnb import api
write = "import os; os.makedirs('new/deep'); open('new/deep/x.txt', 'w').write('x'); open('f.txt', 'w').write('2')"
step = {"id": "a", "workspace": "isolated", "run": [sys.executable, "-c", write], "write_set": ["**"]}
run = api.start({"name": "open", "steps": [step]})
assert run.wait().ok, run.outcome
print(run.merge())
"""


def exposed(folder: Path) -> list[str]:
    """What others may write below a folder, the user's own repository apart."""
    return [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if ".git" not in path.relative_to(folder).parts[:1]
        and not path.is_symlink()
        and path.stat().st_mode & 0o022
    ]


def run(folder: Path, mask: str) -> None:
    """A step in a copy, and its merge, with that mask."""
    done = subprocess.run(
        [sys.executable, "-c", RUN.replace("umask(0)", f"umask({mask})")],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def project(folder: Path, bits: int) -> Path:
    folder.chmod(bits)
    (folder / "f.txt").write_text("1")
    (folder / "f.txt").chmod(0o644)
    git(folder, "init", "-q")
    return folder


def test_a_mask_of_nothing_opens_nothing(tmp_path: Path) -> None:
    folder = project(tmp_path, 0o755)
    run(folder, "0")
    assert (folder / "new" / "deep" / "x.txt").read_text() == "x"
    assert exposed(folder) == []
    kept = folder / ".pixirnb" / "trees"
    assert any(kept.iterdir())
    assert all(not stat.S_IMODE(path.stat().st_mode) & 0o077 for path in kept.rglob("*"))


def test_a_project_that_a_group_shares_stays_shared(tmp_path: Path) -> None:
    folder = project(tmp_path, 0o775)
    run(folder, "0o002")
    assert stat.S_IMODE((folder / "new" / "deep").stat().st_mode) == 0o775
    assert stat.S_IMODE((folder / "new" / "deep" / "x.txt").stat().st_mode) == 0o664
