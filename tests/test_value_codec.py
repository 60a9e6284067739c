"""A value comes back as it was, or is not stored at all; a pickle is loaded only for whom it was made."""

from __future__ import annotations

import enum
import math
import stat
import sys
import threading
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixirnb import value_codec
from pixirnb.errors import Cannot, StateUnusable

KEY = b"k" * 32


class Colour(enum.IntEnum):
    RED = 1


@dataclass
class Point:
    x: int


class Trap:
    """Unpickling it would run code: it records that it did."""

    sprung = False

    def __reduce__(self) -> tuple[Any, ...]:
        return (setattr, (Trap, "sprung", True))


def there_and_back(value: object) -> Any:
    stored, data = value_codec.encode(value)
    return value_codec.decode(value_codec.sign(stored, data, KEY), data, KEY)


CASES: list[tuple[object, str]] = [
    (None, "none"),
    ("", "text"),
    ("naïve ✓", "text"),
    (1, "json"),
    (10**400, "json"),
    (True, "json"),
    (-0.0, "json"),
    ([1, [2, {"a": None}]], "json"),
    ({"b": 1, "a": 2}, "json"),
    (("a", 1), "pickle"),
    ([(1, 2)], "pickle"),
    ({1: "a"}, "pickle"),
    (Colour.RED, "pickle"),
    (Point(3), "pickle"),
    (b"bytes", "pickle"),
    ({1, 2}, "pickle"),
    ("lone \ud800", "pickle"),
    (["lone \ud800"], "pickle"),
    (math.inf, "pickle"),
    (10**5000, "pickle"),
]


@pytest.mark.parametrize(("value", "form"), CASES, ids=range(len(CASES)))
def test_every_value_comes_back_equal_and_of_the_same_type(value: object, form: str) -> None:
    stored, _ = value_codec.encode(value)
    back = there_and_back(value)
    assert stored["format"] == form
    assert back == value
    assert type(back) is type(value)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.tuples(inner)
        | st.dictionaries(st.integers(), inner)
    ),
)


@given(plain)
def test_nothing_is_silently_changed_on_the_way(value: object) -> None:
    assert repr(there_and_back(value)) == repr(value)


def test_one_list_in_two_places_stays_one_list() -> None:
    inner: list[int] = []
    back = there_and_back([inner, inner])
    assert back[0] is back[1]


def test_a_circle_and_a_tower_are_no_trouble() -> None:
    circle: list[Any] = []
    circle.append(circle)
    assert there_and_back(circle)[0][0] is not None
    tower: list[Any] = []
    for _ in range(100_000):
        tower = [tower]
    with pytest.raises(value_codec.Unserialisable):
        value_codec.encode(tower)


def test_text_and_json_stand_in_the_log_up_to_the_limit_and_in_a_blob_one_past_it() -> None:
    at_limit, no_bytes = value_codec.encode("x" * value_codec.INLINE_LIMIT)
    past_limit, data = value_codec.encode("x" * (value_codec.INLINE_LIMIT + 1))
    assert at_limit["value"] == "x" * value_codec.INLINE_LIMIT
    assert no_bytes is None
    assert "value" not in past_limit
    assert data is not None
    assert value_codec.decode(past_limit, data) == "x" * (value_codec.INLINE_LIMIT + 1)
    listed, listed_data = value_codec.encode(["é" * value_codec.INLINE_LIMIT])
    assert listed["format"] == "json"
    assert value_codec.decode(listed, listed_data) == ["é" * value_codec.INLINE_LIMIT]


@pytest.mark.parametrize("value", [lambda: 1, threading.Lock(), (n for n in range(3))])
def test_what_cannot_be_stored_is_told_in_one_sentence(value: object) -> None:
    with pytest.raises(value_codec.Unserialisable, match="return data or write a file"):
        value_codec.encode(value)


def test_a_number_of_more_digits_than_python_reads_is_no_json_where_the_limit_is_lifted() -> None:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        forms = [value_codec.encode(10**digits)[0]["format"] for digits in (4_299, 4_300)]
    finally:
        sys.set_int_max_str_digits(limit)
    assert forms == ["json", "pickle"]


def test_arrays_are_npy_unless_they_hold_objects() -> None:
    array = np.arange(6, dtype=">i2").reshape(2, 3)
    stored, data = value_codec.encode(array)
    assert stored["format"] == "npy"
    back = value_codec.decode(stored, data)
    assert back.dtype == array.dtype
    assert (back == array).all()
    assert value_codec.encode(np.array([object()]))[0]["format"] == "pickle"
    assert value_codec.encode(np.float64(0.5))[0]["format"] == "pickle"


