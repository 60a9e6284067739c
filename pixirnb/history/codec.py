"""Events as bytes and back: one canonical JSON event a line, each chained to all lines before it.

    {"at":"2026-11-21T22:03:44.123456Z","chain":"<32 hex>","data":{…},"kind":"…","seq":4,"v":1}

line   UTF-8, members in this order, keys of `data` sorted at every depth, no spaces, no NaN or
       Infinity, integers of any length as they are, one newline at the end.
chain  blake2b over the chain value of the line before (GENESIS for the first) and this line without
       its chain member. `at` always has 27 characters, so the member's place is known and a reader
       checks the bytes as they lie there: nothing is encoded again, and no two lines that differ in
       a byte can both hold.
mark   JSON has no lone surrogates: each becomes U+FFFD, and `data["$replaced"]` lists where, as JSON
       pointers into `data`.

The chain finds accidents (an edited, dropped, doubled, moved or torn line), not forgers.
Source: contract.md §3.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from hashlib import blake2b
from itertools import repeat
from math import isfinite
from operator import itemgetter
from typing import Any, Final, Literal

from pydantic_core import from_json, to_json

from pixirnb.errors import InternalError
from pixirnb.history.events import LOG_VERSION, Event

GENESIS: Final = blake2b(b"pixirnb log 1", digest_size=16).hexdigest()
"""The chain value before the first line."""

EVENT_LINE_LIMIT: Final = 256 * 1024
"""Bytes of a line, newline included; a store puts the `data` of a longer one into a blob."""

NESTING_LIMIT: Final = 128
"""Depth of containers in a canonical value: the compiled parser stops at 200, and what is written
must be readable."""

REPLACED: Final = "$replaced"
"""Member of `data` that lists where lone surrogates were replaced."""

_AT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_AT_END: Final = 35
"""Bytes up to and with the closing quote of `at`: there the chain member begins."""
_CHAIN_END: Final = 78
"""Bytes up to and with the closing quote of `chain`."""
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})


class NotCanonicalError(ValueError):
    """Raised for what canonical JSON has no form for: NaN, a key that is no string, an object."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Where a log stops being what was written."""

    code: Literal[
        "torn_tail",
        "chain_broken",
        "not_contiguous",
        "not_canonical",
        "version",
        "blob_missing",
        "blob_damaged",
    ]
    line: int
    """1-based line of log.jsonl at which reading stopped."""
    message: str


@dataclass(frozen=True, slots=True)
class Decoded:
    """The valid prefix of some lines, and what stopped the reading, if anything did."""

    events: list[Event]
    damage: Damage | None
    good_bytes: int
    """Length of the valid prefix in bytes; a torn tail is what lies behind it."""
    chain: str
    """Chain value of the last valid line: what the next line must follow."""


def canonical(value: Any) -> bytes:
    """Canonical JSON of a value: keys sorted at every depth, UTF-8, no spaces. Raises NotCanonicalError.

    Tuples are written as lists and enum members as their values. Lone surrogates are refused here:
    only `encode` replaces them, for only it has a place to leave the mark.
    """
    ordered = value if type(value) in _PLAIN else _ordered(value, 0)
    try:
        text = to_json(ordered, inf_nan_mode="constants")
    except ValueError as reason:
        raise NotCanonicalError(str(reason)) from None
    if b"NaN" in text or b"Infinity" in text:
        _refuse_non_finite(ordered)
    return text


def encode(event: Event, previous: str) -> tuple[bytes, str]:
    """One line, newline included, that follows chain value `previous`; and the chain after it.

    Raises InternalError(code=`event_unencodable`): whoever makes events sees to it that their data
    is JSON.
    """
    if _AT.fullmatch(event.at) is None or event.seq < 1:
        raise _unencodable(event, f"`at` {event.at!r} or `seq` is not of the form of a log")
    members = {
        "at": event.at,
        "data": event.data,
        "kind": event.kind,
        "seq": event.seq,
        "v": LOG_VERSION,
    }
    try:
        try:
            body = canonical(members)
        except NotCanonicalError:
            # Surrogates are rare, so the fast path does not look for them; whatever else is wrong
            # is still wrong after mending.
            members["data"] = _mended(event.data)
            body = canonical(members)
    except NotCanonicalError as reason:
        raise _unencodable(event, str(reason)) from reason
    chain = blake2b(previous.encode() + body, digest_size=16).hexdigest()
    return b'%b,"chain":"%b"%b\n' % (body[:_AT_END], chain.encode(), body[_AT_END:]), chain


