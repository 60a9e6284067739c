"""The program that is the cluster of `local:N`: a scheduler and N worker processes, in a session of their own.

A terminal sends Ctrl-C to all processes of its session: the driver's own, and none of these, whose attempts it ends in order.
They end with the standard input, which the driver holds.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from typing import Final

from pixirnb.errors import Cannot

_ENDS_S: Final = 10.0
"""Seconds in which the processes end by themselves."""
_PROGRAM: Final = f"""
import json, sys
sys.path[:] = json.loads(sys.argv[2])
if __name__ == "__main__":
    from {__name__} import main
    main(int(sys.argv[1]))
"""


class LocalCluster:
    """The processes of a `local:N`. Raises Cannot (`cluster_unreachable`) where they do not start."""

    def __init__(self, count: int) -> None:
        words = [sys.executable, "-c", _PROGRAM, str(count), json.dumps(sys.path)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, start_new_session=True)
        assert self._process.stdout is not None
        try:
            with self._process.stdout as report:
                self.address = report.readline().decode().strip()
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
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_ENDS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main(count: int) -> None:
    """Be the cluster until the driver is gone."""
    import dask
    import distributed

    # What workers print is no address, and goes where errors go.
    report = os.dup(1)
    os.dup2(2, 1)
    # A task of a lost worker is given to no other; what is lost or late, the driver says.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            silence_logs=logging.CRITICAL,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
    ):
        os.write(report, f"{cluster.scheduler_address}\n".encode())
        os.close(report)
        sys.stdin.read()
