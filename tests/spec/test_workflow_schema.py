"""The JSON Schema of a workflow file, which editors complete and check with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pixirnb.spec.loader import load
from pixirnb.spec.workflow_schema import workflow_schema
from pixirnb.spec.yaml.reader import read_yaml

ROOT = Path(__file__).parents[2]
SCHEMA = workflow_schema()
VALIDATOR = Draft202012Validator(SCHEMA)


def errors(workflow: Any) -> list[str]:
    """Return what the schema says against a workflow."""
    return [error.message for error in VALIDATOR.iter_errors(workflow)]


def test_it_is_a_schema_of_draft_2020_12() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize(
    "path",
    sorted([ROOT / "docs/reference/every-key.yaml", *(ROOT / "examples").glob("*.yaml")]),
    ids=lambda path: path.name,
)
def test_it_accepts_every_workflow_that_is_shipped(path: Path) -> None:
    assert errors(read_yaml(path.read_text(encoding="utf-8")).value) == []


SHORT: dict[str, Any] = {
    "name": "short",
    "x-common": {"timeout": "2d"},
    "inputs": {"n": 3, "names": ["a"], "strict": {"type": "boolean"}},
    "steps": {
        "make": {"run": "make", "retry": 2, "env": {"N": 3, "B": True}, "write_set": "out/"},
        "gate": {"ask": "Ship it?", "depends_on": "make"},
        "test": {"call": "m:f", "verify": {"file_exists": "x"}, "timeout": "2d"},
    },
}


def test_it_accepts_the_short_spellings() -> None:
    assert load(SHORT).workflow is not None
    assert errors(SHORT) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "w", "steps": []},
        {"name": "w", "steps": [{"id": "a", "run": "true", "timout": 1}]},
        {"name": "w", "steps": [{"id": "a"}]},
        {"name": "w", "steps": {"a b": {"run": "true"}}},
        {"name": "w", "steps": [{"id": "a", "run": "true"}], "other": 1},
        {"name": "w", "steps": [{"id": "a", "run": "true"}], "on_failure": "abort"},
    ],
)
def test_it_refuses_what_the_loader_refuses(wrong: dict[str, Any]) -> None:
    assert load(wrong).workflow is None
    assert errors(wrong) != []


def test_every_key_has_a_description() -> None:
    models = [SCHEMA, *SCHEMA["$defs"].values()]
    assert [
        (model.get("title"), key)
        for model in models
        for key, value in model["properties"].items()
        if not value.get("description")
    ] == []
