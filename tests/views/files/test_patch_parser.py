"""A patch is read for people as far as it can be read, whatever it holds."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from pixirnb.views.files.patch_parser import (
    LOOKED_AT,
    Patch,
    PatchedFile,
    parse_patch,
    rename_files,
)
from tests.views.view_samples import HOSTILE


def git(folder: Path, *words: str) -> bytes:
    """What git says in a folder, without any configuration of ours."""
    env = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        **dict.fromkeys(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"], "a"),
        **dict.fromkeys(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"], "a@b"),
    }
    return subprocess.run(
        ["git", *words], cwd=folder, env=env, check=True, capture_output=True
    ).stdout


def patch_of(folder: Path, before: dict[str, bytes], after: dict[str, bytes]) -> Patch:
    """How git tells of two states of a folder, read."""
    git(folder, "init", "-q")
    for files in (before, after):
        for old in folder.iterdir():
            if old.name != ".git":
                old.unlink()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        git(folder, "add", "-A")
        if files is before:
            git(folder, "commit", "-q", "--allow-empty", "-m", "before")
    told = git(folder, "diff", "--cached", "--binary", "--full-index", "--no-renames")
    return parse_patch(told.decode("utf-8", "surrogateescape"))


def by_path(patch: Patch) -> dict[str, PatchedFile]:
    return {file.path: file for file in patch.files}


def test_what_git_writes_is_read_as_it_was_meant(tmp_path: Path) -> None:
    before = {
        "a b.py": b"x\ny\nz\n",
        "ä.txt": b"1\n",
        "bin": b"\0\1",
        "gone": b"- old\n-- more\n",
        "bare": b"no newline",
    }
    after = {
        "a b.py": b"x\nY\nz\r\n",
        "ä.txt": b"1\ndiff --git a/x b/x\n@@ -1 +1 @@\n",
        "bin": b"\0\1\2",
        "new\nname": b"++ a\n",
        "empty": b"",
        "bare": b"no newline at all",
    }
    found = by_path(patch_of(tmp_path, before, after))

    assert {path: (file.change, file.added, file.deleted) for path, file in found.items()} == {
        "a b.py": ("modified", 2, 2),
        "bare": ("modified", 1, 1),
        "bin": ("modified", 0, 0),
        "empty": ("added", 0, 0),
        "gone": ("deleted", 0, 2),
        "new\nname": ("added", 1, 0),
        "ä.txt": ("modified", 2, 0),
    }
    assert [path for path, file in found.items() if file.is_binary] == ["bin"]
    assert found["a b.py"].hunks[0].lines[-1].text == "z\r"
    assert [line.kind for line in found["bare"].hunks[0].lines] == [
        "deleted",
        "remark",
        "added",
        "remark",
    ]


def test_a_mode_alone_is_a_change(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "tool").write_text("x\n", encoding="utf-8")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "before")
    (tmp_path / "tool").chmod(0o755)
    (found,) = parse_patch(git(tmp_path, "diff", "--no-renames").decode()).files

    assert (found.path, found.modes, found.hunks) == ("tool", ("100644", "100755"), ())


def test_files_of_several_roots_bear_their_names() -> None:
    one = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"
    found = parse_patch(f"# .\n{one}# repos.cloud\n{one}")

    assert [file.path for file in found.files] == ["x.py", "repos.cloud:x.py"]
    assert [(file.added, file.deleted) for file in found.files] == [(1, 1), (1, 1)]


def test_a_patch_of_one_repository_is_named_by_what_the_log_says_changed() -> None:
    one = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"
    found = rename_files(parse_patch(one), cast("Any", {"files": [{"path": "repos.cloud:x.py"}]}))

    assert [file.path for file in found.files] == ["repos.cloud:x.py"]


def test_what_is_left_out_is_counted() -> None:
    body = "".join(f"+{n}\n" for n in range(50))
    files = "".join(
        f"diff --git a/{n} b/{n}\nnew file mode 100644\n--- /dev/null\n+++ b/{n}\n@@ -0,0 +1,50 @@\n{body}"
        for n in range(5)
    )
    found = parse_patch(files, lines=60, files=3)

    assert [len(file.hunks[0].lines) if file.hunks else 0 for file in found.files] == [50, 10, 0]
    assert [file.added for file in found.files] == [50, 50, 50]
    assert (found.cut, found.files_cut, found.is_cut) == (90, 2, False)
    assert parse_patch("x" * (LOOKED_AT + 1)).is_cut


ROWS = st.sampled_from(
    [
        "diff --git a/x b/x",
        'diff --git "a/\\303\\244\\" "b/\\9"',
        "diff --git ",
        "--- a/x",
        "+++ /dev/null",
        "@@ -1,9999999999 +1 @@",
        "@@ -0,0 +1,3 @@ def f():",
        "new file mode 100755",
        "GIT binary patch",
        "\\ No newline at end of file",
        "+added",
        "-gone",
        " both",
        "",
        "# repos.x",
        '"',
        *HOSTILE,
    ]
)


@given(st.one_of(st.text(), st.lists(st.one_of(ROWS, st.text()), max_size=30).map("\n".join)))
def test_any_text_is_some_patch(text: str) -> None:
    found = parse_patch(text)

    assert len(found.files) <= text.count("diff --git ")
    for file in found.files:
        shown = sum(len(hunk.lines) for hunk in file.hunks)
        assert shown + file.cut >= file.added + file.deleted


@given(st.binary(max_size=300))
def test_any_bytes_are_read_too(data: bytes) -> None:
    parse_patch("diff --git a/x b/x\n@@ -1,3 +1,3 @@\n" + data.decode("utf-8", "surrogateescape"))
