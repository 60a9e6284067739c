"""A pickled value runs code as whoever loads it: a step's own process gets none of it loaded as the engine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.operations.run import Run
from tests.stories.storyline import facts, spec, statuses
from tests.sweeps import first_of

pytestmark = pytest.mark.story

FORGER = '''
import os

CODE = """
import os
started = os.posix_spawn("/bin/sleep", ["sleep", "600"], os.environ, setsid=True)
try:
    import pixirnb
    pixirnb.open_run(RUN, state=STATE).decide("gate", "accept")
    came_of_it = "decided"
except Exception as error:
    came_of_it = getattr(error, "code", repr(error))
with open(WHERE, "a") as file:
    file.write(f"{os.getpid()} {started} {came_of_it}\\\\n")
"""

class Forger:
    def __init__(self, n=1):
        self.n = n

    def __reduce__(self):
        names = f"RUN, STATE, WHERE = {os.environ['PIXIRNB_RUN_ID']!r}, {STATE!r}, {WHERE!r}\\n"
        return exec, (names + CODE,)

def forge():
    return {"made": Forger(), "n": 1}

def accept(output):
    return output["n"] == 1

def take(x):
    return 1
'''
MODEL = """
from pydantic import BaseModel

class Made(BaseModel):
    n: int
"""
USES: dict[str, dict[str, Any]] = {
    "check": {"verify": [{"python": "MODULE:accept"}]},
    "schema": {"output": {"type": "object", "required": ["n"]}},
    "schema check": {"verify": [{"schema": {"type": "object"}}]},
    "model": {"output": "MODULE:Made"},
}
DEPENDENTS: dict[str, dict[str, Any]] = {
    "thread": {"call": "MODULE:take", "with": {"x": "{{ steps.forger.output }}"}},
    "process": {
        "call": "MODULE:take",
        "process": True,
        "with": {"x": ["{{ steps.forger.output }}"]},
    },
    "text": {"run": "echo {{ steps.forger.output.n }}"},
    "when": {"run": "echo", "when": "{{ steps.forger.output.n }} == 1"},
    "environment": {"run": "echo", "env": {"N": "{{ steps.forger.output.n }}"}},
    "argument": {"call": "MODULE:take", "with": {"x": "n={{ steps.forger.output.n }}"}},
    "check": {"run": "echo", "verify": [{"command": "test {{ steps.forger.output.n }} = 1"}]},
}


def module_in(folder: Path, name: str) -> str:
    """Write the forger's module into a workspace; return its name."""
    names = f"STATE, WHERE = {str(folder / 'state')!r}, {str(folder / 'where')!r}\n"
    (folder / f"{name}.py").write_text(names + FORGER + MODEL)
    return name


def forged(folder: Path, module: str, use: dict[str, Any], *more: dict[str, Any]) -> Run:
    """Return a run in which a process pickled a forger, and that came to rest."""
    forger = {"id": "forger", "call": f"{module}:forge", "process": True, **use}
    gate = {"id": "gate", "ask": {"question": "May it go on?"}}
    text = json.dumps(spec(forger, gate, *more)).replace("MODULE", module)
    run = api.start(json.loads(text), workspace=folder, state=folder / "state")
    run.wait()
    return run


def require_powerless(run: Run, folder: Path, *, is_thread: bool = False) -> None:
    """Assert that the forger was loaded as the step, decided nothing, and left no process."""
    assert facts(run, "decision_recorded") == []
    assert run.outcome.step("gate").checkpoint_status == "needs_orchestrator"
    loaded = [line.split() for line in (folder / "where").read_text().splitlines()]
    assert loaded
    for pid, started, came_of_it in loaded:
        assert (int(pid) == os.getpid()) is is_thread
        assert came_of_it == "approval_by_agent"
        stat = Path(f"/proc/{started}/stat")
        assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize("use", first_of(USES, 2))
def test_a_process_decides_nothing_through_what_its_checks_look_at(
    use: str, tmp_path: Path
) -> None:
    module = module_in(tmp_path, f"forger_of_a_{use.replace(' ', '_')}")
    run = forged(tmp_path, module, USES[use])
    assert statuses(run.outcome)["forger"] == "checkpoint_ready", run.outcome.step("forger").error
    require_powerless(run, tmp_path)


@pytest.mark.parametrize("use", first_of(DEPENDENTS, 4))
def test_a_process_decides_nothing_through_what_later_steps_are_given(
    use: str, tmp_path: Path
) -> None:
    module = module_in(tmp_path, f"forger_for_a_{use}")
    later = {"id": "later", "depends_on": ["forger"], **DEPENDENTS[use]}
    run = forged(tmp_path, module, {}, later)
    assert statuses(run.outcome)["later"] == "checkpoint_ready", run.outcome.step("later").error
    require_powerless(run, tmp_path, is_thread=use == "thread")


KEPT = """
def keep():
    return {"pair": (1, 2), "nan": float("nan"), 3: {4}, "n": 1.5}

def same(output):
    return output[3] == {4} and output["pair"] == (1, 2)

def read(whole, part, text):
    return [whole[3] == {4}, part == (1, 2), text]
"""


@pytest.mark.parametrize("process", [False, True], ids=["thread", "process"])
def test_a_pickled_value_is_of_use_wherever_it_may_be_referred_to(
    process: bool, tmp_path: Path
) -> None:
    (tmp_path / "pickled_and_kept.py").write_text(KEPT)
    whole, part = "{{ steps.a.output }}", "{{ steps.a.output.pair }}"
    steps: list[dict[str, Any]] = [
        {
            "id": "a",
            "call": "pickled_and_kept:keep",
            "verify": [{"python": "pickled_and_kept:same"}],
        },
        {
            "id": "b",
            "call": "pickled_and_kept:read",
            "with": {"whole": whole, "part": part, "text": "p=" + part},
        },
        {"id": "c", "run": "echo {{ steps.a.output.pair }} {{ steps.a.output.nan }} $X"},
        {
            "id": "d",
            "run": "echo",
            "when": "{{ steps.a.output.n }} > 1 and {{ steps.a.output.pair.1 }} == 2",
        },
        {"id": "e", "run": "echo", "when": "{{ steps.a.output.n }} > 2"},
        {"id": "f", "run": "echo {{ steps.a.output.nothing }}"},
        {"id": "g", "run": ["echo", whole]},
    ]
    for step in steps[1:]:
        step["depends_on"] = ["a"]
    steps[2]["env"] = {"X": "{{ steps.a.output.n }}"}
    steps[0]["process"] = steps[1]["process"] = process
    run = api.start(spec(*steps), workspace=tmp_path)
    outcome = run.wait()
    assert run.value("b") == [True, True, "p=[1,2]"]
    assert run.output("c").strip() == "[1,2] NaN 1.5"
    assert outcome.step("d").checkpoint_status == "checkpoint_ready"
    assert outcome.step("e").checkpoint_status == "held"
    missing, texts = outcome.step("f").error, outcome.step("g").error
    assert missing is not None
    assert missing["kind"] == "reference_missing"
    assert texts is not None
    assert texts["kind"] == "reference_not_text"
