"""Children of a preloaded parent: forked where pixirnb is imported and nothing of it runs, so that one costs no import.

The parent must have no thread but its own: a thread's locks would be copied held. Everything a child leaves word of lies
in the world's `notes` folder, where operations are not counted.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import psutil

from harness.crash_points.durable import Durable
from harness.crash_points.faults import Fault
from harness.crash_points.session import World, work
from harness.crash_points.shapes import Shape
from harness.crash_points.tap import Tap
from pixirnb.system import process_marks

MARK: Final = "PIXIRNB_CRASH_POINT"
"""Environment variable of a child and all it starts: the world it belongs to."""

LIMIT_S: Final = 60.0
"""Longer than any run here may take, engine's farewell included: a child that needs more hangs."""

FAREWELL_S: Final = 20.0
"""How long what a dead child had started may take to end."""


@dataclass(frozen=True, slots=True)
class End:
    """How one child ended."""

    died: bool
    """By the fault's own kill."""
    hung: bool
    ended: dict[str, Any]
    """What it said of its run; empty where it died."""
    struck: list[str]
    """The operations the fault befell."""
    journal: list[str]
    """Its operations in order, as `kind name`."""
    stderr: str
    durable: dict[str, int]
    """Run to lines of its log that a power failure would have left, where it died."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What a child is to do."""

    fault: Fault | None = None
    is_recovery: bool = False
    forgets: bool = True
    """False: what the child before had not synced is lost with a power failure in this one."""
    cuts: bool = False
    """Whether the power fails right after it has said how it ended."""


def offspring(tap: Tap, world: World, shape: Shape, errand: Errand) -> End:
    """Fork a child for an errand, and wait until it ended."""
    if threading.active_count() != 1:
        raise RuntimeError("a parent with threads must not fork a run")
    notes = world.path / "notes"
    notes.mkdir(exist_ok=True)
    for name in ("said", "struck"):
        (notes / name).unlink(missing_ok=True)
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        _be_the_child(tap, world, shape, errand, notes)
    hung, status = _waited(pid)
    said = notes / "said"
    struck = notes / "struck"
    told: dict[str, Any] = json.loads(said.read_text()) if said.is_file() else {}
    if struck.is_file():
        told |= json.loads(struck.read_text())
    return End(
        died=struck.is_file() and os.WIFSIGNALED(status) and not hung,
        hung=hung,
        ended=told.get("ended", {}),
        struck=told.get("struck", []),
        journal=told.get("journal", []),
        stderr=(notes / "stderr").read_text(errors="replace"),
        durable=told.get("durable", {}),
    )


def survivors(world: World) -> list[str]:
    """Commands of living processes that the world's children started, once they have had time to end."""
    deadline = time.monotonic() + FAREWELL_S
    while (left := _marked(world)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)  # a finding all the same; the next point must not meet it
        except OSError:
            pass
    return [f"{pid} {command}" for pid, command in left.items()]


def _end_others(world: World) -> None:
    while others := [pid for pid in _marked(world) if pid != os.getpid()]:
        for pid in others:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)


def _marked(world: World) -> dict[int, str]:
    wanted = f"{MARK}={world.path}".encode()
    bare = {pid for run in _runs(world) for pid in process_marks.bearers(process_marks.of_run(run))}
    found = {}
    for pid in psutil.pids():
        try:
            if pid in bare or wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                found[pid] = command.replace(b"\0", b" ").decode(errors="replace")[:120]
        except OSError:
            continue
    return found


def _runs(world: World) -> list[str]:
    """Ids of the world's runs: a process that emptied its environment is told by its mark."""
    folder = world.state / "runs"
    return os.listdir(folder) if folder.is_dir() else []  # noqa: PTH208


def _waited(pid: int) -> tuple[bool, int]:
    watch = os.pidfd_open(pid)
    try:
        is_over, _, _ = select.select([watch], [], [], LIMIT_S)
        if not is_over:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(watch)
    return not is_over, status


def _be_the_child(tap: Tap, world: World, shape: Shape, errand: Errand, notes: Path) -> None:
    status = 1
    try:
        errors = os.open(notes / "stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(errors, 2)
        os.environ[MARK] = str(world.path)
        os.environ["XDG_CONFIG_HOME"] = str(world.disk / "config")
        tempfile.tempdir = os.environ["TMPDIR"] = str(world.disk / "tmp")
        os.chdir(world.work)
        kept = notes / "durable"
        is_known = kept.is_file() and not errand.forgets
        durable = Durable(world.disk, kept.read_bytes() if is_known else None)
        lights_out = partial(_end_others, world)
        tap.arm(world.disk, errand.fault, durable, _leaver(notes, durable), lights_out)
        ended = work(world, shape, is_recovery=errand.is_recovery)
        tap.disarm()
        if errand.cuts:
            durable.lose()
        _note(notes / "said", tap, {"ended": ended})
        status = 0
    except BaseException:  # noqa: BLE001 - a child must never return into its parent's code
        traceback.print_exc()
    finally:
        os._exit(status)


def _leaver(notes: Path, durable: Durable) -> Callable[[Tap], None]:
    def leave(tap: Tap) -> None:
        (notes / "durable").write_bytes(durable.document())
        _note(notes / "struck", tap, {"durable": durable.lines("log.jsonl")})

    return leave


def _note(path: Path, tap: Tap, more: dict[str, Any]) -> None:
    path.write_text(json.dumps({"struck": tap.struck, "journal": tap.journal, **more}))
