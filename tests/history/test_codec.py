"""The log's lines: canonical, chained, and telling on whatever happened to them."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

import pytest

from pixirnb.errors import InternalError
from pixirnb.history.codec import (
    GENESIS,
    NESTING_LIMIT,
    REPLACED,
    NotCanonicalError,
    canonical,
    decode_lines,
    encode,
    encode_data,
)
from pixirnb.history.events import Event

AT = "2026-11-21T22:03:44.123456Z"


def log(*datas: dict[str, Any], kind: str = "warning_raised") -> bytes:
    """A log of events with these data."""
    chain, lines = GENESIS, []
    for seq, data in enumerate(datas, 1):
        line, chain = encode(Event(seq, AT, kind, data), chain)
        lines.append(line)
    return b"".join(lines)


def numbered(count: int) -> list[bytes]:
    """The lines of a log of `count` events."""
    return log(*({"n": number, "text": "abc"} for number in range(1, count + 1))).splitlines(True)


def round_trip(data: dict[str, Any]) -> dict[str, Any]:
    decoded = decode_lines(log(data))
    assert decoded.damage is None
    return decoded.events[0].data


def test_the_form_of_a_line_is_pinned() -> None:
    # Old logs open for ever: a change of these bytes needs a new log version.
    assert GENESIS == "3827ad3ee07c8c040a40476fb6db3e85"
    assert log({"b": [1, 2.5, None, True], "a": {"é": "\n"}}, {}) == (
        b'{"at":"2026-11-21T22:03:44.123456Z","chain":"db122ea1fca3d8d0258b424563168ac9",'
        b'"data":{"a":{"\xc3\xa9":"\\n"},"b":[1,2.5,null,true]},'
        b'"kind":"warning_raised","seq":1,"v":1}\n'
        b'{"at":"2026-11-21T22:03:44.123456Z","chain":"a2ba11b24c735a649592c3e39695659e",'
        b'"data":{},"kind":"warning_raised","seq":2,"v":1}\n'
    )


def test_keys_are_sorted_at_every_depth_and_order_of_writing_is_nothing() -> None:
    one = {"b": {"y": 1, "x": [{"q": 1, "p": 2}]}, "a": 1}
    other = {"a": 1, "b": {"x": [{"p": 2, "q": 1}], "y": 1}}
    assert log(one) == log(other)
    line = json.loads(log(one))
    assert list(line) == ["at", "chain", "data", "kind", "seq", "v"]
    assert list(line["data"]["b"]) == ["x", "y"]


@pytest.mark.parametrize(
    "value",
    [
        2**53 + 1,
        -(10**199),
        pytest.param(10**4299, id="long"),
        pytest.param(-(10**4299), id="-long"),
        "9" * 5000,
        0.1,
        -0.0,
        1e22,
        5e-324,
        1.7976931348623157e308,
        "NaN Infinity",
        "\x00\x1f\x7f\u2028\ufffd😀",
        'quote " and back \\ slash',
        "",
        [],
        {},
        [[{"": None}]],
    ],
)
def test_a_value_comes_back_as_it_went(value: Any) -> None:
    back = round_trip({"value": value})["value"]
    assert back == value
    assert repr(back) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        {1, 2},
        b"x",
        object(),
        {1: 2},
        {None: 1},
        pytest.param(10**4300, id="endless"),
    ],
)
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v], lambda v: {"k": [{"k": v}]}])
def test_what_is_not_json_is_refused(value: Any, wrap: Any) -> None:
    with pytest.raises(NotCanonicalError):
        canonical(wrap(value))
    with pytest.raises(InternalError) as refused:
        encode(Event(1, AT, "warning_raised", {"value": wrap(value)}), GENESIS)
    assert refused.value.code == "event_unencodable"


def test_what_is_nested_to_the_limit_can_be_read_and_deeper_is_refused() -> None:
    def nested(depth: int) -> Any:
        value: Any = 1
        for _ in range(depth):
            value = [value]
        return value

    value = nested(NESTING_LIMIT)
    assert round_trip({"value": value})["value"] == value
    for depth in (NESTING_LIMIT + 1, 5000):
        with pytest.raises(InternalError):
            log({"value": nested(depth)})
    with pytest.raises(InternalError):
        log({"value": nested(NESTING_LIMIT + 1), "text": "\ud800"})


@pytest.mark.parametrize(
    "at", ["", "2026-11-21T22:03:44Z", AT + "Z", 'x","chain":"012345678901', AT[:-1] + "z"]
)
def test_a_time_of_another_form_is_refused(at: str) -> None:
    with pytest.raises(InternalError):
        encode(Event(1, at, "warning_raised", {}), GENESIS)


@pytest.mark.parametrize("kind", ["", "\ud800", 'a"b'])
def test_a_kind_that_is_no_name_is_refused(kind: str) -> None:
    with pytest.raises(InternalError):
        encode(Event(1, AT, kind, {}), GENESIS)


def test_a_lone_surrogate_is_replaced_and_its_place_marked() -> None:
    data = {"text": "a\ud800b", "list": ["ok", {"k": "\udfff"}], "\udc00/~": 1}
    assert round_trip(data) == {
        "text": "a\ufffdb",
        "list": ["ok", {"k": "\ufffd"}],
        "\ufffd/~": 1,
        REPLACED: ["/list/1/k", "/text", "/\ufffd~1~0"],
    }


def test_keys_that_differ_only_in_their_surrogates_stay_apart() -> None:
    back = round_trip({"map": {chr(0xD800): 1, chr(0xD801): 2, "\ufffd": 3}})
    assert sorted(back["map"].values()) == [1, 2, 3]


def test_a_marked_event_is_written_again_as_it_is() -> None:
    once = round_trip({"text": "\ud800"})
    assert round_trip(once) == once
    assert round_trip({**once, "more": "\ud800"})[REPLACED] == ["/more", "/text"]
    assert encode_data({"text": "\ud800"}) == canonical(once)


def test_an_unknown_kind_is_kept() -> None:
    decoded = decode_lines(log({"x": 1}, kind="step_dreamt"))
    assert decoded.damage is None
    assert decoded.events[0].kind == "step_dreamt"


def test_every_changed_bit_is_found_on_its_line() -> None:
    lines = numbered(3)
    data = b"".join(lines)
    whole = decode_lines(data).events
    for position in range(len(data)):
        line = data.count(b"\n", 0, position) + 1
        for bit in range(8):
            changed = bytearray(data)
            changed[position] ^= 1 << bit
            decoded = decode_lines(bytes(changed))
            assert decoded.damage is not None, (position, bit)
            assert decoded.damage.line == line, (position, bit)
            assert decoded.events == whole[: line - 1]
            assert f"line {line}" in decoded.damage.message
            # Only the loss of the very last newline looks like a torn tail.
            assert (decoded.damage.code == "torn_tail") == (position == len(data) - 1)


def test_every_cut_leaves_the_whole_lines_and_names_the_torn_one() -> None:
    data = b"".join(numbered(3))
    whole = decode_lines(data).events
    for end in range(len(data) + 1):
        decoded = decode_lines(data[:end])
        count = data.count(b"\n", 0, end)
        good = data.rfind(b"\n", 0, end) + 1
        assert decoded.events == whole[:count]
        assert decoded.good_bytes == good
        if good == end:
            assert decoded.damage is None
        else:
            assert decoded.damage is not None
            assert (decoded.damage.code, decoded.damage.line) == ("torn_tail", count + 1)


def test_every_inserted_or_removed_byte_is_found() -> None:
    data = b"".join(numbered(2))
    for position in range(len(data)):
        for changed in (
            data[:position] + data[position + 1 :],
            *(data[:position] + extra + data[position:] for extra in (b" ", b"\n", b"\r", b"0")),
        ):
            if changed == data:
                continue
            decoded = decode_lines(changed)
            assert decoded.damage is not None, (position, changed)
            pairs = zip(data, changed, strict=False)
            same = next((i for i, (a, b) in enumerate(pairs) if a != b), len(changed))
            assert decoded.damage.line == data.count(b"\n", 0, same) + 1


def arranged(*places: int) -> bytes:
    lines = numbered(5)
    return b"".join(lines[place - 1] for place in places)


@pytest.mark.parametrize(
    ("places", "line", "word"),
    [
        ((2, 3, 4, 5), 1, "dropped"),
        ((1, 3, 4, 5), 2, "dropped"),
        ((1, 2, 3, 5), 4, "dropped"),
        ((1, 1, 2, 3), 2, "doubled"),
        ((1, 2, 3, 4, 5, 5), 6, "doubled"),
        ((2, 1, 3, 4, 5), 1, "moved"),
        ((1, 2, 4, 3, 5), 3, "moved"),
        ((1, 2, 3, 4, 5, 1), 6, "moved"),
    ],
)
def test_a_dropped_doubled_or_moved_line_is_named(places: Any, line: int, word: str) -> None:
    damage = decode_lines(arranged(*places)).damage
    assert damage is not None
    assert (damage.code, damage.line) == ("not_contiguous", line)
    assert word in damage.message


def test_a_last_line_that_has_its_newline_and_fails_is_broken_not_torn() -> None:
    data = b"".join(numbered(2))
    damage = decode_lines(data[:-20] + b"\n").damage
    assert damage is not None
    assert (damage.code, damage.line) == ("chain_broken", 2)


def test_zeros_after_a_power_failure_are_a_torn_tail() -> None:
    decoded = decode_lines(b"".join(numbered(2)) + bytes(4096))
    assert decoded.damage is not None
    assert decoded.damage.code == "torn_tail"
    assert len(decoded.events) == 2


def test_a_renumbered_log_without_its_middle_is_broken() -> None:
    lines = numbered(3)
    damage = decode_lines(lines[0] + lines[2].replace(b'"seq":3', b'"seq":2')).damage
    assert damage is not None
    assert (damage.code, damage.line) == ("chain_broken", 2)


@pytest.mark.parametrize(
    "again",
    [
        lambda line: json.dumps(json.loads(line), sort_keys=True).encode() + b"\n",
        lambda line: (
            json.dumps(json.loads(line), sort_keys=False, separators=(",", ":"))
            .encode()
            .replace(b"abc", b"\\u0061bc")
            + b"\n"
        ),
        lambda line: line[:-1] + b"\r\n",
    ],
)
def test_a_reformatted_line_is_told_from_an_edited_one(again: Any) -> None:
    lines = numbered(2)
    damage = decode_lines(lines[0] + again(lines[1])).damage
    assert damage is not None
    assert (damage.code, damage.line) == ("not_canonical", 2)


def test_a_line_of_a_newer_version_is_named_with_both_versions() -> None:
    lines = numbered(3)
    newer = lines[1].replace(b'"v":1}', b'"v":7}').replace(b"abc", b"new")
    decoded = decode_lines(lines[0] + newer + lines[2])
    assert decoded.damage is not None
    assert (decoded.damage.code, decoded.damage.line) == ("version", 2)
    assert "version 7" in decoded.damage.message
    assert len(decoded.events) == 1


def test_a_version_edited_into_one_of_our_lines_is_an_edit() -> None:
    lines = numbered(2)
    damage = decode_lines(lines[0] + lines[1].replace(b'"v":1}', b'"v":3}')).damage
    assert damage is not None
    assert damage.code == "chain_broken"


@pytest.mark.parametrize(
    "junk",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"1",
        b"\xff\xfe",
        b"{" * 3000,
        b'{"seq":"x","v":9}',
        b'{"seq":[],"v":{}}',
    ],
)
def test_junk_is_damage_and_never_an_exception(junk: bytes) -> None:
    decoded = decode_lines(b"".join(numbered(1)) + junk + b"\n")
    assert len(decoded.events) == 1
    assert decoded.damage is not None
    assert decoded.damage.line == 2


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"v": 2}, "version"),
        ({"seq": 3}, "not_contiguous"),
        ({"seq": 1}, "not_contiguous"),
        ({"data": []}, "chain_broken"),
        ({"extra": 1}, "chain_broken"),
        ({"seq": "2"}, "chain_broken"),
    ],
)
def test_a_line_of_another_writer_is_damage_although_its_chain_holds(
    change: dict[str, Any], code: str
) -> None:
    first = decode_lines(numbered(1)[0])
    members = {"at": AT, "data": {}, "kind": "warning_raised", "seq": 2, "v": 1, **change}
    body = canonical(members)
    chain = blake2b(first.chain.encode() + body, digest_size=16).hexdigest()
    line = body[:35] + b',"chain":"' + chain.encode() + b'"' + body[35:] + b"\n"
    damage = decode_lines(line, previous=first.chain, after=1).damage
    assert damage is not None
    assert (damage.code, damage.line) == (code, 2)


def test_reading_goes_on_from_where_it_stopped() -> None:
    lines = numbered(5)
    first = decode_lines(b"".join(lines[:2]))
    rest = decode_lines(b"".join(lines[2:]), previous=first.chain, after=2)
    assert rest.damage is None
    assert first.events + rest.events == decode_lines(b"".join(lines)).events
    assert decode_lines(lines[3], previous=first.chain, after=2).damage is not None


def test_an_empty_log_is_whole() -> None:
    decoded = decode_lines(b"")
    assert (decoded.events, decoded.damage, decoded.good_bytes) == ([], None, 0)
    assert decoded.chain == GENESIS
