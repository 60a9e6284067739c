"""What a subagent costs beside the least it could be: a bare process that does the same, in the same run.

    python benchmarks/bench_agents.py [AGENTS AT_A_TIME]

50 scripted agents, 16 at a time, in one engine: each says something, works for half a second, and reports. A session log, an
output log, a reaper and all the engine does for it are counted. The bare process is a Python that prints the same line and
sleeps as long, 16 at a time, started and waited for by nothing but `subprocess`.

Memory is that of the process trees when most of them were there, without the supervisor, of which an engine has one: PSS, which
shares what is shared, where /proc tells it, and RSS. CPU is this process's own and that of everything below it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil

from pixirnb import api

WORK_S = 0.5
LINE = "Looking at it."
BARE = f"import time; print({LINE!r}, flush=True); time.sleep({WORK_S})"


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one way to do it, per agent."""

    wall_ms: float
    cpu_ms: float
    rss_mib: float
    pss_mib: float | None
    at_once: float
    """Processes there were for each agent at work, when there were most."""


class Watch:
    """Looks at everything below this process, again and again, and keeps the largest sight."""

    def __init__(self) -> None:
        """Not looking yet; what is there already does not count."""
        self._before = {child.pid for child in psutil.Process().children(recursive=True)}
        self.most = (0, 0.0, 0.0)
        """Processes, MiB of RSS, MiB of PSS."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        me = psutil.Process()
        while not self._over.wait(0.1):
            count, rss, pss = 0, 0, 0
            for child in me.children(recursive=True):
                if child.pid in self._before:
                    continue
                try:
                    rss += child.memory_info().rss
                    pss += _pss(child.pid)
                    count += 1
                except (psutil.Error, OSError):
                    continue
            if count > self.most[0]:
                self.most = (count, rss / 2**20, pss / 2**20)


def _pss(pid: int) -> int:
    """Bytes; 0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except FileNotFoundError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def cpu_s() -> float:
    """Of this process, of those below it that live, and of all they have waited for."""
    spent = sum(psutil.Process().cpu_times()[:4])
    for child in psutil.Process().children():
        try:
            spent += sum(child.cpu_times()[:4])
        except psutil.Error:
            continue
    return float(spent)


def measured(work: Callable[[], None], count: int, at_a_time: int) -> Cost:
    """Do it once."""
    with Watch() as watch:
        cpu, began = cpu_s(), time.perf_counter()
        work()
        wall, spent = time.perf_counter() - began, cpu_s() - cpu
    processes, rss, pss = watch.most
    return Cost(
        wall / count * 1000,
        spent / count * 1000,
        rss / at_a_time,
        pss / at_a_time if pss else None,
        processes / at_a_time,
    )


def delegated(folder: Path, count: int) -> None:
    """The agents, by the engine of this process."""
    said: list[dict[str, Any]] = [{"say": LINE}, {"sleep": f"{round(WORK_S * 1000)}ms"}]
    script = [*said, {"report": {"checkpoint_status": "checkpoint_ready", "summary": "seen"}}]
    steps = [{"id": f"s{n}", "task": "Look.", "agent": "w"} for n in range(count)]
    agents = {"w": {"posture": "read_only", "script": {"*": [script]}}}
    spec = {"name": "agents", "max_concurrency": count, "agents": agents, "steps": steps}
    outcome = api.run(spec, workspace=folder, state=folder / "state")
    assert outcome.ok, outcome.summary


def bare(count: int, at_a_time: int) -> None:
    """The same work by processes and nothing else."""

    def one(_: int) -> None:
        subprocess.run([sys.executable, "-c", BARE], stdout=subprocess.DEVNULL, check=True)

    with ThreadPoolExecutor(at_a_time) as pool:
        list(pool.map(one, range(count)))


def told(name: str, cost: Cost) -> None:
    """Print it."""
    print(name)
    print(f"  wall time of each: {cost.wall_ms:.0f} ms")
    print(f"  CPU of each: {cost.cpu_ms:.0f} ms")
    print(f"  processes of each at work: {cost.at_once:.1f}")
    print(f"  RSS of each at work: {cost.rss_mib:.1f} MiB")
    if cost.pss_mib is not None:
        print(f"  PSS of each at work: {cost.pss_mib:.1f} MiB")


def main(arguments: list[str]) -> int:
    """Measure both."""
    numbers = [int(word) for word in arguments if word.isdigit()]
    count, at_a_time = numbers if len(numbers) == 2 else (50, 16)
    os.environ["PIXIRNB_MAX_AGENTS"] = str(at_a_time)
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as place:
        folder = Path(place)
        delegated(folder, 1)  # the engine's thread and supervisor are started once a process
        ours = measured(lambda: delegated(folder, count), count, at_a_time)
    theirs = measured(lambda: bare(count, at_a_time), count, at_a_time)
    told(f"{count} scripted agents, {at_a_time} at a time", ours)
    told("a bare process that does the same", theirs)
    print(f"CPU, agent to bare process: {ours.cpu_ms / theirs.cpu_ms:.1f}")
    if ours.pss_mib is not None and theirs.pss_mib:
        print(f"PSS, agent to bare process: {ours.pss_mib / theirs.pss_mib:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
