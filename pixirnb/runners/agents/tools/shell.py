"""Tool `shell` of our own agents: one command line, in its own session, limited in time and output.

No process that it starts outlives it: its group is killed, and all that left the group but bear its mark in the
environment (Linux; elsewhere only the group, and the end of the step kills the rest).
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.runners.agents.tools.confinement import Confinement, Refused
from pixirnb.runners.agents.tools.excerpt import Excerpt
from pixirnb.system.process_life import is_alive, read_given

LIMIT_S: Final = 120.0
MOST_S: Final = 600.0
_MARK: Final = "PIXIRNB_TOOL"
_GRACE_S: Final = 0.5
_LOOK_S: Final = 0.02
_ROUNDS: Final = 20


def shell(confinement: Confinement, args: JsonMapping) -> JsonObject:
    """Return the output of the command and its end, as a tool's result. Raises Refused if it cannot be started."""
    command, limit_s = args["command"], min(float(args.get("timeout") or LIMIT_S), MOST_S)
    mark = os.urandom(8).hex()
    try:
        process = subprocess.Popen(
            ["sh", "-c", command],
            cwd=confinement.cwd,
            env={**os.environ, _MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise Refused("spawn_failed", f"The command could not be started: {error}.") from error
    assert process.stdout is not None
    excerpt = Excerpt()
    descriptor = process.stdout.fileno()
    os.set_blocking(descriptor, False)
    try:
        is_late = _watch(process, descriptor, excerpt, time.monotonic() + limit_s)
    finally:
        _end(process, mark)
        _drain(descriptor, excerpt)
        process.stdout.close()
    return _result(process.returncode, excerpt.text(), limit_s if is_late else None)


def _watch(
    process: subprocess.Popen[bytes], descriptor: int, excerpt: Excerpt, deadline: float
) -> bool:
    """Collect its output until it ends; True if its time was over first."""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while not _has_ended(process.pid):
            if time.monotonic() >= deadline:
                return True
            if selector.get_map():
                if selector.select(_LOOK_S) and not _take(descriptor, excerpt):
                    selector.unregister(descriptor)
            else:
                time.sleep(_LOOK_S)
    return False


def _take(descriptor: int, excerpt: Excerpt) -> bool:
    """Read one chunk; False at the end of the pipe."""
    try:
        chunk = os.read(descriptor, 65_536)
    except BlockingIOError:
        return True
    excerpt.take(chunk)
    return bool(chunk)


def _drain(descriptor: int, excerpt: Excerpt) -> None:
    """Read the rest after its writers are dead: at most a full pipe."""
    try:
        for _ in range(32):
            chunk = os.read(descriptor, 65_536)
            if not chunk:
                return
            excerpt.take(chunk)
    except BlockingIOError:
        return


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    """Stop the processes politely, then kill the group and all that bear the mark.

    The command itself is reaped last: until then its id, and that of its group, cannot be reused.
    """
    if not _has_ended(process.pid):
        _signal_group(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE_S
        while not _has_ended(process.pid) and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
    _signal_group(process.pid, signal.SIGKILL)
    for _ in range(_ROUNDS):
        left = [pid for pid in _marked(mark) if is_alive(pid)]
        if not left:
            break
        for pid in left:
            _kill(pid)
        time.sleep(_LOOK_S)
    process.wait()


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _marked(mark: str) -> list[int]:
    entry = f"{_MARK}={mark}".encode()
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if entry in read_given(int(folder.name), "environ").split(b"\0"):
                pids.append(int(folder.name))
        except OSError:
            continue  # gone, or not ours to look at
    return pids


def _signal_group(leader: int, number: signal.Signals) -> None:
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        pass  # nobody is left in it (macOS says so in its own way)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass  # gone, or not ours: the next look tells


def _result(code: int, text: str, late_after_s: float | None) -> JsonObject:
    if late_after_s is not None:
        message = f"The command timed out after {late_after_s:g} s and was stopped."
        kind, details = "timeout", {"timeout_s": late_after_s}
    elif code == 0:
        return {"ok": True, "output": text or "[no output]"}
    elif code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        message, kind, details = (
            f"The command was terminated by {name}.",
            "crash",
            {"signal": -code},
        )
    else:
        message, kind, details = (
            f"The command exited with code {code}.",
            "exit",
            {"exit_code": code},
        )
    error = {"kind": kind, "message": message, "details": details}
    return {"ok": False, "output": f"{text.rstrip()}\n[{message}]".lstrip(), "error": error}
