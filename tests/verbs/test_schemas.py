"""`pixirnb schema`: every golden document is valid against the schema that is published for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pixirnb.errors import InvalidArguments
from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report, require
from pixirnb.spec.loader import load_text
from pixirnb.verbs.schemas import DOCUMENTS, schema_of
from tests.verbs.command import command

ROOT = Path(__file__).parents[2]
OUTCOMES = sorted((ROOT / "tests/golden").glob("*.outcome.json"))


def valid(name: str, document: Any) -> None:
    """Raises where a document is not one of that name."""
    Draft202012Validator(schema_of(name)).validate(json.loads(json.dumps(document)))


def is_valid(name: str, document: Any) -> bool:
    return bool(Draft202012Validator(schema_of(name)).is_valid(document))


@pytest.mark.parametrize("name", ["workflow", *DOCUMENTS])
def test_a_schema_is_one_of_the_draft_and_is_printed_alone(name: str) -> None:
    said = command("schema", name)
    found = json.loads(said.out)
    assert (said.code, said.err) == (0, "")
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(found)
    assert "schema_version" not in found
    assert command("schema", name, "--json").out == said.out


@pytest.mark.parametrize("path", OUTCOMES, ids=lambda path: path.name)
def test_a_golden_outcome_and_its_bundles_are_valid(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    valid("outcome", document)
    for step in document["steps"]:
        if step["checkpoint"] is not None:
            valid("bundle", step["checkpoint"])
        for key in step:
            assert key in schema_of("outcome")["$defs"]["StepDocument"]["properties"], key
    document["steps"][0]["attempt"] = "one"
    assert not is_valid("outcome", document)


def test_the_golden_list_of_runs_is_valid() -> None:
    document = json.loads((ROOT / "tests/golden/runs.json").read_text(encoding="utf-8"))
    valid("runs", document)
    del document["runs"][0]["run_id"]
    assert not is_valid("runs", document)


def test_plans_of_the_examples_and_errors_are_valid() -> None:
    for path in sorted((ROOT / "examples").glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        valid("plan", report(require(load_text(text, path.name)), Environment()).document())
    error = InvalidArguments("no", fix="yes").document()
    valid("error", error)
    assert not is_valid("error", {"ok": False, "error": {"code": 1}})
