"""Pages that can be followed do what they show: every block of them is pasted into a fresh folder and notebook, and run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report, require
from pixirnb.spec.loader import load_text
from tests.followed_pages import (
    FIRST,
    Differs,
    Follower,
    Notebook,
    blocks,
    follow,
    matches,
    pages,
    plain,
)
from tests.sweeps import first_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FOLLOWED = pages()
WITHOUT_WARNINGS = [
    "isolate-and-merge.md",
    "make-parallel-what-serializes.md",
    "several-repositories.md",
    "split-a-big-review.md",
]
"""How-to pages whose last workflow is the one to copy."""


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    """A notebook, fresh for each page."""
    with Notebook() as shell:
        yield shell


@pytest.mark.timeout(300)  # commands of a page are processes: slow on a busy machine
@pytest.mark.parametrize("name", first_of(FOLLOWED, len(FIRST)))
def test_a_page_followed_from_top_to_bottom_shows_what_it_prints(
    name: str, notebook: Notebook
) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    # A long name of a folder is cut in tables: `make pages` writes what a short one shows.
    with tempfile.TemporaryDirectory(prefix="page-") as room:
        folder = Path(room, "here")
        folder.mkdir()
        follower = follow(ROOT / name, folder, notebook)
    differences = [
        f"page:\n{page[start:end]}\nnow:\n{text}" for start, end, text in follower.changes
    ]
    assert differences == [], f"to write what is printed now: make pages PAGES={name}"


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_block_that_is_not_run_says_why(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    left_out = [block for block in blocks(page) if block.reason is not None]
    assert [block.text for block in left_out if len(str(block.reason).split()) < 3] == []


@pytest.mark.parametrize("name", WITHOUT_WARNINGS)
def test_a_page_ends_with_a_workflow_that_has_no_warning_left(name: str) -> None:
    page = (DOCS / "how-to" / name).read_text(encoding="utf-8")
    last = [block.text for block in blocks(page) if block.language == "yaml"][-1]
    found = report(require(load_text(last, name)), Environment())
    assert [problem.sentence() for problem in (*found.errors, *found.warnings)] == []


FALSE = {
    "a shell that fails": "```sh\nfalse\n```\n",
    "a cell that raises": "```python\n1 / 0\n```\n",
    "a workflow without a name": "```yaml\nsteps: []\n```\n",
}


@pytest.mark.parametrize("page", FALSE.values(), ids=FALSE)
def test_a_page_with_a_block_that_cannot_be_pasted_is_found(
    page: str, tmp_path: Path, notebook: Notebook
) -> None:
    with pytest.raises(Differs):
        Follower(tmp_path, notebook).follow(page)


def test_a_page_that_shows_something_else_is_found_and_can_be_rewritten(
    tmp_path: Path, notebook: Notebook
) -> None:
    page = "```console\n$ echo one; echo two\none\nthree\n```\n\n```python\nprint(6 * 7)\n```\n\n```text\n41\n```\n"
    follower = Follower(tmp_path, notebook)
    follower.follow(page)
    assert follower.rewritten(page) == page.replace("three", "two").replace("41", "42")


def test_lines_left_out_stand_for_any_lines() -> None:
    shown = plain("a\n…\nd\n", Path("/x"))
    assert matches(shown, ["a", "b", "c", "d"])
    assert not matches(shown, ["a", "b", "c"])
