"""`Run`: one run as cells, scripts and other processes hold it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest

import pixirnb
from pixirnb import api
from pixirnb.engine.broadcast import Live, News
from pixirnb.engine.engine import engine
from pixirnb.errors import (
    Cannot,
    InvalidArguments,
    RunInterrupted,
    RunNotCompleted,
    UnknownRun,
)
from pixirnb.history.events import Event
from pixirnb.operations.run import Run
from tests.stories.storyline import until

pytestmark = pytest.mark.usefixtures("at_home")

GATED = "until test -e go; do sleep 0.02; done; echo through"


def flow(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A workflow as a dict."""
    return {"name": "handle", **fields, "steps": list(steps)}


def gated(tmp_path: Path) -> Run:
    """A run whose step is under way and waits for the file `go`."""
    run = api.start(flow({"id": "a", "run": GATED}))
    until(lambda: any(event.kind == "attempt_started" for event in run.history()))
    return run


def test_whoever_reads_a_live_run_s_history_finds_its_state_as_far(tmp_path: Path) -> None:
    """What the log holds a moment before the loop has taken note of it must not mislead a decision."""
    for _ in range(10):
        run = api.start(flow({"id": "gate", "ask": {"question": "?"}}, {"id": "a", "run": GATED}))
        while all(event.kind != "decision_requested" for event in run.history()):
            pass
        run.decide("gate", "accept")
        run.interrupt()
        assert run.wait().step("gate").checkpoint_status == "checkpoint_ready"


def test_start_returns_at_once_and_run_blocks(tmp_path: Path) -> None:
    run = api.start(flow({"id": "a", "run": GATED}))
    assert run.status == "running"
    assert not run.outcome.ok
    (tmp_path / "go").touch()
    assert run.wait().ok
    assert api.run(flow({"id": "a", "run": "echo x"})).ok


def test_a_run_can_be_awaited(tmp_path: Path) -> None:
    run = api.start(flow({"id": "a", "run": GATED}))

    async def story() -> str:
        (tmp_path / "go").touch()
        return (await run).status

    assert anyio.run(story) == "completed"


def test_events_are_everything_from_the_first_on_recorded_and_live(tmp_path: Path) -> None:
    async def story() -> list[News]:
        run = gated(tmp_path)
        heard: list[News] = []
        async for news in run.events():
            heard.append(news)
            if isinstance(news, Event) and news.kind == "attempt_started":
                (tmp_path / "go").touch()
        return heard

    heard = anyio.run(story)
    recorded = [news for news in heard if isinstance(news, Event)]
    assert [event.seq for event in recorded] == list(range(1, len(recorded) + 1))
    assert recorded[-1].kind == "run_finished"
    lines = [n.data["chunk"] for n in heard if isinstance(n, Live) and n.topic == "step:output"]
    assert "".join(lines) == "through\n"


def test_events_of_a_run_over_or_elsewhere_come_from_its_log(tmp_path: Path) -> None:
    run = api.start(flow({"id": "a", "run": "echo x"}))
    run.wait()
    other = api.open_run(run.id)

    async def story() -> list[News]:
        return [news async for news in other.events()]

    assert anyio.run(story) == run.history()


def test_another_process_follows_a_live_run(tmp_path: Path) -> None:
    run = gated(tmp_path)
    code = (
        "import anyio, pixirnb\n"
        f"run = pixirnb.open_run({run.id!r})\n"
        "print(run.status, flush=True)\n"
        "async def main():\n"
        "    async for event in run.events():\n"
        "        print(event.kind, flush=True)\n"
        "anyio.run(main)\nprint(run.status)\n"
    )
    env_root = str(Path(pixirnb.__file__).parents[1])
    child = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {env_root!r})\n" + code],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "running\n"
    (tmp_path / "go").touch()
    lines = child.stdout.read().split()
    child.stdout.close()
    assert child.wait() == 0
    assert lines[0] == "run_started"
    assert lines[-2:] == ["run_finished", "completed"]


def test_on_hears_one_topic_until_it_is_ended(tmp_path: Path) -> None:
    run = gated(tmp_path)
    heard: list[News] = []
    ended: list[News] = []
    stop = run.on("step:output", heard.append)
    run.on("attempt_ended", ended.append)
    (tmp_path / "go").touch()
    run.wait()
    stop()
    assert [news.data["chunk"] for news in heard] == ["through\n"]
    assert [news.data["step"] for news in ended] == ["a"]
    with pytest.raises(Cannot) as caught:
        api.open_run(run.id).on("step:output", heard.append)
    assert caught.value.code == "not_live_here"


