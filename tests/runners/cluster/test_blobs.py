"""Large arguments stay out of packets, and a worker keeps them by digest, within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixirnb.ids import digest_of
from pixirnb.protocols.work import PythonWork, ShellWork, UnloadedValue
from pixirnb.runners.cluster.blobs import LARGE, WorkerBlobs, with_blobs, without_blobs

LONG = "ä\ud800" * LARGE
DATA = b"0," * LARGE
VALUE = UnloadedValue({"format": "json", "blob": digest_of(DATA)}, DATA)


def work(**arguments: object) -> PythonWork:
    return PythonWork("m:f", arguments, None, process=True, holds_unloaded=True)


def sent(blobs: WorkerBlobs, data: bytes, piece: int) -> str:
    """The digest of a blob that was sent in pieces."""
    digest, held = digest_of(data), 0
    while held < len(data):
        held = blobs.take(digest, held, data[held : held + piece], len(data))
    return digest


def test_large_values_and_texts_are_left_out_wherever_they_stand_and_come_back_the_same() -> None:
    whole = work(text=LONG, nested={"list": [VALUE, 1, "short"]}, small="x")
    bare, blobs = without_blobs(whole)
    assert sorted(map(len, blobs.values())) == [
        len(DATA),
        len(LONG.encode("utf-8", "surrogatepass")),
    ]
    assert isinstance(bare, PythonWork)
    assert bare.arguments["small"] == "x"
    assert bare.arguments["nested"]["list"][1:] == [1, "short"]
    assert with_blobs(bare, blobs.__getitem__) == whole


def test_what_is_small_or_no_function_stays_as_it_is() -> None:
    for each in (work(text="x" * (LARGE - 1)), ShellWork("true")):
        assert without_blobs(each) == (each, {})


def test_a_blob_is_whole_after_its_last_piece_and_is_not_taken_twice(tmp_path: Path) -> None:
    blobs = WorkerBlobs(tmp_path / "blobs")
    digest = digest_of(DATA)
    assert blobs.take(digest, 0, DATA[:100], len(DATA)) == 100
    assert blobs.take(digest, 0, DATA[:100], len(DATA)) == 100
    assert blobs.take(digest, 500, DATA[500:], len(DATA)) == 100
    assert blobs.lacking((digest,)) == (digest,)
    assert blobs.take(digest, 100, DATA[100:], len(DATA)) == len(DATA)
    assert blobs.lacking((digest,)) == ()
    assert blobs.take(digest, 0, b"other", len(DATA)) == len(DATA)
    assert blobs.read(digest) == DATA


def test_bytes_that_are_not_those_of_the_digest_are_not_kept(tmp_path: Path) -> None:
    blobs = WorkerBlobs(tmp_path)
    digest = digest_of(DATA)
    assert blobs.take(digest, 0, DATA[::-1], len(DATA)) == 0
    assert blobs.lacking((digest,)) == (digest,)
    assert sent(blobs, DATA, LARGE) == digest


def test_the_least_recently_used_make_room(tmp_path: Path) -> None:
    blobs = WorkerBlobs(tmp_path, kept=250)
    first, second = (sent(blobs, bytes([number]) * 100, 60) for number in range(2))
    blobs.read(first)
    third = sent(blobs, b"z" * 100, 60)
    assert blobs.lacking((first, second, third)) == (second,)
    with pytest.raises(FileNotFoundError):
        blobs.read(second)
