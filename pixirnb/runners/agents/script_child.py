"""The child process of a scripted agent, which performs its actions in order.

A scripted agent is a real process that starts, speaks, writes, fails and hangs like any other, at no cost and the
same way every time. It may only touch files below its directory, even through links. Standard library only.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from pixirnb.json_types import JsonObject
from pixirnb.runners.agents.channel import Channel, Failed, PriorApprovals, refusal_of
from pixirnb.runners.processes.frames import FrameWriter


class _Over(Exception):
    """Raised by an action that ends the script."""

    def __init__(self, code: int) -> None:
        self.code = code


def run_script(header: JsonObject, report: int, answers: int | None = None) -> int:
    """Perform `header["actions"]`; returns the exit code. An empty script repeats its task and declares nothing."""
    frames = FrameWriter(report)
    voice = _Voice(frames)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    permit = _Permit(header, report, answers)
    try:
        if not header["actions"]:
            voice.say(header["task"])
        for number, action in enumerate(header["actions"]):
            permit.require(action, f"a{number}")
            _perform(action, frames, voice)
    except _Over as end:
        return end.code
    except Failed as failed:
        frames.write("error", kind=failed.kind, message=failed.message, details=failed.details)
        return 1
    except OSError as error:
        words = f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
        frames.write(
            "error", kind="exception", message=f"{type(error).__name__}: {words}", details={}
        )
        return 1
    voice.end()
    frames.write("value", stored=None, has_data=False)
    return 0


class _Permit:
    """The permission of the actions that change something."""

    def __init__(self, header: JsonObject, report: int, answers: int | None) -> None:
        asks = any("permit" in action for action in header["actions"])
        self._line = Channel(report, answers) if asks and answers is not None else None
        self._work = {"granted": header["granted"], "session": {"permission_mode": "ask"}}

    def require(self, action: JsonObject, call_id: str) -> None:
        """Return when an action may be performed: at once, or once a person has allowed it. Raises Failed."""
        if message := action.get("refused"):
            raise Failed("permission_denied", message)
        call = action.get("permit")
        if call is None or self._line is None:
            return
        if PriorApprovals(self._work, self._line).tell(
            call["tool"], call["args"], call["digest"], call_id
        ):
            return
        refused = refusal_of(self._line, {**call, "call_id": call_id})
        if refused is not None:
            raise Failed("permission_denied", f"{call['why']}: {refused.rstrip('.')}")


class _Voice:
    """The agent's texts: printed at once, and logged as messages in order with its actions."""

    def __init__(self, frames: FrameWriter) -> None:
        self._frames = frames
        self._pending: list[str] = []
        self._is_heard = False
        """True if there is a message."""
        self._is_final = False
        """True if the last message may be final."""
        self._summary = ""
        """Summary of its report: the final message if none follows."""

    def say(self, text: str) -> None:
        rest = memoryview(f"{text}\n".encode(errors="backslashreplace"))
        while rest:
            rest = rest[os.write(1, rest) :]
        self._pending.append(text)

    def pause(self, *, is_final: bool) -> None:
        """Log the text so far as a message; a tool or a report follows."""
        if self._pending:
            self._tell(is_final=is_final)
        self._is_final = self._is_final and is_final

    def use(self, name: str, args: JsonObject, result: object = None) -> None:
        """Log the text so far as a message, then the use of a tool."""
        self.pause(is_final=False)
        self._frames.write("tool", data={"name": name, "args": args, "result": result})

    def report(self, data: JsonObject) -> None:
        """Log the text so far as a message, then a report."""
        self.pause(is_final=True)
        self._summary = str(data.get("summary") or "")

    def end(self) -> None:
        """End the turn clean. Without a pause the whole printed text is one message."""
        if self._is_heard and (self._pending or not self._is_final):
            self._tell(is_final=True)

    def _tell(self, *, is_final: bool) -> None:
        text = "\n".join(self._pending).strip("\n") or self._summary
        data = {"text": text, "partial": False, "final": is_final}
        self._frames.write("session", kind="assistant_message", data=data)
        self._pending.clear()
        self._is_heard, self._is_final = True, is_final


def _perform(action: JsonObject, frames: FrameWriter, voice: _Voice) -> None:
    match action:
        case {"say": text}:
            voice.say(str(text))
        case {"sleep": milliseconds}:
            time.sleep(milliseconds / 1000)
        case {"write": path, **rest}:
            target, text = _confined(path), rest.get("text", "")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            voice.use("write", {"path": path, "content": text})
        case {"delete": path}:
            _confined(path).unlink()
            voice.use("delete", {"path": path})
        case {"tool": name, **rest}:
            voice.use(name, rest.get("args", {}), rest.get("result"))
        case {"report": data}:
            voice.report(data)
            frames.write("checkpoint", data=data)
        case {"marker": status}:
            voice.say(f"checkpoint_status: {status}")
        case {"fail": kind, **rest}:
            message = rest.get("message") or f"failure in the script: {kind}"
            frames.write("error", kind=str(kind), message=str(message), details={})
            raise _Over(1)
        case {"exit": code}:
            if code == 0:
                voice.end()
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


def _confined(path: str) -> Path:
    """Return `path` below the agent's directory, links followed. Raises PermissionError for a path outside."""
    base = Path.cwd().resolve()
    target = Path(os.path.realpath(base / path))  # `resolve` raises for links in a circle
    if base not in target.parents:
        raise PermissionError(1, "a scripted agent must stay in its directory", path)
    return target
