"""Groups of events encoded as bytes of a log, with data too large for a line in blobs, and decoded again.

Both stores keep the same bytes; only in different media.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from pixirnb.errors import InternalError, LogDamaged
from pixirnb.history.codec import (
    CHAIN_VALUE,
    EVENT_LINE_LIMIT,
    GENESIS,
    Damage,
    Decoded,
    decode_data,
    decode_lines,
    encode,
    encode_data,
)
from pixirnb.json_types import JsonObject

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pixirnb.history.events import Event

BLOB: Final = "$blob"
"""Single key of an event's data if the data itself is a blob: its digest."""

_SPILLED: Final = b'"data":{"$blob":"'


def encode_group(
    events: Sequence[Event], *, chain: str, after: int, put: Callable[[bytes], str]
) -> tuple[bytes, str]:
    """Return the lines of `events`, which follow `chain` and event number `after`, and the new chain.

    `put` stores a blob durably and returns its digest. Raises InternalError for an event out of order or one that is
    not JSON; then nothing was written.
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
    """Decode lines and load data from blobs. Never raises for damage."""
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


def _brought(name: object, get: Callable[[str], bytes]) -> JsonObject:
    """Load an event's data from a blob. Raises LogDamaged if it is missing or is not data of an event."""
    if not isinstance(name, str):
        raise LogDamaged("its data should be in a blob, but no blob is named")
    data = decode_data(get(name))
    if data is None:
        raise LogDamaged(f"the blob {name} contains no event data", code="blob_damaged")
    return data


def reach(data: bytes, count: int, chain: str = GENESIS) -> tuple[int, str]:
    """Return the bytes of the first `count` lines, and the chain after them; `chain` is the one before."""
    lines = data.split(b"\n", count)[:count]
    return sum(map(len, lines)) + count, lines[-1][CHAIN_VALUE].decode() if lines else chain


def is_recoverable(damage: Damage, count: int) -> bool:
    """Return whether a run can go on from the `count` events before `damage`.

    Events of a later release are not repairable damage.
    """
    return count > 0 and damage.code != "version"


def log_damaged(run_id: str, damage: Damage, count: int) -> LogDamaged:
    """Return the error for `damage` after `count` events, for callers that need a whole log."""
    fix = f"inspect it with `pixirnb events {run_id}`; it cannot be resumed; start a new run"
    if is_recoverable(damage, count):
        fix = (
            f"inspect it with `pixirnb events {run_id}`; `pixirnb resume {run_id} --recover` resumes "
            f"from the {count} events before the damage and moves the rest aside"
        )
    return LogDamaged(
        f"run {run_id}: {damage.message}",
        fix=fix,
        details={"run_id": run_id, "damage": damage.code, "line": damage.line},
    )