def test_frames_are_parquet_where_that_changes_nothing() -> None:
    frame = pd.DataFrame({"n": [1, 2], "t": ["a", "b"]})
    stored, data = value_codec.encode(frame)
    assert stored["format"] == "parquet"
    pd.testing.assert_frame_equal(value_codec.decode(stored, data), frame)
    numbered = pd.DataFrame({0: [1], "": [2]})
    stored, data = value_codec.encode(numbered)
    assert value_codec.decode(value_codec.sign(stored, data, KEY), data, KEY).columns.tolist() == [
        0,
        "",
    ]
    table = pa.table({"n": [1, 2]})
    stored, data = value_codec.encode(table)
    assert stored["format"] == "parquet"
    assert value_codec.decode(stored, data).equals(table)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.Series([float("nan"), None], dtype=object)}),
        pd.DataFrame({"a": pd.Series([Decimal("1.0"), Decimal("2.00")], dtype=object)}),
        pd.DataFrame({"a": pd.Series([bytearray(b"x")], dtype=object)}),
        pd.DataFrame({"a": [1, 2]}, index=pd.date_range("2026-01-01", periods=2, freq="D")),
        pd.DataFrame({"a": [1]}).set_flags(allows_duplicate_labels=False),
    ],
    ids=["nan", "decimals", "bytes", "frequency", "flags"],
)
def test_frames_that_parquet_would_change_are_pickled(frame: pd.DataFrame) -> None:
    assert value_codec.encode(frame)[0]["format"] == "pickle"


def test_frames_with_text_and_gaps_are_parquet() -> None:
    frame = pd.DataFrame({"a": ["x", None], "n": [1.0, None]})
    stored, data = value_codec.encode(frame)
    assert stored["format"] == "parquet"
    pd.testing.assert_frame_equal(value_codec.decode(stored, data), frame)


@pytest.mark.parametrize("key", [None, b"o" * 32])
def test_a_pickle_not_signed_by_this_user_is_never_loaded(key: bytes | None) -> None:
    stored, data = value_codec.encode(Trap())
    signed = value_codec.sign(stored, data, KEY)
    with pytest.raises(Cannot) as refused:
        value_codec.decode(signed, data, key)
    assert refused.value.code == "value_not_trusted"
    with pytest.raises(Cannot):
        value_codec.decode(stored, data, KEY)
    assert not Trap.sprung


def test_a_changed_pickle_is_never_loaded() -> None:
    stored, data = value_codec.encode(Point(1))
    assert data is not None
    with pytest.raises(Cannot) as refused:
        value_codec.decode(value_codec.sign(stored, data, KEY), data.replace(b"x", b"y"), KEY)
    assert refused.value.code == "value_not_trusted"


def test_trust_loads_a_pickle_of_anyone() -> None:
    stored, data = value_codec.encode(Point(7))
    assert value_codec.decode(stored, data, trust=True) == Point(7)


def test_damaged_bytes_are_an_answer_not_a_traceback() -> None:
    for form in ("npy", "parquet", "json", "pickle"):
        with pytest.raises(Cannot) as refused:
            value_codec.decode({"format": form}, b"\xff{", KEY, trust=True)
        assert refused.value.code == "value_unreadable"


def in_config_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    return folder / "pixirnb" / "key"


def test_the_key_is_made_once_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = in_config_folder(tmp_path, monkeypatch)
    keys: set[bytes] = set()
    makers = [threading.Thread(target=lambda: keys.add(value_codec.user_key())) for _ in range(8)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert keys == {path.read_bytes()}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_key_others_can_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = in_config_folder(tmp_path, monkeypatch)
    value_codec.user_key()
    path.chmod(0o644)
    with pytest.raises(StateUnusable):
        value_codec.user_key()
    path.chmod(0o600)
    path.write_bytes(b"short")
    with pytest.raises(StateUnusable):
        value_codec.user_key()


def test_a_value_in_a_few_words_names_its_size_and_asks_no_code_of_its_author() -> None:
    class Trap(list[int]):
        def __len__(self) -> int:
            raise AssertionError

        @property
        def shape(self) -> tuple[int, ...]:
            raise AssertionError

    frame = pd.DataFrame({"a": range(20), "b": range(20)})
    told = {
        "20 × 2 DataFrame": frame,
        "Series of 20": frame["a"],
        "2 × 3 array": np.zeros((2, 3)),
        "array of 6": np.zeros(6),
        "90": np.int64(90),
        "tuple of 3": (1, 2, 3),
        "Trap": Trap(),
    }
    assert [value_codec.glance(value) for value in told.values()] == list(told)
    assert value_codec.encode(np.int64(90))[0]["glance"] == "90"
