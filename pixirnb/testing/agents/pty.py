"""A fake coding agent that insists on a terminal: it paints in colours, turns a spinner, and refuses to work on a pipe.

    python -m pixirnb.testing.agents.pty [ACT…] -- PROMPT_FILE

Acts: `say:TEXT` in green · `hang` · `exit:CODE`. It says the size of its terminal first, and whether it is its own.
"""

from __future__ import annotations

import os
import sys
import time


def main(arguments: list[str]) -> int:
    """Do the acts, in order. Returns the exit code."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        sys.stderr.write("this agent needs a terminal\n")
        return 2
    size = os.get_terminal_size()
    is_own = os.getpid() == os.tcgetpgrp(0) and bool(os.ttyname(0))
    _paint(f"\x1b]0;fake\x07\x1b[2J{size.lines}x{size.columns}, own: {is_own}\r\n")
    acts = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for act in acts:
        name, _, rest = act.partition(":")
        match name:
            case "say":
                for wheel in "|/-":
                    _paint(f"\r{wheel} working")
                _paint(f"\r\x1b[1;32m{rest}\x1b[0m\r\n")
            case "hang":
                while True:
                    time.sleep(1)
            case "exit":
                return int(rest)
            case _:
                sys.exit(f"no such act: {name}")
    return 0


def _paint(text: str) -> None:
    sys.stdout.write(text.replace("\r\n", "\n"))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
