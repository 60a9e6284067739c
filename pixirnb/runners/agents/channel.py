"""The channel between an agent process and the engine: events, questions, and the program to run.

    tell   an event of its session        say   text of the agent, on standard output
    ask    a question that is waited for: `commit`, `permit`, `call`

Frames go out on the report pipe, answers come back on theirs, one JSON object a line. A program is a module here with
`run(header, line) -> None`; it raises `Failed` for known failures.

An approval for one call is an earlier one for this step, else a person is asked.
The session records who approved, and on which request. Requests have one form for all tools.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.runners.processes.frames import FrameWriter


@dataclass(eq=False)
class Failed(Exception):
    """Raised when the turn did not end clean. `kind` is the attempt's error kind."""

    kind: str
    message: str
    details: JsonObject = field(default_factory=dict)


class Channel:
    """Channel of a child to the engine, for any thread of the process; an answer wakes the thread that asked."""

    def __init__(self, report: int, answers: int) -> None:
        """Open the channel on the descriptors of the two pipes."""
        self._frames = FrameWriter(report)
        self._answers = os.fdopen(answers, "rb", closefd=False)
        self._lock = threading.Lock()
        self._question_count = 0
        self._waiting: dict[int, tuple[threading.Event, list[JsonObject]]] = {}
        self._is_over = False
        threading.Thread(target=self._listen, name="answers", daemon=True).start()

    def tell(self, kind: str, **data: Any) -> None:
        """Report an event of the session; it is in the log with the next `commit`, or soon."""
        self._frames.write("session", kind=kind, data=data)

    def say(self, text: str) -> None:
        """Report text of the agent's own, shown as it comes."""
        data = memoryview(text.encode("utf-8", errors="replace"))
        while data:
            data = data[os.write(1, data) :]

    def progress(self, message: str, fraction: float | None = None) -> None:
        """Show progress; it is never kept."""
        self._frames.write("progress", fraction=fraction, message=message)

    def report(self, data: JsonObject) -> None:
        """Send the agent's structured report on its checkpoint."""
        self._frames.write("checkpoint", data=data)

    def commit(self) -> None:
        """Return when all logged events are on disk. Raises Failed."""
        self.ask("commit", {})

    def ask(self, question: str, data: JsonObject) -> JsonObject:
        """Return the engine's answer. Blocks. Raises Failed if it refuses (`{"error": …}`), or is gone."""
        answered, slot = threading.Event(), []  # type: tuple[threading.Event, list[JsonObject]]
        with self._lock:
            if self._is_over:
                raise Failed("lost", "the engine has ended")
            self._question_count += 1
            number = self._question_count
            self._waiting[number] = (answered, slot)
        self._frames.write("ask", id=number, question=question, data=data)
        answered.wait()
        if not slot:
            raise Failed("lost", "the engine has ended")
        answer = slot[0]
        error = answer.get("error")
        if isinstance(error, dict) and "ok" not in answer:
            message = f"{error.get('message', '')} {error.get('fix', '')}".strip()
            raise Failed(
                str(error.get("code", "refused")), message, dict(error.get("details") or {})
            )
        return answer

    def end(self, failed: Failed | None) -> None:
        """Send the end of the program."""
        if failed is None:
            self._frames.write("value", stored=None, has_data=False)
        else:
            self._frames.write(
                "error", kind=failed.kind, message=failed.message, details=failed.details
            )

    def _listen(self) -> None:
        for line in self._answers:
            heard = json.loads(line)
            with self._lock:
                waiting = self._waiting.pop(heard["id"], None)
            if waiting is not None:
                waiting[1].append(heard["answer"])
                waiting[0].set()
        with self._lock:
            self._is_over = True
            left, self._waiting = self._waiting, {}
        for answered, _ in left.values():
            answered.set()


PROGRAMS: Final = {
    "acp": "pixirnb.runners.agents.acp.program",
    "cli": "pixirnb.runners.agents.cli",
    "llm": "pixirnb.runners.agents.llm.program",
    "pty": "pixirnb.runners.agents.pty",
}


def run_agent(header: JsonObject, tail: bytes, report: int, answers: int) -> int:
    """Run the program that `header` names; `tail` is the work, as JSON. Returns the exit code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv[:] = [f"pixirnb-{header['program']}"]
    for descriptor in (report, answers):
        os.set_inheritable(descriptor, False)
    line = Channel(report, answers)
    try:
        program = importlib.import_module(PROGRAMS[header["program"]])
        program.run(json.loads(tail), line)
    except Failed as failed:
        line.end(failed)
        return 1
    except ImportError as error:
        extra = header["program"] if header["program"] in {"llm", "acp"} else ""
        hint = f"; run `pip install 'pixirnb[{extra}]'`" if extra else ""
        line.end(Failed("extra_missing", f"{error}{hint}"))
        return 1
    line.end(None)
    return 0


class GrantChannel(Protocol):
    """The part of a `Channel` needed to reuse an approval."""

    def tell(self, kind: str, **data: Any) -> None:
        """Log an event of the session."""
        ...


class PermissionChannel(GrantChannel, Protocol):
    """The part of a `Channel` needed to ask a person."""

    def ask(self, question: str, data: JsonObject) -> JsonObject:
        """Return the engine's answer. Blocks. Raises Failed if it is gone."""
        ...


def refusal_of(line: PermissionChannel, requested: JsonObject) -> str | None:
    """Ask a person and wait: return None if allowed, else the sentence that it is not.

    `requested`: `{tool, args, digest, call_id, why}`. Raises Failed(`permission_required`) if no person can be asked.
    """
    answer = line.ask("permit", requested)
    verdict, note = answer.get("verdict"), str(answer.get("note") or "").strip()
    if verdict == "allow":
        return None
    if verdict == "unattended":
        request = str(answer.get("request_id") or "")
        raise Failed(
            "permission_required",
            f"approval required: {requested['why']} (no person was available); "
            f"run `pixirnb approve {request}` or `pixirnb deny {request}`",
            {
                "request_id": request,
                "tool": requested["tool"],
                "digest": requested["digest"],
                "wanted": requested["why"],
            },
        )
    return "A person denied this." + (f" Their note: {note}" if note else "")


class PriorApprovals:
    """The earlier approvals of one attempt."""

    def __init__(self, work: JsonMapping, line: GrantChannel) -> None:
        """Read the approvals of `work`, a program's input in `runners.agents`; its `granted` has `{request_id, by,
        note}` by digest.
        """
        self._known: Mapping[str, JsonObject] = work.get("granted") or {}
        self._is_asking = work["session"].get("permission_mode") == "ask"
        self._line = line

    def tell(self, tool: str, args: Any, digest: str, call_id: str) -> bool:
        """Log who approved a call; False without an earlier approval."""
        known = self._known.get(digest)
        if known is None or not self._is_asking:
            return False
        request = {"request_id": known["request_id"]}
        self._line.tell("permission_requested", **request, call_id=call_id, tool=tool, args=args)
        words = {"verdict": "allow", "by": known["by"], "note": known["note"]}
        self._line.tell("permission_decided", **request, **words)
        return True
