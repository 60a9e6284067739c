"""A signal in the middle of a call on names changes nothing: the call is made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixirnb.system.system_calls import retry_eintr


def test_an_interrupted_call_is_made_again_with_the_same_arguments(tmp_path: Path) -> None:
    told: list[Path] = []

    def make(folder: Path, *, mode: int) -> str:
        told.append(folder)
        if len(told) < 3:
            raise InterruptedError
        folder.mkdir(mode=mode)
        return "made"

    assert retry_eintr(make, tmp_path / "new", mode=0o700) == "made"
    assert told == [tmp_path / "new"] * 3


def test_any_other_refusal_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        retry_eintr(tmp_path.mkdir)
