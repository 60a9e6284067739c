"""A notebook that nobody watches fails when a run it stays with does, in the eyes of whoever started it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pixirnb
from tests.notebook.unattended_notebooks import (
    LOAD,
    jupyter_execute,
    papermill,
    read,
    shown,
    write_notebook,
)
from tests.sweeps import first_of

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
    "failed": ([f"%%workflow w --wait\n{FAILED}"], "ended as failed"),
    "partial": ([f"%%workflow w --wait\n{PARTIAL}"], "ended as partial"),
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


@pytest.mark.parametrize("name", first_of(CASES, 2))
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


@pytest.mark.parametrize("name", first_of(["partial", "partial, as expected"]))
def test_jupyter_execute_fails_as_papermill_does(tmp_path: Path, name: str) -> None:
    cells, said = CASES[name]
    done = jupyter_execute(write_notebook(tmp_path / "a.ipynb", *cells, REACHED))
    assert (done.code == 0) == (said == ""), done.said
    assert said in done.said


PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "unattended.md"


@pytest.mark.sweep
def test_who_follows_the_how_to_page_gets_the_night_and_the_morning_it_tells_of(
    tmp_path: Path,
) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    given, load, night, morning = blocks
    assert load.strip() == LOAD
    source = write_notebook(tmp_path / "nightly.ipynb", given, night)
    done = papermill(source, tmp_path / "last-night.ipynb", "-p", "n", "5")
    assert done.code == 0, done.said
    (row,) = pixirnb.runs(workspace=tmp_path)
    assert pixirnb.open_run(row["run_id"], workspace=tmp_path).value("count") == "5"

    defined = night.replace("--wait --input n=$n", "--as nightly")
    assert defined != night
    broken = defined.replace("wc -l < data.txt", "test -e there")
    codes = []
    for cell in (broken, broken, defined):
        again = write_notebook(tmp_path / "again.ipynb", given, cell, morning)
        codes.append(papermill(again, tmp_path / "again.out.ipynb").code)
        (tmp_path / "there").touch()  # what was missing is there in the morning
    # A run that breaks, the same run gone on with, and, as nothing is left to go on with, a new one.
    assert [code == 0 for code in codes] == [False, True, True]
    rows = pixirnb.runs(workspace=tmp_path)
    assert [row["status"] for row in rows] == ["completed"] * 3


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