def decode_lines(data: bytes, *, previous: str = GENESIS, after: int = 0) -> Decoded:
    """Read and verify lines that follow chain value `previous` and `after` earlier lines.

    Never raises for damage: reading stops at the first line that is not what was written. A last
    line without its newline is `torn_tail`, whatever it holds: it was never confirmed to anyone.
    """
    lines = data.split(b"\n")
    tail = lines.pop()
    good, chain = _verified(lines, previous)
    events = _events(lines[:good], after)
    if events is None:
        # The chain holds but the line is none of ours: another writer. Find it one by one.
        good, chain, damage = _odd_one_out(lines[:good], previous, after)
        events = (_events(lines[:good], after) or []) if good else []
        return Decoded(events, damage, _span(lines[:good]), chain)
    if good < len(lines):
        damage = _diagnosis(lines[good], chain, after + good + 1)
        return Decoded(events, damage, _span(lines[:good]), chain)
    if tail:
        number = after + good + 1
        damage = Damage(
            "torn_tail",
            number,
            f"line {number} was not finished: its last {len(tail)} bytes have no end",
        )
        return Decoded(events, damage, len(data) - len(tail), chain)
    return Decoded(events, None, len(data), chain)


# --- reading, fast: a whole log is read at every resume -------------------------------------------


def _verified(lines: list[bytes], previous: str) -> tuple[int, str]:
    """How many lines hold, and the chain value after them."""
    chain = previous.encode()
    good = 0
    fresh = blake2b(
        digest_size=16
    ).copy  # cheaper than the constructor, which parses its options each time
    for line in lines:
        digest = fresh()
        digest.update(chain + line[:35] + line[78:])
        expected = digest.hexdigest().encode()
        if line[35:78] != b',"chain":"' + expected + b'"':
            break
        chain = expected
        good += 1
    return good, chain.decode()


_set_seq, _set_at, _set_kind, _set_data = (
    Event.__dict__[name].__set__ for name in ("seq", "at", "kind", "data")
)


def _events(lines: list[bytes], after: int) -> list[Event] | None:
    """The events of verified lines; None when one is no event of this version in its place."""
    try:
        members = [from_json(line, cache_strings="keys") for line in lines]
        if list(map(itemgetter("seq"), members)) != list(range(after + 1, after + 1 + len(lines))):
            return None
        if any(map(LOG_VERSION.__ne__, map(itemgetter("v"), members))):
            return None
        if not set(map(type, map(itemgetter("data"), members))) <= {dict}:
            return None
        # Filling the slots column by column costs a third of the frozen constructor, which calls
        # object.__setattr__ four times from Python. Nobody has seen these objects yet.
        events = list(map(Event.__new__, repeat(Event, len(members))))
        for fill, name in (
            (_set_seq, "seq"),
            (_set_at, "at"),
            (_set_kind, "kind"),
            (_set_data, "data"),
        ):
            deque(map(fill, events, map(itemgetter(name), members)), maxlen=0)
    except (KeyError, TypeError, ValueError):
        return None
    return events


# --- reading, slow: only what is wrong ------------------------------------------------------------


def _span(lines: list[bytes]) -> int:
    return sum(map(len, lines)) + len(lines)


def _odd_one_out(lines: list[bytes], previous: str, after: int) -> tuple[int, str, Damage]:
    chain = previous
    for index, line in enumerate(lines):
        if _events([line], after + index) is None:
            return index, chain, _diagnosis(line, chain, after + index + 1)
        chain = line[45:77].decode()
    raise InternalError("a log's lines hold one by one and not together", code="internal_error")


