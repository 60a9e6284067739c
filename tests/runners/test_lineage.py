"""A process below a step is known to be one, whatever it does to its environment and its parents."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pixirnb.ids import attempt_name
from pixirnb.runners.lineage import asking_step
from pixirnb.runners.shell import ShellRunner
from pixirnb.runners.supervisor import Supervisor
from pixirnb.runners.trees import TAG
from pixirnb.testing.runner_contract import RUN_ID, Rehearsal, on_a_loop
from pixirnb.work import ShellWork

ASK = f"{sys.executable} -c 'from pixirnb.runners.lineage import asking_step as a; print(a())'"
ROOT = Path(__file__).parents[2]


def said_below_a_step(command: str, folder: Path) -> str:
    """What a shell step prints."""

    async def story(supervisor: Supervisor) -> str:
        rehearsal = Rehearsal(ShellWork(command), folder, env={"PYTHONPATH": str(ROOT)})
        await ShellRunner(supervisor).perform(rehearsal.job())
        return rehearsal.text().strip()

    return on_a_loop(story)


def test_a_process_of_nobodys_is_below_no_step() -> None:
    env = {name: value for name, value in os.environ.items() if name != TAG}
    command = [sys.executable, "-c", ASK.split("'")[1]]
    said = subprocess.run(
        command, env={**env, "PYTHONPATH": str(ROOT)}, capture_output=True, check=True
    )
    assert said.stdout == b"None\n"


@pytest.mark.parametrize(
    "command",
    [
        ASK,
        f"env -u {TAG} {ASK}",
        f"env -i PYTHONPATH={ROOT} {ASK}",
        f"{TAG}= {ASK}",
        f"{TAG}=---- {ASK}",
        # Its parent ends at once: it is the reaper's own now.
        f"(env -i PYTHONPATH={ROOT} setsid sh -c 'sleep 0.3; {ASK.replace(chr(39), chr(34))} > said' &); "
        "while ! [ -s said ]; do sleep 0.05; done; cat said",
    ],
    ids=["as it is", "unset", "emptied", "blank", "padded", "left alone"],
)
def test_a_step_is_found_whatever_its_process_did_to_itself(command: str, tmp_path: Path) -> None:
    assert said_below_a_step(command, tmp_path) == f"{RUN_ID}/{attempt_name('step', 1)}"


def test_who_runs_the_tests_is_below_the_step_it_was_told_it_is(
    request: pytest.FixtureRequest,
) -> None:
    before = os.environ.get(TAG)
    request.addfinalizer(
        lambda: os.environ.pop(TAG, None) if before is None else os.environ.update({TAG: before})
    )
    os.environ[TAG] = f"r-1/a.2{'-' * 10}"
    assert asking_step() == "r-1/a.2"
