"""Connections with clusters: a client for each address of this process, whose scheduler takes claims."""

from __future__ import annotations

import atexit
import os
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from msgspec import Struct

from pixirnb.errors import Cannot, InvalidArguments
from pixirnb.runners.cluster.local_cluster import LocalCluster
from pixirnb.runners.processes.thread_children import outside_steps
from pixirnb.system.version import release
from pixirnb.wording import error_text

if TYPE_CHECKING:
    from distributed import Client

VARIABLE: Final = "PIXIRNB_CLUSTER"
_LOCAL: Final = "local:"
_CONNECT_S: Final = 10
_clients: Final[dict[str, Client]] = {}
_local_clusters: Final[dict[str, LocalCluster]] = {}
_connected: Final[WeakSet[Client]] = WeakSet()
_lock: Final = threading.Lock()


def connect(cluster: object) -> Client:
    """Return a client of a cluster: an address, `local:N` for N worker processes of this one, or a client itself.

    Raises:
        Cannot: `dask_missing`, `cluster_unreachable`.
        InvalidArguments: `bad_cluster`.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise Cannot(
            "steps on a cluster need Dask, which is not installed",
            fix="run `pip install 'pixirnb[dask]'`",
            code="dask_missing",
        ) from error
    if isinstance(cluster, Client):
        if cluster.status != "running":
            raise _unreachable("of the client", ConnectionError(f"it is {cluster.status}"))
        _connected.add(cluster)
        return cluster
    if not isinstance(cluster, str) or not cluster.strip():
        raise InvalidArguments(
            f"a cluster must be an address, `local:N` or a client, got {cluster!r}",
            fix="write for example `tcp://scheduler:8786`",
            code="bad_cluster",
        )
    with _lock:
        client = _clients.get(cluster)
        if client is None or client.status != "running":
            client = _clients[cluster] = outside_steps(partial(_new_client, cluster))
            _connected.add(client)
        return client


def close_local() -> None:
    """End the workers of every `local:N`. Safe to call twice; called when this process ends."""
    with _lock:
        while _local_clusters:
            address, cluster = _local_clusters.popitem()
            try:
                if (client := _clients.pop(address, None)) is not None:
                    client.close()
            finally:
                cluster.close()


def _let_go() -> None:
    """Let a forked copy of this process hold no connection: the other end would not notice this one's death."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for client in list(_connected):
        stream = getattr(getattr(client.scheduler_comm, "comm", None), "stream", None)
        if stream is not None and not stream.closed():
            # Not closed: its number would be given to something else.
            os.dup2(nothing, stream.socket.fileno())
    os.close(nothing)
    _clients.clear()
    _local_clusters.clear()


os.register_at_fork(after_in_child=_let_go)


def install_plugin(client: Client) -> bool:
    """Let the scheduler take claims; return whether it does. One that refuses plugins has queues."""
    from pixirnb.runners.cluster.claims import ClaimsPlugin

    try:
        client.register_plugin(ClaimsPlugin())
    except Exception:  # noqa: BLE001 - whatever a scheduler says that may not have it, or does not know our package
        return False
    return True


class WorkerFacts(Struct, frozen=True):
    """A worker, as it says of itself."""

    address: str
    threads: int
    resources: dict[str, float]
    release: str
    """Its version of pixirnb, or why it has none."""


def workers_of(client: Client) -> list[WorkerFacts]:
    """Return the workers of a cluster now. Raises Cannot (`cluster_unreachable`)."""
    try:
        releases: dict[str, Any] = client.run(release, on_error="return")
        known: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    except (OSError, TimeoutError) as error:
        raise _unreachable("of the client", error) from error
    facts: list[WorkerFacts] = []
    for address, worker in known.items():
        answer = releases.get(address, "no answer")
        resources = {
            name: float(amount) for name, amount in (worker.get("resources") or {}).items()
        }
        own = answer if isinstance(answer, str) else f"none ({error_text(answer)})"
        facts.append(WorkerFacts(address, int(worker["nthreads"]), resources, own))
    return facts


def _new_client(address: str) -> Client:
    from distributed import Client

    try:
        if address.startswith(_LOCAL):
            return _local_client(address)
        return Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError, ImportError) as error:
        raise _unreachable(address, error) from error


def _unreachable(address: str, error: Exception) -> Cannot:
    return Cannot(
        f"cluster {address:.200} cannot be reached: {error_text(error)}",
        fix="start a scheduler and workers, or correct the address",
        code="cluster_unreachable",
    )


def _local_client(address: str) -> Client:
    from distributed import Client

    count = address.removeprefix(_LOCAL)
    if not count.isdecimal() or not 1 <= int(count) <= 1024:
        raise InvalidArguments(
            f"invalid number of workers `{count:.80}`",
            fix=f"write for example `{_LOCAL}{os.cpu_count() or 2}`",
            code="bad_cluster",
        )
    if not _local_clusters:
        atexit.register(close_local)
    elif address in _local_clusters:  # its connection has ended
        _local_clusters.pop(address).close()
    cluster = _local_clusters[address] = LocalCluster(int(count))
    return Client(
        cluster.address, timeout=_CONNECT_S, set_as_default=False, security=cluster.security
    )
