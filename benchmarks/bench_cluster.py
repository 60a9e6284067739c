"""What an item costs on a cluster, beside bare Dask in the same run: two worker processes, the scheduler apart from the driver.

    python benchmarks/bench_cluster.py [ITEMS]

The work is a function that does nothing. Bare Dask maps it over as many keys and gathers the results; both in turns.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from distributed import Client
from figures import Promise, verdict

from pixirnb import api

ITEMS = 10_000
ROUNDS = 2
CLUSTER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


def mapped(client: Client, count: int) -> float:
    """Items a second of bare Dask."""
    started = time.perf_counter()
    client.gather(client.map(lambda _: platform.node(), range(count), pure=False))
    return count / (time.perf_counter() - started)


def listed(count: int) -> dict[str, Any]:
    """A step with so many items on the cluster."""
    each = {"id": "each", "for_each": list(range(count)), "call": "platform:node"}
    return {"name": "listed", "max_concurrency": 64, "steps": [each | {"placement": "cluster"}]}


def ran(client: Client, count: int, folder: Path) -> tuple[float, float, float]:
    """Items a second, µs of CPU of the driver and bytes that it grew, an item."""
    process = psutil.Process()
    before, cpu, started = process.memory_info().rss, time.process_time(), time.perf_counter()
    outcome = api.run(listed(count), workspace=folder, state=folder / "state", cluster=client)
    assert outcome.ok, outcome.summary
    assert outcome.step("each@0").worker, "it ran at home"
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    return count / wall, cpu / count * 1e6, (process.memory_info().rss - before) / count


def main(words: list[str]) -> int:
    """Take the figures in turns."""
    count = int(words[0]) if words and words[0].isdigit() else ITEMS
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as place:
        script = Path(place, "two_workers.py")
        script.write_text(CLUSTER)
        cluster = subprocess.Popen(
            [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert cluster.stdout is not None
        address = cluster.stdout.readline().strip()
        with Client(address, set_as_default=False) as client:
            ran(client, 100, Path(place))
            mapped(client, 100)
            rounds = [
                (mapped(client, count), ran(client, count, Path(place))) for _ in range(ROUNDS)
            ]
        cluster.communicate("")
    bare = max(each for each, _ in rounds)
    rate, cpu, grown = (
        max(r[0] for _, r in rounds),
        *(min(r[n] for _, r in rounds) for n in (1, 2)),
    )
    print(f"{count:,} items: {rate:.0f} a second; bare Dask: {bare:.0f}")
    held = [
        verdict("bare Dask / items on a cluster, a second", bare / rate, Promise(2)),
        verdict("an item on a cluster: CPU of the driver", cpu, Promise(300, "µs")),
        verdict("an item on a cluster: memory of the driver", grown / 1000, Promise(6, "kB")),
    ]
    return 0 if all(held) or "--strict" not in words else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
