"""What takes long to read holds up the steps that need it, and nothing else: ends are on disk, and a person is answered."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.operations.run import Run
from tests.stories.storyline import effects, mark, python, shell, started, until

SLOW = """
import os, time
class Slow:
    def __reduce__(self): return loaded, ()
def loaded():
    while not os.path.exists("go"): time.sleep(0.02)
    return Slow()
def made(): return {"x": 1, "slow": Slow()}
"""


def cancel_from_elsewhere(run: Run, workspace: Path) -> None:
    """Cancel a run as another process does, which its owner answers."""
    with python("-m", "pixirnb", "cancel", run.id, cwd=workspace) as process:
        said = process.communicate()
    assert process.returncode == 0, said


@pytest.mark.timeout(90)
def test_files_that_take_long_to_digest_hold_up_their_reader_alone(tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.truncate(1 << 40)
    run = started(
        tmp_path,
        shell("first", mark("first")),
        shell("reader", "true", "first", posture="read_only", read_set=["big"], reuse="reads"),
        shell("other", mark("other"), "first"),
    )
    until(lambda: run.outcome.step("other").checkpoint_status == "checkpoint_ready")
    assert run.outcome.step("first").checkpoint_status == "checkpoint_ready"
    cancel_from_elsewhere(run, tmp_path)
    outcome = run.wait(30)
    assert outcome.status == "interrupted"
    assert effects(tmp_path) == ["first", "other"]
    until(lambda: not run.is_live_here)

    os.truncate(tmp_path / "big", 10)
    assert api.resume(run.id, workspace=tmp_path).wait(30).ok
    assert effects(tmp_path) == ["first", "other"]


@pytest.mark.timeout(90)
def test_a_value_that_takes_long_to_load_holds_up_who_refers_to_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    monkeypatch.syspath_prepend(tmp_path)
    run = started(
        tmp_path,
        {"id": "value", "call": "slow:made", "process": True},
        shell("picked", mark("picked"), "value", when="{{ steps.value.output.x }} == 1"),
        shell("other", mark("other", "touch go"), "value"),
    )
    assert run.wait(60).ok
    assert effects(tmp_path) == ["other", "picked"]
