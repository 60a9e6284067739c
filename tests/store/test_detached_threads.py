"""A thread that outlived its run is known to other processes: what it works on is not begun again beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from pixirnb import Cannot, Run, api
from pixirnb.store import detached_threads
from tests.stories.storyline import until

WORK = """
import time
from pathlib import Path
from typing import Any
def work():
    while not Path({go!r}).exists():
        time.sleep(0.02)
    return "done"
"""


def resume_elsewhere(run: Run) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "pixirnb", "resume", run.id, "--json"],
        capture_output=True,
        check=False,
        cwd=run.store.state.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def until_returned(run: Run) -> None:
    for _ in range(500):
        if not detached_threads.find_living(run.store.folder(run.id)):
            break
        time.sleep(0.02)


def test_a_detached_step_is_not_begun_again_beside_its_thread_by_another_process(
    tmp_path: Path,
) -> None:
    go = tmp_path / "go"
    (tmp_path / "slow_work.py").write_text(WORK.format(go=str(go)))
    steps = [{"id": "z", "call": "slow_work:work", "timeout": "300ms"}]
    run = api.start(api.load({"name": "waits", "steps": steps}), workspace=tmp_path)
    folder = run.store.folder(run.id)
    try:
        run.wait(30)
        assert run.outcome.step("z").subagent_status == "detached"
        [thread] = detached_threads.find_living(folder)
        assert (thread["step"], thread["owner"]["pid"]) == ("z", os.getpid())
        refused = resume_elsewhere(run)["error"]
        assert refused["code"] == "thread_alive"
        assert str(os.getpid()) in refused["message"]
    finally:
        go.touch()
    until_returned(run)
    assert resume_elsewhere(run)["status"] == "completed"


def detached_beside(folder: Path, *, edited: list[dict[str, Any]]) -> tuple[Run, Any]:
    """A run whose step `z` is detached, and its spec with `edited` steps."""
    (folder / "slow_work.py").write_text(WORK.format(go=str(folder / "go")))
    z = {"id": "z", "call": "slow_work:work", "timeout": "300ms", "read_set": ["x/**"]}
    spec = {"name": "waits", "steps": [z, {"id": "y", "run": "true"}]}
    run = api.start(api.load(spec), workspace=folder)
    return run, {"name": "waits", "steps": edited}


@pytest.mark.parametrize("sets", [None, ["other/**"]], ids=["left out", "other sets"])
def test_an_edited_resume_beside_a_thread_keeps_its_step_and_its_claims(
    tmp_path: Path, sets: list[str] | None
) -> None:
    run, spec = detached_beside(tmp_path, edited=[{"id": "y", "run": "true"}])
    if sets is not None:
        z = {"id": "z", "call": "slow_work:work", "timeout": "300ms", "read_set": sets}
        spec["steps"].append(z)
    try:
        run.wait(30)
        assert run.outcome.step("z").subagent_status == "detached"
        with pytest.raises(
            Cannot, match="`z` is still running in a thread of this process"
        ) as refused:
            api.resume(run.id, spec=spec, workspace=tmp_path)
        assert refused.value.code == "thread_alive"
    finally:
        (tmp_path / "go").touch()
    until_returned(run)
    assert api.resume(run.id, spec=spec, workspace=tmp_path).wait(30).status == "completed"


def test_a_thread_without_a_record_is_remembered_by_its_process(tmp_path: Path) -> None:
    run, spec = detached_beside(tmp_path, edited=[{"id": "y", "run": "true"}])
    records = run.store.folder(run.id) / detached_threads.FOLDER
    records.touch()  # no folder: nothing can be recorded
    try:
        run.wait(30)
        assert api.resume(run.id, spec=spec, workspace=tmp_path).wait(30).status == "completed"
        spec["steps"].append({"id": "z", "call": "slow_work:work", "timeout": "300ms"})
        again = api.resume(run.id, spec=spec, workspace=tmp_path)
        assert again.wait(1).status == "running"
        kinds = [(e.kind, e.data.get("step")) for e in run.store.read(run.id).events]
        assert kinds.count(("step_scheduled", "z")) == 1
    finally:
        (tmp_path / "go").touch()
    assert again.wait(30).status == "completed"


def test_a_thread_that_returns_beside_a_resume_without_its_step_is_forgotten(
    tmp_path: Path,
) -> None:
    run, spec = detached_beside(
        tmp_path, edited=[{"id": "y", "run": "until test -e over; do sleep 0.02; done"}]
    )
    (run.store.folder(run.id) / detached_threads.FOLDER).touch()  # no folder, as above
    try:
        run.wait(30)
        again = api.resume(run.id, spec=spec, workspace=tmp_path)
    finally:
        (tmp_path / "go").touch()
    until(lambda: "pixirnb z.1" not in [each.name for each in threading.enumerate()])
    (tmp_path / "over").touch()
    assert again.wait(30).status == "completed"
    spec["steps"].append({"id": "z", "call": "slow_work:work"})
    assert api.resume(run.id, spec=spec, workspace=tmp_path).wait(30).status == "completed"


def test_what_a_dead_process_left_holds_nobody_up(tmp_path: Path) -> None:
    code = (
        "import sys, os; from pathlib import Path; from pixirnb.store import detached_threads as d;"
        "d.hold(Path(sys.argv[1]), 'z', 1, {'pid': os.getpid(), 'instance': 'x'});"
        "print(len(d.find_living(Path(sys.argv[1]))), flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.stdout == b"1\n"
    assert detached_threads.find_living(tmp_path) == []
    assert list((tmp_path / detached_threads.FOLDER).iterdir()) == []


def test_a_link_in_the_place_of_the_records_is_not_followed(tmp_path: Path) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    run.mkdir()
    elsewhere.mkdir()
    (elsewhere / "mine.txt").write_text("mine")
    (run / detached_threads.FOLDER).symlink_to(elsewhere)
    assert detached_threads.find_living(run) == []
    assert detached_threads.hold(run, "z", 1, {"pid": 1, "instance": "x"}) is None
    assert [path.name for path in elsewhere.iterdir()] == ["mine.txt"]


def test_a_record_of_any_shape_is_read(tmp_path: Path) -> None:
    held = detached_threads.hold(tmp_path, "z", 1, {"who": "knows"})
    assert held is not None
    assert detached_threads.find_living(tmp_path) == []
    detached_threads.release(held)


def test_a_forked_child_keeps_no_thread_alive(tmp_path: Path) -> None:
    held = detached_threads.hold(tmp_path, "z", 1, {"pid": os.getpid(), "instance": "x"})
    assert held is not None
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(reading, 1)
        os._exit(0)
    try:
        detached_threads.release(held)
        assert detached_threads.find_living(tmp_path) == []
    finally:
        os.write(writing, b"x")
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)
