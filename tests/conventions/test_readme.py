"""The first minute of the README is lived through as it stands, and every page it sends to is there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pixirnb

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST_MINUTE = README.split("## The first minute\n")[1].split("\n## ")[0]
CELLS = re.findall(r"```(?:python|yaml)\n(.*?)```", FIRST_MINUTE, re.DOTALL)
SHELL = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for cell in json.load(sys.stdin):
    shell.run_cell(cell).raise_error()
"""


def test_its_cells_run_one_after_the_other(tmp_path: Path) -> None:
    lived = subprocess.run(
        [sys.executable, "-c", SHELL],
        cwd=tmp_path,
        input=json.dumps(CELLS),
        capture_output=True,
        text=True,
        check=False,
    )
    assert lived.returncode == 0, lived.stdout + lived.stderr
    assert "('completed', '" in lived.stdout
    assert "file_exists" in lived.stdout


def test_with_a_check_that_cannot_pass_it_is_no_success_anywhere(tmp_path: Path) -> None:
    text = "name: hello\n" + CELLS[1].partition("\n")[2].replace(
        "{file_exists: build/made.txt}", "{file_exists: no}"
    )
    outcome = pixirnb.run(text, workspace=tmp_path)
    make, read = outcome.step("make"), outcome.step("read")
    assert (make.subagent_status, make.checkpoint_status) == ("completed", "failed")
    assert (read.checkpoint_status, read.held_by) == (
        "held",
        {"kind": "dependency", "step": "make"},
    )
    assert not outcome.ok


def test_the_site_opens_with_the_same_workflow() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    shown = re.findall(r"```python\n(%%workflow.*?)```", index, re.DOTALL)
    bodies = [text.partition("\n")[2] for text in (CELLS[1], *shown)]
    assert len(bodies) == 2
    assert bodies[1] == re.sub(r" +#.*", "", bodies[0])


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_every_page_it_sends_to_is_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"(?<!\!)\[[^\]]*\]\(([^)#]+)", text)
    local = [link for link in links if "://" not in link]
    assert local
    assert [link for link in local if not (ROOT / link).exists()] == []


def test_every_target_it_names_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)`", README, re.MULTILINE))
    assert {first or second for first, second in named} <= targets
