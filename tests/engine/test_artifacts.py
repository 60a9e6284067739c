"""Artifacts are kept within the time of their attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixirnb.engine.artifacts import STOPPED, Artifacts
from pixirnb.errors import Cannot
from pixirnb.runners.artifact_globs import Ground
from pixirnb.store.blobs import FileBlobs
from pixirnb.testing.fakes.memory_blobs import MemoryBlobs


def test_keeping_stops_when_there_is_no_more_time_and_says_so(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number:02}.txt").write_text(str(number))
    artifacts = Artifacts(["*.txt"], Ground(tmp_path, tmp_path), MemoryBlobs())
    asked: list[int] = []

    def is_over() -> bool:
        asked.append(1)
        return len(asked) > 10  # before each file, and before its only piece

    with pytest.raises(Cannot) as stopped:
        artifacts.collect(True, is_over)
    assert stopped.value.code == STOPPED
    assert "after 5 files" in stopped.value.message
    assert len(asked) == 11, "nothing is read after that"
    kept = artifacts.collect(True, lambda: False)
    assert len(kept["artifacts"]) == 20


def test_looking_for_them_before_the_step_begins_stops_with_it(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number:02}.txt").write_text(str(number))
    artifacts = Artifacts(["*.txt"], Ground(tmp_path, tmp_path), MemoryBlobs())
    asked: list[int] = []

    def is_over() -> bool:
        asked.append(1)
        return len(asked) > 5

    with pytest.raises(Cannot, match="not all found before the step began") as stopped:
        artifacts.look(is_over)
    assert (stopped.value.code, len(asked)) == (STOPPED, 6)


def test_keeping_stops_within_a_large_file(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 4 * 1024 * 1024)
    blobs = tmp_path / "blobs"
    artifacts = Artifacts(["large"], Ground(tmp_path, tmp_path), FileBlobs(blobs))
    asked: list[int] = []

    def is_over() -> bool:
        asked.append(1)
        return len(asked) > 3

    with pytest.raises(Cannot) as stopped:
        artifacts.collect(True, is_over)
    assert stopped.value.code == STOPPED
    assert (len(asked), list(blobs.iterdir())) == (4, [])
