"""A process lives as long as one of its threads does, whatever is shown of the first."""

from __future__ import annotations

import os
import subprocess

from pixirnb.system.process_life import is_alive, look_up, read_given
from tests.headless import headless


def test_a_process_lives_on_in_its_threads_when_the_first_has_exited() -> None:
    env = {**os.environ, "GIVEN": "to all"}
    ghost = subprocess.Popen(
        headless("import time; print(flush=True); time.sleep(60)"), env=env, stdout=subprocess.PIPE
    )
    with ghost:
        assert ghost.stdout is not None
        ghost.stdout.readline()
        assert is_alive(ghost.pid)
        looks = look_up(ghost.pid)
        assert looks is not None
        assert looks[0] == os.getpid()
        assert b"GIVEN=to all" in read_given(ghost.pid, "environ").split(b"\0")
        assert b"-c" in read_given(ghost.pid, "cmdline").split(b"\0")
        ghost.kill()
        os.waitid(os.P_PID, ghost.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(ghost.pid), "all have exited, and nobody has asked for the status"
    assert look_up(ghost.pid) is None
