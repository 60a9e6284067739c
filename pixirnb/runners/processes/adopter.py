"""The process that adopts the orphans of this one: the nearest subreaper above it, or the system's init.

No system says which processes are subreapers (`tini -s`, `slurmstepd`, `systemd --user`). So one is orphaned on
purpose, and the system asked for its parent.

    this process ── starts ──▶ sh ── starts ──▶ reader of a pipe that we hold
                               sh ends ──▶ the reader's parent is the adopter; the pipe closes, the reader ends
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

from pixirnb.system.process_life import look_up

_INIT: Final = 1
# The subshell reads a descriptor of its own: that of what a shell starts in the background is /dev/null.
_ORPHAN: Final = "exec 3<&0; { read -r _; } <&3 >/dev/null 2>&1 & echo $!"
_PATIENCE_S: Final = 5.0


def adopter() -> int | None:
    """Return the id of the process that adopts orphans of this one now; None if that cannot be found out.

    It may be this process itself. Blocks for some milliseconds.
    """
    if sys.platform != "linux":
        return _INIT  # nothing else adopts
    try:
        with subprocess.Popen(
            ["/bin/sh", "-c", _ORPHAN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,  # else an interrupt at the terminal ends it
        ) as shell:
            return _parent_of_orphan(shell)
    except OSError:
        return None  # no process can be started


def _parent_of_orphan(shell: subprocess.Popen[bytes]) -> int | None:
    assert shell.stdin is not None
    assert shell.stdout is not None
    try:
        shell.wait(_PATIENCE_S)
        orphan = int(shell.stdout.readline())
    except (subprocess.TimeoutExpired, ValueError):
        shell.kill()
        return None
    looks = look_up(orphan)
    shell.stdin.close()
    parent = None if looks is None else looks[0]
    if parent == os.getpid():
        try:
            os.waitpid(orphan, 0)  # nobody else will
        except ChildProcessError:
            pass  # somebody did
    return parent
