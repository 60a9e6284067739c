"""Clusters of worker processes on this machine, each one for all tests of this process."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from distributed import Client

from pixirnb.ids import run_id
from pixirnb.runners.cluster.connection import connect, install_plugin
from pixirnb.runners.cluster.dask_connection import DaskConnection
from pixirnb.runners.cluster.runner import ClusterRunner
from pixirnb.workspace.git.tree_packs import GitTreePacks


def client_of_workers(count: int = 2) -> Client:
    """Return a client of so many workers with a thread each; one that was killed has been replaced by its nanny."""
    client = connect(f"local:{count}")
    assert install_plugin(client)
    client.wait_for_workers(count, timeout=60)
    return client


def runner_of(workers: int = 2, *, has_plugin: bool = True) -> ClusterRunner:
    """Return a driver's runner on them."""
    return ClusterRunner(
        DaskConnection(client_of_workers(workers), has_plugin=has_plugin, packs=GitTreePacks),
        GitTreePacks,
    )


def new_run_id() -> str:
    """Return an id that no other test has: the claims of its attempts stay at the scheduler."""
    return run_id(datetime.now(UTC).strftime("%Y%m%d%H%M%S%f"), os.urandom(6))
