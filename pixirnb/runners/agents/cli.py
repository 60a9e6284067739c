"""A coding agent in its non-interactive mode: one command, its task as the only input, its output read as its preset says.

Text is passed on as it comes, standard error goes straight to ours. JSON lines become events of the session, their
text is shown. The end is the agent's own exit, never the end of a pipe; the reaper ends its remaining processes.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pixirnb.json_types import JsonObject
from pixirnb.runners.agents import child_output
from pixirnb.runners.agents.channel import Channel, Failed
from pixirnb.runners.agents.commands import AgentCommand, ended_badly, prepare_command
from pixirnb.runners.agents.json_lines import Transcript

LINE_LIMIT: Final = 16 * 1024 * 1024
"""Maximum number of bytes of a JSON line; a longer one is passed on as noise."""


def run(work: JsonObject, line: Channel) -> None:
    """Perform the work. Raises Failed: `exit`, `crash`, `agent_failed`, and the errors of `commands.prepare_command`."""
    with prepare_command(work) as command:
        if command.agent["output"] == "json-lines":
            _read_lines(command, work, line)
        else:
            code = _followed(command, work, lambda chunk: write_out(1, chunk))
            _conclude(code, command)


def _read_lines(command: AgentCommand, work: JsonObject, line: Channel) -> None:
    transcript = Transcript(command.agent["lines"], model=work["session"]["model"])
    reader = Lines(lambda text: _take(text, transcript, line))
    code = _followed(command, work, reader.feed)
    reader.end()
    is_clean = code == 0 and transcript.wrong is None
    for kind, data in transcript.end(is_clean=is_clean):
        line.tell(kind, **data)
    if transcript.wrong is not None:
        message = transcript.wrong.message or "no reason given"
        raise Failed(
            transcript.wrong.kind,
            f"agent {command.name} ended its turn with an error: {message}",
            {"exit_code": code, "said": message},
        )
    _conclude(code, command, transcript.error)


def _take(text: bytes, transcript: Transcript, line: Channel) -> None:
    """Handle one line of the agent. A line that is not a JSON object is noise, and kept with standard error."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        if text.strip():
            write_out(2, text + b"\n")
        return
    for kind, data in transcript.take(value):
        if isinstance(data, str):
            line.say(data)
        else:
            line.tell(kind, **data)


def _conclude(code: int, command: AgentCommand, message: str = "") -> None:
    failed = ended_badly(code, command.name)
    if failed is None:
        return
    if message:
        failed.message = f"{failed.message}; its last message: {message}"
        failed.details["said"] = message
    raise failed


def _followed(command: AgentCommand, work: JsonObject, take: Callable[[bytes], None]) -> int:
    """Run the command and pass on its standard output as it comes. Returns its exit code."""
    with (command.task or Path(os.devnull)).open("rb") as task:
        process = start_process(command, work, stdin=task, stdout=subprocess.PIPE)
    assert process.stdout is not None
    return child_output.follow(process, process.stdout.fileno(), take)


def start_process(command: AgentCommand, work: JsonObject, **pipes: Any) -> subprocess.Popen[bytes]:
    """Start the agent's process, leader of its own group, in the step's folder. Raises Failed (`spawn_failed`)."""
    try:
        return subprocess.Popen(
            command.argv, cwd=work["cwd"], bufsize=0, start_new_session=True, **pipes
        )
    except (OSError, ValueError) as error:
        message = getattr(error, "strerror", None) or str(error)
        raise Failed(
            "spawn_failed",
            f"agent {command.name} cannot be started: {message}",
            {"errno": getattr(error, "errno", None)},
        ) from error


def write_out(descriptor: int, data: bytes) -> None:
    """Write all of `data` unchanged."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class Lines:
    """A buffer that joins chunks to lines."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Add a chunk; every completed line is passed on."""
        start, at = 0, len(self._pending)
        self._pending += chunk
        while (end := self._pending.find(b"\n", at)) >= 0:
            self._take(bytes(self._pending[start:end]))
            start = at = end + 1
        del self._pending[:start]
        if len(self._pending) > LINE_LIMIT:
            self.end()

    def end(self) -> None:
        """Pass on the last, unfinished line."""
        if self._pending:
            rest, self._pending = bytes(self._pending), bytearray()
            self._take(rest)