def _diagnosis(line: bytes, chain: str, number: int) -> Damage:
    """What is wrong with the line that should be event `number` and follow `chain`."""
    try:
        members = from_json(line)
        seq, version = members["seq"], members["v"]
        rewritten = _rewritten(members)
    except (KeyError, TypeError, ValueError):
        return Damage("chain_broken", number, f"line {number} is not an event as it was written")
    if (
        isinstance(version, int)
        and version > LOG_VERSION
        and not _holds(_rewritten({**members, "v": LOG_VERSION}), chain)
    ):
        return Damage(
            "version",
            number,
            f"line {number} is of log version {version}; this pixirnb reads up to {LOG_VERSION}",
        )
    if rewritten != line:
        return Damage(
            "not_canonical",
            number,
            f"line {number} is in another form than it was written in: something re-formatted it",
        )
    if seq != number:
        found = f"line {number} holds event {seq} where event {number} belongs"
        why = (
            "a line was doubled or moved"
            if isinstance(seq, int) and seq < number
            else ("a line was dropped or moved")
        )
        return Damage("not_contiguous", number, f"{found}: {why}")
    return Damage(
        "chain_broken",
        number,
        f"line {number} (event {seq}) does not follow from the lines before it: it was edited",
    )


def _rewritten(members: dict[str, Any]) -> bytes:
    """The line as `encode` would have written it, with the chain value it claims."""
    try:
        return canonical(
            {name: members[name] for name in ("at", "chain", "data", "kind", "seq", "v")}
        )
    except NotCanonicalError:
        return b""


def _holds(line: bytes, chain: str) -> bool:
    return _verified([line], chain)[0] == 1


# --- writing --------------------------------------------------------------------------------------


def _ordered(value: Any, depth: int) -> Any:
    """`value` with the keys of every dict sorted; anything but JSON is refused."""
    if depth > NESTING_LIMIT:
        raise NotCanonicalError(f"more than {NESTING_LIMIT} containers inside each other")
    if isinstance(value, dict):
        ordered = {}
        try:
            keys = sorted(value)
        except TypeError:
            raise NotCanonicalError("keys that are not strings") from None
        for key in keys:
            if not isinstance(key, str):
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


def _refuse_non_finite(value: Any) -> None:
    """Raise for a NaN or an infinity in `value`; a string may say so too, and is welcome."""
    if isinstance(value, float) and not isfinite(value):
        raise NotCanonicalError(f"{value} is not JSON")
    if isinstance(value, dict):
        for item in value.values():
            _refuse_non_finite(item)
    elif isinstance(value, list):
        for item in value:
            _refuse_non_finite(item)


def _mended(data: dict[str, Any]) -> dict[str, Any]:
    """`data` with lone surrogates replaced and their places listed under REPLACED."""
    places: list[str] = []
    mended = _without_surrogates(data, "", places, 0)
    if not places:
        return data
    earlier = data.get(REPLACED, [])
    return {**mended, REPLACED: sorted({*earlier, *places})}


def _without_surrogates(value: Any, place: str, places: list[str], depth: int) -> Any:
    if depth > NESTING_LIMIT:
        raise NotCanonicalError(f"more than {NESTING_LIMIT} containers inside each other")
    if isinstance(value, str):
        text, count = _SURROGATE.subn("\ufffd", value)
        if count:
            places.append(place)
        return text if count else value
    if isinstance(value, list | tuple):
        return [
            _without_surrogates(item, f"{place}/{index}", places, depth + 1)
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
        pointer = f"{place}/{str(name).replace('~', '~0').replace('/', '~1')}"
        if name is not key:
            places.append(pointer)
        mended[name] = _without_surrogates(item, pointer, places, depth + 1)
    return mended


def _unencodable(event: Event, reason: str) -> InternalError:
    return InternalError(
        f"event {event.seq} ({event.kind}) cannot be written to the log: {reason}",
        fix="please report this: data of an event must be JSON before it is recorded",
        code="event_unencodable",
    )
