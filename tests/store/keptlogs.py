"""Real logs of real runs, closed in good order, for tests that damage them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pixirnb import api
from pixirnb.history.codec import EVENT_LINE_LIMIT, Damage
from pixirnb.history.events import Event
from pixirnb.operations.run import Run
from pixirnb.store.blobs import FileBlobs
from pixirnb.store.log_encoding import decode_log
from pixirnb.store.seal import Seal, check_seal, read_seal

MASKS = (0x01, 0x20, 0x80, 0xFF)
KINDS = ("small", "continued", "undone", "spilled", "decided")


@dataclass(frozen=True)
class Kept:
    """A run on the disk, and what its log said when it was closed."""

    folder: Path
    data: bytes
    events: list[Event]
    seal: Seal
    spilled: dict[str, bytes]
    """Blobs that events lie in, read once."""

    @property
    def lines(self) -> list[bytes]:
        return self.data.splitlines(keepends=True)

    @property
    def blobs(self) -> FileBlobs:
        return FileBlobs(self.folder / "blobs")

    def decoded(self, data: bytes, *, is_sealed: bool = True) -> tuple[list[Event], Damage | None]:
        """What a reader finds in `data` in the place of the log."""
        found = decode_log(data, get=self.spilled.__getitem__)
        found = check_seal(found, data, self.seal if is_sealed else None)
        return found.events, found.damage


def shell(step: str, run: str, *after: str) -> dict[str, Any]:
    return {"id": step, "run": run, "depends_on": list(after)}


def made(kind: str, workspace: Path) -> Run:
    """A run of one kind, driven to its end; all but `undone` end as completed."""
    workspace.mkdir()
    steps = [shell("a", "echo one"), shell("b", "test -e ok && echo two", "a")]
    if kind in {"small", "undone", "spilled"}:
        (workspace / "ok").touch()
    if kind == "spilled":
        steps[1] = shell("b", "seq 1 9000", "a")
    if kind == "decided":
        steps[1] = {"id": "b", "ask": {"question": "Go on?"}, "depends_on": ["a"]}
    flow: dict[str, Any] = {"name": kind, "steps": steps}
    if kind == "spilled":
        flow["description"] = "long " * (EVENT_LINE_LIMIT // 5)
    run = api.start(flow, workspace=workspace)
    run.wait()
    if kind == "decided":
        run = run.decide("b", "accept", note="looked at it")
    if kind in {"continued", "undone"}:
        ok = workspace / "ok"
        ok.touch() if kind == "continued" else ok.unlink()
        run = api.resume(run.id, from_step="b", workspace=workspace)
    assert run.wait().status == ("partial" if kind == "undone" else "completed")
    return run


def keep_all(home: Path) -> dict[str, Kept]:
    """A run of each kind below `home`."""
    kept = {}
    for kind in KINDS:
        run = made(kind, home / kind)
        seal, store = read_seal(run.folder), FileBlobs(run.folder / "blobs")
        assert seal is not None
        data = (run.folder / "log.jsonl").read_bytes()
        spilled = re.findall(rb'"\$blob":"([^"]+)"', data)
        blobs = {name.decode(): store.get(name.decode()) for name in spilled}
        kept[kind] = Kept(run.folder, data, run.history(), seal, blobs)
    return kept
