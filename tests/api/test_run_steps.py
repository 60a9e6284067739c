"""`run["a"]`, `run.steps`, `run.values` and the verbs of a run: what a person types first."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import IPCompleter, provisionalcompleter

import pixirnb
from pixirnb.errors import Cannot, InvalidArguments
from pixirnb.operations.run import Run

BREAKS = "def breaks():\n    return [][1]\n"
STEPS: list[dict[str, Any]] = [
    {"id": "ready", "call": "builtins:dict", "with": {"n": 3}},
    {"id": "breaks", "call": ":breaks"},
    {"id": "prints", "run": "echo made it here; exit 3", "retry": {"max_attempts": 2, "delay": 0}},
    {"id": "after", "run": "true", "depends_on": ["breaks"]},
    {"id": "never", "run": "true", "when": "1 > 2"},
    {"id": "below", "run": "true", "depends_on": ["never"]},
    {"id": "ok", "ask": {"question": "Ship it?", "choices": ["a", "b"]}},
    {"id": "ships", "run": "true", "depends_on": ["ok"]},
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with a step of every kind of end."""
    spec = {"name": "ends", "steps": STEPS}
    folder = tmp_path_factory.mktemp("ends")
    started = pixirnb.start(spec, workspace=folder, functions={":breaks": BREAKS})
    started.wait()
    return started


def test_a_step_says_what_came_of_it_by_attributes(run: Run) -> None:
    ready, prints = run["ready"], run.steps["prints"]
    assert (ready.id, ready.status, ready.value, ready.attempts) == (
        "ready",
        "checkpoint_ready",
        {"n": 3},
        1,
    )
    assert ready.error is None
    assert ready.traceback == ""
    assert ready.bundle is not None
    assert ready.bundle.produced.value == {"n": 3}
    assert (prints.status, prints.output, prints.attempts) == ("failed", "made it here\n", 2)
    assert prints.error is not None
    assert prints.error.kind == prints.error["kind"] == "exit"
    assert prints.bundle is None
    assert prints.explain() == run.explain("prints")
    assert "return [][1]" in run["breaks"].traceback
    assert run["breaks"].error.details.frames[0].line == 2  # type: ignore[union-attr]  # it has one


def test_steps_are_a_mapping_in_the_order_of_the_workflow(run: Run) -> None:
    assert [*run.steps] == [step["id"] for step in STEPS]
    assert len(run.steps) == len(STEPS)
    assert "ok" in run.steps
    assert "ok" in run
    assert "nobody" not in run
    assert "prints" in repr(run.steps)
    assert "text/html" in run.steps._repr_mimebundle_()
    with pytest.raises(TypeError):
        iter(run)  # type: ignore[call-overload]  # `run[0]` is not a step
    assert run.values == {"ready": {"n": 3}}


def test_the_frame_has_a_row_for_each_step(run: Run) -> None:
    assert list(run.df["step_id"]) == [step["id"] for step in STEPS]
    assert list(run.df["step_id"][run.df["skipped"]]) == ["never", "below"]


def test_a_skipped_step_says_so_though_its_status_is_held(run: Run) -> None:
    assert (run["never"].status, run["never"].is_skipped) == ("held", True)
    assert (run["after"].status, run["after"].is_skipped) == ("held", False)


def test_the_forecast_tells_the_skipped_from_the_held(run: Run) -> None:
    entries = {entry["step_id"]: entry for entry in pixirnb.plan_resume(run)}
    assert entries["never"].get("skipped") is True
    assert "skipped" not in entries["after"]
    assert re.search(r"1 +`when` is false +never", repr(pixirnb.plan_resume(run)))


def test_an_outcome_says_where_values_are_and_opens_its_run(run: Run) -> None:
    outcome: Any = run.outcome
    where = f'values are on the Run: `pixirnb.open_run("{run.id}")["STEP"].value`, or use start()'
    with pytest.raises(AttributeError, match=re.escape(where)):
        _ = outcome.value
    with pytest.raises(KeyError, match=re.escape(where)):
        _ = outcome["ready"]
    with pytest.raises(AttributeError, match=re.escape('`run["STEP"].value`')):
        _ = outcome.steps[0].value
    assert pixirnb.open_run(outcome)["ready"].value == {"n": 3}
    assert pixirnb.plan_resume(outcome).run_id == run.id


def test_a_check_that_raises_says_on_which_line(tmp_path: Path) -> None:
    check = {":check": "def check(output):\n    return undefined\n"}
    step = {"id": "a", "call": "builtins:dict", "verify": {"python": ":check"}}
    run = pixirnb.start({"name": "n", "steps": [step]}, workspace=tmp_path, functions=check)
    assert run.wait().status == "failed"
    assert "return undefined" in run["a"].traceback
    assert run["a"].error is not None
    assert run["a"].error.details.frames[0].line == 2
    assert [check.passed for check in run["a"].error.details.checks] == [False]
    assert "in check" in repr_of(run["a"])


