"""What runs in the child process of a scripted agent: its actions, in order.

A scripted agent is a real process that starts, speaks, writes, fails and hangs like any other, at no cost and the same
way every time. It may only touch files below its directory, whatever links lie there. Standard library only.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from pixirnb.runners.frames import FrameWriter


class _Over(Exception):
    """Raised by an action after which nothing follows."""

    def __init__(self, code: int) -> None:
        self.code = code


def run_script(header: dict[str, Any], report: int) -> int:
    """Perform `header["actions"]`; returns the exit code. An empty script says its task back and declares nothing."""
    frames = FrameWriter(report)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        if not header["actions"]:
            _say(header["task"])
        for action in header["actions"]:
            _perform(action, frames)
    except _Over as end:
        return end.code
    except OSError as error:
        words = f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
        frames.write(
            "error", kind="exception", message=f"{type(error).__name__}: {words}", details={}
        )
        return 1
    frames.write("value", stored=None, has_data=False)
    return 0


def _perform(action: dict[str, Any], frames: FrameWriter) -> None:
    match action:
        case {"say": text}:
            _say(str(text))
        case {"sleep": milliseconds}:
            time.sleep(milliseconds / 1000)
        case {"write": path, **rest}:
            target = _confined(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(rest.get("text", ""), encoding="utf-8")
        case {"delete": path}:
            _confined(path).unlink()
        case {"tool": name, **rest}:
            data = {"name": name, "args": rest.get("args", {}), "result": rest.get("result")}
            frames.write("tool", data=data)
        case {"report": data}:
            frames.write("checkpoint", data=data)
        case {"marker": status}:
            _say(f"checkpoint_status: {status}")
        case {"fail": kind, **rest}:
            message = rest.get("message") or f"the script says so: {kind}"
            frames.write("error", kind=str(kind), message=str(message), details={})
            raise _Over(1)
        case {"exit": code}:
            if code == 0:
                frames.write("value", stored=None, has_data=False)
            raise _Over(code)
        case {"crash": number}:
            os.kill(os.getpid(), number)
        case {"hang": _}:
            while True:
                signal.pause()
        case _:
            message = f"unknown action: {', '.join(map(str, action)) or 'none'}"
            frames.write("error", kind="exception", message=message, details={})
            raise _Over(1)


def _say(text: str) -> None:
    rest = memoryview(f"{text}\n".encode(errors="backslashreplace"))
    while rest:
        rest = rest[os.write(1, rest) :]


def _confined(path: str) -> Path:
    """`path` below the agent's directory, links followed. Raises PermissionError for a way out."""
    base = Path.cwd().resolve()
    target = (base / path).resolve()
    if base not in target.parents:
        raise PermissionError(1, "a scripted agent may not leave its directory", path)
    return target
