"""A coding agent that needs a terminal: it gets one, with its prompt as an argument and no input.

What it writes goes to the output log with its escape sequences; its message is the plain text of it. It ends by its
exit.
"""

from __future__ import annotations

import codecs
import fcntl
import os
import struct
import termios
from collections import deque
from typing import Final

from pixirnb.json_types import JsonObject
from pixirnb.runners.agents import child_output
from pixirnb.runners.agents.channel import Channel
from pixirnb.runners.agents.cli import start_process, write_out
from pixirnb.runners.agents.commands import ended_badly, prepare_command
from pixirnb.runners.output.unseen import plain

ROWS: Final = 50
COLUMNS: Final = 200
"""Width of the terminal: wide, because broken sentences cannot be joined again."""
MESSAGE_LIMIT: Final = 4 * 1024 * 1024
"""Maximum number of characters of the message: the last ones."""


def run(work: JsonObject, line: Channel) -> None:
    """Perform the work. Raises Failed: `exit`, `crash`, and the errors of `commands.prepare_command`."""
    os.environ.setdefault("TERM", "xterm-256color")
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    written: deque[str] = deque()
    size = 0

    def take(chunk: bytes) -> None:
        nonlocal size
        text = decoder.decode(chunk)
        written.append(text)
        size += len(text)
        while size - len(written[0]) > MESSAGE_LIMIT:
            size -= len(written.popleft())
        write_out(1, chunk)

    with prepare_command(work) as command:
        ours, theirs = _terminal()
        try:
            process = start_process(
                command,
                work,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                # Run before the agent is: a terminal is its own only if the leader of its session asks for it.
                preexec_fn=_take_terminal,
            )
        finally:
            os.close(theirs)
        code = child_output.follow(process, ours, take)
        failed = ended_badly(code, command.name)
    text = plain("".join(written)).strip()
    if failed is None:
        line.tell("assistant_message", text=text, partial=False, final=True)
        return
    if text:
        line.tell("assistant_message", text=text, partial=True, final=False)
    raise failed


def _terminal() -> tuple[int, int]:
    """Return our side and the agent's side of a new terminal, sized, without echo."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    modes = termios.tcgetattr(theirs)
    modes[3] &= ~(termios.ECHO | termios.ECHONL)
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    return ours, theirs


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
