"""Attempts that were left on workers: ended, or known to have ended, before their steps are run again."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import Final

from pixirnb.errors import Cannot
from pixirnb.ids import attempt_tag
from pixirnb.runners.cluster.packet import LOST_S, key_of
from pixirnb.runners.cluster.ports import DRIVER, ClusterConnection
from pixirnb.runners.processes.eager_tasks import in_task
from pixirnb.wording import error_text

_REAPED_S: Final = 2.0
"""Seconds in which the reapers of a worker that has ended end what it ran."""
_KNOCK_S: Final = 3.0
"""Seconds that a machine has to take or refuse a connection."""
Left = Mapping[tuple[str, int], str | None]
"""Step and attempt to the worker that the log names for it."""


async def find_left(
    connection: ClusterConnection, run_id: str, left: Left
) -> dict[str, list[str] | None]:
    """Return the attempts of a run that go on, by worker; None for a worker that does not answer."""
    tags = [attempt_tag(run_id, step, attempt) for step, attempt in left]
    answers = await connection.ask_all("find_left", tags)
    if answers is None:
        return {worker: None for worker in left.values() if worker is not None}
    return {
        worker: None if isinstance(answer, BaseException) else answer
        for worker, answer in answers.items()
        if answer
    }


async def end_left(connection: ClusterConnection, run_id: str, left: Left) -> None:
    """End the attempts of a run that a dead driver left on workers; return once nothing of them goes on.

    A worker that the scheduler has lost may not have noticed yet: it is given the time to end itself.

    Raises:
        Cannot: `worker_silent`, `thread_alive`.
    """
    tags = [attempt_tag(run_id, step, attempt) for step, attempt in left]
    answers = await connection.ask_all("end_left", tags)
    if answers is None:
        raise _silent("a worker", "no answer")
    for worker, answer in answers.items():
        if isinstance(answer, BaseException):
            raise _silent(f"worker {worker}", error_text(answer) or "no answer")
        for tag in answer:
            raise Cannot(
                f"`{tag}` still runs in a thread of worker {worker}",
                fix="resume when it has returned, or restart that worker",
                code="thread_alive",
            )
    performers = {
        worker or await connection.withdraw(key_of(run_id, step, attempt)) or DRIVER
        for (step, attempt), worker in left.items()
    }
    lost = performers - set(answers) - {DRIVER}
    if not lost or all([await connection.is_gone(worker) for worker in lost]):
        return
    await asyncio.sleep(LOST_S)
    for worker in lost:
        if await connection.is_gone(worker) is False:
            raise _silent(f"worker {worker}", "it goes on, in another cluster")


async def await_end(connection: ClusterConnection, worker: str | None, tag: str) -> None:
    """Return once nothing of an attempt can go on: its worker has ended, or has had the time to end itself."""
    await in_task()
    if worker is None or not await connection.is_gone(worker):
        await asyncio.sleep(LOST_S)
        return
    neighbors = [each for each in await connection.workers() if _host(each) == _host(worker)]
    for neighbor in neighbors[:1]:
        if await connection.ask(neighbor, "end_tagged", tag) is True:
            return
    await asyncio.sleep(_REAPED_S)


def _host(address: str) -> str:
    return address.rpartition("://")[2].rpartition(":")[0]


def has_ended(worker: str) -> bool | None:
    """Return whether the process at an address has ended; None where its machine does not answer. Blocking."""
    host, _, port = worker.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _KNOCK_S).close()
    except ConnectionRefusedError:
        return True
    except (OSError, ValueError):
        return None
    return False


def _silent(worker: str, cause: str) -> Cannot:
    return Cannot(
        f"{worker} does not say whether it runs steps of this run: {cause}",
        fix="resume with the cluster of that worker, or restart it first",
        code="worker_silent",
    )
