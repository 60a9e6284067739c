"""Repair of a damaged log: its valid part stays, the rest is set aside in the run's folder.

    log.<n>.broken                bytes after the last valid line
    sessions|output/<name>.<n>.broken   files of attempts that the kept history does not know

The log is replaced as a whole by one that reports the repair: until then it is damaged, and nothing is ever deleted.
Source: docs/adr/0017-owners-and-what-two-of-them-leave.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pixirnb.history.codec import Decoded
from pixirnb.protocols.ports import Mend, Setback
from pixirnb.store.blobs import FileBlobs
from pixirnb.store.log_encoding import encode_group
from pixirnb.store.seal import Seal, write_seal
from pixirnb.system.atomic_files import put_durably, sync_folder
from pixirnb.system.deep_folders import walk

SUFFIX: Final = ".broken"


def recover_log(path: Path, data: bytes, decoded: Decoded, blobs: FileBlobs, mend: Mend) -> Decoded:
    """Repair the log at `path`, as its owner: the events of `decoded` and those of `mend`. Raises OSError, LogWriteFailed."""
    assert decoded.damage is not None
    folder = path.parent
    number = _free_number(folder)
    rest = data[decoded.good_bytes :]
    kept = _keep(folder, rest, number) if rest else None
    mended = mend(Setback(decoded.events, decoded.damage, rest, kept))
    for name in ("sessions", "output"):
        _set_aside(folder / name, mended.attempts, number)
    lines, chain = encode_group(
        mended.events, chain=decoded.chain, after=len(decoded.events), put=blobs.put
    )
    events = [*decoded.events, *mended.events]
    # The seal first: with it the old log is damaged as before, and the new one is whole.
    write_seal(folder, Seal(len(events), chain))
    sync_folder(folder)
    whole = data[: decoded.good_bytes] + lines
    put_durably(path, whole)
    return Decoded(events, None, len(whole), chain)


def _keep(folder: Path, rest: bytes, number: int) -> str:
    """Keep the rest of the log aside and return its name; a recovery that was killed may have kept these bytes already."""
    for path in sorted(folder.glob(f"log.*{SUFFIX}")):
        if path.is_file() and path.stat().st_size == len(rest) and path.read_bytes() == rest:
            return path.name
    name = f"log.{number}{SUFFIX}"
    put_durably(folder / name, rest)
    return name


def _free_number(folder: Path) -> int:
    taken = {name for _, _, names in walk(folder) for name in names if name.endswith(SUFFIX)}
    return next(
        n for n in itertools.count(1) if not any(name.endswith(f".{n}{SUFFIX}") for name in taken)
    )


def _set_aside(folder: Path, attempts: Mapping[str, int], number: int) -> None:
    """Rename files of all other attempts: their numbers are used again."""
    for path in list(folder.iterdir()) if folder.is_dir() else ():
        step, _, attempt = path.stem.rpartition(".")
        if path.suffix != SUFFIX and attempt.isdigit() and int(attempt) > attempts.get(step, 0):
            path.rename(path.with_name(f"{path.name}.{number}{SUFFIX}"))
    if folder.is_dir():
        sync_folder(folder)
