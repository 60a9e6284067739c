"""A file is opened at once or refused, whatever a program put in its place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pixirnb.system.system_calls import open_plain


def test_a_file_is_opened_also_by_way_of_a_link(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "link").symlink_to("a")
    with open_plain(tmp_path / "link") as file:
        assert file.read() == b"a"


def test_a_pipe_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path(os.devnull), tmp_path / "gone"):
        with pytest.raises(OSError, match=r"pipe|directory|No such"):
            open_plain(path)
