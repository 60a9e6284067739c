"""People press Ctrl-C again, close the pipe, and ask for things twice: each gets one honest answer."""

from __future__ import annotations

import array
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

import pixirnb
from pixirnb import api
from pixirnb.machine.requests import Request, grant
from tests.stories.storyline import effects, facts, kinds, python, shell, spec, until
from tests.sweeps import first_of
from tests.verbs.command import command

pytestmark = [pytest.mark.story, pytest.mark.usefixtures("at_home")]


def test_however_often_ctrl_c_is_pressed_it_leaves_one_document_and_a_log_that_says_so(
    tmp_path: Path,
) -> None:
    """The step ignores the polite stop, so that later ones fall into its grace."""
    stubborn = "trap '' TERM INT; echo a >> effects.txt; sleep 7305 & while :; do wait; done"
    (tmp_path / "flow.json").write_text(json.dumps(spec(shell("a", stubborn))))
    child = python("-m", "pixirnb", "run", "flow.json", "--json", cwd=tmp_path)
    until(lambda: effects(tmp_path))
    child.send_signal(signal.SIGINT)
    assert child.stderr is not None
    until(lambda: "Interrupted" in (child.stderr.readline() if child.stderr else ""))
    while child.poll() is None:
        child.send_signal(signal.SIGINT)
        time.sleep(0.2)
    out, err = child.communicate()
    assert child.returncode == 130
    assert json.loads(out)["ok"] is False
    assert "Traceback" not in err
    [run] = api.runs()
    assert run["status"] == "interrupted"
    assert kinds(api.open_run(run["run_id"]))[-1] == "run_finished"


def test_a_reader_that_leaves_ends_the_run_in_order(tmp_path: Path) -> None:
    flow = spec(shell("a", "while :; do echo line; sleep 0.05; done"), shell("b", "true", "a"))
    (tmp_path / "flow.json").write_text(json.dumps(flow))
    child = python("-m", "pixirnb", "run", "flow.json", "--tail", cwd=tmp_path)
    assert child.stdout is not None
    while "line" not in child.stdout.readline():
        pass
    child.stdout.close()
    child.stdout = None
    _, err = child.communicate()
    assert child.returncode == 5
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    [run] = api.runs()
    assert run["status"] == "interrupted"


def waiting_in(pipe: int) -> int:
    """The bytes that nobody has read yet."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def test_ctrl_c_stops_the_steps_though_nobody_reads_the_output(tmp_path: Path) -> None:
    flow = spec(shell("a", "yes | head -c 1000000"), shell("b", "touch begun; sleep 600"))
    (tmp_path / "flow.json").write_text(json.dumps(flow))
    read, write = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-m", "pixirnb", "run", "flow.json", "--tail"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(pixirnb.__file__).parents[1])},
        stdout=write,
        stderr=write,
    )
    os.close(write)
    until((tmp_path / "begun").exists)
    full = fcntl.fcntl(read, fcntl.F_GETPIPE_SZ) - 256  # a line that did not fit leaves some room
    until(lambda: waiting_in(read) > full)
    child.send_signal(signal.SIGINT)
    until(lambda: [run["status"] for run in api.runs()] == ["interrupted"])
    os.close(read)
    child.wait()


def test_of_several_decisions_at_once_the_first_stands(tmp_path: Path) -> None:
    gate = {"id": "gate", "ask": {"question": "?"}}
    after = shell("b", "echo {{ steps.gate.output }}", "gate")
    run = api.start(spec(gate, after, shell("c", "until test -e go; do sleep 0.02; done")))
    until(lambda: "decision_requested" in kinds(run))
    assert run.live is not None
    plan, state = run.compiled(), run.state
    said = [
        Request(f"{n:016x}", "decide", {"step": "gate", "verdict": verdict, "value": n})
        for n, verdict in enumerate(["accept", "accept", "reject"], start=1)
    ]
    for fact in [draft for each in said for draft in grant(each, plan, state).drafts]:
        run.live.record([fact])
    (tmp_path / "go").touch()
    assert run.wait().status == "completed"
    assert run.value("b") == "1"
    assert len([f for f in facts(run, "checkpoint_decided") if f["step"] == "gate"]) == 1
    assert api.resume(run.id).is_no_op


def test_a_step_that_asks_before_it_runs_again_after_a_death_is_not_run_unasked(
    tmp_path: Path,
) -> None:
    run = api.start(spec(shell("a", "echo a >> effects.txt", rerun="ask"), shell("b", "true", "a")))
    assert run.wait().ok
    log = run.folder / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:2]))
    (run.folder / "seal.json").unlink()  # a dead process leaves none that says more
    parked = api.resume(run.id)
    assert parked.wait().status == "needs_orchestrator"
    assert effects(tmp_path) == ["a"]
    assert [w["code"] for w in parked.outcome.warnings] == ["side_effects_may_be_partial"]
    for shown in (command("show", run.id).out, command("show", run.id, "a").out):
        assert shown.count("was running when its process died") == 1, "one fact once"
    accepted = parked.decide("a", "accept", note="looked at it").wait()
    assert accepted.status == "completed"
    assert effects(tmp_path) == ["a"]
    log.write_bytes(b"".join(lines[:2]))
    (run.folder / "seal.json").unlink()  # a dead process leaves none that says more
    api.resume(run.id).wait()
    assert api.resume(run.id, from_step="a").wait().status == "completed"
    assert effects(tmp_path) == ["a", "a"]


def test_a_finished_run_has_one_end_however_often_it_is_closed(tmp_path: Path) -> None:
    run = api.start(spec(shell("a", "true")))
    run.wait()
    for _ in range(3):
        run.wait()
    assert kinds(run).count("run_finished") == 1


WAYS = {
    "a command": 'subprocess.run(["sh", "-c", WORK])',
    "a shell": "os.system(WORK)",
    "a spawned process": 'os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", WORK], os.environ), 0)',
}


@pytest.mark.parametrize("way", first_of(WAYS.values()), ids=WAYS)
def test_an_interrupt_of_another_cell_cuts_nothing_off_that_a_step_in_a_thread_has_started(
    tmp_path: Path, way: str
) -> None:
    """A front-end interrupts the whole process group of its kernel."""
    (tmp_path / "steps.py").write_text(
        'import os, subprocess\nWORK = "touch begun; sleep 1; echo done > built.txt"\n'
        f"def build():\n    {way}\n    return 'built'\n"
    )
    (tmp_path / "kernel.py").write_text(
        "import time, pixirnb\n"
        'run = pixirnb.start({"name": "w", "steps": [{"id": "a", "call": "steps:build"}]})\n'
        "try:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print(run.wait(60).status)\n"
    )
    kernel = python("kernel.py", cwd=tmp_path, start_new_session=True)
    until((tmp_path / "begun").exists)
    os.killpg(kernel.pid, signal.SIGINT)
    out, _ = kernel.communicate(timeout=60)
    assert out == "completed\n"
    assert (tmp_path / "built.txt").read_text() == "done\n"
