"""What can go wrong at one operation, and at which of them it does.

    Fault("die-before", 17)    the process is killed before its 17th operation is made
    Fault("short-death", 3)    half of its 3rd write reaches the disk, then it is killed
    Fault("eio", 2, "rename")  its 2nd rename is refused, wherever that comes among the others

A fault counts only the operations it can befall, so that every number is a point of its own.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["write", "sync", "rename", "open", "unlink", "mkdir", "truncate", "spawn"]
"""What is asked of the operating system. `open`: for writing or making. `spawn`: a process, or a step handed to one."""

KINDS: Final[tuple[Kind, ...]] = (
    "write",
    "sync",
    "rename",
    "open",
    "unlink",
    "mkdir",
    "truncate",
    "spawn",
)

FaultName = Literal[
    "die-before",
    "die-after",
    "enospc",
    "eio",
    "eacces",
    "enospc-on",
    "eintr",
    "short-death",
    "short-return",
    "lose-tail",
]

SENTENCES: Final[dict[FaultName, str]] = {
    "die-before": "killed before operation N",
    "die-after": "killed after operation N",
    "enospc": "operation N is refused: no space",
    "eio": "operation N is refused: the device failed",
    "eacces": "operation N is refused: not allowed",
    "enospc-on": "no space from operation N on",
    "eintr": "a signal arrives at operation N",
    "short-death": "half of write N reaches the disk, then killed",
    "short-return": "write N takes half and says so",
    "lose-tail": "power fails after operation N: what was not synced is gone",
}

ERRORS: Final[dict[FaultName, int]] = {
    "enospc": errno.ENOSPC,
    "enospc-on": errno.ENOSPC,
    "eio": errno.EIO,
    "eacces": errno.EACCES,
}

DEADLY: Final = frozenset[FaultName]({"die-before", "die-after", "short-death", "lose-tail"})
HARMLESS: Final = frozenset[FaultName]({"eintr", "short-return"})
"""Faults that a run must get over without anybody noticing."""

ONLY_WRITES: Final = frozenset[FaultName]({"short-death", "short-return"})
_NEEDS_ROOM: Final = frozenset[Kind]({"write", "sync", "open", "mkdir", "rename"})


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault at the `number`-th operation (from 1) that it can befall; of one kind only, where a kind is named."""

    name: FaultName
    number: int
    kind: Kind | None = None

    def befalls(self, kind: Kind) -> bool:
        """Whether it can happen to an operation of that kind."""
        if self.kind is not None and kind != self.kind:
            return False
        if self.name in ONLY_WRITES:
            return kind == "write"
        return self.name != "enospc-on" or kind in _NEEDS_ROOM

    def strikes(self, count: int) -> bool:
        """Whether it happens at the `count`-th operation it can befall."""
        return count == self.number or (self.name == "enospc-on" and count > self.number)