def test_a_check_of_the_defaults_calls_a_notebook_function_and_one_that_is_missing_is_said(
    tmp_path: Path,
) -> None:
    def spec(name: str) -> dict[str, Any]:
        verify = [{"python": f":{name}"}]
        return {
            "name": "n",
            "defaults": {"verify": verify},
            "steps": [{"id": "a", "run": "echo 1"}],
        }

    functions = {":one": "def one(output):\n    return output == '1'\n"}
    run = pixirnb.start(spec("one"), workspace=tmp_path, functions=functions)
    assert run.wait().status == "completed"
    with pytest.raises(pixirnb.InvalidSpec, match="no function `two`"):
        pixirnb.start(spec("two"), workspace=tmp_path, functions=functions)


def repr_of(shown: Any) -> str:
    return str(shown._repr_mimebundle_()["text/plain"])


def test_a_row_of_the_list_has_attributes_and_opens_its_run(run: Run) -> None:
    row = pixirnb.runs(state=run.store.state)[0]
    assert (row.run_id, row["status"], row.counts.skipped) == (run.id, run.status, 2)
    assert pixirnb.open_run(row, state=run.store.state).id == run.id


@pytest.mark.parametrize(
    ("status", "fix"),
    [("finished", "use one of: running, completed"), ("needs_decision", "`needs_orchestrator`")],
)
def test_a_status_that_is_none_is_refused(run: Run, status: str, fix: str) -> None:
    with pytest.raises(InvalidArguments, match=fix) as raised:
        pixirnb.runs(state=run.store.state, status=status)
    assert raised.value.code == "not_a_choice"


def test_a_filter_that_no_run_passes_says_how_many_there_are(run: Run) -> None:
    state = run.store.state
    for none in (pixirnb.runs(state=state, workflow="none"), pixirnb.runs(state=state)[1:]):
        assert repr(none) == "No run matches; 1 run in all."
    assert repr(pixirnb.runs(state=state / "empty")) == "No runs yet."


@pytest.mark.parametrize("name", ["redy", 3, None, ["ready"]])
def test_an_unknown_step_is_an_error_that_names_the_nearest(run: Run, name: Any) -> None:
    for call in (run.value, run.explain, run.bundle, run.steps.__getitem__, run.__getitem__):
        with pytest.raises(InvalidArguments) as caught:
            call(name)
        assert caught.value.code == "unknown_step"
        if name == "redy":
            assert caught.value.fix == "did you mean `ready`?"


@pytest.mark.parametrize(
    ("step", "cause", "fix"),
    [
        ("breaks", "it failed (IndexError", " breaks`"),
        ("prints", "it failed (exited with code 3", " prints`"),
        ("after", "it was not run (held by `breaks`)", " after`"),
        ("never", "it was skipped (`when` is false: ", " never`"),
        ("below", "it was skipped (upstream `never` was skipped)", " below`"),
        ("ok", "it needs a decision", " ok accept"),
    ],
)
def test_a_step_that_is_not_ready_has_no_value_and_says_why(
    run: Run, step: str, cause: str, fix: str
) -> None:
    reads: list[Callable[[], Any]] = [lambda: run.value(step), lambda: run[step].value]
    for read in reads:
        with pytest.raises(Cannot) as caught:
            read()
        assert caught.value.code == "no_value"
        assert f"`{step}` has no value: {cause}" in caught.value.message
        assert fix in caught.value.fix


def test_a_step_that_has_not_finished_has_no_value_yet(tmp_path: Path) -> None:
    wait = "until test -e go; do sleep 0.02; done"
    spec = {"name": "gated", "steps": [{"id": "a", "run": wait}]}
    live = pixirnb.start(spec, workspace=tmp_path)
    with pytest.raises(Cannot, match=r"it has not (started|finished)") as caught:
        live.value("a")
    assert caught.value.fix == "wait until the run finishes"
    (tmp_path / "go").touch()
    live.wait()
    assert live["a"].value == ""


def test_a_question_is_answered_in_one_call(tmp_path: Path) -> None:
    ask = {"id": "ok", "ask": {"question": "Ship it?", "choices": ["a", "b"]}}
    spec = {"name": "asks", "steps": [ask, {"id": "b", "run": "true", "depends_on": ["ok"]}]}

    def asked() -> Run:
        parked = pixirnb.start(spec, workspace=tmp_path)
        parked.wait()
        return parked

    assert asked().accept("ok", "a", "looks good").wait().ok
    by_verdict = asked().decide("ok", "accept", "b")
    assert by_verdict.wait().ok
    assert by_verdict["ok"].value == "b"
    rejected = asked().reject("ok", "too early")
    assert rejected.wait().status == "failed"
    assert rejected["ok"].error.kind == "rejected"  # type: ignore[union-attr]  # it has one
    with pytest.raises(InvalidArguments):
        asked().accept("ok", "c")


