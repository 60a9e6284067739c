"""Whatever is printed, in whatever pieces: the log has its head and its tail, the value is every byte, no secret is in either,
and memory does not grow with it. Each is compared with a model that holds the whole stream.
"""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixirnb.engine.output_capture import Capture
from pixirnb.protocols.work import Output
from pixirnb.runners.output.mask import Mask
from pixirnb.runners.processes.frames import LINE_LIMIT, FrameReader, FrameWriter, Garbled, Sink
from pixirnb.store.blobs import FileBlobs
from pixirnb.value_codec import INLINE_LIMIT, decode

SECRETS = ("s3cret-value", "s3cret-value-and-more", "pässwörd!")
Stream = Literal["stdout", "stderr"]

streams: st.SearchStrategy[Stream] = st.sampled_from(["stdout", "stdout", "stderr"])
texts = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=20).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from([*(secret.encode() for secret in SECRETS), b"\n", b"a line\n", b"\x1b[1m"]),
    st.integers(1, 3 * INLINE_LIMIT).map(lambda size: b"0123456789" * (size // 10)),
)


@st.composite
def printed(draw: st.DrawFn) -> list[tuple[Stream, bytes]]:
    """Chunks of two streams; each stream is cut anywhere, through characters and secrets too."""
    chunks: list[tuple[Stream, bytes]] = []
    for stream in draw(st.lists(streams, max_size=6)):
        whole = b"".join(draw(st.lists(texts, max_size=5)))
        cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=6)))
        for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
            chunks.append((stream, whole[start:end]))
    return chunks


def masked(whole: bytes) -> bytes:
    """The model: a stream of which all is there, secrets without escapes in them."""
    longest_first = sorted((s.encode() for s in SECRETS), key=len, reverse=True)
    return re.sub(b"|".join(map(re.escape, longest_first)), b"***", whole)


def captured(
    folder: Path, chunks: Sequence[tuple[Stream, bytes]], **limits: Any
) -> tuple[Capture, list[tuple[str, bytes]]]:
    live: list[tuple[str, bytes]] = []
    capture = Capture(
        folder / "a.log",
        FileBlobs(folder / "blobs"),
        Mask(SECRETS),
        lambda stream, chunk: live.append((stream, chunk)),
        **limits,
    )
    for stream, chunk in chunks:
        capture.take(Output(stream, chunk))
    capture.finish()
    return capture, live


