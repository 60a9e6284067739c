"""What a stranger found: each of these once hung, broke or said more than it knew."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from tests.stories.storyline import ROOT, ended, python, shell, spec, until

pytestmark = pytest.mark.story

NAP = """def nap():
    import pathlib, time
    while not pathlib.Path({go!r}).exists():
        time.sleep(0.02)
    return 1
"""


def nap(workspace: Path, **fields: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """A step in a thread that outlives its time until a file `go` is there, and its function."""
    step = {"id": "nap", "call": ":nap", "timeout": 0.2, **fields}
    return step, {":nap": NAP.format(go=str(workspace / "go"))}


def test_what_waited_for_a_detached_thread_s_claim_starts_when_it_returns(tmp_path: Path) -> None:
    step, functions = nap(tmp_path, read_set=["x/**"])
    writes = shell("writes", "echo done", write_set=["x/**"])
    spec = {"name": "t", "steps": [step, writes]}
    run = api.start(spec, workspace=tmp_path, functions=functions)
    until(lambda: run.outcome.step("nap").subagent_status == "detached")
    (tmp_path / "go").touch()
    assert run.wait(timeout=20).step("writes").checkpoint_status == "checkpoint_ready"


def test_a_run_resumed_beside_its_detached_thread_goes_on_when_that_returns(tmp_path: Path) -> None:
    step, functions = nap(tmp_path)
    run = api.start({"name": "t", "steps": [step]}, workspace=tmp_path, functions=functions)
    assert run.wait().step("nap").subagent_status == "detached"
    resumed = api.resume(run.id, workspace=tmp_path)
    (tmp_path / "go").touch()
    outcome = resumed.wait(timeout=20)
    assert (outcome.status, outcome.step("nap").attempt) == ("completed", 2)


def test_what_a_step_in_a_thread_starts_does_not_speak_into_the_json_document(
    tmp_path: Path,
) -> None:
    (tmp_path / "loud.py").write_text("import os\ndef cry():\n    os.system('echo loud')\n")
    (tmp_path / "flow.json").write_text(json.dumps(spec({"id": "a", "call": "loud:cry"})))
    command = python("-m", "pixirnb", "run", "flow.json", "--json", cwd=tmp_path)
    out, err = command.communicate()
    assert json.loads(out)["status"] == "completed"
    assert "loud" in err


@pytest.mark.parametrize("verb", [["runs"], ["runs", "--json"], ["show", "nobody", "--json"]])
def test_an_answer_nobody_can_store_is_no_traceback(tmp_path: Path, verb: list[str]) -> None:
    line = 'exec "$0" "$@" > /dev/full'
    words = ["sh", "-c", line, sys.executable, "-m", "pixirnb", *verb]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (5, "")


def test_an_output_nested_too_deep_is_invalid_and_no_failure_of_ours(tmp_path: Path) -> None:
    deep = 'python3 -c \'print("[" * 5000 + "]" * 5000)\''
    _, outcome = ended(tmp_path, shell("deep", deep, output={"type": "array"}))
    error = outcome.step("deep").error
    assert error is not None
    assert error["kind"] == "output_invalid"


def test_a_step_ended_with_the_run_s_time_is_not_said_to_have_used_up_its_own(
    tmp_path: Path,
) -> None:
    _, outcome = ended(tmp_path, shell("long", "sleep 60"), timeout=0.3)
    error = outcome.step("long").error
    assert error is not None
    assert (error["kind"], "whole run" in error["message"]) == ("timeout", True)
    assert "1800" not in error["message"]


def test_a_handle_of_a_run_taken_up_again_by_another_shows_how_it_stands_now(
    tmp_path: Path,
) -> None:
    (tmp_path / "flag").touch()
    run, outcome = ended(tmp_path, shell("look", "test -e flag"))
    assert outcome.ok
    (tmp_path / "flag").unlink()
    again = api.resume(run.id, from_step="look", workspace=tmp_path)
    assert again.wait().status == "failed"
    assert (run.status, run.state.steps["look"].attempt) == ("failed", 2)


def test_what_a_thread_prints_that_a_step_left_behind_is_not_in_the_document(
    tmp_path: Path,
) -> None:
    (tmp_path / "m.py").write_text(
        "import pathlib, threading, time\n"
        "def late():\n"
        "    while True:\n"
        "        print('LATE', flush=True)\n"
        "        pathlib.Path('said').touch()\n"
        "        time.sleep(0.01)\n"
        "def f():\n"
        "    threading.Thread(target=late, daemon=True).start()\n"
    )
    wait = shell("wait", "until test -e said; do sleep 0.02; done; sleep 0.1", "left")
    text = spec({"id": "left", "call": "m:f"}, wait)
    (tmp_path / "w.yaml").write_text(json.dumps(text))
    out, err = python("-m", "pixirnb", "run", "w.yaml", "--json", cwd=tmp_path).communicate()
    assert json.loads(out)["status"] == "completed"
    assert "LATE" in err


def test_half_a_character_in_an_exception_is_a_failed_step_in_every_answer(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("def f():\n    raise ValueError('caf\\udce9')\n")
    (tmp_path / "w.yaml").write_text(json.dumps(spec({"id": "a", "call": "m:f"})))
    run = python("-m", "pixirnb", "run", "w.yaml", "--json", cwd=tmp_path)
    told = json.loads(run.communicate()[0])
    assert (run.returncode, told["status"]) == (3, "failed")
    show = python("-m", "pixirnb", "show", told["run_id"], "--json", cwd=tmp_path)
    shown = json.loads(show.communicate()[0])
    errors = [each["steps"][0]["error"]["message"] for each in (told, shown)]
    assert errors == ["ValueError: caf\ufffd"] * 2
