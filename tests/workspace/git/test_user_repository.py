"""A folder outside of any repository costs no git: files are listed before and after each step."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixirnb.errors import Cannot
from pixirnb.workspace.git.user_repository import find_repository


def test_git_is_asked_only_where_a_folder_above_may_be_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "project" / "sub"
    root.mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_repository(root) is None
    (tmp_path / "project" / ".git").symlink_to(tmp_path / "nowhere")
    with pytest.raises(Cannot) as refused:
        find_repository(root)
    assert refused.value.code == "repository_broken"
