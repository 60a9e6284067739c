"""The value of an attempt on a worker: fetched in pieces where it is large, and signed as of this driver."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from pixirnb import value_codec
from pixirnb.history.events import StoredValue
from pixirnb.protocols.ports import BlobDraft
from pixirnb.protocols.work import Ended, LargeValue
from pixirnb.runners.cluster.packet import RemotePayload
from pixirnb.runners.processes.worker_threads import in_worker


async def with_value(
    ended: Ended,
    payload: RemotePayload | None,
    draft: Callable[[], BlobDraft] | None,
    read: Callable[[int], Awaitable[bytes | None]],
) -> Ended | None:
    """Return the end with its value; None where its worker is lost before `read` gave all pieces."""
    if payload is not None and draft is not None:
        fetched = await _fetched(payload, draft(), read)
        if fetched is None:
            return None
        ended = replace(ended, payload=fetched)
    if ended.value is not None and ended.value["format"] == "pickle":
        ended = replace(ended, value=await in_worker(_signed, ended.value, ended.payload))
    return ended


async def _fetched(
    payload: RemotePayload, draft: BlobDraft, read: Callable[[int], Awaitable[bytes | None]]
) -> BlobDraft | None:
    try:
        while draft.size < payload.size:
            piece = await read(draft.size)
            if not piece:
                draft.drop()
                return None
            await in_worker(draft.write, piece)
    except BaseException:
        draft.drop()
        raise
    return draft


def _signed(stored: StoredValue, payload: bytes | LargeValue | None) -> StoredValue:
    """Return a pickled value as one of this user's: a worker signs with a key of its own."""
    if payload is None or isinstance(payload, bytes):
        return value_codec.sign(stored, payload, value_codec.user_key())
    assert payload.path is not None
    return value_codec.sign_file(stored, payload.path, value_codec.user_key())
