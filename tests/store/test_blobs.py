"""Blobs are their digest: stored once, durable before they are named, checked when read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pixirnb.errors import Cannot, LogDamaged, LogWriteFailed, StateUnusable
from pixirnb.ids import digest_of
from pixirnb.store.blobs import BLOB_LIMIT, FileBlobs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def blobs(tmp_path: Path) -> FileBlobs:
    return FileBlobs(tmp_path / "blobs", limit=1000)


def files(blobs: FileBlobs) -> list[str]:
    return sorted(path.name for path in blobs._folder.rglob("*") if path.is_file())


def test_a_digest_is_pinned() -> None:
    assert digest_of(b"").startswith("b2:0e5751c026e543b2e8ab2eb06099daa1")


def test_the_same_bytes_are_stored_and_synced_once(blobs: FileBlobs) -> None:
    digest = blobs.put(b"abc")
    syncs = blobs.syncs
    assert syncs == 3
    assert blobs.put(b"abc") == digest
    assert blobs.syncs == syncs
    assert files(blobs) == [digest[3:]]


def test_a_blob_left_by_a_process_that_died_is_made_durable_again(blobs: FileBlobs) -> None:
    digest = blobs.put(b"abc")
    again = FileBlobs(blobs._folder)
    assert again.put(b"abc") == digest
    assert again.syncs == 2


def test_a_blob_cut_short_is_written_anew(blobs: FileBlobs) -> None:
    digest = blobs.put(b"abcdef")
    blobs._path(digest).write_bytes(b"abc")
    with pytest.raises(LogDamaged) as damaged:
        blobs.get(digest)
    assert damaged.value.code == "blob_damaged"
    assert FileBlobs(blobs._folder).put(b"abcdef") == digest
    assert blobs.get(digest) == b"abcdef"


@pytest.mark.parametrize("is_another_process", [False, True])
def test_a_blob_of_its_size_with_other_bytes_is_written_anew(
    blobs: FileBlobs, is_another_process: bool
) -> None:
    digest = blobs.put(b"abcdef")
    blobs._path(digest).write_bytes(b"abcdeX")
    writer = FileBlobs(blobs._folder) if is_another_process else blobs
    assert writer.put(b"abcdef") == digest
    assert blobs.get(digest) == b"abcdef"
    assert files(blobs) == [digest[3:]]


def test_the_limit_holds_and_one_byte_more_is_refused(blobs: FileBlobs, tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert blobs.get(blobs.put(b"x" * 1000)) == b"x" * 1000
    path.write_bytes(b"y" * 1000)
    digest, size = blobs.put_file(path)
    assert (blobs.get(digest), size) == (b"y" * 1000, 1000)
    path.write_bytes(b"y" * 1001)
    with pytest.raises(Cannot) as refused:
        blobs.put(b"x" * 1001)
    with pytest.raises(Cannot) as refused_file:
        blobs.put_file(path)
    for error in (refused.value, refused_file.value):
        assert error.code == "limit_exceeded"
        assert error.details["limit"] == "blob"
    assert len(files(blobs)) == 2


def test_two_gibibytes_and_a_byte_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(BLOB_LIMIT + 1)
    with pytest.raises(Cannot) as refused:
        FileBlobs(tmp_path / "blobs").put_file(path)
    assert refused.value.code == "limit_exceeded"


def test_a_file_is_streamed_and_stays(blobs: FileBlobs, tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(os.urandom(3_000_000))
    large = FileBlobs(blobs._folder)
    digest, size = large.put_file(path)
    assert (digest, size) == (digest_of(path.read_bytes()), 3_000_000)
    assert large.get(digest) == path.read_bytes()


def test_the_bytes_of_a_file_that_grows_meanwhile_are_those_that_are_kept(
    blobs: FileBlobs, tmp_path: Path
) -> None:
    path = tmp_path / "growing"
    path.write_bytes(b"a" * 100)

    def grow() -> None:
        if path.stat().st_size == 100:
            path.write_bytes(b"a" * 150)

    digest, size = blobs.put_file(path, grow)
    assert size == len(blobs.get(digest)) == 150


def test_a_file_that_is_not_there_is_the_callers_matter(blobs: FileBlobs, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        blobs.put_file(tmp_path / "nothing")


def test_a_planted_symlink_is_not_followed(blobs: FileBlobs, tmp_path: Path) -> None:
    digest = blobs.put(b"abc")
    path = blobs._path(digest)
    path.rename(tmp_path / "aside")
    path.symlink_to(tmp_path / "aside")
    with pytest.raises(StateUnusable) as refused:
        blobs.get(digest)
    assert refused.value.code == "symlink_refused"
    path.unlink()
    path.parent.rmdir()
    path.parent.symlink_to(tmp_path)
    for verb in (lambda: FileBlobs(blobs._folder).put(b"abc"), lambda: blobs.get(digest)):
        with pytest.raises(StateUnusable):
            verb()
    assert not (tmp_path / digest[3:]).exists()


@pytest.mark.parametrize("plant", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_no_blob(blobs: FileBlobs, plant: Callable[[Path], None]) -> None:
    digest = blobs.put(b"abc")
    path = blobs._path(digest)
    path.unlink()
    plant(path)
    writer = os.open(path, os.O_RDWR | os.O_NONBLOCK) if path.is_fifo() else None
    with pytest.raises(LogDamaged) as missing:
        blobs.get(digest)
    assert missing.value.code == blobs.fault(digest) == "blob_missing"
    if writer is not None:
        os.close(writer)


def test_nothing_is_put_where_a_link_in_the_place_of_the_folder_leads(
    blobs: FileBlobs, tmp_path: Path
) -> None:
    blobs.put(b"abc")
    (tmp_path / "elsewhere").mkdir()
    blobs._folder.rename(tmp_path / "aside")
    blobs._folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateUnusable, match="symlink_refused"):
        blobs.put(b"another")
    assert not any((tmp_path / "elsewhere").iterdir())


def test_leftovers_of_a_death_are_swept(blobs: FileBlobs) -> None:
    digest = blobs.put(b"abc")
    (blobs._folder / "tmp.1.1").write_bytes(b"half")
    blobs.sweep()
    assert files(blobs) == [digest[3:]]


def test_a_disk_that_refuses_is_a_failed_write(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file")
    with pytest.raises((LogWriteFailed, StateUnusable)):
        FileBlobs(tmp_path / "blobs").put(b"abc")