def test_a_callback_that_waits_for_a_run_is_refused_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = gated(tmp_path)
    refused: list[str] = []

    def wait(_: News) -> None:
        for blocking in (run.wait, lambda: list(run.follow())):
            with pytest.raises(Cannot) as caught:
                blocking()
            refused.append(caught.value.code)
        run.wait()

    run.on("attempt_ended", wait)
    (tmp_path / "go").touch()
    assert run.wait().status == "completed"
    assert refused == ["wait_in_callback"] * 2
    assert "a listener of a run raised, and is not called again" in caplog.text
    assert "wait_in_callback" in caplog.text


def test_what_is_never_told_cannot_be_listened_for(tmp_path: Path) -> None:
    run = gated(tmp_path)
    (tmp_path / "go").touch()
    for topic, callback in [("step:ouput", print), ("finished", print), ("step:output", 3)]:
        with pytest.raises(InvalidArguments) as caught:
            run.on(topic, callback)  # type: ignore[arg-type]  # as people write it
        assert caught.value.fix
    run.wait()


def test_a_run_may_stand_where_its_id_stands_and_anything_else_is_named(tmp_path: Path) -> None:
    run = gated(tmp_path)
    (tmp_path / "go").touch()
    run.wait()
    assert api.open_run(run).id == run.id
    assert [step["action"] for step in api.plan_resume(run)] == ["reuse"]
    assert api.resume(run).is_no_op
    for call in (api.resume, api.open_run, api.plan_resume):
        with pytest.raises(InvalidArguments, match="expected a run id, path or Run, got None"):
            call(None)  # type: ignore[arg-type]  # as people write it
        with pytest.raises(InvalidArguments, match="expected a run id, path or Run, got dict"):
            call({})


def test_wait_gives_the_outcome_after_its_time_either_way(tmp_path: Path) -> None:
    run = gated(tmp_path)
    assert run.wait(timeout=0).status == "running"
    assert api.open_run(run.id).wait(timeout=0.01).status == "running"
    (tmp_path / "go").touch()
    assert run.wait(timeout=100).ok


def test_value_is_typed_output_is_text_and_the_bundle_is_evidence(tmp_path: Path) -> None:
    run = api.start(
        flow(
            {"id": "a", "call": "builtins:dict", "with": {"n": [1, 2]}},
            {"id": "b", "run": "echo out; echo err >&2", "verify": [{"output_contains": "out"}]},
            {"id": "c", "run": "false"},
        )
    )
    run.wait()
    assert run.value("a") == {"n": [1, 2]}
    assert run.value("b") == "out"
    assert sorted(run.output("b").split()) == ["err", "out"]
    assert run.output("a") == ""
    bundle = run.bundle("b")
    assert bundle is not None
    assert bundle["dependent_safe"]
    assert bundle["source"]["attempt"] == 1
    assert bundle["verification"][0]["passed"]
    assert json.loads(json.dumps(bundle)) == bundle
    failed = run.bundle("c")
    assert failed is None or not failed["dependent_safe"]
    assert run.explain("c")
    for method in (run.value, run.output, run.bundle, run.explain):
        with pytest.raises(InvalidArguments) as caught:
            method("nobody")
        assert caught.value.code == "unknown_step"


def test_a_finished_run_reads_the_same_from_anywhere(tmp_path: Path) -> None:
    run = api.start(flow({"id": "a", "run": "seq 1 9999"}, {"id": "b", "run": "false"}))
    here = run.wait().document()
    moved = tmp_path / "moved" / "runs"
    moved.mkdir(parents=True)
    shutil.copytree(run.folder, moved / run.id)
    for other in (api.open_run(run.id), api.open_run(moved / run.id)):
        there = other.outcome.document()
        for step in there["steps"]:  # the one fact that is of the folder
            path = step["output_path"]
            step["output_path"] = path and path.replace(str(other.folder), str(run.folder))
        assert there == here
        assert other.value("a") == run.value("a")
        assert other.output("a") == run.output("a")
        assert other.history() == run.history()


def test_runs_are_listed_newest_first_and_one_bad_one_hides_no_other(tmp_path: Path) -> None:
    ids = [api.run(flow({"id": "a", "run": "true"})).run_id for _ in range(2)]
    (tmp_path / ".pixirnb" / "runs" / ids[0] / "log.jsonl").write_text("garbage\n")
    rows = {row["run_id"]: row["status"] for row in api.runs()}
    assert rows == {ids[0]: "unreadable", ids[1]: "completed"}
    with pytest.raises(UnknownRun):
        api.open_run("r-20200101-000000-aaaaaa")


