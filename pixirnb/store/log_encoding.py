"""Groups of events as bytes of a log, with data too large for a line in blobs, and back again.

Both stores keep the same bytes; they differ only in where.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import from_json

from pixirnb.errors import InternalError, LogDamaged
from pixirnb.history.codec import (
    CHAIN_VALUE,
    EVENT_LINE_LIMIT,
    GENESIS,
    Damage,
    Decoded,
    decode_lines,
    encode,
    encode_data,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pixirnb.history.events import Event

BLOB: Final = "$blob"
"""The only member of an event's data when the data itself is a blob: its digest."""

_SPILLED: Final = b'"data":{"$blob":"'


def encode_group(
    events: Sequence[Event], *, chain: str, after: int, put: Callable[[bytes], str]
) -> tuple[bytes, str]:
    """The lines of `events`, which follow `chain` and event number `after`, and the chain then.

    `put` stores a blob durably and returns its digest. Raises InternalError for an event out of
    order or one that is not JSON; then nothing was written.
    """
    lines: list[bytes] = []
    for number, event in enumerate(events, after + 1):
        if event.seq != number:
            raise InternalError(
                f"event {event.seq} ({event.kind}) was appended as number {number} of the log"
            )
        line, following = encode(event, chain)
        if len(line) > EVENT_LINE_LIMIT:
            digest = put(encode_data(event.data))
            line, following = encode(replace(event, data={BLOB: digest}), chain)
        lines.append(line)
        chain = following
    return b"".join(lines), chain


def decode_log(
    data: bytes, *, get: Callable[[str], bytes], chain: str = GENESIS, after: int = 0
) -> Decoded:
    """Decode lines and put data that lies in blobs back in its place. Never raises for damage."""
    decoded = decode_lines(data, previous=chain, after=after)
    if _SPILLED not in data:
        return decoded
    events = decoded.events
    for index, event in enumerate(events):
        if BLOB not in event.data:
            continue
        try:
            events[index] = replace(event, data=_brought(event.data[BLOB], get))
        except LogDamaged as missing:
            is_there = missing.code == "blob_damaged"
            damage = Damage(
                "blob_damaged" if is_there else "blob_missing",
                event.seq,
                f"line {event.seq} ({event.kind}): {missing.message}",
            )
            return Decoded(events[:index], damage, *reach(data, index, chain))
    return decoded


def _brought(name: object, get: Callable[[str], bytes]) -> dict[str, Any]:
    """The data that lies in a blob. Raises LogDamaged where there is none, or what is there is no data of an event."""
    if not isinstance(name, str):
        raise LogDamaged("its data is said to lie in a blob, and no blob is named")
    try:
        data = from_json(get(name))
    except ValueError:
        data = None
    if type(data) is not dict:
        raise LogDamaged(f"the blob {name} holds no data of an event", code="blob_damaged")
    return data


def reach(data: bytes, count: int, chain: str = GENESIS) -> tuple[int, str]:
    """Bytes of the first `count` lines, and the chain after them; `chain` is the one before."""
    lines = data.split(b"\n", count)[:count]
    return sum(map(len, lines)) + count, lines[-1][CHAIN_VALUE].decode() if lines else chain


def is_recoverable(damage: Damage, count: int) -> bool:
    """Whether a run can go on from the `count` events before `damage`. What a later release wrote is no damage to mend."""
    return count > 0 and damage.code != "version"


def log_damaged(run_id: str, damage: Damage, count: int) -> LogDamaged:
    """The error of whoever needs a whole log and found `damage` behind `count` events."""
    fix = f"look at it with `pixirnb log {run_id}`; it cannot be resumed, start a new run"
    if is_recoverable(damage, count):
        fix = (
            f"look at it with `pixirnb log {run_id}`; `pixirnb resume {run_id} --recover` keeps the rest aside and goes on "
            f"from the {count} events before it"
        )
    return LogDamaged(
        f"run {run_id}: {damage.message}",
        fix=fix,
        details={"run_id": run_id, "damage": damage.code, "line": damage.line},
    )
