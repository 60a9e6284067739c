"""Events as bytes and back: one canonical JSON event a line, each chained to all lines before it.

    {"at":"2026-11-21T22:03:44.123456Z","chain":"<32 hex>","data":{…},"kind":"…","seq":4,"v":1}

line   UTF-8, members in this order, keys of `data` sorted at every depth, no spaces, no NaN or
       Infinity, integers of any length as they are, one newline at the end.
chain  blake2b over the chain value of the line before (GENESIS for the first) and this line without
       its chain member. `at` always has 27 characters, so the member's place is known and a reader
       checks the bytes as they lie there: nothing is encoded again, and no two lines that differ in
       a byte can both hold.
mark   JSON has no lone surrogates: each becomes U+FFFD, and `data["$replaced"]` lists the places,
       as JSON pointers into `data`.
order  `data["$keys"]` lists the orders of keys of users' mappings that the line sorts (`key_order.py`).

The chain finds accidents (an edited, dropped, doubled, moved or torn line), not forgers.
Source: contract.md §3.
"""

from __future__ import annotations

import re
from contextlib import suppress
from hashlib import blake2b
from math import isfinite
from typing import Any, Final, Literal

from msgspec import Struct
from pydantic_core import from_json, to_json

from pixirnb.errors import InternalError
from pixirnb.history.events import LOG_VERSION, Event
from pixirnb.history.key_order import KEYS, OF_USERS, in_order, with_orders
from pixirnb.json_types import JsonObject

GENESIS: Final = blake2b(b"pixirnb log 1", digest_size=16).hexdigest()
"""The chain value before the first line."""

EVENT_LINE_LIMIT: Final = 256 * 1024
"""Bytes of a line, newline included; a store puts the `data` of a longer one into a blob."""

NESTING_LIMIT: Final = 128
"""Depth of containers in a canonical value: the compiled parser stops at 200, and what is written
must be readable."""

REPLACED: Final = "$replaced"
"""Member of `data` that lists where lone surrogates were replaced."""

CHAIN_VALUE: Final = slice(45, 77)
"""Position of the chain value in every line."""

_AT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_DIGITS: Final = 4300
"""Digits of an integer that Python and the compiled parser still read."""
_LONG: Final = re.compile(rb"\d{%d}" % (_DIGITS + 1))
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_AT_END: Final = 35
"""Bytes up to and with the closing quote of `at`: there the chain member begins."""
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})


class NotCanonicalError(ValueError):
    """Raised for what canonical JSON has no form for: NaN, a key that is no string, an object."""


class Damage(Struct, frozen=True):
    """The position at which a log stops being what was written, and the cause."""

    code: Literal[
        "torn_tail",
        "cut_short",
        "chain_broken",
        "not_contiguous",
        "not_canonical",
        "version",
        "blob_missing",
        "blob_damaged",
    ]
    line: int
    """1-based line of log.jsonl at which reading stopped, or would have gone on."""
    message: str


class Decoded(Struct, frozen=True):
    """The valid prefix of some lines, and the damage that stopped the reading, if any."""

    events: list[Event]
    damage: Damage | None
    good_bytes: int
    """Length of the valid prefix in bytes; a torn tail is what lies behind it."""
    chain: str
    """Chain value of the last valid line, which the next line must follow."""


def canonical(value: Any) -> bytes:
    """Return the canonical JSON of a value: sorted keys, UTF-8, no spaces. Raises NotCanonicalError.

    Tuples are written as lists and enum members as their values. Lone surrogates are refused here: only `encode` replaces them,
    for only `encode` can mark the position.
    """
    return _text(value if type(value) in _PLAIN else _ordered(value, 0))


def encode(event: Event, previous: str) -> tuple[bytes, str]:
    """Return one line, newline included, that follows chain value `previous`; and the chain after it.

    Raises InternalError(code=`event_unencodable`): the caller ensures that the data of an event is JSON.
    """
    if _AT.fullmatch(event.at) is None or event.seq < 1 or not event.kind.isidentifier():
        raise _unencodable(
            event, f"its time {event.at!r}, number or kind has not the form of a log's"
        )
    try:
        try:
            body = _body(event, event.data)
        except NotCanonicalError:
            # Surrogates are rare, so the fast path does not look for them; whatever else is wrong
            # is still wrong after mending.
            body = _body(event, _mended(event.data))
    except NotCanonicalError as reason:
        raise _unencodable(event, str(reason)) from reason
    chain = blake2b(previous.encode() + body, digest_size=16).hexdigest()
    return b'%b,"chain":"%b"%b\n' % (body[:_AT_END], chain.encode(), body[_AT_END:]), chain