@given(
    chunks=printed(),
    log_limit=st.integers(2, 400),
    value_limit=st.integers(INLINE_LIMIT + 1, 3 * INLINE_LIMIT),
)
def test_head_tail_count_and_value_are_those_of_the_whole_stream(
    chunks: list[tuple[Stream, bytes]],
    log_limit: int,
    value_limit: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("printed")
    capture, live = captured(folder, chunks, log_limit=log_limit, value_limit=value_limit)
    out = b"".join(chunk for stream, chunk in live if stream == "stdout")
    if b"\x1b" not in b"".join(chunk for _, chunk in chunks):
        for name in ("stdout", "stderr"):
            whole = b"".join(chunk for stream, chunk in chunks if stream == name)
            assert b"".join(chunk for stream, chunk in live if stream == name) == masked(whole)
    everything = b"".join(chunk for _, chunk in live)
    assert capture.bytes == len(everything)

    head, left_out = log_limit // 2, len(everything) - log_limit
    shown = everything
    if left_out > 0:
        said = b"\n[pixirnb: %d bytes left out here]\n" % left_out
        shown = everything[:head] + said + everything[len(everything) - (log_limit - head) :]
    log = folder / "a.log"
    assert (log.read_bytes() if log.exists() else b"") == shown
    assert capture.is_truncated == (left_out > 0)

    value = out.removesuffix(b"\n")
    kept = value[:value_limit]
    looked_at = capture.printed()
    assert looked_at.is_whole == (kept == value)
    stored = capture.inline() or capture.stored()
    if "blob" in stored:
        assert FileBlobs(folder / "blobs").get(stored["blob"]) == kept
        assert decode(stored, kept) == kept.decode("utf-8", "replace")
    else:
        assert stored["value"].encode() == kept
    capture.close()
    assert list((folder / "blobs").glob("tmp.*")) == []
    if b"\x1b" not in everything:
        assert not any(secret.encode() in everything for secret in SECRETS)


@pytest.mark.parametrize("piece", [1, 65_536, 2 * 1024 * 1024])
def test_what_is_printed_takes_no_memory_in_whatever_pieces_it_comes(
    tmp_path: Path, piece: int
) -> None:
    chunk = (b"line of text\n" * (piece // 13 + 1))[:piece]
    count = min(100_000, 16 * 1024 * 1024 // piece)
    blobs = FileBlobs(tmp_path / "blobs")
    capture = Capture(tmp_path / "log", blobs, Mask([]), lambda *_: None, log_limit=128 * 1024)
    tracemalloc.start()
    try:
        for _ in range(count):
            capture.take(Output("stdout", chunk))
        capture.finish()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    capture.close()
    assert capture.bytes == piece * count
    assert peak < 512 * 1024 + 4 * piece


# --- what a child tells ----------------------------------------------------------------------------------------------


class Kept:
    """A place for many bytes that only counts them."""

    def __init__(self) -> None:
        self.size = 0
        self.longest = 0

    def write(self, data: bytes) -> None:
        """Add bytes."""
        self.size += len(data)
        self.longest = max(self.longest, len(data))


def read(
    folder: Path, cuts: int, *frames: tuple[str, bytes, dict[str, Any]]
) -> list[tuple[dict[str, Any], bytes | Sink]]:
    path = folder / "frames"
    with path.open("wb") as file:
        writer = FrameWriter(file.fileno())
        for frame, payload, fields in frames:
            writer.write(frame, payload, **fields)
    reader, data = FrameReader(Kept), path.read_bytes()
    return [each for at in range(0, len(data), cuts) for each in reader.feed(data[at : at + cuts])]


@pytest.mark.parametrize("cuts", [1_000, 65_536, 100_000_000])
def test_frames_arrive_whole_however_they_are_cut_and_many_bytes_go_to_a_place_of_their_own(
    tmp_path: Path, cuts: int
) -> None:
    frames: list[tuple[str, bytes, dict[str, Any]]] = [
        ("progress", b"", {"fraction": 0.5, "message": "half"}),
        ("value", b"\n" * 700_000, {"stored": {"format": "npy"}}),
        ("value", b"{\n" * 2_000_000, {"stored": {"format": "json"}}),
        ("progress", b"", {"fraction": 1.0, "message": "done"}),
    ]
    found = read(tmp_path, cuts, *frames)
    assert [header["frame"] for header, _ in found] == ["progress", "value", "value", "progress"]
    assert found[1][1] == b"\n" * 700_000
    assert isinstance(found[2][1], Kept)
    assert found[2][1].size == 4_000_000


def test_a_text_too_long_for_a_frame_is_cut_and_says_so(tmp_path: Path) -> None:
    text = "the beginning " + "x" * 3_000_000 + " checkpoint_status: checkpoint_ready"
    [(header, _)] = read(
        tmp_path, 65_536, ("session", b"", {"kind": "assistant_message", "data": {"text": text}})
    )
    told = header["data"]["text"]
    assert told.startswith("the beginning")
    assert told.endswith("checkpoint_ready")
    assert "characters omitted …]" in told
    assert len(told) < 200_000


def test_a_report_too_long_for_a_frame_loses_its_output_and_says_so(tmp_path: Path) -> None:
    data = {"checkpoint_status": "checkpoint_ready", "summary": "s", "output": [[]] * 400_000}
    [(header, _)] = read(tmp_path, 65_536, ("checkpoint", b"", {"data": data}))
    report = header["data"]
    assert "output" not in report
    assert report["limitations"][0].startswith("report_cut")


@pytest.mark.parametrize(
    "bad",
    [
        b"x" * (LINE_LIMIT + 2),
        b"no json\n",
        b"[]\n",
        b'{"bytes": -1}\n',
        b'{"bytes": "9"}\n',
        b"[" * 9000 + b"\n",
    ],
)
def test_bytes_that_are_no_frames_are_told_apart_before_they_are_held(bad: bytes) -> None:
    with pytest.raises(Garbled):
        FrameReader(Kept).feed(bad)
