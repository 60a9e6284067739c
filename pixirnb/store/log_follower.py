"""A reader of a log that another process writes: reads only the new bytes, verified from the last one on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pixirnb.history.codec import GENESIS, Damage
from pixirnb.store.log_encoding import decode_log, log_damaged
from pixirnb.store.private_files import open_private, read_log, unusable
from pixirnb.store.seal import Seal, missing, unlike

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pixirnb.history.events import Event


class LogFollower:
    """Follower of one log. Holds nothing open between polls, so it needs no closing."""

    def __init__(
        self,
        run_id: str,
        fetch: Callable[[int], bytes | None],
        get: Callable[[str], bytes],
        sealed: Callable[[], Seal | None],
    ) -> None:
        """Create a follower: `fetch(offset)` returns the bytes from `offset` on, None when there are fewer than `offset`.

        `get` returns the bytes of a blob; `sealed` the seal as it is now.
        """
        self._run_id = run_id
        self._fetch = fetch
        self._get = get
        self._sealed = sealed
        self._offset = 0
        self._chain = GENESIS
        self._count = 0

    def poll(self) -> list[Event]:
        """Return events completed since the last poll, in order; may be empty.

        Raises LogDamaged once all events before the damage were given out, and StateUnusable.
        """
        seal = self._sealed()  # before the log, as every reader: see `read_seal`
        data = self._fetch(self._offset)
        if data is None:
            message = f"of the {self._offset} bytes that were read, some are missing"
            raise log_damaged(self._run_id, Damage("cut_short", self._count, message), self._count)
        decoded = decode_log(data, get=self._get, chain=self._chain, after=self._count)
        damage = decoded.damage
        if damage is not None and damage.code != "torn_tail" and not decoded.events:
            raise log_damaged(self._run_id, damage, self._count)
        if not decoded.events and seal is not None:
            self._compare(seal)
        self._offset += decoded.good_bytes
        self._chain = decoded.chain
        self._count += len(decoded.events)
        return decoded.events

    def _compare(self, seal: Seal) -> None:
        damage = missing(self._count, seal)
        if damage is None and seal.seq == self._count and seal.chain != self._chain:
            damage = unlike(seal)
        if damage is not None:
            raise log_damaged(self._run_id, damage, self._count)


def bytes_from(path: Path, offset: int) -> bytes | None:
    """Return the bytes of a file from `offset` on; None when it is shorter. Raises StateUnusable."""
    try:
        size = path.lstat().st_size
        if size <= offset:
            return b"" if size == offset else None
        with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
            file.seek(offset)
            return read_log(file)
    except OSError as error:
        raise unusable(path, error) from error