def test_cancel_interrupt_and_giving_up_one_step(tmp_path: Path) -> None:
    run = gated(tmp_path)
    run.cancel()
    assert run.wait().status == "interrupted"
    assert run.outcome.step("a").subagent_status == "cancelled"
    with pytest.raises(Cannot) as caught:
        run.cancel()
    assert caught.value.code == "not_live"
    other = gated(tmp_path)
    other.interrupt()
    assert other.wait().step("a").subagent_status == "interrupted"
    third = gated(tmp_path)
    with pytest.raises(InvalidArguments):
        third.cancel("nobody")
    with pytest.raises(InvalidArguments, match="cannot drain one step"):
        third.cancel("a", drain=True)
    assert third.outcome.step("a").subagent_status == "running"
    third.cancel("a")
    assert third.wait().status == "failed"


def test_expect_raises_for_everything_but_what_was_expected(tmp_path: Path) -> None:
    outcome = api.run(flow({"id": "a", "run": "false"}))
    with pytest.raises(RunNotCompleted) as caught:
        api.expect(outcome)
    assert "completed" not in caught.value.message.split(":")[1].split(".")[0]
    assert api.expect(outcome, "failed") is outcome
    run = gated(tmp_path)
    run.interrupt()
    with pytest.raises(RunInterrupted):
        api.expect(run.wait())


def test_two_live_runs_that_may_write_the_same_files_warn_each_other(tmp_path: Path) -> None:
    def writer(glob: str) -> Run:
        run = api.start(flow({"id": "a", "run": GATED, "write_set": [glob]}))
        until(lambda: any(event.kind == "attempt_started" for event in run.history()))
        return run

    one, two, aside = writer("lib/**"), writer("lib/a.py"), writer("docs/**")
    (tmp_path / "go").touch()
    warned = {run.id: [w["code"] for w in run.wait().warnings] for run in (one, two, aside)}
    assert warned == {one.id: ["workspace_shared"], two.id: ["workspace_shared"], aside.id: []}
    assert one.id in two.outcome.warnings[0]["message"]


def test_items_that_may_write_the_files_of_another_run_warn_before_they_are_known(
    tmp_path: Path,
) -> None:
    def writer(glob: str, **fields: Any) -> Run:
        return api.start(flow({"id": "a", "run": GATED, "write_set": [glob], **fields}))

    plain, aside = writer("lib/b.py"), writer("docs/**")
    of_items = writer("lib/{{ item }}.py", for_each=["a", "b"])
    (tmp_path / "go").touch()
    warned = {run.id: [w["code"] for w in run.wait().warnings] for run in (plain, aside, of_items)}
    assert warned == {
        plain.id: ["workspace_shared"],
        aside.id: [],
        of_items.id: ["workspace_shared"],
    }


