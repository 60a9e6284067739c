"""What the log costs: appends a second beside the disk's own rate, syncs, and the reading of a log.

Functions return plain dicts, for a report that puts them beside other engines. Rates are compared
with a baseline taken in turns with them: absolute numbers move with the machine's neighbours.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from figures import Promise, verdict
from pydantic_core import from_json

from pixirnb.history.codec import GENESIS, decode_lines, encode
from pixirnb.history.events import Event
from pixirnb.ids import run_id
from pixirnb.store.file_store import FileStore

AT = "2026-11-21T22:03:44.123456Z"


def scheduled(seq: int) -> Event:
    """An event of usual size: a line of about 380 bytes."""
    fingerprint = {"static": "b2:" + "a" * 64, "dynamic": "b2:" + "b" * 64}
    data = {
        "step": f"step-{seq}",
        "attempt": 1,
        "wave": seq,
        "timeout_ms": 1_800_000,
        "workspace": "shared",
        "fingerprint": fingerprint,
    }
    return Event(seq, AT, "step_scheduled", data)


def disk_rate(folder: Path, syncs: int = 200, size: int = 1500) -> float:
    """Appends of `size` bytes with a fdatasync each, a second: what the disk allows."""
    path = folder / "baseline"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        start = time.perf_counter()
        for _ in range(syncs):
            os.write(descriptor, b"x" * size)
            os.fdatasync(descriptor)
        return syncs / (time.perf_counter() - start)
    finally:
        os.close(descriptor)
        path.unlink()


def append_rate(
    folder: Path, *, group: int = 4, groups: int = 200, rounds: int = 3
) -> dict[str, Any]:
    """Groups of events appended a second, the disk's rate taken in turns, syncs and CPU a group.

    `folder` must be on the disk to be measured and is left as it was, but for a state folder.
    """
    rates, disks, cpus = [], [], []
    syncs = 0
    for _ in range(rounds):
        disks.append(disk_rate(folder, groups, size=group * 380))
        store = FileStore(folder / "bench-state")
        log = store.create(run_id(time.strftime("%Y%m%d%H%M%S"), os.urandom(6)))
        before = log.syncs
        batches = [
            [scheduled(seq) for seq in range(first + 1, first + 1 + group)]
            for first in range(0, group * groups, group)
        ]
        cpu = time.process_time()
        start = time.perf_counter()
        for batch in batches:
            log.append(batch)
        rates.append(groups / (time.perf_counter() - start))
        cpus.append((time.process_time() - cpu) / groups * 1e6)
        syncs += log.syncs - before
        log.close()
    return {
        "group": group,
        "groups_per_second": median(rates),
        "disk_syncs_per_second": median(disks),
        "ratio_to_disk": median(rate / disk for rate, disk in zip(rates, disks, strict=True)),
        "cpu_us_per_group": median(cpus),
        "syncs_per_append": syncs / (rounds * groups),
    }


def reading_cost(lines: int = 60_000, rounds: int = 5) -> dict[str, Any]:
    """Milliseconds to decode and verify a log, beside the parser alone on the same lines."""
    chain, encoded = GENESIS, []
    start = time.perf_counter()
    for seq in range(1, lines + 1):
        line, chain = encode(scheduled(seq), chain)
        encoded.append(line)
    encoding = (time.perf_counter() - start) / lines * 1e6
    data = b"".join(encoded)
    parse, decode = [], []
    for _ in range(rounds):
        gc.collect()
        start = time.perf_counter()
        parsed = [from_json(line) for line in encoded]
        parse.append(time.perf_counter() - start)
        del parsed
        gc.collect()
        start = time.perf_counter()
        decoded = decode_lines(data)
        decode.append(time.perf_counter() - start)
        assert decoded.damage is None
        del decoded
    return {
        "lines": lines,
        "bytes_per_line": len(data) / lines,
        "encode_us_per_event": encoding,
        "parse_ms": min(parse) * 1e3,
        "decode_ms": min(decode) * 1e3,
        "ratio_to_parser": median(d / p for d, p in zip(decode, parse, strict=True)),
    }


def main(arguments: list[str]) -> int:
    """Print the figures for the current folder's disk."""
    kept = True
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        for group in (1, 4, 16):
            found = append_rate(Path(folder), group=group)
            print(
                f"groups of {group}: {found['groups_per_second']:.0f} a second, the disk allows "
                f"{found['disk_syncs_per_second']:.0f} (ratio {found['ratio_to_disk']:.2f}), "
                f"{found['cpu_us_per_group']:.0f} µs of CPU each"
            )
            kept &= verdict("  syncs a group", found["syncs_per_append"], Promise(1))
    reading = reading_cost()
    print(f"encoding: {reading['encode_us_per_event']:.1f} µs an event")
    print(
        f"{reading['lines']} lines: {reading['decode_ms']:.0f} ms to read and verify, "
        f"{reading['parse_ms']:.0f} ms to parse (ratio {reading['ratio_to_parser']:.2f})"
    )
    return 0 if kept or "--strict" not in arguments else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