def storable(data: JsonObject) -> JsonObject:
    """Return `data` as a log gives it back: lone surrogates are replaced, and marked."""
    try:
        to_json(data, inf_nan_mode="constants")
    except ValueError:
        with suppress(NotCanonicalError):  # what is no JSON at all is refused where it is written
            return _mended(data)
    return data


def encode_data(data: JsonObject) -> bytes:
    """Return the bytes a line would hold for `data`, for a blob: lone surrogates replaced and marked.

    Raises NotCanonicalError.
    """
    try:
        canonical(data)
    except NotCanonicalError:
        data = _mended(data)
    return canonical(with_orders(data))


def decode_data(data: bytes) -> JsonObject | None:
    """Return the data of an event from a blob; None if the bytes are none."""
    try:
        members = from_json(data)
    except ValueError:
        return None
    if type(members) is not dict:
        return None
    return in_order(members) if KEYS in members else members


def decode_lines(data: bytes, *, previous: str = GENESIS, after: int = 0) -> Decoded:
    """Read and verify lines that follow chain value `previous` and `after` earlier lines.

    Never raises for damage: reading stops at the first line that is not what was written. A last
    line without its newline is `torn_tail`, whatever it holds: it was never confirmed to anyone.
    """
    lines = data.split(b"\n")
    tail = lines.pop()
    events, chain = _prefix(lines, previous, after)
    good = len(events)
    number = after + good + 1
    if good < len(lines):
        good_bytes = sum(map(len, lines[:good])) + good
        return Decoded(events, _diagnosis(lines[good], chain, number), good_bytes, chain)
    if tail:
        message = f"line {number} was not finished: its last {len(tail)} bytes have no newline"
        return Decoded(events, Damage("torn_tail", number, message), len(data) - len(tail), chain)
    return Decoded(events, None, len(data), chain)


def _prefix(lines: list[bytes], previous: str, after: int) -> tuple[list[Event], str]:
    """Return the events of the valid lines, up to the first invalid line, and the chain after them.

    A whole log goes through this loop at every resume: 60,000 lines cost about 1.4 times what parsing them costs. An invalid
    line just ends the loop; `_diagnosis` finds the cause.
    """
    events: list[Event] = []
    append = events.append
    chain = previous.encode()
    # Copying a hash is cheaper than its constructor, which parses its options each time.
    fresh = blake2b(digest_size=16).copy
    try:
        for number, line in enumerate(lines, after + 1):
            digest = fresh()
            digest.update(chain + line[:35] + line[78:])
            expected = digest.hexdigest().encode()
            if line[35:78] != b',"chain":"' + expected + b'"':
                break
            at, _, data, kind, seq, version = from_json(line, cache_strings="keys").values()
            if seq != number or version != LOG_VERSION or type(data) is not dict:
                break
            append(Event(seq, at, kind, in_order(data) if KEYS in data else data))
            chain = expected
    except (AttributeError, ValueError):
        pass  # the chain holds and the line is not an event: someone else's line
    return events, chain.decode()


# --- reading, slow: only what is wrong ------------------------------------------------------------


def _diagnosis(line: bytes, chain: str, number: int) -> Damage:
    """Return the damage of the line that should be event `number` and follow `chain`."""
    try:
        members = from_json(line)
        seq, version = members["seq"], members["v"]
        rewritten = _rewritten(members)
        is_newer = type(version) is int and version > LOG_VERSION
        # Ours after all, and only its version was edited?
        ours = is_newer and _prefix([_rewritten({**members, "v": LOG_VERSION})], chain, number - 1)
    except (KeyError, TypeError, ValueError):
        return Damage("chain_broken", number, f"line {number} is not an event as it was written")
    if is_newer and not (ours and ours[0]):
        message = f"line {number} is of log version {version}; this pixirnb knows {LOG_VERSION}"
        return Damage("version", number, message)
    if rewritten != line:
        message = f"line {number} says what it says in other bytes than pixirnb writes"
        return Damage("not_canonical", number, message)
    if type(seq) is int and seq != number:
        why = "doubled or moved" if seq < number else "dropped or moved"
        message = f"line {number} holds event {seq}, not event {number}: a line was {why}"
        return Damage("not_contiguous", number, message)
    message = f"line {number} does not follow from the lines before it: it was edited"
    return Damage("chain_broken", number, message)


