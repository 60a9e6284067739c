"""The driver's side: sends attempts to workers, passes on what they emit, and knows a lost worker from a silent one."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from pixirnb.errors import InternalError
from pixirnb.protocols.ports import Job
from pixirnb.protocols.trees import TreePacks
from pixirnb.protocols.work import AgentWork, Ended, Progress, PythonWork, ShellWork
from pixirnb.runners.cluster.blobs import LARGE, without_blobs
from pixirnb.runners.cluster.leftovers import Left, end_left
from pixirnb.runners.cluster.packet import SILENT_S, FrameNews, Packet
from pixirnb.runners.cluster.ports import ClusterConnection, ClusterGone
from pixirnb.runners.cluster.remote_attempt import RemoteAttempt
from pixirnb.runners.output.mask import mask_here
from pixirnb.spec.amounts import amounts_text
from pixirnb.wording import error_text


class ClusterRunner:
    """Runner of shell commands, functions and agents on the workers of a client's cluster.

    Args:
        connection: of the cluster; its owner closes it.
        packs: makes the trees of isolated attempts whose worker does not have the driver's files.
    """

    def __init__(self, connection: ClusterConnection, packs: Callable[[Path], TreePacks]) -> None:
        self._connection = connection
        self._packs_of, self._packs = packs, dict[Path, TreePacks]()
        self._proofs: dict[Path, tuple[Path, str]] = {}
        self._topic = f"pixirnb-{secrets.token_hex(16)}"
        self._attempts: dict[str, RemoteAttempt] = {}
        connection.subscribe(self._topic, self._heard)

    async def perform(self, job: Job) -> Ended:
        """Perform a job on a worker. See `ports.Runner`."""
        if not isinstance(job.work, ShellWork | PythonWork | AgentWork):
            raise InternalError(f"the cluster runner got {type(job.work).__name__}")
        if job.stop.reason is not None:
            return Ended(job.stop.reason, details={"reason": job.stop.reason})
        packet = Packet(
            job.run_id,
            job.step,
            job.attempt,
            job.work,
            job.cwd,
            job.workspace,
            job.env,
            job.grace_s,
            job.limit_s,
            self._topic,
            self._connection.has_plugin,
            self._prove(job),
            job.copies,
        )
        try:
            data = packet.dumps()
        except BaseException as error:  # noqa: BLE001 - an argument's own __reduce__ may raise anything, an exit too
            message = f"an argument cannot be sent to a worker: {error_text(error)}"
            return Ended("failed", "spawn_failed", message)
        if any(secret in data for secret in mask_here({}).secrets):
            message = "a secret of this process would pass through the scheduler; set it where the workers start"
            return Ended("failed", "secret_not_sent", message)
        blobs: dict[str, bytes] = {}
        if len(data) > LARGE:
            work, blobs = without_blobs(job.work)
            packet = replace(packet, work=work, blobs=tuple(blobs))
            data = packet.dumps()
        attempt = RemoteAttempt(packet, job, self._connection, self._trees_of(job), blobs)
        self._attempts[packet.key] = attempt
        waits = asyncio.get_running_loop().call_later(SILENT_S, _report_wait, attempt)
        try:
            attempt.submit(data)
            ended = await attempt.converse()
        except ClusterGone:
            self._attempts.pop(packet.key)
            message = f"the scheduler {self._connection.address} is gone; start another and resume the run"
            return Ended("failed", "cluster_lost", message)
        except BaseException:
            self._forget(attempt)
            raise
        finally:
            waits.cancel()
            attempt.questions.close()
        if ended.status == "detached":
            attempt.abandon(partial(self._forget, attempt))
        else:
            self._forget(attempt)
        return ended

    def end_left(self, run_id: str, left: Left) -> None:
        """End what a dead driver left on workers. See `ports.Cluster`."""
        if left:
            self._connection.run(end_left(self._connection, run_id, left))

    def close(self) -> None:
        """Take no more jobs."""
        while self._proofs:
            self._proofs.popitem()[1][0].unlink(missing_ok=True)
        while self._packs:
            folder, packs = self._packs.popitem()
            packs.close()
            with suppress(OSError):  # copies of the run are still there
                folder.parent.rmdir()
        self._connection.unsubscribe(self._topic)

    def _prove(self, job: Job) -> tuple[Path, str]:
        """Return a file among those of the job that a worker finds only if they are shared with it, and its text."""
        folder = job.workspace
        if job.copies is not None:
            folder = job.copies.top.parent
        elif job.state is not None and job.state.is_relative_to(folder):
            folder = job.state / "runs" / job.run_id
        proof = self._proofs.get(folder)
        if proof is None:
            proof = self._proofs[folder] = (folder / f".{self._topic}", secrets.token_hex(16))
            proof[0].touch(mode=0o600)
            proof[0].write_text(proof[1])
        return proof

    def _trees_of(self, job: Job) -> TreePacks | None:
        if job.copies is None:
            return None
        # Beside the copies of the run: whoever sweeps those after this process has died takes it along.
        folder = job.copies.top.parent / ".packs"
        return self._packs.setdefault(folder, self._packs_of(folder))

    def _forget(self, attempt: RemoteAttempt) -> None:
        self._attempts.pop(attempt.packet.key, None)
        attempt.release()

    def _heard(self, news: FrameNews) -> None:
        """Take news of a worker, on any thread."""
        for key in [news["key"]] if "key" in news else news.get("running", []):
            attempt = self._attempts.get(key)
            if attempt is not None:
                attempt.post(partial(attempt.on_news, news))


def _report_wait(attempt: RemoteAttempt) -> None:
    """Report that no worker has begun an attempt yet: none may be able to."""
    if attempt.worker is None:
        required = attempt.job.resources
        which = f" with {amounts_text(required)}" if required else ""
        attempt.job.emit(Progress(None, f"waits for a worker{which}"))
