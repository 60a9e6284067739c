"""A notebook that nobody watches fails when a run it stays with does, in the eyes of whoever started it."""

from __future__ import annotations

from pathlib import Path

import pytest
from unattended_notebooks import jupyter_execute, papermill, read, shown, write_notebook

import pixirnb

COMPLETED = "steps:\n  - {id: a, run: 'echo hi', posture: read_only}\n"
FAILED = "steps:\n  - {id: a, run: 'exit 3', posture: read_only}\n"
PARTIAL = COMPLETED + "  - {id: b, run: 'exit 3', posture: read_only}\n"
ASKS = "steps:\n  - {id: a, ask: {question: 'Ship it?'}}\n"
LONG = "steps:\n  - {id: a, run: 'sleep 100', posture: read_only}\n"
INVALID = "steps:\n  - {id: a, rnu: 'true'}\n"

CANCEL_SOON = """
import threading, time, pixirnb
def cancel_soon():
    while not (rows := pixirnb.runs()) or rows[0]["status"] != "running":
        time.sleep(0.05)
    pixirnb.open_run(rows[0]["run_id"]).cancel()
threading.Thread(target=cancel_soon).start()
"""

CASES = {
    "completed": ([f"%%workflow w --wait\n{COMPLETED}"], ""),
    "partial": ([f"%%workflow w --wait\n{PARTIAL}"], "ended as partial"),
    "failed": ([f"%%workflow w --wait\n{FAILED}"], "ended as failed"),
    "partial, as expected": ([f"%%workflow w --wait --expect partial,failed\n{PARTIAL}"], ""),
    "failed, where partial was expected": (
        [f"%%workflow w --wait --expect partial\n{FAILED}"],
        "ended as failed",
    ),
    "interrupted": ([CANCEL_SOON, f"%%workflow w --wait\n{LONG}"], "ended as interrupted"),
    "needs a decision": ([f"%%workflow w --wait\n{ASKS}"], "ended as needs_orchestrator"),
    "not valid": ([f"%%workflow w --wait\n{INVALID}"], "invalid_spec"),
    "a failed run that is merely awaited": (
        [f"%%workflow w --run --as r\n{FAILED}", "await r"],
        "",
    ),
    "a failed run of which more is expected": (
        [f"%%workflow w --run --as r\n{FAILED}", "import pixirnb\npixirnb.expect(await r)"],
        "ended as failed",
    ),
}
REACHED = "print('reached')"


@pytest.mark.parametrize("name", list(CASES))
def test_papermill_fails_unless_each_run_it_waits_for_ends_as_it_should(
    tmp_path: Path, name: str
) -> None:
    cells, said = CASES[name]
    source = write_notebook(tmp_path / "a.ipynb", *cells, REACHED)
    done = papermill(source, tmp_path / "out.ipynb")
    assert (done.code == 0) == (said == ""), done.said
    assert said in done.said
    last = read(tmp_path / "out.ipynb").cells[-1].outputs
    assert [output.text for output in last] == (["reached\n"] if said == "" else [])


@pytest.mark.parametrize("name", ["completed", "partial", "partial, as expected"])
def test_jupyter_execute_fails_as_papermill_does(tmp_path: Path, name: str) -> None:
    cells, said = CASES[name]
    done = jupyter_execute(write_notebook(tmp_path / "a.ipynb", *cells, REACHED))
    assert (done.code == 0) == (said == ""), done.said
    assert said in done.said


def test_papermill_s_parameters_become_inputs_and_another_notebook_resumes_its_run(
    tmp_path: Path,
) -> None:
    body = (
        "inputs: {n: {type: integer}, who: {type: string}}\nsteps:\n"
        "  - {id: a, run: 'echo {{ inputs.who }} {{ inputs.n }}', posture: read_only}\n"
        "  - {id: b, run: 'test -e there', posture: read_only, depends_on: [a]}\n"
    )
    evening = write_notebook(
        tmp_path / "evening.ipynb",
        "# parameters\nn = 1\nwho = 'nobody'",
        f"%%workflow nightly --wait --input n=$n --input who=$who\n{body}",
    )
    given = ("-p", "n", "5", "-p", "who", "some one; echo more")
    assert papermill(evening, tmp_path / "evening.out.ipynb", *given).code != 0
    (row,) = pixirnb.runs(workspace=tmp_path)
    assert row["status"] == "partial"

    (tmp_path / "there").touch()
    morning = write_notebook(
        tmp_path / "morning.ipynb", "# parameters\nrun = ''", "%pixir resume $run --wait --as again"
    )
    target = tmp_path / "morning.out.ipynb"
    done = papermill(morning, target, "-p", "run", row["run_id"])
    assert done.code == 0, done.said
    ended = pixirnb.open_run(row["run_id"], workspace=tmp_path)
    assert ended.status == "completed"
    assert ended.value("a") == "some one; echo more 5"
    assert shown(read(target))[-1]["text/plain"].startswith("✓ completed · nightly")
