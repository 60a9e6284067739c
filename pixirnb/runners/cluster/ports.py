"""Protocols between driver, cluster and worker: Dask implements them, and so does the harness, with faults."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeVar

from pixirnb.runners.cluster.packet import FrameNews

T = TypeVar("T")
Call = Literal[
    "stop",
    "read_frames",
    "read_payload",
    "take_answer",
    "take_blob",
    "take_files",
    "read_files",
    "end_tagged",
    "find_left",
    "end_left",
]
"""Methods of `service.WorkerService` that a driver calls on a worker."""
DRIVER: Final = "driver"
"""Holder of a claim that the driver has taken: no worker can begin the attempt."""
ANOTHER: Final = "another worker"
"""Holder of a claim whose name is not known."""


class ClaimRefused(Exception):
    """Raised on a worker that is given an attempt which another has begun; its argument is the other's address."""

    def __str__(self) -> str:
        return f"the attempt was begun by {self.args[0]}"


class ClusterGone(Exception):
    """Raised by a connection whose scheduler is gone."""


class RemoteTask(Protocol):
    """A task that the cluster was given: to perform one packet."""

    def release(self) -> None:
        """Let the cluster forget the task; a worker that performs it ends it."""


class ClusterConnection(Protocol):
    """A cluster, as a driver sees it."""

    address: str
    has_plugin: bool
    """True if the scheduler decides about claims itself."""

    async def offload(self, call: Callable[..., T], *arguments: Any) -> T:
        """Make a blocking call for a driver. See `ports.Offload`."""

    def subscribe(self, topic: str, on_news: Callable[[FrameNews], object]) -> None:
        """Call on any thread for the news of a topic: late, twice or never, as the cluster has it."""

    def unsubscribe(self, topic: str) -> None:
        """End `subscribe`. Safe to call twice."""

    def submit(
        self,
        key: str,
        packet: bytes,
        resources: Mapping[str, float],
        done: Callable[[BaseException | None], object],
    ) -> RemoteTask:
        """Give a worker a packet to perform, once. Raises ClusterGone.

        `done` is called on any thread: with None, with LookupError where the cluster gave it up, or with what it raised.
        """

    async def ask(self, worker: str, call: Call, *arguments: Any) -> Any:
        """Return what a worker answers; None where it is lost, or silent for some seconds."""

    async def ask_all(self, call: Call, *arguments: Any) -> dict[str, Any] | None:
        """Return what each worker answers, or its exception; None where the scheduler is gone."""

    async def performer(self, key: str) -> str | None:
        """Return the worker that has performed a task; None where the cluster does not know it."""

    async def withdraw(self, key: str) -> str | None:
        """Take the claim of an attempt; return who holds it: DRIVER, ANOTHER or a worker. None where the scheduler is gone."""

    async def is_gone(self, worker: str) -> bool | None:
        """Return whether the process of a worker has ended; None where its machine does not answer."""

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine. Blocking; called on a thread that may have a loop of its own."""

    async def workers(self) -> Sequence[str]:
        """Return the addresses of the workers that the scheduler knows; none where it is gone."""


class WorkerHost(Protocol):
    """The process of a worker, as its service sees it."""

    address: str

    async def offload(self, call: Callable[..., T], *arguments: Any) -> T:
        """Make a blocking call for the service. See `ports.Offload`."""

    def has_file(self, path: Path, text: str) -> bool:
        """Return whether a file of a driver's is here, with its text."""

    async def take_claim(self, key: str, *, has_plugin: bool) -> str:
        """Take the claim of an attempt; return who holds it. Raises OSError, TimeoutError."""

    def send(self, topic: str, news: FrameNews) -> None:
        """Send news to a driver, which may never get them."""

    def is_required(self, key: str) -> bool:
        """Return whether the scheduler still requires the task of an attempt, as far as this worker knows."""

    async def reach(self) -> None:
        """Return once the scheduler has answered that it counts on this worker. Raises OSError, TimeoutError."""

    def has_tagged(self, tag: str) -> bool:
        """Return whether a process of an attempt is on this machine."""

    def end_tagged(self, tag: str) -> None:
        """End the processes of an attempt on this machine."""

    def end(self) -> None:
        """End this process, at once."""
