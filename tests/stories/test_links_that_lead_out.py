"""A link that leads out is landed as git lands it, and never without a word: before, in the merge, and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.stories.filestory import isolated, land, limitations, said
from tests.stories.storyline import ended, facts, shell

pytestmark = pytest.mark.story

MADE = "ln -s /etc/passwd a; mkdir d; ln -s ../.. d/up; ln -s d inside; echo x > x.txt"
LEADING = ["a -> /etc/passwd", "d/up -> ../.."]


def test_it_is_said_in_the_bundle_the_preview_the_merge_and_the_diff(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    run, outcome = ended(home, isolated("a", MADE))
    assert outcome.ok
    assert f"link_leads_out: {', '.join(LEADING)}" in limitations(run, "a")
    told: dict[str, Any] = said(home, "merge", run.id, "--preview")[1]
    assert told["changes"]["leads_out"] == {"paths": LEADING, "count": 2}
    assert not (home / "a").is_symlink()
    merged = run.merge()
    assert "links that point outside of your folders: a -> /etc/passwd, d/up -> ../.." in str(
        merged
    )
    assert facts(run, "merge_applied")[0]["changes"]["leads_out"]["paths"] == LEADING
    warned = [said for said in facts(run, "warning_raised") if said["code"] == "link_leads_out"]
    assert [all(link in said["message"] for link in LEADING) for said in warned] == [True]
    assert (home / "a").is_symlink()
    assert "Links that point outside of your folders" in str(run.diff())


def test_a_merge_step_warns_and_a_later_merge_writes_through_no_link(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    run, outcome = ended(
        home,
        isolated("link", f"ln -s {other} d"),
        land("link"),
        # What it is given has no link: the folder is its own.
        shell("mine", "rm d; mkdir d", "land"),
        isolated("b", "echo x > d/file || { mkdir -p d; echo x > d/file; }", "mine"),
        shell("theirs", f"rm -rf d; ln -s {other} d", "b"),
        land("b", step="again", after=("theirs",)),
    )
    warned = [
        said["step"] for said in facts(run, "warning_raised") if said["code"] == "link_leads_out"
    ]
    assert warned == ["land"]
    assert not outcome.ok
    assert list(other.iterdir()) == []
