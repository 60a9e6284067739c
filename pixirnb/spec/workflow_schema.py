"""JSON Schema of a workflow as it may be written, short spellings included: what an editor completes and checks against.

The descriptions are the docstrings beneath the fields. The schema is wider than the loader: what depends on other keys
(references, dependencies, whether a step has one action) is checked when the workflow is loaded.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any, Final

from pixirnb.spec import limits
from pixirnb.spec.fields import SpecModel
from pixirnb.spec.for_each import ForEach
from pixirnb.spec.policies import Agent, Check, Input, Phase, Question, Retry
from pixirnb.spec.steps import (
    AgentStep,
    DecisionStep,
    Defaults,
    MergeStep,
    PythonStep,
    ShellStep,
)
from pixirnb.spec.workflow import Workflow

_MODELS: Final[tuple[type[SpecModel], ...]] = (
    *(Workflow, Agent, Check, ForEach, Input, Phase, Question, Retry, Defaults),
    *(ShellStep, PythonStep, AgentStep, DecisionStep, MergeStep),
)


def workflow_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a workflow file."""
    schema = Workflow.model_json_schema(by_alias=True, mode="validation")
    definitions = schema.pop("$defs")
    for model in _MODELS:
        described = schema if model is Workflow else definitions[model.__name__]
        sentences = field_sentences(model)
        for name, field in model.model_fields.items():
            if name in sentences:
                described["properties"][field.alias or name]["description"] = sentences[name]
    _add_steps_by_id(schema, definitions)
    plain: dict[str, Any] = _plain({**schema, "$defs": definitions})
    plain["patternProperties"] = {"^x-": {}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **plain}


def field_sentences(model: type[SpecModel]) -> dict[str, str]:
    """Return the docstring beneath each field of a model, on one line; nothing where its source is not at hand."""
    sentences: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if not issubclass(base, SpecModel):
            continue
        try:
            source = inspect.getsource(base)
        except OSError:
            continue
        body = ast.parse(textwrap.dedent(source)).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, below in zip(body.body, body.body[1:], strict=False):
            match field, below:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    sentences[name] = " ".join(text.split())
                case _:
                    continue
    return sentences


def _add_steps_by_id(schema: dict[str, Any], definitions: dict[str, Any]) -> None:
    """Let the steps of a mapping do without `id`: their keys are their ids."""
    as_list, as_mapping = schema["properties"]["steps"]["anyOf"]
    as_list |= {"minItems": 1, "maxItems": limits.STEPS}
    (step_of_name,) = as_mapping["patternProperties"].values()
    names = [choice["$ref"].rpartition("/")[2] for choice in step_of_name["oneOf"]]
    for name in names:
        step = definitions[name]
        rest = {"required": [key for key in step["required"] if key != "id"]}
        definitions[f"{name}ById"] = {**step, **rest, "title": f"{name}ById"}
    step_of_name["oneOf"] = [{"$ref": f"#/$defs/{name}ById"} for name in names]


def _plain(node: Any) -> Any:
    """Return a schema without what says nothing to an author: generated titles, the size limit of all texts."""
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {
        key: _plain(item)
        for key, item in node.items()
        if not (
            key == "title"
            and isinstance(item, str)
            and ("type" in node or "anyOf" in node or "$ref" in node)
        )
        and not (key == "maxLength" and item == limits.SPEC_TEXT_BYTES)
    }
    if kept.get("propertyNames") == {}:
        del kept["propertyNames"]
    if "patternProperties" in kept:
        kept.setdefault("additionalProperties", False)  # names of another form are errors
    return kept
