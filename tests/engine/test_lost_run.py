"""What an owner does not touch once its run was taken from it, though nothing has told its loop yet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pixirnb.engine.held_inbox import HeldInbox
from pixirnb.engine.output_capture import Capture
from pixirnb.errors import LogWriteFailed
from pixirnb.machine.requests import Request
from pixirnb.protocols.ports import RunLog
from pixirnb.protocols.work import Output
from pixirnb.runners.output.mask import mask_here
from pixirnb.testing.fakes.memory_store import MemoryStore

RUN = "r-20261121-220344-7f3akq"


class Letters:
    """An inbox with one request."""

    def __init__(self) -> None:
        self.left = [Request("q", "cancel", {}, "ada")]

    def take(self) -> list[Request]:
        """All that is left."""
        taken, self.left = self.left, []
        return taken

    def answer(self, request_id: str, reply: Mapping[str, object] | None) -> None:
        """No asker waits."""

    def close(self) -> None:
        """Nothing is open."""


def held() -> tuple[MemoryStore, RunLog]:
    store = MemoryStore()
    return store, store.create(RUN)


def test_a_request_is_left_to_the_next_owner() -> None:
    store, log = held()
    letters = Letters()
    inbox = HeldInbox(letters, log, lambda _run: False)
    store.lose_lock(RUN)
    with pytest.raises(LogWriteFailed):
        inbox.take()
    assert [request.id for request in letters.left] == ["q"]


def test_what_a_step_prints_is_not_logged(tmp_path: Path) -> None:
    store, log = held()
    path = tmp_path / "a.1.log"
    capture = Capture(
        path, log.blobs, mask_here({}), lambda *_: None, require_hold=log.require_hold
    )
    store.lose_lock(RUN)
    capture.take(Output("stdout", b"late\n"))
    capture.finish()
    assert "lost its lock" in str(capture.refusal)
    assert not path.exists()
    capture.close()