def test_a_run_resumes_retries_and_forks_itself(tmp_path: Path) -> None:
    flaky = "echo x >> tried; test $(wc -l < tried) -gt 1"
    steps = [
        {"id": "flaky", "run": flaky, "posture": "read_only"},
        {"id": "steady", "run": "echo steady"},
        {"id": "end", "run": "true", "depends_on": ["flaky"]},
    ]
    spec = {"name": "again", "phases": [{"name": "all", "steps": ["flaky", "steady", "end"]}]}
    run = pixirnb.start({**spec, "steps": steps}, workspace=tmp_path)
    assert run.wait().status == "partial"
    assert run.resume() is run
    assert run.wait().ok
    assert [run[step].attempts for step in ("flaky", "steady", "end")] == [2, 1, 1]
    assert run.resume().is_no_op
    assert run.retry("flaky", "steady").wait().ok
    assert [run[step].attempts for step in ("flaky", "steady", "end")] == [3, 2, 2]
    fork = run.fork("all")
    assert fork.wait().ok
    assert fork.id != run.id
    with pytest.raises(InvalidArguments, match="has no step `flakey`"):
        run.retry("flakey")
    with pytest.raises(InvalidArguments):
        run.fork("nowhere")


def test_an_outcome_and_its_steps_are_read_by_key_and_by_attribute(run: Run) -> None:
    outcome = run.outcome
    document = outcome.document()
    assert outcome["status"] == outcome.status == document["status"]
    assert outcome["failed_steps"] == outcome.failed_steps == document["failed_steps"]  # type: ignore[attr-defined]
    assert outcome["steps"][0]["step_id"] == outcome.steps[0].step_id == "ready"
    with pytest.raises(KeyError, match="did you mean `status`"):
        outcome["statsu"]
    with pytest.raises(AttributeError, match="did you mean `error`"):
        _ = outcome.steps[0].eror  # type: ignore[attr-defined]
    for value in (outcome, run.bundle("ready")):
        assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value


def test_completion_offers_what_a_person_uses_and_no_internals(run: Run) -> None:
    offered = {name for name in dir(run) if not name.startswith("_")}
    assert {"steps", "values", "df", "accept", "reject", "resume", "retry", "fork"} <= offered
    hidden = {"store", "live", "compiled", "nothing_done", "state", "changes", "interrupt"}
    assert offered.isdisjoint({*hidden, "is_live_here", "require_step", "wait_ended"})
    assert {"status", "failed_steps"} <= {*dir(run.outcome)}
    completer = IPCompleter(namespace={"run": run})  # type: ignore[no-untyped-call]  # IPython's
    with provisionalcompleter():
        completed = {each.text.lstrip(".") for each in completer.completions("run.", 4)}
    assert "steps" in completed
    assert completed.isdisjoint(hidden)
    assert run._ipython_key_completions_() == [step["id"] for step in STEPS]


@pytest.mark.parametrize(("inputs", "named"), [("n=3", "str"), ([("n", 3)], "list"), (3, "int")])
def test_inputs_that_are_not_a_mapping_are_named_as_such(inputs: Any, named: str) -> None:
    spec = {
        "name": "w",
        "inputs": {"n": {"type": "integer"}},
        "steps": [{"id": "a", "run": "true"}],
    }
    for call in (pixirnb.run, pixirnb.start):
        with pytest.raises(InvalidArguments, match=f"inputs must be a mapping, got {named}"):
            call(spec, inputs)


@pytest.mark.parametrize(("source", "named"), [(None, "None"), (3, "int"), ([], "list")])
def test_what_is_not_a_workflow_is_named_as_such(source: Any, named: str) -> None:
    for call in (pixirnb.load, pixirnb.plan, pixirnb.run, pixirnb.start):
        with pytest.raises(InvalidArguments, match=f"dict or a Workflow, got {named}"):
            call(source)


def test_a_blocking_run_takes_functions_and_listeners(tmp_path: Path) -> None:
    heard: list[Any] = []
    spec = {"name": "f", "steps": [{"id": "a", "call": ":f"}]}
    source = "def f():\n    return 1\n"
    outcome = pixirnb.run(
        spec, workspace=tmp_path, functions={":f": source}, listeners=[heard.append]
    )
    assert outcome.ok
    assert heard
