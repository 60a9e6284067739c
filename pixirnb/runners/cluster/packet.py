"""Messages between a driver and a worker: the job of an attempt, and frames of its events, numbered from 0."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Final, TypedDict

from msgspec import Struct

from pixirnb.ids import attempt_tag
from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import Question
from pixirnb.protocols.trees import CopyFolders
from pixirnb.protocols.work import Ended, RunnerEvent, Work

SILENT_S: Final = 10.0
"""Seconds without a word after which a worker counts as silent."""
BEAT_S: Final = 2.0
"""Seconds between two signs of life of a worker."""
FENCE_S: Final = 20.0
"""Seconds after which a worker that does not reach its scheduler ends what it runs for it."""
LOST_S: Final = 30.0
"""Seconds after which nothing can be running on a worker that its scheduler took for lost: it has ended itself by then."""


class Packet(Struct, frozen=True):
    """The job of one attempt as a worker is sent it: without what belongs to the driver's process."""

    run_id: str
    step: str
    attempt: int
    work: Work
    cwd: Path
    workspace: Path
    env: dict[str, str]
    """Written variables; the worker adds them to its own."""
    grace_s: float
    limit_s: float | None
    topic: str
    """Topic of the driver's events."""
    has_plugin: bool
    """True if the scheduler has our plugin, which takes claims."""
    proof: tuple[Path, str] | None
    """A file among the driver's, and its text: proves that they are the worker's."""
    copies: CopyFolders | None = None
    """The folders of an isolated attempt: where they are not the worker's, it is sent them."""
    blobs: tuple[str, ...] = ()
    """Digests of the large arguments of the work: those that the worker lacks, it is sent."""

    @property
    def key(self) -> str:
        """Return the key of the attempt on the cluster."""
        return key_of(self.run_id, self.step, self.attempt)

    @property
    def tag(self) -> str:
        """Return the tag of its processes."""
        return attempt_tag(self.run_id, self.step, self.attempt)

    def dumps(self) -> bytes:
        """Return it as bytes. Raises whatever a user's argument raises."""
        return pickle.dumps(self, protocol=5)


class RemotePayload(Struct, frozen=True):
    """A value that is too large for a frame: fetched from the worker in pieces."""

    size: int


class LeftFiles(Struct, frozen=True):
    """The files that an attempt has left on a worker: a pack of them is fetched in pieces."""

    tree: str
    size: int


class RemoteQuestion(Struct, frozen=True):
    """A question of an agent, which waits for the answer of the driver."""

    number: int
    kind: Question
    data: JsonObject


class Frame(Struct, frozen=True):
    """Events of an attempt in their order, and its end in the last frame."""

    events: tuple[RunnerEvent, ...]
    ended: Ended | None = None
    payload: RemotePayload | None = None
    """The `payload` of the end where it stayed on the worker."""
    files: LeftFiles | None = None
    """The files at the end where they are not the driver's."""
    lacks: tuple[str, ...] | None = None
    """Requests the files of the attempt; the trees that a pack of them may leave out."""
    blobs: tuple[str, ...] = ()
    """Requests arguments, by digest."""
    question: RemoteQuestion | None = None
    """Requests the driver's answer."""

    def dumps(self) -> bytes:
        """Return it as bytes."""
        return pickle.dumps(self, protocol=5)


class FrameNews(TypedDict, total=False):
    """An event of a worker on the driver's topic: a frame, or without `key` a sign of life."""

    worker: str
    key: str
    number: int
    frame: bytes
    running: dict[str, int]
    """Number of frames by the key of the driver's attempts that run there."""


def key_of(run_id: str, step: str, attempt: int) -> str:
    """Return the key of an attempt on a cluster: its tag, with our prefix."""
    return f"pixirnb-{attempt_tag(run_id, step, attempt)}"


def load_packet(data: bytes) -> Packet:
    """Return the packet of a driver. Raises whatever an argument that cannot be loaded here raises."""
    packet: Packet = pickle.loads(data)  # noqa: S301 - a cluster runs what its clients send; this is no other
    return packet


def load_frame(data: bytes) -> Frame:
    """Return the frame of a worker."""
    frame: Frame = pickle.loads(data)  # noqa: S301 - of the worker this driver has sent the work to
    return frame
