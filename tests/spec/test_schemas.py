"""A schema never leaves its own text, and whatever it says and whatever it is held against, the answer is a sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report
from pixirnb.spec.loader import load_mapping
from pixirnb.spec.schemas import may_take_long, schema_flaw, schema_problems
from tests.sweeps import examples

TREE: Final = {
    "type": "object",
    "properties": {"children": {"type": "array", "items": {"$ref": "#"}}},
    "additionalProperties": False,
}


class Listener:
    """A server on loopback that remembers who asked it for something."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Remembers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Remembers)
        self.url = f"http://127.0.0.1:{self.server.server_port}/schema.json"
        self.thread = Thread(target=self.server.serve_forever, daemon=True)


@pytest.fixture
def listener() -> Iterator[Listener]:
    one = Listener()
    one.thread.start()
    yield one
    one.server.shutdown()
    one.thread.join()
    one.server.server_close()


def found_in_plan(schema: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """What the plan says of a step whose output, and of one whose check, is this schema."""
    spec = {
        "name": "w",
        "steps": [
            {"id": "a", "run": "echo 1", "output": schema},
            {"id": "b", "run": "echo 1", "verify": [{"schema": schema}]},
        ],
    }
    found = report(load_mapping(spec).require(), Environment()).errors
    return [(each.code, each.path, bool(each.fix)) for each in found]


def test_nothing_that_a_schema_names_is_fetched(listener: Listener, tmp_path: Path) -> None:
    private = tmp_path / "schema.json"
    private.write_text('{"type": "integer"}', encoding="utf-8")
    for reference in (listener.url, private.as_uri(), str(private), "schema.json"):
        for schema in (
            {"$ref": reference},
            {"$dynamicRef": reference},
            {"properties": {"a": {"allOf": [{"$ref": reference}]}}},
            {"$id": listener.url.replace("schema", "other"), "items": {"$ref": "schema.json"}},
        ):
            assert schema_flaw(schema) is not None
            told = [*schema_problems([0], schema), *schema_problems({"a": 1}, schema)]
            assert any("unresolvable reference" in sentence for sentence in told)
    assert listener.asked == []


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"$ref": "http://example.invalid/s"}, ".$ref"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, ".properties.a.$ref"),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, ".$ref"),
        ({"$ref": "#"}, ""),
        ({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}}, ""),
        ({"$dynamicAnchor": "n", "$dynamicRef": "#n"}, ""),
        ({"$schema": "http://example.invalid/mine"}, ".$schema"),
        ({"pattern": "a{99999999999}"}, ".pattern"),
        ({"properties": {"a": {"pattern": "(" * 3000}}}, ".properties.a.pattern"),
        ({"$ref": "#/title", "title": "x"}, ".$ref"),
        ({"$id": "http://["}, ""),
    ],
)
def test_what_leaves_the_text_or_never_ends_is_a_mistake_at_its_place(
    schema: dict[str, Any], place: str
) -> None:
    assert found_in_plan(schema) == [
        ("bad_schema", f"steps[0].output{place}", True),
        ("bad_schema", f"steps[1].verify[0].schema{place}", True),
    ]


@pytest.mark.parametrize(
    "schema",
    [
        TREE,
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}},
        {"$id": "http://example.invalid/a", "$ref": "b", "$defs": {"b": {"$id": "b"}}},
        {"$anchor": "me", "properties": {"next": {"$ref": "#me"}}},
        {"enum": [{"$ref": "http://example.invalid/data"}], "properties": {"$ref": {}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}, {"$ref": "#"}]},
    ],
)
def test_references_within_the_text_are_allowed_trees_too(schema: dict[str, Any]) -> None:
    assert found_in_plan(schema) == []


def test_a_value_deeper_than_any_stack_ends_in_a_sentence() -> None:
    value: dict[str, Any] = {}
    for _ in range(900):
        value = {"children": [value]}
    assert schema_problems(value, TREE) == ["the value or its schema is nested too deep to check"]


KEYWORDS: Final = (
    "$ref", "$dynamicRef", "$recursiveRef", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$schema", "$defs",
    "definitions", "allOf", "anyOf", "not", "if", "then", "items", "prefixItems", "properties", "patternProperties", "a",
    "additionalProperties", "dependentSchemas", "dependencies", "unevaluatedProperties", "type", "enum", "const", "minimum",
    "multipleOf", "pattern", "required", "extends", "contains", "propertyNames", "maxLength", "title",
)  # fmt: skip
TEXTS: Final = st.sampled_from(
    ["#", "#a", "a", "#/$defs/a", "#/properties/a", "#/allOf/0", "http://x.invalid/", "http://[", "#/%", "object", "array", "("]
    + [f"http://json-schema.org/draft-0{n}/schema#" for n in (3, 4, 6, 7)]
    + ["https://json-schema.org/draft/2019-09/schema"]
)  # fmt: skip
SCALARS: Final = (
    TEXTS
    | st.booleans()
    | st.none()
    | st.integers(-2, 3)
    | st.integers(4400, 4402).map(lambda digits: 10**digits)
)
SCHEMAS: Final = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4)
    ),
    max_leaves=10,
).filter(lambda value: isinstance(value, dict))
VALUES: Final = st.recursive(
    SCALARS | st.floats(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
)


@given(schema=SCHEMAS, value=VALUES)
@settings(max_examples=examples(300), deadline=None)
def test_any_mapping_is_refused_in_a_sentence_or_can_be_used_on_any_value(
    schema: dict[str, Any], value: Any
) -> None:
    flaw = schema_flaw(schema)
    if flaw is None:
        told = schema_problems(value, schema)
        assert all(told)
        assert not any("refers to" in sentence or "too deep" in sentence for sentence in told)
    else:
        assert flaw.message
        assert flaw.fix
        json.dumps([flaw.parts, flaw.message, flaw.fix])


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"unevaluatedProperties": False}]},
        {"items": {"uniqueItems": True}},
        {"$ref": "#/$defs/a"},
        {"type": "string", "pattern": "a+"},
    ],
)
def test_a_schema_that_can_take_hours_is_not_checked_in_the_kernel(schema: dict[str, Any]) -> None:
    assert may_take_long(schema)
    assert not may_take_long({"type": "object", "required": ["a"]})
