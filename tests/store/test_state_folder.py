"""Where the state folder of a workspace is: nearest first, then the repository, then the workspace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pixirnb.errors import StateUnusable
from pixirnb.store.state_folder import STATE_VARIABLE, find_state, prepare_state


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path.resolve() / "home"
    (home / "project" / "deep" / "er").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv(STATE_VARIABLE, raising=False)
    return home


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ([], "project/deep/.pixirnb"),
        (["project/.git"], "project/.pixirnb"),
        (["project/deep/.git", "project/.git"], "project/deep/.pixirnb"),
        (["project/.pixirnb"], "project/.pixirnb"),
        (["project/.pixirnb", "project/deep/.git"], "project/.pixirnb"),
        (["project/.pixirnb", ".pixirnb"], "project/.pixirnb"),
        ([".pixirnb"], ".pixirnb"),
        (["project/deep/.pixirnb", "project/.pixirnb"], "project/deep/.pixirnb"),
        (["project/deep/er/.pixirnb"], "project/deep/.pixirnb"),
        (["../.pixirnb", "../.git"], "project/deep/.pixirnb"),
    ],
)
def test_the_nearest_wins(home: Path, made: list[str], expected: str) -> None:
    for name in made:
        (home / name).mkdir()
    assert find_state(home / "project" / "deep") == home / expected


def test_a_workspace_outside_home_is_searched_to_the_root(home: Path) -> None:
    outside = home.parent / "outside" / "deep"
    outside.mkdir(parents=True)
    (home.parent / ".pixirnb").mkdir()
    assert find_state(outside) == home.parent / ".pixirnb"


def test_a_worktree_has_a_file_named_git(home: Path) -> None:
    (home / "project" / ".git").write_text("gitdir: elsewhere")
    assert find_state(home / "project" / "deep") == home / "project" / ".pixirnb"


def test_what_is_said_overrides_what_is_found(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "project" / ".pixirnb").mkdir()
    monkeypatch.setenv(STATE_VARIABLE, str(home / "by-variable"))
    assert find_state(home / "project") == home / "by-variable"
    assert find_state(home / "project", Path("~/by-option")) == home / "by-option"
    monkeypatch.chdir(home)
    assert find_state(home / "project", Path("near/../here")) == home / "here"


def test_a_file_of_that_name_is_refused(home: Path) -> None:
    (home / "project" / ".pixirnb").write_text("")
    with pytest.raises(StateUnusable) as refused:
        find_state(home / "project" / "deep")
    assert "file" in refused.value.message


def test_a_state_folder_may_be_a_link_of_its_owners(home: Path) -> None:
    (home / "scratch").mkdir()
    (home / "project" / ".pixirnb").symlink_to(home / "scratch")
    assert find_state(home / "project" / "deep") == home / "project" / ".pixirnb"
    assert prepare_state(home / "project" / ".pixirnb").is_dir()
    assert (home / "scratch" / "runs").is_dir()


def test_another_users_state_folder_is_passed_by(home: Path) -> None:
    (home / ".pixirnb").mkdir()
    (home / "project" / ".pixirnb").mkdir()
    if os.geteuid() == 0:
        os.chown(home / "project" / ".pixirnb", 12345, -1)
        assert find_state(home / "project" / "deep") == home / ".pixirnb"
        with pytest.raises(StateUnusable) as refused:
            prepare_state(home / "project" / ".pixirnb")
    else:
        with pytest.raises(StateUnusable) as refused:
            prepare_state(Path("/"))
    assert refused.value.code == "foreign_owner"


def test_a_state_folder_is_made_with_its_parents_and_once(home: Path) -> None:
    state = home / "a" / "b" / "state"
    assert prepare_state(state) == state / "runs"
    (state / ".gitignore").write_text("mine\n")
    prepare_state(state)
    assert (state / ".gitignore").read_text() == "mine\n"
