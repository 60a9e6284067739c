"""Programs of their own that fork, let their children fail under a tap, and say what they found as one JSON document."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pixirnb

_HEAD = """
import os, sys
from harness.crash_points.tap import Tap
tap = Tap()
tap.install()
import json, shutil
from pathlib import Path
from harness.crash_points.durable import Durable
from harness.crash_points.faults import Fault
from pixirnb.history.events import Event
from pixirnb.store.file_store import FileStore
from pixirnb.testing.contracts.store import RUN, story


def forked(call):
    pid = os.fork()
    if pid == 0:
        try:
            call()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

"""


def drilled(program: str, *arguments: str) -> dict[str, Any]:
    """Run a program, which knows `tap`, `forked` and what is imported above; return what it printed."""
    ended = subprocess.run(
        [sys.executable, "-c", _HEAD + program, *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(pixirnb.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    found: dict[str, Any] = json.loads(ended.stdout)
    return found
