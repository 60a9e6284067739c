"""Ctrl-C while a run is only looked at ends the look; a reader who leaves a help page is no failure."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pixirnb import api
from tests.verbs.command import written

PIXIRNB = [sys.executable, "-c", "from pixirnb.cli.app import main; main()"]


@pytest.mark.parametrize(
    "words", [("logs", "@last", "slow", "-f"), ("events", "@last", "-f"), ("watch", "@last")]
)
def test_an_interrupted_look_says_that_the_run_continues(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    step = '{id: slow, run: "echo on; until test -e go; do sleep 0.05; done", posture: read_only}'
    run = api.start(written(tmp_path, f"name: slow\nsteps: [{step}]\n"))
    pipe = subprocess.PIPE
    try:
        with subprocess.Popen([*PIXIRNB, *words], stdout=pipe, stderr=pipe, text=True) as looking:
            assert looking.stdout is not None
            assert looking.stdout.readline()
            looking.send_signal(signal.SIGINT)
            _, err = looking.communicate(timeout=60)
        assert err.endswith(f"{run.id}. The run continues.\n")
        assert looking.returncode == 130
    finally:
        Path("go").touch()
        assert run.wait(60).status == "completed"


@pytest.mark.parametrize("words", ["--help", "run --help"])
def test_a_help_page_may_be_left_after_its_first_line(words: str) -> None:
    script = f'"$@" {words} | head -1; echo "${{PIPESTATUS[@]}}"'
    said = subprocess.run(
        ["bash", "-c", script, "bash", *PIXIRNB], capture_output=True, text=True, check=True
    )
    assert said.stdout.endswith("\n0 0\n")


CAUGHT = """
import sys
from pydantic_core import SchemaError
from pixirnb.cli import app, command

def load(*_):
    raise SchemaError("Error building `model` serializer: KeyboardInterrupt: ")

command.perform_verb = load
sys.exit(app.perform(["runs"]))
"""


def test_an_interrupt_that_compiled_code_took_for_an_error_of_its_own_is_one() -> None:
    said = subprocess.run(
        [sys.executable, "-c", CAUGHT], capture_output=True, text=True, check=False
    )
    assert said.returncode == 130
    assert "interrupted before the command finished" in said.stderr
    assert "internal_error" not in said.stderr
