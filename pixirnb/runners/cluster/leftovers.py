"""Attempts that a dead driver left on workers: ended, or known to have ended, before a resume runs their steps again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from pixirnb.errors import Cannot
from pixirnb.ids import attempt_tag
from pixirnb.runners.cluster.packet import LOST_S, key_of
from pixirnb.runners.cluster.ports import DRIVER, ClusterConnection
from pixirnb.wording import error_text

Left = Mapping[tuple[str, int], str | None]
"""Step and attempt to the worker that the log names for it."""


async def find_left(
    connection: ClusterConnection, run_id: str, left: Left
) -> dict[str, list[str] | None]:
    """Return the attempts of a run that go on, by worker; None for a worker that does not answer."""
    tags = [attempt_tag(run_id, step, attempt) for step, attempt in left]
    answers = await connection.ask_all("find_left", tags)
    return {
        worker: None if isinstance(answer, BaseException) else answer
        for worker, answer in (answers or {}).items()
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
    if lost and not all([await connection.is_gone(worker) for worker in lost]):
        await asyncio.sleep(LOST_S)


def _silent(worker: str, cause: str) -> Cannot:
    return Cannot(
        f"{worker} does not say whether it runs steps of this run: {cause}",
        fix="restart that worker, then resume again",
        code="worker_silent",
    )
