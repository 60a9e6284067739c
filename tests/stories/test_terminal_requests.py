"""A person at a terminal is told what an agent asks, as it asks: which step, what it wants, and what to type.

Told with a pty of 80 columns.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

import pytest

import pixirnb
from pixirnb import api
from tests.stories.storyline import spec

pytestmark = pytest.mark.story

ROOT = Path(pixirnb.__file__).parents[1]
COLUMNS = 80
LONG = "a-step-with-a-name-that-fills-a-good-part-of-a-line"
SLOW_DISK = """
import os, pathlib, runpy, time
sync, late = os.fdatasync, []

def sync_late(descriptor):
    if not late and b"permission_requested" in pathlib.Path(f"/dev/fd/{descriptor}").read_bytes():
        late.append(time.sleep(4))
    sync(descriptor)

os.fdatasync = sync_late
runpy.run_module("pixirnb", run_name="__main__")
"""
"""A program whose request reaches the disk long after the terminal looks at the run again."""
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def workflow(folder: Path) -> Path:
    command = [
        *(sys.executable, "-m", "pixirnb.testing.agents.acp"),
        *("ask:edit:src/a.py", "say:Done.\ncheckpoint_status: checkpoint_ready"),
    ]
    agent = {"runner": "acp", "command": command, "posture": "writer", "pass_env": ["PYTHONPATH"]}
    steps = (
        {
            "id": "edit",
            "task": "Edit.",
            "agent": "coder",
            "workspace": "shared",
            "write_set": ["src/**"],
        },
        {"id": LONG, "run": "until [ -e src/a.py ]; do sleep 0.1; done; sleep 1"},
    )
    story = spec(*steps, agents={"coder": {**agent, "permission_mode": "ask"}})
    path = folder / "flow.json"
    path.write_text(json.dumps(story), encoding="utf-8")
    (folder / "src").mkdir()
    return path


class Terminal:
    """`pixirnb TOKENS…` in a terminal of 80 columns."""

    def __init__(self, *tokens: str, folder: Path, program: Sequence[str]) -> None:
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        shed = {"COLUMNS", "LINES", "NO_COLOR", "TERM"}  # which would speak over the terminal
        kept = {name: value for name, value in os.environ.items() if name not in shed}
        self.process = subprocess.Popen(
            [sys.executable, *program, *tokens],
            cwd=folder,
            env={**kept, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""

    def read(self, until: str = "") -> str:
        """All that was shown, once `until` was; without, once the command is over."""
        while not until or until not in self.shown:
            try:
                piece = os.read(self._ours, 65536)
            except OSError:  # nobody holds the other end any more
                break
            if not piece:
                break
            self.shown += piece.decode("utf-8", errors="replace")
        return self.shown

    def close(self) -> None:
        """Ends it in good order, where it has not."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.read()
        self.process.wait()
        os.close(self._ours)


@pytest.mark.parametrize(
    ("program", "options"),
    [(["-m", "pixirnb"], []), (["-m", "pixirnb"], ["--tail"]), (["-c", SLOW_DISK], [])],
    ids=["plain", "tail", "slow disk"],
)
def test_what_an_agent_asks_stands_on_a_line_of_its_own_while_it_waits(
    tmp_path: Path, program: list[str], options: list[str]
) -> None:
    tokens = ("run", str(workflow(tmp_path)), *options)
    terminal = Terminal(*tokens, folder=tmp_path, program=program)
    try:
        terminal.read(until="or deny")
        [row] = api.runs(workspace=tmp_path)
        run = api.open_run(row["run_id"], state=tmp_path / ".pixirnb")
        [asked] = run.state.open_permissions()
        request = str(asked["request_id"])
        told = f"◇ edit asks to use acp:edit src/a.py → pixirnb approve {request}, or deny"
        assert told in SEQUENCE.sub("", terminal.shown)
        run.approve(request)
        shown = terminal.read()
    finally:
        terminal.close()
    assert terminal.process.returncode == 0
    assert SEQUENCE.sub("", shown).count("asks to use") == 1
    assert ("allowed by" in shown) is bool(options)
    lively = [piece for piece in re.split(r"[\r\n]", SEQUENCE.sub("", shown)) if "⠀" < piece < "⣿"]
    assert any("needs permission" in piece for piece in lively)
    assert max(map(len, lively)) < COLUMNS