def test_a_run_may_be_driven_from_any_thread(tmp_path: Path) -> None:
    found: list[bool] = []
    threads = [
        threading.Thread(target=lambda: found.append(api.run(flow({"id": "a", "run": "true"})).ok))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4
    assert len(api.runs()) == 4


def test_progress_of_a_python_step_is_heard(tmp_path: Path) -> None:
    heard: list[dict[str, Any]] = []

    def hear(news: News) -> None:
        if isinstance(news, Live) and news.topic == "step:progress":
            heard.append(news.data)

    source = "def f():\n    import pixirnb\n    pixirnb.progress(0.4, 'half way')\n    return 1\n"
    for is_process in (False, True):
        run = api.start(
            flow({"id": "a", "call": ":f", "process": is_process}),
            functions={":f": source},
            listeners=[hear],
        )
        assert run.wait().ok, run.outcome.step("a").error
    assert heard == [{"fraction": 0.4, "message": "half way"}] * 2


def test_a_run_shows_itself_in_a_notebook_and_in_one_line(tmp_path: Path) -> None:
    run = api.start(flow({"id": "a", "run": "true"}))
    run.wait()
    assert repr(run) == f"<Run {run.id}: completed>"
    shown = run._repr_mimebundle_()
    assert "text/html" in shown
    assert "completed" in shown["text/plain"]


def test_a_resume_with_inputs_or_an_edit_says_why_each_step_reruns(tmp_path: Path) -> None:
    steps: list[dict[str, Any]] = [
        {"id": "a", "run": "echo {{ inputs.n }}"},
        {"id": "b", "run": "echo b"},
        {"id": "c", "run": "echo {{ steps.a.output }}", "depends_on": ["a"]},
    ]
    inputs = {"n": {"type": "integer", "default": 1}}
    run = api.start(flow(*steps, inputs=inputs))
    assert run.wait().ok

    def why(**options: Any) -> dict[str, str]:
        return {s["step_id"]: s["reason"] for s in api.plan_resume(run.id, **options)}

    assert why(inputs={"n": 2}) == {"a": "input_changed", "b": "ready", "c": "upstream_changed"}
    edited: list[dict[str, Any]] = [
        {**steps[0], "title": "Первый", "description": "only words", "timeout": "9m"},
        {**steps[1], "run": "echo B"},
        steps[2],
    ]
    changed = flow(*edited, inputs=inputs)
    assert why(spec=changed) == {"a": "ready", "b": "spec_changed", "c": "ready"}
    assert [s.get("title") for s in api.plan_resume(run.id, spec=changed)] == ["Первый", None, None]
    resumed = api.resume(run.id, inputs={"n": 1})
    assert resumed.is_no_op
    resumed = api.resume(run.id, inputs={"n": 2})
    assert resumed.wait().ok
    assert resumed.value("c") == "2"
    assert [resumed.outcome.step(s).attempt for s in "abc"] == [2, 1, 2]


def test_a_rerun_with_an_equal_result_stops_there(tmp_path: Path) -> None:
    steps: list[dict[str, Any]] = [
        {"id": "a", "run": "echo same; echo $$ >&2"},
        {"id": "b", "run": "echo b >> effects.txt", "depends_on": ["a"]},
    ]
    run = api.start(flow(*steps))
    assert run.wait().ok
    edited = flow({**steps[0], "run": "echo same"}, steps[1])
    assert api.resume(run.id, spec=edited).wait().ok
    assert (tmp_path / "effects.txt").read_text().split() == ["b"]
    assert api.open_run(run.id).outcome.step("a").attempt == 2


def test_a_run_can_be_read_while_its_engine_closes(tmp_path: Path) -> None:
    """A view that draws at the moment the kernel ends."""

    def read(run: Run) -> str:
        while run.status == "running":
            run.history()
            assert run.state.run_id == run.id
        return run.status

    for _ in range(5):
        run = gated(tmp_path)
        with ThreadPoolExecutor(3) as pool:
            readers = [pool.submit(read, run) for _ in range(3)]
            engine().close()
        assert [reader.result() for reader in readers] == ["interrupted"] * 3


def test_a_run_whose_folder_is_moved_away_says_from_memory_how_far_it_came(tmp_path: Path) -> None:
    run = api.start(
        flow({"id": "a", "run": "true"}, {"id": "b", "run": "sleep 60", "depends_on": ["a"]})
    )
    while run.outcome.step("b").subagent_status != "running":
        time.sleep(0.02)
    run.folder.rename(tmp_path / "moved")
    outcome = run.wait(30)
    assert (outcome.status, outcome.step("a").checkpoint_status) == (
        "interrupted",
        "checkpoint_ready",
    )
    assert "removed" in outcome.summary


FORKED = """
import os, pixirnb
run = pixirnb.start({"name": "w", "steps": [{"id": "a", "run": "until test -e go; do sleep 0.02; done"}]})
pid = os.fork()
if pid == 0:
    assert run.wait(timeout=0.2).status == "running" and not run.is_live_here
    own = pixirnb.run({"name": "own", "steps": [{"id": "a", "run": "echo hi"}]})
    open("go", "w").close()
    os._exit(own.status != "completed")
assert os.waitpid(pid, 0)[1] == 0
print(run.wait(timeout=60).status)
"""


def test_a_forked_child_reads_the_runs_of_its_parent_and_starts_runs_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.split(), done.returncode) == (["completed"], 0), done.stderr


def test_a_handle_from_before_a_resume_of_this_process_drives_it_too(tmp_path: Path) -> None:
    waits = "test -e first && until test -e go; do sleep 0.02; done"
    run = api.start({"name": "w", "steps": [{"id": "a", "run": waits}]}, workspace=tmp_path)
    assert run.wait().status == "failed"
    (tmp_path / "first").touch()
    again = api.resume(run.folder)

    assert run.is_live_here
    ended: list[News] = []
    run.on("run_finished", ended.append)
    run.interrupt()
    assert again.wait().status == run.wait().status == "interrupted"
    assert len(ended) == 1


def test_an_input_of_true_in_the_place_of_one_is_another_input() -> None:
    steps = flow({"id": "a", "run": "true", "when": "true in {{ inputs.x }}"})
    run = api.start({**steps, "inputs": {"x": {"type": "array"}}}, {"x": [1]})
    assert run.wait().step("a").skipped
    assert api.resume(run, inputs={"x": [1.0]}).is_no_op
    resumed = api.resume(run, inputs={"x": [True]})
    assert resumed.wait().step("a").checkpoint_status == "checkpoint_ready"
