"""What a step in a thread calls to end or replace its process ends the step: the process is the run's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.stories.storyline import python

FLOW = "{name: w, steps: [{id: a, call: 'steps:leave'}, {id: b, run: 'true', depends_on: [a]}]}"


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("os._exit(0)", "step called sys.exit(0); return instead"),
        ("posix._exit(0)", "step called sys.exit(0); return instead"),
        ("os.execvp('true', ['true'])", "a step in a thread cannot replace its process"),
        ("os.execle('/bin/true', 'true', {})", "a step in a thread cannot replace its process"),
    ],
)
def test_a_step_in_a_thread_does_not_end_its_run_with_the_exit_code_of_a_completed_one(
    tmp_path: Path, way: str, said: str
) -> None:
    (tmp_path / "steps.py").write_text(f"import os, posix\ndef leave():\n    {way}\n")
    (tmp_path / "w.yaml").write_text(FLOW)
    child = python("-m", "pixirnb", "run", "w.yaml", cwd=tmp_path)
    out, _ = child.communicate(timeout=60)
    assert (child.returncode, said in out, "blocked by a" in out) == (3, True, True), out


def test_a_copy_that_a_step_forks_may_end_and_be_replaced(tmp_path: Path) -> None:
    lines = (
        "import os",
        "def leave():",
        "    codes = []",
        "    for way in (lambda: os._exit(7), lambda: os.execvp('sh', ['sh', '-c', 'exit 8'])):",
        "        if (pid := os.fork()) == 0:",
        "            way()",
        "        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
        "    assert codes == [7, 8], codes",
    )
    (tmp_path / "steps.py").write_text("\n".join(lines) + "\n")
    (tmp_path / "w.yaml").write_text(FLOW)
    child = python("-m", "pixirnb", "run", "w.yaml", cwd=tmp_path)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == os.EX_OK, out
