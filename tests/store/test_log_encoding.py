"""Every byte of a log counts: cut or flipped anywhere, its lines dropped, doubled or swapped, it is found in its line.

Asked of the codec and the seal, which say what any reader is told.
"""

from __future__ import annotations

import pytest

from pixirnb.history.codec import CHAIN_VALUE, GENESIS, decode_lines
from pixirnb.store.log_encoding import decode_log
from pixirnb.store.seal import Seal, check_seal
from tests.store.keptlogs import KINDS, MASKS, Kept, keep_all


@pytest.fixture(scope="module")
def all_kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Kept]:
    return keep_all(tmp_path_factory.mktemp("logs"))


@pytest.fixture(params=KINDS)
def kept(all_kept: dict[str, Kept], request: pytest.FixtureRequest) -> Kept:
    return all_kept[request.param]


def test_each_of_these_logs_is_sound_and_sealed_at_its_end(kept: Kept) -> None:
    assert kept.seal == Seal(len(kept.events), kept.lines[-1][CHAIN_VALUE].decode())
    assert kept.decoded(kept.data) == (kept.events, None)


def test_a_log_cut_at_any_byte_is_named_at_the_first_line_it_lacks(kept: Kept) -> None:
    for end in range(len(kept.data)):
        data = kept.data[:end]
        whole = data.count(b"\n")
        events, damage = kept.decoded(data)
        assert damage is not None, end
        assert (damage.code, damage.line) == ("cut_short", whole + 1)
        assert events == kept.events[:whole]


def test_without_a_seal_a_cut_is_a_torn_line_or_a_log_without_its_end(kept: Kept) -> None:
    for end in range(len(kept.data)):
        data = kept.data[:end]
        whole = data.count(b"\n")
        events, damage = kept.decoded(data, is_sealed=False)
        assert events == kept.events[:whole]
        if data and not data.endswith(b"\n"):
            assert damage is not None
            assert (damage.code, damage.line) == ("torn_tail", whole + 1)
        else:
            assert damage is None


def test_any_byte_flipped_is_found_in_its_line(kept: Kept) -> None:
    """Each is read from its line on, after the chain of the lines before it: what those hold does not change."""
    start, chain = 0, GENESIS
    for number, line in enumerate(kept.lines, start=1):
        rest = bytearray(kept.data[start:])
        for place in range(len(line)):
            for mask in MASKS:
                rest[place] ^= mask
                found = decode_lines(
                    bytes(rest[: len(line) + 300]), previous=chain, after=number - 1
                )
                rest[place] ^= mask
                assert found.events == []
                assert found.damage is not None, (number, place, mask)
                assert found.damage.line == number
                assert found.damage.message
        start += len(line)
        chain = line[CHAIN_VALUE].decode()


def test_a_flipped_byte_leaves_the_lines_before_it_readable(kept: Kept) -> None:
    for place in range(0, len(kept.data), 61):
        damaged = bytearray(kept.data)
        damaged[place] ^= MASKS[place % 4]
        number = kept.data.count(b"\n", 0, place) + 1
        events, damage = kept.decoded(bytes(damaged))
        assert events == kept.events[: number - 1]
        assert damage is not None
        assert damage.line == number


def test_lines_dropped_doubled_or_swapped_are_named(kept: Kept) -> None:
    lines = kept.lines
    count = len(lines)
    cases: list[tuple[list[bytes], int, str]] = []
    for i in range(count):
        lost = "not_contiguous" if i < count - 1 else "cut_short"
        cases.append(([*lines[:i], *lines[i + 1 :]], i + 1, lost))
        cases.append(([*lines[: i + 1], *lines[i:]], i + 2, "not_contiguous"))
        for j in range(i + 1, count):
            swapped = list(lines)
            swapped[i], swapped[j] = swapped[j], swapped[i]
            cases.append((swapped, i + 1, "not_contiguous"))
    for changed, number, code in cases:
        events, damage = kept.decoded(b"".join(changed))
        assert damage is not None
        assert (damage.code, damage.line) == (code, number)
        assert events == kept.events[: number - 1]


@pytest.mark.parametrize(
    "garbage", [b"\0" * 4096, b"hello", b"{}", b"\xff\xfe", b"[" * 5000, b"9" * 9999]
)
def test_garbage_at_the_end_or_between_lines_is_named(kept: Kept, garbage: bytes) -> None:
    count = len(kept.lines)
    events, damage = kept.decoded(kept.data + garbage)
    assert events == kept.events
    assert damage is not None
    assert (damage.code, damage.line) == ("torn_tail", count + 1)
    for place in range(count + 1):
        head, tail = b"".join(kept.lines[:place]), b"".join(kept.lines[place:])
        events, damage = kept.decoded(head + garbage + b"\n" + tail)
        assert events == kept.events[:place]
        assert damage is not None
        assert (damage.code, damage.line) == ("chain_broken", place + 1)


def test_nuls_anywhere_are_found_in_their_line(kept: Kept) -> None:
    for place in range(0, len(kept.data), 37):
        number = kept.data.count(b"\n", 0, place) + 1
        for damaged in (
            kept.data[:place] + b"\0" * 16 + kept.data[place:],
            kept.data[:place] + b"\0" * 16 + kept.data[place + 16 :],
            kept.data[:place] + b"\0" * (len(kept.data) - place),
        ):
            events, damage = kept.decoded(damaged)
            assert events == kept.events[: number - 1]
            assert damage is not None
            assert damage.line == number


def test_an_undone_run_cut_back_to_its_completed_course_is_not_completed(
    all_kept: dict[str, Kept],
) -> None:
    """The case the seal was made for, also where the later course was killed at once."""
    kept = all_kept["undone"]
    ends = [n for n, event in enumerate(kept.events, start=1) if event.kind == "run_finished"]
    first_of_later = ends[0] + 1
    assert kept.events[ends[0]].kind == "run_resumed"
    data = b"".join(kept.lines[: ends[0]])
    early = Seal(first_of_later, kept.lines[ends[0]][CHAIN_VALUE].decode())
    for seal in (kept.seal, early):
        found = check_seal(decode_log(data, get=kept.blobs.get), data, seal)
        assert found.damage is not None
        assert (found.damage.code, found.damage.line) == ("cut_short", first_of_later)
