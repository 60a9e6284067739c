"""A record of a log's length next to it, which reveals a log that lost its end.

    seal.json   {"chain":"<32 hex>","seq":41,"v":1}

The chain reveals every change inside a log. It cannot reveal that whole lines are missing at the end: a log cut after
an earlier end reads like a run that ended there. So the owner writes a seal when its first events are on the disk,
and again at its end. A log longer than its seal is sound: a later owner died. A missing or unreadable seal proves
nothing. Nothing else is ever derived from a seal (docs/adr/0010).
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from pixirnb.history.codec import CHAIN_VALUE, Damage, Decoded
from pixirnb.store.log_encoding import reach
from pixirnb.store.private_files import open_private

if TYPE_CHECKING:
    from pathlib import Path

SEAL_NAME: Final = "seal.json"

_VERSION: Final = 1
_LIMIT: Final = 1024
"""Maximum number of bytes read of a seal; ours have about 70."""
_CHAIN: Final = re.compile(r"[0-9a-f]{32}")


class Seal(Struct, frozen=True):
    """The number of events of a log, and the chain value of the last one."""

    seq: int
    chain: str


def write_seal(folder: Path, seal: Seal) -> None:
    """Write a seal into a run folder, only as its owner, once all its events are on the disk.

    Never raises for the disk: without a seal, or with an older one, the log is still good. It is not synced: after a
    power cut the older one is fine.
    """
    temporary = folder / f"{SEAL_NAME}.{os.getpid()}"
    text = json.dumps({"chain": seal.chain, "seq": seal.seq, "v": _VERSION}, separators=(",", ":"))
    try:
        temporary.unlink(missing_ok=True)
        descriptor = open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        temporary.rename(folder / SEAL_NAME)
    except OSError:
        try:
            temporary.unlink(missing_ok=True)
        except OSError:
            pass  # it is in nobody's way: no name but seal.json is read


def read_seal(folder: Path) -> Seal | None:
    """Return the seal of a run folder; None if there is none or it is unreadable.

    To compare, read it before the log: a log only grows, so a working writer is never reported as damaged.
    """
    try:
        descriptor = open_private(folder / SEAL_NAME, os.O_RDONLY)
        try:
            text = os.read(descriptor, _LIMIT)
        finally:
            os.close(descriptor)
        members = json.loads(text)
        seq, chain, version = members["seq"], members["chain"], members["v"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    is_ours = type(version) is int and version == _VERSION and type(seq) is int and seq > 0
    if is_ours and isinstance(chain, str) and _CHAIN.fullmatch(chain) is not None:
        return Seal(seq, chain)
    return None


def check_seal(decoded: Decoded, data: bytes, seal: Seal | None) -> Decoded:
    """Return the log decoded from the whole `data`, with the damage that its seal reveals.

    Damage found inside the log keeps its name, which is more specific. Only a torn tail is replaced, since a sealed
    line had once been whole.
    """
    damage = decoded.damage
    if seal is None or (damage is not None and damage.code != "torn_tail"):
        return decoded
    missed = missing(len(decoded.events), seal)
    if missed is not None:
        return replace(decoded, damage=missed)
    if _chain_at(seal.seq, decoded, data) == seal.chain:
        return decoded
    kept = seal.seq - 1
    return Decoded(decoded.events[:kept], unlike(seal), *reach(data, kept))


def missing(count: int, seal: Seal) -> Damage | None:
    """Return the damage of a log that ends after `count` events, if its seal has more; else None."""
    if count >= seal.seq:
        return None
    has = f"ends after {count} events" if count != 1 else "ends after 1 event"
    message = f"the log {has} and once had {seal.seq}: from line {count + 1} on, lines are lost"
    return Damage("cut_short", count + 1, message)


def unlike(seal: Seal) -> Damage:
    """Return the damage of a log with enough events that differ from the sealed ones."""
    message = f"line {seal.seq} was replaced since the log was sealed"
    return Damage("chain_broken", seal.seq, message)


def _chain_at(seq: int, decoded: Decoded, data: bytes) -> str:
    """Return the chain value of a decoded event."""
    if seq == len(decoded.events):
        return decoded.chain
    return data.split(b"\n", seq)[seq - 1][CHAIN_VALUE].decode()
