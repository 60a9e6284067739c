"""The program that is the cluster of `local:N`: a scheduler and N worker processes, in a session of their own.

A terminal sends Ctrl-C to all processes of its session: the driver's own, and none of these, whose attempts it ends in order.
They end with the standard input, which the driver holds. Only the driver has the key of their connections: any process
that reached them could run code as this user. They bear a mark, and what is left of them ends by it.
"""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from itertools import count as count_up
from typing import IO, Final

from pixirnb.errors import Cannot
from pixirnb.runners.processes import process_tree
from pixirnb.runners.processes.reaper import KILL_LIMIT_S, ORPHAN_GRACE_S
from pixirnb.runners.processes.thread_children import INSTANCE
from pixirnb.system import process_marks

_STARTS_MS: Final = 60_000
"""Milliseconds in which the processes have started."""
_ENDS_S: Final = 10.0
"""Seconds in which the processes end by themselves."""
_numbers: Final = count_up()
_PROGRAM: Final = f"""
import json, sys
sys.path[:] = json.loads(sys.argv[3])
if __name__ == "__main__":
    from {__name__} import main
    main(int(sys.argv[1]), int(sys.argv[2]))
"""


class LocalCluster:
    """The processes of a `local:N`.

    Raises:
        Cannot: `cluster_unreachable` where they do not start, `dask_missing`.
    """

    def __init__(self, count: int) -> None:
        from pixirnb.runners.cluster.memory_security import MemorySecurity

        self.security = MemorySecurity.new()
        tag = f"{process_marks.workers_of(INSTANCE)}/{next(_numbers)}"
        self._mark = process_marks.mark_of(tag, INSTANCE)
        path = json.dumps(sys.path, default=str)  # a cell may have added a `Path`
        words = [sys.executable, "-c", _PROGRAM, str(count), str(self._mark), path]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, start_new_session=True)
        try:
            self.address = self._address()
        except BaseException:
            self.close()
            raise
        if not self.address:
            self.close()
            raise Cannot(
                f"{count} local workers could not be started",
                fix="see the messages above, or start fewer",
                code="cluster_unreachable",
            )

    def close(self) -> None:
        """End the processes. Safe to call twice."""
        with suppress(OSError):  # it has ended
            self._process.send_signal(signal.SIGCONT)
            self._send(b"\n")  # a forked copy of this process may hold the pipe, too
        with suppress(OSError):
            self._pipe.close()
        try:
            self._process.wait(_ENDS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _end_marked(self._mark)

    @property
    def _pipe(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    def _send(self, line: bytes) -> None:
        if not self._pipe.closed:
            self._pipe.write(line)
            self._pipe.flush()

    def _address(self) -> str:
        """Give the program its key; return the address of its scheduler, empty where it does not start."""
        assert self._process.stdout is not None
        try:
            self._send(self.security.line())
        except OSError:
            return ""  # it has ended
        with self._process.stdout as report:
            poll = select.poll()
            poll.register(report, select.POLLIN)
            return report.readline().decode().strip() if poll.poll(_STARTS_MS) else ""


def _end_marked(mark: int) -> None:
    if process_marks.can_mark():
        process_marks.stop(process_marks.one_of((mark,)), ORPHAN_GRACE_S, KILL_LIMIT_S)


def main(count: int, mark: int) -> None:
    """Be the cluster until the driver is gone."""
    import dask
    import distributed

    from pixirnb.runners.cluster.memory_security import MemorySecurity

    # What workers print is no address, and goes where errors go.
    report = os.dup(1)
    os.dup2(2, 1)
    security = MemorySecurity.read(sys.stdin.readline())
    signal.signal(signal.SIGINT, lambda *_: None)  # the driver ends it, in order
    native = process_tree.Native()
    native.become_subreaper()
    native.wake_at_parents_death()
    process_marks.wear_first(mark)
    # A task of a lost worker is given to no other; what is lost or late, the driver says. Pages would need no key.
    settings = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            silence_logs=logging.CRITICAL,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            security=security,
        ) as cluster,
    ):
        os.write(report, f"{cluster.scheduler_address}\n".encode())
        os.close(report)
        _wait_for_end(os.getppid())
    _end_marked(mark)
    process_tree.kill_descendants(os.getpid())


def _wait_for_end(driver: int) -> None:
    """Return when the driver has ended or asks for the end. A forked copy of it may hold its end of the pipe."""
    poll = select.poll()
    poll.register(sys.stdin, select.POLLIN)
    with suppress(AttributeError, OSError):  # macOS has none, nor old kernels
        poll.register(os.pidfd_open(driver), select.POLLIN)
    poll.poll()
