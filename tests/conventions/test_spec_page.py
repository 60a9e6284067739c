"""The workflow that shows every key once shows every key, and nothing that is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report, require
from pixirnb.spec import policies, steps
from pixirnb.spec.fields import SpecModel
from pixirnb.spec.loader import load_text
from pixirnb.spec.workflow import Workflow

TEXT = (Path(__file__).parents[2] / "docs" / "reference" / "every-key.yaml").read_text(
    encoding="utf-8"
)
MODELS: list[type[SpecModel]] = [
    Workflow,
    steps.ShellStep,
    steps.PythonStep,
    steps.AgentStep,
    steps.DecisionStep,
    steps.MergeStep,
    policies.Agent,
    policies.Retry,
    policies.Check,
    policies.Question,
    policies.Input,
    policies.Phase,
]


def keys(value: Any) -> Iterator[str]:
    """Every key of a document, at whatever depth."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from keys(each)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_the_example_has_every_key_of_a_model(model: type[SpecModel]) -> None:
    spelled = {field.alias or name for name, field in model.model_fields.items()}
    assert sorted(spelled - set(keys(yaml.safe_load(TEXT)))) == []


def test_the_example_has_no_mistake() -> None:
    found = report(require(load_text(TEXT, "every-key.yaml")), Environment())
    assert found.errors == ()
