"""The files of an isolated attempt on the driver's side: sent to a worker that lacks them, and fetched as it left them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import anyio

from pixirnb.protocols.ports import Offload
from pixirnb.protocols.trees import CopyFolders, TreePacks
from pixirnb.runners.cluster.packet import LeftFiles
from pixirnb.runners.cluster.ports import Call
from pixirnb.runners.cluster.worker_files import piece_of
from pixirnb.runners.processes.eager_tasks import in_task

_AGAIN_S: Final = 1.0
"""Seconds until a piece is sent again to a worker that did not answer."""


class Ask(Protocol):
    """Returns what the worker of an attempt answers; None where it is lost, or silent for too long."""

    def __call__(self, call: Call, *arguments: Any) -> Awaitable[Any]: ...


class DriverFiles:
    """The files of one attempt. Used on the engine's loop.

    `ask` asks once, `insist` again while the worker may only be silent.
    """

    def __init__(
        self,
        packs: TreePacks,
        copies: CopyFolders,
        key: str,
        *,
        ask: Ask,
        insist: Ask,
        offload: Offload,
    ) -> None:
        self._packs, self._top, self._key = packs, copies.top, key
        self._ask, self._insist, self._offload = ask, insist, offload
        self._sent = ""

    async def send(self, known: tuple[str, ...], is_over: Callable[[], bool]) -> None:
        """Send the files, without what is in trees that the worker has; give up once `is_over`. Raises Cannot."""
        await in_task()
        self._sent = await self._offload(self._packs.record, self._top, is_over)
        pack = await self._offload(self._packs.pack, self._sent, known)
        try:
            ask = partial(self._ask, "take_files", self._key, self._sent)
            read = partial(self._offload, piece_of, pack)
            await send_pieces(ask, read, pack.stat().st_size, is_over)
        finally:
            pack.unlink()

    async def fetch(self, left: LeftFiles) -> bool:
        """Make the files here those that the attempt has left; False where its worker does not give them. Raises Cannot."""
        await in_task()
        pack, held = await self._offload(self._packs.incoming), 0
        while held < left.size:
            piece = await self._insist("read_files", self._key, held)
            if not piece:
                pack.unlink()
                return False
            held += await self._offload(_append, pack, piece)
        await self._offload(self._packs.add, pack, left.tree)
        await self._offload(self._packs.update, self._top, self._sent, left.tree)
        return True


async def send_pieces(
    ask: Callable[[int, bytes, int], Awaitable[int | None]],
    read: Callable[[int], Awaitable[bytes]],
    size: int,
    is_over: Callable[[], bool],
) -> None:
    """Send what `read` returns at an offset, until the worker has all of it or it `is_over`.

    `ask` returns the number of bytes that the worker has, None where it does not answer.
    """
    held = 0
    while held < size and not is_over():
        took = await ask(held, await read(held), size)
        if took is None:
            await anyio.sleep(_AGAIN_S)
        else:
            held = took


def _append(file: Path, piece: bytes) -> int:
    with file.open("ab") as opened:
        return opened.write(piece)
