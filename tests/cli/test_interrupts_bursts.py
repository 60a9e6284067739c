"""Several signals are one interrupt: of a terminal that is closed after Ctrl-C, of a job that is stopped twice."""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.cli.interrupts import (
    SIGNALS,
    defer_interrupts,
    handle_interrupts,
    ignore_interrupts,
    raise_deferred,
)
from tests.stories.storyline import effects, python, shell, spec, until

pytestmark = pytest.mark.usefixtures("at_home")

# What it does at a moment that is named sends every signal.
EARLY = """
import os, sys
from pixirnb.cli import app
from pixirnb.cli.interrupts import SIGNALS
def at(event, arguments):
    if arguments and f"{event} {arguments[0]}".endswith(os.environ["MOMENT"]) and not sent:
        sent.append(event)
        [os.kill(os.getpid(), number) for number in SIGNALS]
sent = []
sys.addaudithook(at)
app.main()
"""


def burst(child: subprocess.Popen[str]) -> None:
    """Every signal, all of which the process finds when it goes on."""
    for number in (signal.SIGSTOP, *SIGNALS, signal.SIGCONT):
        child.send_signal(number)


def test_what_comes_while_an_interrupted_run_ends_takes_nothing_from_its_outcome(
    tmp_path: Path,
) -> None:
    """The step ignores the stop, so that the second burst falls into its grace."""
    stubborn = "trap '' TERM INT; echo a >> effects.txt; while :; do sleep 1; done"
    (tmp_path / "flow.json").write_text(json.dumps(spec(shell("a", stubborn))))
    child = python("-m", "pixirnb", "run", "flow.json", "--json", cwd=tmp_path)
    assert child.stderr is not None
    until(lambda: effects(tmp_path))
    assert child.stderr.readline().startswith("Started")
    burst(child)
    assert child.stderr.readline().startswith("Interrupted")
    burst(child)
    out, err = child.communicate()
    assert child.returncode == 130, err
    [run] = api.runs()
    document = json.loads(out)
    assert (document["status"], document["run_id"]) == ("interrupted", run["run_id"])
    assert {"code": "interrupted", "step": None} in document["reasons"]
    assert err == ""


def test_a_document_that_is_being_written_is_neither_cut_nor_followed_by_another(
    tmp_path: Path,
) -> None:
    (tmp_path / "flow.json").write_text(json.dumps(spec(*[shell(f"s{n}", ":") for n in range(9)])))
    child = python("-m", "pixirnb", "plan", "flow.json", "--json", cwd=tmp_path)
    assert child.stdout is not None
    size = fcntl.fcntl(child.stdout, fcntl.F_SETPIPE_SZ, 4096)
    until(lambda: waiting(child.stdout.fileno()) == size if child.stdout else False)
    burst(child)
    out, err = child.communicate()
    assert len(out) > size
    assert len(json.loads(out)["steps"]) == 9
    assert (child.returncode, err) == (0, "")


def waiting(descriptor: int) -> int:
    """How many bytes nobody has read yet."""
    given = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))
    return int.from_bytes(given, sys.byteorder)


@pytest.mark.parametrize("moment", ["import pixirnb.cli.command", "flow.json"])
@pytest.mark.parametrize("flag", ["--json", "--format=json"])
def test_what_comes_before_a_run_has_begun_is_told_in_one_document(
    tmp_path: Path, flag: str, moment: str
) -> None:
    (tmp_path / "flow.json").write_text(json.dumps(spec(shell("a", ":"))))
    child = python("-c", EARLY, "run", "flow.json", flag, cwd=tmp_path, env={"MOMENT": moment})
    out, err = child.communicate()
    assert (child.returncode, err) == (130, "")
    assert json.loads(out)["error"]["code"] == "interrupted"


@pytest.mark.parametrize("moment", ["/lock", "/log.jsonl"])
def test_what_comes_while_a_run_begins_ends_it_and_names_it(tmp_path: Path, moment: str) -> None:
    (tmp_path / "flow.json").write_text(json.dumps(spec(shell("a", "sleep 60"))))
    child = python("-c", EARLY, "run", "flow.json", "--json", cwd=tmp_path, env={"MOMENT": moment})
    out, err = child.communicate()
    [run] = api.runs()
    document = json.loads(out)
    assert (child.returncode, document["run_id"]) == (130, run["run_id"]), err
    assert (document["status"], run["status"]) == ("interrupted", "interrupted")
    [run_id] = [line.split()[1] for line in err.splitlines() if line.startswith("Started")]
    assert run_id == run["run_id"]


def test_a_deferred_interrupt_is_raised_later_and_the_next_at_once() -> None:
    kept = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        handle_interrupts()
        raise_deferred()
        defer_interrupts()
        signal.raise_signal(signal.SIGINT)
        ignore_interrupts(0.0)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            raise_deferred()
        raise_deferred()
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def test_whoever_is_impatient_is_heard_again() -> None:
    kept = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        handle_interrupts()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)  # the same interrupt
        ignore_interrupts()
        signal.raise_signal(signal.SIGINT)
        ignore_interrupts(0.0)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
