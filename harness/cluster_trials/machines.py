"""A cluster of real processes: a scheduler and two machines with a nanny and a worker each; the second may be cut off.

The second machine is a network namespace of its own, where the system allows one: then a partition is its cable pulled.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from harness.cluster_trials.waiting import until


class Machines:
    """Processes and the namespace of one trial."""

    def __init__(self, place: Path, number: int) -> None:
        self._place, self._number = place, number
        self._here, self._there = f"10.77.{number % 250}.1", f"10.77.{number % 250}.2"
        self._space = f"pixirnb-{os.getpid()}-{number % 1000}"
        self._cable = f"px{os.getpid() % 100_000}n{number % 1000}"
        self.is_apart = self._make_namespace()
        self.address = ""
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._starts = 0

    def start(self) -> None:
        """Start a scheduler, and two nannies with a worker each."""
        self._starts += 1
        file = self._place / f"scheduler-{self._starts}.json"
        host = self._here if self.is_apart else "127.0.0.1"
        self._run("scheduler", "dask_scheduler", "--host", host, "--port", "0", "--scheduler-file", str(file))  # fmt: skip
        until(file.exists, 60)
        until(lambda: '"address"' in file.read_text(), 60)
        self.address = _address(file)
        for name in ("near", "far"):
            self._run(
                name,
                "dask_worker",
                self.address,
                *("--nthreads", "2", "--local-directory", str(self._place / f"{name}-{self._starts}")),
                words=["ip", "netns", "exec", self._space] if name == "far" and self.is_apart else [],
            )  # fmt: skip

    def kill(self, what: str) -> bool:
        """Kill the scheduler, a worker, or a nanny; return whether it was there."""
        process = self._process_of(what)
        if process is None:
            return False
        process.kill()
        return True

    def freeze(self, what: str) -> Any:
        """Stop a worker where it is; return what lets it go on."""
        process = self._process_of(what)
        if process is None:
            return lambda: None
        process.suspend()

        def thaw() -> None:
            with suppress(psutil.NoSuchProcess):
                process.resume()

        return thaw

    def cut(self) -> Any:
        """Pull the cable of the second machine; return what puts it back."""
        if not self.is_apart:
            return self.freeze("worker far")
        _ip("link", "set", self._cable, "down")
        return lambda: _ip("link", "set", self._cable, "up")

    def end(self) -> None:
        """End all processes, and the namespace."""
        for process in self._processes.values():
            for each in [*_below(process.pid), process.pid]:
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
            process.wait()
        self._processes.clear()

    def close(self) -> None:
        """End everything."""
        self.end()
        if self.is_apart:
            self._remove_namespace()

    def _run(self, name: str, module: str, *arguments: str, words: list[str] | None = None) -> None:
        command = [*(words or []), sys.executable, "-m", f"distributed.cli.{module}"]
        with (self._place / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [*command, *arguments, "--no-dashboard"],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self._place,
                env={**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s"},
            )

    def _process_of(self, what: str) -> psutil.Process | None:
        kind, _, name = what.rpartition(" ")
        started = self._processes.get(name)
        if started is None or started.poll() is not None:
            return None
        nanny = psutil.Process(started.pid)
        if kind != "worker":
            return nanny
        return next((each for each in nanny.children() if "spawn_main" in " ".join(each.cmdline())), None)  # fmt: skip

    def _make_namespace(self) -> bool:
        peer = f"{self._cable}p"
        steps = (
            ("netns", "add", self._space),
            ("link", "add", self._cable, "type", "veth", "peer", "name", peer, "netns", self._space),
            ("addr", "add", f"{self._here}/24", "dev", self._cable),
            ("link", "set", self._cable, "up"),
            ("-n", self._space, "addr", "add", f"{self._there}/24", "dev", peer),
            ("-n", self._space, "link", "set", peer, "up"),
            ("-n", self._space, "link", "set", "lo", "up"),
        )  # fmt: skip
        if all(_ip(*step, is_required=False) for step in steps):
            return True
        self._remove_namespace()
        return False

    def _remove_namespace(self) -> None:
        _ip("netns", "delete", self._space, is_required=False)
        _ip("link", "delete", self._cable, is_required=False)


def _ip(*words: str, is_required: bool = True) -> bool:
    try:
        done = subprocess.run(["ip", *words], check=False, capture_output=True)
    except FileNotFoundError:
        return False
    if is_required and done.returncode:
        raise OSError(done.stderr.decode())
    return not done.returncode


def _address(file: Path) -> str:
    return str(json.loads(file.read_text())["address"])


def _below(pid: int) -> list[int]:
    try:
        return [each.pid for each in psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
