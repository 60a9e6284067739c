"""Durations as written, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixirnb.spec.durations import LONGEST_MS, format_duration, parse_duration

READ = [
    ("45s", 45_000),
    ("15m", 900_000),
    ("1h30m", 5_400_000),
    ("500ms", 500),
    ("1m500ms", 60_500),
    ("1h2m3s4ms", 3_723_004),
    ("90m", 5_400_000),
    ("168h", LONGEST_MS),
    (90, 90_000),
    (0.5, 500),
    (0.0001, 1),
    (604_800, LONGEST_MS),
]


@pytest.mark.parametrize(("written", "milliseconds"), READ)
def test_a_duration_is_milliseconds(written: str | float, milliseconds: int) -> None:
    assert parse_duration(written) == milliseconds


REFUSED = [
    "", "5", "5x", "m5", "30m1h", "1h 30m", " 5s", "5s ", "-5s", "1.5h", "0s", "168h1ms", "٣s",
    True, False, 0, -1, -0.5, float("nan"), float("inf"), 1e308, 604_800.001, 10**400, None, [],
]  # fmt: skip


@pytest.mark.parametrize("written", REFUSED)
def test_what_is_no_duration_is_refused_in_a_sentence(written: object) -> None:
    with pytest.raises(ValueError, match=r"is (not|longer)"):
        parse_duration(written)  # type: ignore[arg-type]  # a caller's mistake is the point


@pytest.mark.parametrize("written", ["0s", "0ms", 0, 0.0])
def test_nothing_is_a_duration_where_the_caller_says_so(written: str | float) -> None:
    assert parse_duration(written, allow_zero=True) == 0


@pytest.mark.parametrize(
    ("milliseconds", "spelling"),
    [
        (0, "0s"),
        (1, "1ms"),
        (60_000, "1m"),
        (90_000, "90s"),
        (5_400_000, "90m"),
        (3_661_000, "3661s"),
    ],
)
def test_the_shortest_spelling_is_shown(milliseconds: int, spelling: str) -> None:
    assert format_duration(milliseconds) == spelling


@given(st.integers(1, LONGEST_MS))
def test_every_duration_reads_back_as_itself(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds)) == milliseconds
