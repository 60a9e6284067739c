"""TAB in a real bash: files, runs, steps, checkpoints, statuses, verdicts and examples are completed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from pixirnb import api
from pixirnb.cli.complete import candidates
from pixirnb.history.codec import GENESIS, decode_lines, encode
from tests.verbs.command import command, written

FLOW = """name: pick
steps:
  - {id: gate, ask: {question: "Ship?"}}
  - {id: gather, run: "true", posture: read_only}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a workflow and its run; `pixirnb` is on PATH."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    Path("bin").mkdir()
    program = written(
        Path("bin"),
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "from pixirnb.cli.app import main; main()" "$@"\n',
        "pixirnb",
    )
    program.chmod(0o755)
    Path("pipelines").mkdir()
    written(Path(), command("completion", "bash").out, "completion.bash")
    command("run", written(tmp_path, FLOW, "pick.yaml"))
    return tmp_path


def tabbed(*lines: str) -> list[str]:
    """What a bash makes of each line after TAB, without its last blank."""
    master, slave = os.openpty()
    shell = subprocess.Popen(
        ["bash", "--norc", "-i"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        env={**os.environ, "INPUTRC": "/dev/null", "TERM": "dumb"},
    )
    os.close(slave)
    keep = 'keep() { printf "%s\\n" "$READLINE_LINE" >> shown; READLINE_LINE=; }'
    setup = f"source completion.bash; {keep}; bind -x '\"\\C-p\": keep'\n"
    os.write(master, setup.encode())
    os.write(master, "".join(f"{line}\t\x10" for line in lines).encode() + b"exit\n")
    drained = b""
    try:
        while chunk := os.read(master, 4096):
            drained += chunk
    except OSError:  # its end
        pass
    shell.wait(60)
    os.close(master)
    return [each.rstrip() for each in Path("shown").read_text(encoding="utf-8").splitlines()]


@pytest.mark.usefixtures("home")
def test_every_kind_of_word_is_completed() -> None:
    lines = {
        "pixirnb run pic": "pixirnb run pick.yaml",
        "pixirnb resume @last --spec pic": "pixirnb resume @last --spec pick.yaml",
        "pixirnb --state bin --junit pipe": "pixirnb --state bin --junit pipelines/",
        "pixirnb resume @l": "pixirnb resume @last",
        "pixirnb logs pick gath": "pixirnb logs pick gather",
        "pixirnb resume pick --from gath": "pixirnb resume pick --from gather",
        "pixirnb run pick.yaml gath": "pixirnb run pick.yaml gather",
        "pixirnb decide pick gate acc": "pixirnb decide pick gate accept",
        "pixirnb runs --status=failed,par": "pixirnb runs --status=failed,partial",
        "pixirnb examples needs": "pixirnb examples needs_decision",
        "pixirnb plan pick.yaml --form": "pixirnb plan pick.yaml --format",
    }
    assert dict(zip(lines, tabbed(*lines), strict=True)) == lines


def test_a_name_from_a_made_up_log_that_a_shell_would_run_is_not_offered(home: Path) -> None:
    (run,) = (home / ".pixirnb" / "runs").iterdir()
    previous, forged = GENESIS, b""
    for event in decode_lines((run / "log.jsonl").read_bytes()).events:
        named = {"name": "evil$(touch${IFS}INJ)"} if event.kind == "run_started" else {}
        row, previous = encode(replace(event, data={**event.data, **named}), previous)
        forged += row
    (run / "log.jsonl").write_bytes(forged)
    (run / "seal.json").unlink(missing_ok=True)
    (home / ".pixirnb" / "catalogue.json").unlink(missing_ok=True)
    assert [row["name"] for row in api.runs()] == ["evil$(touch${IFS}INJ)"]
    offered = candidates(["show", ""], "")
    assert "@last" in offered
    assert not [word for word in offered if "$" in word]


def test_steps_of_a_pipe_are_not_offered_and_nothing_waits_for_it(home: Path) -> None:
    os.mkfifo("pipe.yaml")
    assert candidates(["run", "pick.yaml", ""], "") == ["gate", "gather"]
    assert candidates(["run", "pipe.yaml", ""], "") == []
