"""A secret that is painted in two colours, by an agent in a terminal or by a command, stands readable nowhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api

SECRET = "hunter2-abcdef-99"
PAINT = (
    "import os, sys; s = os.environ['BOX_PASSWORD']; "
    "sys.stdout.write('\\x1b[32mso: ' + s[:5] + '\\x1b[1m' + s[5:9] + '\\x1b[0;4m' + s[9:] + ' \\x1b[0mend\\n\\x1b[?25h')"
)


def test_no_colour_inside_makes_a_secret_readable_and_no_summary_is_painted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOX_PASSWORD", SECRET)
    command = [sys.executable, "-c", PAINT]
    agent = {"command": command, "pass_env": ["BOX_PASSWORD"], "posture": "read_only"}
    spec: dict[str, Any] = {
        "name": "painted",
        "agents": {
            "p": {**agent, "runner": "pty", "command": [*command, "{prompt_file}"]},
            "c": {**agent, "runner": "cli"},
        },
        "steps": [
            {"id": "p", "task": "Paint.", "agent": "p", "workspace": "shared"},
            {"id": "c", "task": "Paint.", "agent": "c", "workspace": "shared"},
            {"id": "s", "run": command},
        ],
    }
    run = api.start(spec, workspace=tmp_path)
    run.wait()
    for name in ("p", "c", "s"):
        assert run.outcome.step(name).summary == "so: *** end"
        printed = run.output(name)
        assert "\x1b[32mso: ***\x1b[1m\x1b[0;4m \x1b[0mend" in printed
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    for piece in (SECRET, SECRET[5:9], SECRET[9:]):
        assert not [data for data in kept if piece.encode() in data]
