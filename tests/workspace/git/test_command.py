"""A git that ended nobody knows how has not succeeded."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pixirnb.errors import Cannot
from pixirnb.testing.repositories import git
from pixirnb.workspace.git.user_repository import find_repository


@pytest.fixture(autouse=True)
def statuses_are_lost() -> Iterator[None]:
    """The system keeps no exit status of a child."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, before)


def test_a_git_whose_exit_status_is_lost_is_refused_and_not_taken_for_a_good_one(
    tmp_path: Path,
) -> None:
    git(tmp_path, "init", "--quiet")
    refused: list[str] = []

    def ask() -> None:
        with pytest.raises(Cannot) as error:
            find_repository(tmp_path)
        refused.append(error.value.code)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert refused == ["git_status_unknown"]


def test_where_it_may_this_process_asks_the_system_to_keep_them(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert find_repository(tmp_path) is None
    git(tmp_path, "init", "--quiet")
    assert find_repository(tmp_path) is not None
