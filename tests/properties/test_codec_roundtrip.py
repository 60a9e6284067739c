"""Whatever JSON a step may leave: it is read back as it was written, and no change to it goes unseen."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pixirnb.history.codec import (
    EVENT_LINE_LIMIT,
    GENESIS,
    REPLACED,
    canonical,
    decode_lines,
    encode,
)
from pixirnb.history.events import Event
from pixirnb.history.key_order import KEYS, in_order
from pixirnb.store.log_encoding import decode_log, encode_group
from tests.sweeps import examples

AT = "2026-11-21T22:03:44.123456Z"

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**300), 10**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
datas = st.dictionaries(st.text().filter(lambda key: key != REPLACED), values, max_size=5)
any_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=8)


def written(datas: list[dict[str, Any]]) -> tuple[list[Event], bytes]:
    events = [Event(seq, AT, "attempt_ended", data) for seq, data in enumerate(datas, 1)]
    chain, lines = GENESIS, []
    for event in events:
        line, chain = encode(event, chain)
        lines.append(line)
    return events, b"".join(lines)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(datas, max_size=5))
def test_what_is_written_is_read(datas: list[dict[str, Any]]) -> None:
    events, data = written(datas)
    decoded = decode_lines(data)
    assert decoded.damage is None
    assert decoded.good_bytes == len(data)
    assert repr([event.data for event in decoded.events]) == repr(
        [_sorted(event.data) for event in events]
    )
    assert written([event.data for event in decoded.events])[1] == data


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(datas, min_size=1, max_size=3), st.data())
def test_no_change_goes_unseen(datas: list[dict[str, Any]], draw: st.DataObject) -> None:
    events, data = written(datas)
    start = draw.draw(st.integers(0, len(data) - 1))
    end = draw.draw(st.integers(start, min(len(data), start + 40)))
    changed = data[:start] + draw.draw(st.binary(max_size=40)) + data[end:]
    decoded = decode_lines(changed)
    if changed == data:
        assert decoded.damage is None
    elif data.startswith(changed) and (not changed or changed.endswith(b"\n")):
        # Whole lines gone from the end: only the missing run_finished tells.
        assert decoded.damage is None
    else:
        assert decoded.damage is not None
    assert decoded.events == decode_lines(data).events[: len(decoded.events)]
    assert len(decoded.events) <= len(events)


@settings(max_examples=examples(150), deadline=None)
@given(st.dictionaries(any_text, any_text | st.lists(any_text, max_size=3), max_size=4))
def test_any_text_can_be_written_and_is_marked_when_it_was_mended(data: dict[str, Any]) -> None:
    _, line = written([{"payload": data}])
    line.decode("utf-8")
    back = decode_lines(line).events[0].data
    has_surrogate = any("\ud800" <= character <= "\udfff" for character in repr_text(data))
    assert (REPLACED in back) == has_surrogate
    if not has_surrogate:
        assert back == {"payload": data}
    assert len(back["payload"]) == len(data)


@settings(max_examples=examples(100), deadline=None)
@given(values, values)
def test_equal_bytes_mean_equal_values(one: Any, other: Any) -> None:
    assert (canonical(one) == canonical(other)) == (repr(_sorted(one)) == repr(_sorted(other)))


def repr_text(data: dict[str, Any]) -> str:
    return "".join(key + "".join(value) for key, value in data.items())


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


names = st.sampled_from(["a", "b", "zeta", "alpha"])
mappings = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=16,
)


@settings(max_examples=examples(150), deadline=None)
@given(mappings, st.lists(mappings, max_size=3), st.none() | st.just(EVENT_LINE_LIMIT))
def test_what_users_give_keeps_the_order_of_its_keys(
    value: Any, items: list[Any], padding: int | None
) -> None:
    data = {
        "output": {"format": "json", "value": value},
        "items": [{"number": 0, "value": each} for each in items],
        **dict.fromkeys(("args", "choices", "inputs", "report", "spec", "value"), value),
        "summary": "x" * (padding or 0),
    }
    blobs: dict[str, bytes] = {}

    def put(spilled: bytes) -> str:
        blobs["b2:0"] = spilled
        return "b2:0"

    ended = Event(1, AT, "attempt_ended", data)
    lines, _ = encode_group([ended], chain=GENESIS, after=0, put=put)
    [event] = decode_log(lines, get=blobs.__getitem__).events
    assert event.data == data
    assert repr(event.data["output"]["value"]) == repr(value)
    assert repr([each["value"] for each in event.data["items"]]) == repr(items)
    assert repr(event.data["spec"]) == repr(value)
    assert written([event.data])[1] == written([data])[1]


@given(values)
def test_a_list_of_orders_that_fits_nothing_changes_nothing(listed: Any) -> None:
    data = {"value": {"alpha": 1, "zeta": [{"a": 1, "b": 2}]}}
    given = {**copy.deepcopy(data), KEYS: listed}
    assert in_order(given) == data
