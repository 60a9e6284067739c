"""What `reuse: reads` compares: names and bytes of the files a step reads, and nothing else."""

from __future__ import annotations

from pathlib import Path

from pixirnb.planning.roots import Roots
from pixirnb.workspace.read_digest import contents_digest, read_digest


def test_a_changed_byte_a_new_name_and_a_lost_file_are_seen(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("one")
    before = contents_digest(tmp_path, ["data/**"])
    (tmp_path / "data" / "a.txt").write_text("two")
    changed = contents_digest(tmp_path, ["data/**"])
    (tmp_path / "data" / "a.txt").rename(tmp_path / "data" / "b.txt")
    renamed = contents_digest(tmp_path, ["data/**"])
    (tmp_path / "data" / "b.txt").unlink()
    assert len({before, changed, renamed, contents_digest(tmp_path, ["data/**"])}) == 4


def test_files_outside_the_read_set_and_git_and_state_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("one")
    narrow, wide = ["data/**"], ["**/*"]
    before = contents_digest(tmp_path, narrow), contents_digest(tmp_path, wide)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "index").write_text("x")
    (tmp_path / ".pixirnb").mkdir()
    (tmp_path / ".pixirnb" / "log").write_text("x")
    assert contents_digest(tmp_path, wide) == before[1]
    (tmp_path / "other.txt").write_text("x")
    assert contents_digest(tmp_path, narrow) == before[0]
    assert contents_digest(tmp_path, wide) != before[1]


def test_files_of_a_repository_count_where_the_read_set_names_them(tmp_path: Path) -> None:
    for folder in ("flow", "cloud"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text("one")
    roots = Roots.of(str(tmp_path / "flow"), {"cloud": str(tmp_path / "cloud")})

    def seen(*read_set: str) -> str:
        return read_digest(contents_digest, roots, read_set)

    here, both = seen("*.txt"), seen("*.txt", "repos.cloud:*.txt")
    assert here == contents_digest(tmp_path / "flow", ["*.txt"]), "as it was before there were any"
    (tmp_path / "cloud" / "a.txt").write_text("two")
    assert (seen("*.txt") == here, seen("*.txt", "repos.cloud:*.txt") == both) == (True, False)


def test_files_behind_a_linked_folder_count_by_the_name_that_the_step_reads(tmp_path: Path) -> None:
    work, real = tmp_path / "work", tmp_path / "real"
    for folder in (work / "deep", real / "sub"):
        folder.mkdir(parents=True)
    (real / "sub" / "a.txt").write_text("one")
    (work / "data").symlink_to(real)
    (work / "deep" / "re[a]l").symlink_to(real)
    (real / "back").symlink_to(work / "deep")
    sets = (
        ["data/**"],
        ["data/sub/a.txt"],
        ["**/*.txt"],
        ["deep/re\\[a\\]l/sub/*"],
        ["other/**"],
    )

    def seen() -> list[str]:
        return [contents_digest(work, each) for each in sets]

    before = seen()
    (real / "sub" / "a.txt").write_text("two")
    after = seen()
    assert [one == other for one, other in zip(before, after, strict=True)] == [False] * 4 + [True]
    (real / "sub" / "b.txt").write_text("new")
    assert (seen()[0] == after[0], seen()[1] == after[1]) == (False, True)


def test_a_link_that_leads_elsewhere_counts_as_changed(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "one")
    before = contents_digest(tmp_path, ["data"])
    (tmp_path / "data").unlink()
    (tmp_path / "data").symlink_to(tmp_path / "two")
    assert contents_digest(tmp_path, ["data"]) != before
