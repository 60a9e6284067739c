"""The driver's side: sends attempts to workers, passes on what they emit, and knows a lost worker from a silent one."""

from __future__ import annotations

import secrets
from functools import partial
from pathlib import Path

from pixirnb.errors import InternalError
from pixirnb.protocols.ports import Job
from pixirnb.protocols.work import Ended, PythonWork, ShellWork
from pixirnb.runners.cluster.leftovers import Left, end_left
from pixirnb.runners.cluster.packet import FrameNews, Packet
from pixirnb.runners.cluster.ports import ClusterConnection, ClusterGone
from pixirnb.runners.cluster.remote_attempt import RemoteAttempt
from pixirnb.runners.output.mask import mask_here
from pixirnb.wording import error_text


class ClusterRunner:
    """Runner of shell commands and functions on the workers of a client's cluster.

    Args:
        connection: of the cluster; its owner closes it.
    """

    def __init__(self, connection: ClusterConnection) -> None:
        self._connection = connection
        self._proof: tuple[Path, str] | None = None
        self._topic = f"pixirnb-{secrets.token_hex(16)}"
        self._attempts: dict[str, RemoteAttempt] = {}
        connection.subscribe(self._topic, self._heard)

    async def perform(self, job: Job) -> Ended:
        """Perform a job on a worker. See `ports.Runner`."""
        if not isinstance(job.work, ShellWork | PythonWork):
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
            self._proof or self._prove(job),
        )
        try:
            data = packet.dumps()
        except BaseException as error:  # noqa: BLE001 - an argument's own __reduce__ may raise anything, an exit too
            message = f"an argument cannot be sent to a worker: {error_text(error)}"
            return Ended("failed", "spawn_failed", message)
        if any(secret in data for secret in mask_here({}).secrets):
            message = "a secret of this process would pass through the scheduler; set it where the workers start"
            return Ended("failed", "secret_not_sent", message)
        attempt = RemoteAttempt(packet, job, self._connection)
        self._attempts[packet.key] = attempt
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
        if self._proof is not None:
            self._proof[0].unlink(missing_ok=True)
            self._proof = None
        self._connection.unsubscribe(self._topic)

    def _prove(self, job: Job) -> tuple[Path, str]:
        """Write a file into the workspace that a worker finds only if the workspace is shared with it."""
        folder = job.workspace
        if job.state is not None and job.state.is_relative_to(folder):
            folder = job.state / "runs" / job.run_id
        self._proof = (folder / f".{self._topic}", secrets.token_hex(16))
        self._proof[0].touch(mode=0o600)
        self._proof[0].write_text(self._proof[1])
        return self._proof

    def _forget(self, attempt: RemoteAttempt) -> None:
        self._attempts.pop(attempt.packet.key, None)
        attempt.release()

    def _heard(self, news: FrameNews) -> None:
        """Take news of a worker, on any thread."""
        for key in [news["key"]] if "key" in news else news.get("running", []):
            attempt = self._attempts.get(key)
            if attempt is not None:
                attempt.post(partial(attempt.on_news, news))
