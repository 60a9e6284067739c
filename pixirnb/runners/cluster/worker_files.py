"""The files of an isolated attempt on a worker that does not have the driver's: taken, laid out, and left to be fetched."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from pixirnb.errors import Cannot
from pixirnb.protocols.ports import Offload
from pixirnb.protocols.trees import CopyFolders, TreePacks
from pixirnb.runners.cluster.packet import LeftFiles
from pixirnb.runners.processes.stop_signal import StopSignal

PIECE: Final = 1024 * 1024
"""Bytes of a piece of files on their way."""
_STOPPED_S: Final = 5.0
"""Seconds that git has to record the files of an attempt that was stopped."""


class WorkerFiles:
    """The files of one attempt. `take` and `read` are called on any thread, all else on the service's loop."""

    def __init__(
        self, packs: TreePacks, copies: CopyFolders, stop: StopSignal, offload: Offload
    ) -> None:
        self._packs, self._copies, self._stop, self._offload = packs, copies, stop, offload
        self.left: LeftFiles | None = None
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._incoming: Path | None = None
        self._held = 0
        self._tree = ""
        self._is_whole = False
        self._woken = asyncio.Event()
        self._pack: Path | None = None
        self._stopped: float | None = None

    def take(self, tree: str, offset: int, piece: bytes, size: int) -> int:
        """Take a piece; return the number of bytes that are here: the next piece begins there."""
        with self._lock:
            if self._incoming is None:
                self._incoming, self._tree = self._packs.incoming(), tree
            if offset == self._held < size:
                with self._incoming.open("ab") as file:
                    file.write(piece)
                self._held += len(piece)
            if self._held >= size:
                self._is_whole = True
                self._loop.call_soon_threadsafe(self._woken.set)
            return self._held

    async def arrive(self) -> bool:
        """Lay the files out once they are here; False where the attempt is to stop before. Raises Cannot."""
        self._stop.then(self._note_stop)
        await self._woken.wait()
        if not self._is_whole or self._incoming is None:
            return False
        await self._offload(self._packs.add, self._incoming, self._tree)
        await self._offload(self._packs.lay_out, self._tree, self._copies)
        return True

    async def record(self) -> None:
        """Pack what the attempt has left. Raises Cannot."""
        tree = await self._offload(self._packs.record, self._copies.top, self._is_over)
        self._pack = await self._offload(self._packs.pack, tree, [self._tree])
        self.left = LeftFiles(tree, self._pack.stat().st_size)

    def read(self, offset: int) -> bytes:
        """Return a piece of what the attempt has left."""
        if self._pack is None:
            return b""
        return piece_of(self._pack, offset)

    async def remove(self) -> None:
        """Delete the folders of the attempt."""
        with suppress(Cannot):  # what stays is in the way of nobody: no other attempt has its path
            await self._offload(self._packs.remove, self._copies.top)

    def close(self) -> None:
        """Delete what was kept to be fetched, or came too late."""
        for path in (self._pack, self._incoming):
            if path is not None:
                path.unlink(missing_ok=True)

    def _is_over(self) -> bool:
        """Return whether git has had its time since the attempt was stopped: its files are kept, too."""
        return self._stopped is not None and self._loop.time() - self._stopped > _STOPPED_S

    def _note_stop(self) -> None:
        self._stopped = self._loop.time()
        self._woken.set()


def piece_of(file: Path, offset: int) -> bytes:
    """Return a piece of a file."""
    with file.open("rb") as opened:
        opened.seek(offset)
        return opened.read(PIECE)
