"""A program whose first thread exits while another goes on: `/proc/<pid>` shows a zombie, and it acts."""

from __future__ import annotations

import sys

_PROGRAM = """
import ctypes, os, sys, threading
def live():
    while open(f"/proc/{os.getpid()}/stat").read().rpartition(")")[2].split()[0] != "Z":
        pass
    try:
        exec(sys.argv[1], {})
    finally:
        os._exit(0)
threading.Thread(target=live).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
"""


def headless(code: str) -> list[str]:
    """The command that runs Python code so."""
    return [sys.executable, "-c", _PROGRAM, code]
