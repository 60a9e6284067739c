"""What a step, a check or a cell is given is its own: whatever they change in it, the run decides by what its log has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.engine.broadcast import topic_of
from pixirnb.history.run_state import fold
from pixirnb.operations.run import Run
from tests.stories.storyline import effects, facts, mark, shell, spec, statuses, until

pytestmark = pytest.mark.story

FUNCTIONS = {
    ":give": "def give(what): return what",
    ":approve": "def approve(d): d['approved'] = True; d['o'] = object(); return 'looked'",
    ":tie": "def tie(d): d['self'] = d; return 'tied'",
    ":add": "def add(xs): xs.append(len(xs)); return xs",
    ":fail_after_add": "def fail_after_add(xs): xs.append(0); assert len(xs) > 2, len(xs)",
    ":spoil": "def spoil(output): output['n'] = 'not an integer'; return True",
    ":is_whole": "def is_whole(output): return output == {'n': 1}",
    ":keep": "def keep():\n import sys\n sys.kept_by_a_step = {'n': [1]}\n return sys.kept_by_a_step",
    ":change_kept": "def change_kept():\n import sys\n sys.kept_by_a_step['n'].append(2)\n return 1",
    ":array": "def array():\n import numpy\n return numpy.zeros(3)",
    ":fill": "def fill(output): output.fill(7); return True",
    ":is_empty": "def is_empty(output): return not output.any()",
}


def call(step: str, function: str, *after: str, **fields: Any) -> dict[str, Any]:
    return {"id": step, "call": function, "depends_on": list(after), **fields}


def begun(workspace: Path, *steps: dict[str, Any], given: Any = None, **fields: Any) -> Run:
    return api.start(spec(*steps, **fields), given, workspace=workspace, functions=FUNCTIONS)


def values(run: Run) -> dict[str, Any]:
    return {data["step"]: data["output"].get("value") for data in facts(run, "attempt_ended")}


def test_a_step_that_changes_a_value_opens_no_gate(tmp_path: Path) -> None:
    steps = (
        call("check", ":give", **{"with": {"what": {"approved": False, "n": 1}}}),
        call("look", ":approve", "check", **{"with": {"d": "{{ steps.check.output }}"}}),
        shell("deploy", mark("deploy"), "look", when="{{ steps.check.output.approved }} == true"),
    )
    run = begun(tmp_path, *steps)
    outcome = run.wait()
    assert outcome.ok
    assert outcome.step("deploy").skipped
    assert effects(tmp_path) == []
    assert run.value("check") == {"approved": False, "n": 1}
    assert api.resume(run.id, workspace=tmp_path).is_no_op


def test_a_step_that_puts_a_value_into_itself_has_tied_its_own(tmp_path: Path) -> None:
    steps = (
        call("check", ":give", **{"with": {"what": {"n": 1}}}),
        call("knot", ":tie", "check", **{"with": {"d": "{{ steps.check.output }}"}}),
    )
    run = begun(tmp_path, *steps)
    assert run.wait().ok
    assert run.value("check") == {"n": 1}


def test_a_value_that_its_reader_changes_stays_as_it_is_in_the_run(tmp_path: Path) -> None:
    run = begun(tmp_path, call("check", ":give", **{"with": {"what": {"n": [1]}}}))
    assert run.wait().ok
    run.value("check")["n"].append(2)
    assert run.value("check") == {"n": [1]}
    run.values["check"]["n"].append(2)
    assert run.values == {"check": {"n": [1]}}


def test_each_step_and_each_attempt_gets_the_inputs_as_they_were_given(tmp_path: Path) -> None:
    given: dict[str, Any] = {"xs": [1]}
    arguments = {"with": {"xs": "{{ inputs.xs }}"}}
    retry = {"max_attempts": 3, "delay": 0}
    run = begun(
        tmp_path,
        call("a", ":add", **arguments),
        call("b", ":add", "a", **arguments),
        call("c", ":fail_after_add", **arguments, retry=retry),
        inputs={"xs": {"type": "array"}},
        given=given,
    )
    given["xs"].append("late")
    outcome = run.wait()
    assert (run.value("a"), run.value("b")) == ([1, 1], [1, 1])
    assert outcome.step("c").attempt == 3
    ends = [data for data in facts(run, "attempt_ended") if data["step"] == "c"]
    assert [data["error"]["message"] for data in ends] == ["AssertionError: 2"] * 3


def test_what_a_step_keeps_of_its_result_is_not_the_result(tmp_path: Path) -> None:
    run = begun(
        tmp_path,
        call("a", ":keep"),
        call("b", ":change_kept", "a"),
        call("c", ":give", "b", **{"with": {"what": "{{ steps.a.output }}"}}),
    )
    assert run.wait().ok
    assert values(run) == {"a": {"n": [1]}, "b": 1, "c": {"n": [1]}}


@pytest.mark.parametrize(
    "step",
    [
        call("a", ":give", **{"with": {"what": {"n": 1}}}),
        shell("a", """echo '{"n": 1}'"""),
    ],
    ids=["python", "shell"],
)
def test_a_check_changes_neither_what_is_stored_nor_what_the_next_check_sees(
    tmp_path: Path, step: dict[str, Any]
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    checks = [{"python": ":spoil"}, {"python": ":is_whole"}, {"schema": schema}]
    run = begun(tmp_path, {**step, "output": schema, "verify": checks})
    assert run.wait().ok
    (ended,) = facts(run, "attempt_ended")
    assert ended["output"]["value"] == {"n": 1}
    assert ended["payload"]["validation"] == {"passed": True, "errors": []}


def test_a_check_that_fills_an_array_fills_its_own(tmp_path: Path) -> None:
    checks = [{"python": ":fill"}, {"python": ":is_empty"}]
    run = begun(tmp_path, call("a", ":array", verify=checks))
    assert run.wait().ok
    assert not run.value("a").any()


def test_a_model_that_mends_what_it_validates_does_not_mend_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mending_model.py").write_text(
        "import pydantic\n"
        "class Model(pydantic.BaseModel):\n"
        "    n: int\n"
        "    @pydantic.model_validator(mode='before')\n"
        "    def mend(value):\n"
        "        value['n'] = 2\n"
        "        return value\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    run = begun(tmp_path, {**shell("a", """echo '{"n": 1}'"""), "output": "mending_model:Model"})
    assert run.wait().ok
    assert values(run) == {"a": {"n": 1}}


def test_a_cell_that_changes_what_it_looks_at_changes_nothing_of_a_live_run(tmp_path: Path) -> None:
    given = {"what": {"n": 1, "xs": "{{ inputs.xs }}"}}
    heard: list[Any] = []

    def meddle(news: Any) -> None:
        heard.append(topic_of(news))
        if heard[-1] == "attempt_ended":
            news.data["output"]["value"] = "heard"

    steps = (
        call("a", ":give", **{"with": given}),
        shell("gate", "until test -e go; do sleep 0.02; done", "a"),
        call("b", ":give", "gate", "a", **{"with": {"what": "{{ steps.a.output }}"}}),
        call("c", ":give", "gate", **{"with": {"what": "{{ inputs.xs }}"}}),
    )
    written = spec(*steps, inputs={"xs": {"type": "array", "default": [1]}})
    run = api.start(written, workspace=tmp_path, functions=FUNCTIONS, listeners=[meddle])
    until(lambda: run.state.step("a").checkpoint_status == "checkpoint_ready")
    run.value("a")["n"] = 777
    run.outcome.inputs["xs"].append(777)
    bundle = run.outcome.step("a").checkpoint
    assert bundle is not None
    bundle["produced"]["value"]["n"] = 777
    run.state.inputs["xs"].append(777)
    for event in run.history():
        if event.kind == "attempt_ended":
            event.data["output"]["value"] = 777
        event.data.get("inputs", {"xs": []})["xs"].append(777)
    assert "attempt_ended" in heard
    (tmp_path / "go").touch()
    assert run.wait().ok
    assert values(run) == {
        "a": {"n": 1, "xs": [1]},
        "gate": "",
        "b": {"n": 1, "xs": [1]},
        "c": [1],
    }
    assert fold(run.history()).inputs == {"xs": [1]}
    assert set(statuses(run.outcome).values()) == {"checkpoint_ready"}
