"""Globs find what an author means by them, below the workspace and nowhere else; links in a circle lead nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixirnb.planning.globs.pattern import literal
from pixirnb.runners.artifact_globs import Ground, files_below, paths_matching

FOUND = {
    "*": ["a.py", "in", "link", "out"],
    "**/*.py": ["a.py", "in/b.py", "in/deep/c.py"],
    "**": [".", "in", "in/deep", "out"],
    "in/**": ["in", "in/deep"],
    "in/**/*": ["in/b.py", "in/deep", "in/deep/c.py"],
    "link/*.py": ["link/b.py"],
    "*/deep/*": ["in/deep/c.py", "link/deep/c.py"],
    "./in/./{b,d}.py": ["in/b.py"],
    "in/../a.p[xy]": ["in/../a.py"],
    "[!a]*/*.py": ["in/b.py", "link/b.py"],
    "gone/*": [],
    "a.py/*": [],
}


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name in ("a.py", "in/b.py", "in/deep/c.py", ".git/x.py", ".pixirnb/y.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / "link").symlink_to("in")
    (root / "out").mkdir()
    (root / "out" / "away").symlink_to(tmp_path)
    (root / "out" / "loop").symlink_to("loop")
    (root / "loop").symlink_to("out/../loop")
    return root


@pytest.mark.parametrize(("pattern", "names"), FOUND.items(), ids=FOUND)
def test_a_glob_finds_what_it_says(ground: Path, pattern: str, names: list[str]) -> None:
    found = [str(path.relative_to(ground)) for path in paths_matching(pattern, ground, ground)]
    assert found == sorted(names)


@pytest.mark.parametrize("pattern", ["loop", "*oop", "out/loop", "out/*", "**/l?op", "out/loop/*"])
def test_a_link_in_a_circle_is_left_out_as_one_that_leads_away_is(
    ground: Path, pattern: str
) -> None:
    assert paths_matching(pattern, ground, ground) == []
    assert Ground(ground, ground).find(pattern) == []
    assert [files for _, files in files_below(ground / "out")] == [[]]


@pytest.mark.parametrize("pattern", ["", ".", "/etc/*", "a**", "{a"])
def test_a_glob_that_is_none_is_told(ground: Path, pattern: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        paths_matching(pattern, ground, ground)


@pytest.mark.timeout(30)
def test_a_folder_that_a_glob_reaches_in_many_ways_is_looked_at_once(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a"] * 60)
    deep.mkdir(parents=True)
    (deep / "x.txt").touch()
    assert paths_matching("**/a/" * 20 + "x.txt", tmp_path, tmp_path) == [deep / "x.txt"]


@pytest.mark.parametrize("name", ["c*", "[x].csv", "{a,b}", "a\\b", "x,y", "q?", "w]", "é!"])
def test_a_literal_glob_finds_the_file_of_that_name_and_no_other(tmp_path: Path, name: str) -> None:
    for each in (name, "cc", "x.csv", "a", "b", "ab", "x", "qq"):
        (tmp_path / each).touch()
    assert paths_matching(literal(name), tmp_path, tmp_path) == [tmp_path / name]
    assert tmp_path / name in paths_matching(literal(name) + "*", tmp_path, tmp_path)


def test_dots_that_are_escaped_lead_out_no_more_than_others(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").touch()
    assert paths_matching(r"\.\./secret", tmp_path / "in", tmp_path / "in") == []
