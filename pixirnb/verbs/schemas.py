"""The verb `schema`: JSON Schemas (draft 2020-12) of a workflow file and of documents.

A document's schema is read from its TypedDict, so it cannot differ from what the code builds.
"""

from __future__ import annotations

import types
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pixirnb.errors import ErrorDocument
from pixirnb.history.bundles import CheckpointBundle
from pixirnb.json_types import JsonObject
from pixirnb.machine.outcome_documents import RunDocument, RunRow
from pixirnb.planning.documents import PlanDocument
from pixirnb.spec.workflow_schema import workflow_schema
from pixirnb.verbs.answers import Answer
from pixirnb.verbs.options import Common


class RunsDocument(TypedDict):
    """The JSON of a list of runs."""

    schema_version: NotRequired[int]
    runs: list[RunRow]


_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
DOCUMENTS: Final[dict[str, Any]] = {
    "plan": PlanDocument,
    "outcome": RunDocument,
    "runs": RunsDocument,
    "bundle": CheckpointBundle,
    "error": ErrorDocument,
}
_NAMES: Final = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def schema(
    document: Literal["workflow", "plan", "outcome", "runs", "bundle", "error"] = "workflow",
    /,
    *,
    common: Common | None = None,
) -> Answer:
    """Print the JSON Schema of a workflow file or of a JSON document.

    Args:
        document: The kind of document.
    """
    del common  # a schema is JSON with and without --json
    return Answer("schema", schema_of(document))


def schema_of(name: str) -> JsonObject:
    """Return the JSON Schema of a workflow file, or of one of DOCUMENTS."""
    if name == "workflow":
        return workflow_schema()
    definitions: JsonObject = {}
    reference = _schema(DOCUMENTS[name], definitions)
    return {"$schema": _DRAFT, "title": name, **reference, "$defs": definitions}


def _schema(shape: Any, definitions: JsonObject) -> JsonObject:
    origin, arguments = get_origin(shape), get_args(shape)
    if is_typeddict(shape):
        if shape.__name__ not in definitions:
            definitions[shape.__name__] = {}  # shapes may name each other
            definitions[shape.__name__] = _object(shape, definitions)
        return {"$ref": f"#/$defs/{shape.__name__}"}
    if origin in {Annotated, NotRequired}:
        return _schema(arguments[0], definitions)
    if origin in {Union, types.UnionType}:
        return {"anyOf": [_schema(each, definitions) for each in arguments]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions)}
    return {} if shape in {Any, object} else {"type": _NAMES[shape]}


def _object(shape: Any, definitions: JsonObject) -> JsonObject:
    hints = get_type_hints(shape, include_extras=True)
    required = [
        key
        for key, hint in hints.items()
        if key in shape.__required_keys__ and get_origin(hint) is not NotRequired
    ]
    return {
        "type": "object",
        "description": (shape.__doc__ or "").partition("\n")[0],
        "properties": {key: _schema(hint, definitions) for key, hint in hints.items()},
        "required": required,
    }
