"""How far a log had come, kept beside it, so that a log which lost its end is found out.

    seal.json   {"chain":"<32 hex>","seq":41,"v":1}

The chain finds whatever happens inside a log. It cannot find that whole lines are missing at the end,
and a log cut behind the end of an earlier course reads like a run that ended there. So the holder leaves
a seal when its first events of a course are on the disk, and again when it lets go. A log longer than
its seal is sound: a later holder died. A seal that is missing or cannot be read says nothing.

It is no second truth: nothing is ever taken from it but that a log is not whole (docs/adr/0010).
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pixirnb.history.codec import CHAIN_VALUE, Damage, Decoded
from pixirnb.store.log_encoding import reach
from pixirnb.store.private_files import open_private

if TYPE_CHECKING:
    from pathlib import Path

SEAL_NAME: Final = "seal.json"

_VERSION: Final = 1
_LIMIT: Final = 1024
"""Bytes of a seal that are read; ours have about 70."""
_CHAIN: Final = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Seal:
    """How many events a log had, and the chain value of the last of them."""

    seq: int
    chain: str


def leave_seal(folder: Path, seal: Seal) -> None:
    """Put a seal in a run folder, for its holder only, once all it speaks of is on the disk.

    Never raises for the disk: without a seal, or with an older one, the log is as good as before. It
    is not synced either, for a machine that fails may keep the older one.
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
    """The seal of a run folder; None when there is none, or none that can be read.

    Whoever compares reads it before the log: a log only grows, so a writer at work is never accused.
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
    """What was decoded from the whole `data` of a log, with the damage its seal betrays.

    Damage that was found inside the log stays as it is named: it is nearer to what happened. Only a
    torn tail gives way, since a line that was sealed had once been whole.
    """
    damage = decoded.damage
    if seal is None or (damage is not None and damage.code != "torn_tail"):
        return decoded
    found = missing(len(decoded.events), seal)
    if found is not None:
        return replace(decoded, damage=found)
    if _chain_at(seal.seq, decoded, data) == seal.chain:
        return decoded
    kept = seal.seq - 1
    return Decoded(decoded.events[:kept], unlike(seal), *reach(data, kept))


def missing(count: int, seal: Seal) -> Damage | None:
    """The damage of a log that ends after `count` events, where its seal speaks of more."""
    if count >= seal.seq:
        return None
    has = f"ends after {count} events" if count != 1 else "ends after 1 event"
    message = f"the log {has} and once had {seal.seq}: from line {count + 1} on, lines are lost"
    return Damage("cut_short", count + 1, message)


def unlike(seal: Seal) -> Damage:
    """The damage of a log that has enough events, and others than those that were sealed."""
    message = (
        f"line {seal.seq} does not end the history that was sealed there: another took its place"
    )
    return Damage("chain_broken", seal.seq, message)


def _chain_at(seq: int, decoded: Decoded, data: bytes) -> str:
    """The chain value of an event that was decoded."""
    if seq == len(decoded.events):
        return decoded.chain
    return data.split(b"\n", seq)[seq - 1][CHAIN_VALUE].decode()
