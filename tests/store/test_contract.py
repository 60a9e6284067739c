"""Both stores keep every promise of the contract suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pixirnb.store.file_store import FileStore
from pixirnb.store.lease import _let_go
from pixirnb.store.log import FileLog
from pixirnb.testing.contracts.store import StoreContract
from pixirnb.testing.fakes.memory_store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from pixirnb.protocols.ports import RunLog, RunStore


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> RunStore:
        return MemoryStore()

    def end_process(self, store: Any, log: RunLog) -> None:
        store.end_processes()

    def tamper(self, store: Any, run_id: str, change: Callable[[bytes], bytes]) -> None:
        run = store.runs[run_id]
        run.data[:] = change(bytes(run.data))

    def lose_blob(self, store: Any, run_id: str, digest: str) -> None:
        del store.runs[run_id].blobs.stored[digest]


class TestFileStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> RunStore:
        return FileStore(tmp_path / ".pixirnb")

    def end_process(self, store: Any, log: RunLog) -> None:
        # As the kernel does it: descriptors go, the lease record stays.
        assert isinstance(log, FileLog)
        _let_go(log._hold._descriptor)
        log._hold._descriptor = -1

    def tamper(self, store: Any, run_id: str, change: Callable[[bytes], bytes]) -> None:
        path = store.folder(run_id) / "log.jsonl"
        path.write_bytes(change(path.read_bytes()))

    def lose_blob(self, store: Any, run_id: str, digest: str) -> None:
        (store.folder(run_id) / "blobs" / digest[3:5] / digest[3:]).unlink()
