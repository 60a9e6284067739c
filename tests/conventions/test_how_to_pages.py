"""The how-to pages are told the truth: their workflows are real, and what they print is what pixirnb prints."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report, require
from pixirnb.spec.loader import load_text
from tests.sweeps import first_of

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "how-to"
BLOCK = re.compile(r"^```(yaml|console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN_ID = re.compile(r"r-\d{8}-\d{6}-[a-z0-9]{6}")
SPAN = re.compile(r" *\b[\d.]+ m?s\b")
"""With the blanks before it: a column of spans is as wide as they are long."""
TOLD = [
    "isolate-and-merge.md",
    "make-parallel-what-serializes.md",
    "several-repositories.md",
    "split-a-big-review.md",
]
"""Pages that can be followed from top to bottom, in an empty folder that has room beside it."""
FOLLOWED = [*TOLD, "relay-files.md"]
"""The same, whatever the plan of the last workflow still warns of."""


def blocks(name: str) -> Iterator[tuple[str, str]]:
    """Language and text of a page's blocks that can be run, in order."""
    yield from BLOCK.findall((PAGES / name).read_text(encoding="utf-8"))


def plain(text: str) -> list[str]:
    """The lines of an output, without what differs from run to run."""
    lines = SPAN.sub(" N ms", RUN_ID.sub("RUN", text)).strip().splitlines()
    return [line.rstrip() for line in lines]


def pixirnb(folder: Path, *words: str) -> str:
    """What a command prints in a folder."""
    line = [sys.executable, "-m", "pixirnb", *words]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("name", first_of(FOLLOWED, 3))
def test_who_follows_a_page_from_top_to_bottom_sees_what_it_shows(
    name: str, tmp_path: Path
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    run_id = "RUN"
    commands = 0
    for language, text in blocks(name):
        if language == "yaml":
            workflow = require(load_text(text, name)).name
            (folder / f"{workflow}.yaml").write_text(text, encoding="utf-8")
            continue
        if language == "sh":
            subprocess.run(["sh", "-e", "-c", text], cwd=folder, check=True)
            continue
        prompt, _, shown = text.partition("\n")
        words = prompt.removeprefix("$ pixirnb ").replace("RUN", run_id).split()
        said = pixirnb(folder, *words)
        if found := RUN_ID.search(said):
            run_id = found[0]
        expected = plain(shown)
        if expected[-1] == "…":
            expected.pop()
            assert plain(said)[: len(expected)] == expected
        else:
            assert plain(said) == expected
        commands += 1
    assert commands >= 4


@pytest.mark.parametrize("name", TOLD)
def test_a_page_ends_with_a_workflow_that_has_no_warning_left(name: str) -> None:
    last = [text for language, text in blocks(name) if language == "yaml"][-1]
    found = report(require(load_text(last, name)), Environment())
    assert [problem.sentence() for problem in (*found.errors, *found.warnings)] == []