def _rewritten(members: JsonObject) -> bytes:
    """Return the line as `encode` would have written it, with the chain value it claims."""
    return canonical({name: members[name] for name in sorted(members)})


# --- writing --------------------------------------------------------------------------------------


def _body(event: Event, data: JsonObject) -> bytes:
    """Return the line without its chain member and newline."""
    ordered = _ordered(data, 0)
    if not OF_USERS.isdisjoint(data) and (marked := with_orders(data)) is not data:
        ordered = _ordered(marked, 0)
    return _text(
        {"at": event.at, "data": ordered, "kind": event.kind, "seq": event.seq, "v": LOG_VERSION}
    )


def _text(ordered: Any) -> bytes:
    try:
        text = to_json(ordered, inf_nan_mode="constants")
    except ValueError as reason:
        raise NotCanonicalError(str(reason)) from None
    if b"NaN" in text or b"Infinity" in text or (len(text) > _DIGITS and _LONG.search(text)):
        _refuse_unreadable(ordered)
    return text


def _ordered(value: Any, depth: int) -> Any:
    """Return `value` with the keys of every dict sorted. Raises NotCanonicalError for anything but JSON."""
    if depth > NESTING_LIMIT:
        raise NotCanonicalError(f"more than {NESTING_LIMIT} containers inside each other")
    if isinstance(value, dict):
        ordered = {}
        try:
            keys = sorted(value)
        except TypeError:
            raise NotCanonicalError("keys that are not strings") from None
        for key in keys:
            if type(key) is not str:
                raise NotCanonicalError(f"a key that is not a string: {key!r}")
            item = value[key]
            ordered[key] = item if type(item) in _PLAIN else _ordered(item, depth + 1)
        return ordered
    if isinstance(value, list | tuple):
        return [item if type(item) in _PLAIN else _ordered(item, depth + 1) for item in value]
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    raise NotCanonicalError(f"a {type(value).__name__}, which is not JSON")


def _refuse_unreadable(value: Any) -> None:
    """Raise for a NaN, an infinity or an endless integer; a string may look like one and pass."""
    if isinstance(value, float) and not isfinite(value):
        raise NotCanonicalError(f"{value} is not JSON")
    if isinstance(value, int) and abs(value) >= 10**_DIGITS:
        raise NotCanonicalError(f"an integer of more than {_DIGITS} digits")
    if isinstance(value, dict):
        for item in value.values():
            _refuse_unreadable(item)
    elif isinstance(value, list):
        for item in value:
            _refuse_unreadable(item)


def _mended(data: JsonObject) -> JsonObject:
    """Return `data` with lone surrogates replaced and their positions listed under REPLACED."""
    positions: list[str] = []
    mended = _without_surrogates(data, "", positions, 0)
    if not positions:
        return data
    earlier = data.get(REPLACED, [])
    return {**mended, REPLACED: sorted({*earlier, *positions})}


def _without_surrogates(value: Any, position: str, positions: list[str], depth: int) -> Any:
    if depth > NESTING_LIMIT:
        raise NotCanonicalError(f"more than {NESTING_LIMIT} containers inside each other")
    if isinstance(value, str):
        text, count = _SURROGATE.subn("\ufffd", value)
        if count:
            positions.append(position)
        return text if count else value
    if isinstance(value, list | tuple):
        return [
            _without_surrogates(item, f"{position}/{index}", positions, depth + 1)
            for index, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    mended: dict[Any, Any] = {}
    taken = set(value)
    for key, item in value.items():
        name = key
        if isinstance(key, str) and _SURROGATE.search(key):
            name = _SURROGATE.sub("\ufffd", key)
            while name in taken:  # two keys may differ in nothing but their surrogates
                name += "\ufffd"
            taken.add(name)
        pointer = f"{position}/{str(name).replace('~', '~0').replace('/', '~1')}"
        if name is not key:
            positions.append(pointer)
        mended[name] = _without_surrogates(item, pointer, positions, depth + 1)
    return mended


def _unencodable(event: Event, reason: str) -> InternalError:
    return InternalError(
        f"event {event.seq} ({event.kind}) cannot be written to the log: {reason}",
        fix="please report this: data of an event must be JSON before it is recorded",
        code="event_unencodable",
    )
