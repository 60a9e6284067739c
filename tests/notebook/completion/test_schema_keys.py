"""The words that are offered are those the models accept: no table of keys that could grow old."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import BaseModel

from pixirnb.notebook.completion.schema_keys import OTHER, shape_at
from pixirnb.spec.agent_scripts import ACTIONS, REPORT_KEYS, check_action
from pixirnb.spec.policies import CHECK_KINDS, Agent, Check, Input, Phase, Question, Retry, Runner
from pixirnb.spec.steps import (
    KIND_KEYS,
    AgentStep,
    DecisionStep,
    Defaults,
    MergeStep,
    PythonStep,
    ShellStep,
)
from pixirnb.spec.workflow import Workflow

STEP = ("steps", 0)
ACTION = ("agents", "w", "script", "a", 0, 0)


def spelled(model: Any) -> set[str]:
    """The keys a model accepts, as an author writes them."""
    return {field.alias or name for name, field in model.model_fields.items()}


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ((), Workflow),
        (("defaults",), Defaults),
        (("defaults", "retry"), Retry),
        (("agents", "w"), Agent),
        (("agents", "w", "retry"), Retry),
        (("inputs", "n"), Input),
        (("phases", 0), Phase),
        ((*STEP, "retry"), Retry),
        ((*STEP, "ask"), Question),
    ],
)
def test_a_mapping_has_the_keys_of_its_model(
    path: tuple[str | int, ...], model: type[BaseModel]
) -> None:
    assert set(shape_at(path).keys()) == spelled(model)


@pytest.mark.parametrize("model", [ShellStep, PythonStep, AgentStep, DecisionStep, MergeStep])
def test_a_step_of_a_kind_has_the_keys_of_its_model(model: Any) -> None:
    kind = next(key for key, kind in KIND_KEYS.items() if kind == model.kind)
    assert set(shape_at(STEP).keys({kind})) | {kind} == spelled(model)


def test_a_step_without_a_kind_may_become_any() -> None:
    models = (ShellStep, PythonStep, AgentStep, DecisionStep, MergeStep)
    assert set(shape_at(STEP).keys()) == {key for model in models for key in spelled(model)}


def test_a_check_may_be_of_any_kind_and_then_of_no_other() -> None:
    check = shape_at((*STEP, "verify", 0))
    assert set(check.keys()) == set(CHECK_KINDS)
    for kind in CHECK_KINDS:
        for beside in check.keys({kind}):
            said = {kind: 0, beside: 0}
            beside_a_command = {"command", "exit_code", "timeout"}
            assert set(said) <= beside_a_command or (kind, beside) == ("python", "timeout")
    assert spelled(Check) == {*CHECK_KINDS, "timeout"}


def test_an_action_has_the_keys_that_scripts_are_read_by() -> None:
    assert set(shape_at(ACTION).keys()) == set(ACTIONS)
    for name, (_, beside) in ACTIONS.items():
        assert set(shape_at(ACTION).keys({name})) == set(beside)
    assert set(shape_at((*ACTION, "report")).keys()) == REPORT_KEYS
    assert check_action({"say": "x"})


def test_every_key_has_a_sentence() -> None:
    paths = [(), STEP, ("defaults",), ("agents", "w"), ("inputs", "n"), ("phases", 0)]
    paths += [(*STEP, "retry"), (*STEP, "ask"), ACTION, (*ACTION, "report")]
    missing = {
        (path, key.name)
        for path in paths
        for key in shape_at(path).keys().values()
        if not key.about
    }
    assert missing == set()
    beside = {"write": "text", "fail": "message", "tool": "args"}
    assert all(shape_at(ACTION).keys({kind})[key].about for kind, key in beside.items())


def test_few_words_are_those_of_the_model() -> None:
    assert shape_at(("agents", "w", "runner")).words == get_args(Runner)
    assert shape_at((*STEP, "process")).words == ("true", "false")
    assert shape_at((*STEP, "run")) == OTHER == shape_at(("nonsense", 0, "x"))
