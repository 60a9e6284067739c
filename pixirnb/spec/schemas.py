"""JSON schemas in a spec: their flaws, and the errors of a value. No other module reads a schema.

A schema never leaves its own text: no reference is fetched, opened or resolved outside it. A reference that does not
resolve in the text, or that leads back to itself without going into the value, is a flaw. Source: contract.md §11.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from pixirnb.spec.fields import pattern_flaw
from pixirnb.spec.known_words import choice_fix
from pixirnb.spec.source_map import PathParts

if TYPE_CHECKING:  # imported where they are used: `import pixirnb` stays light
    from jsonschema import Draft202012Validator
    from referencing import Resource
    from referencing._core import Resolver

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_SAME_VALUE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "extends")
_SAME_VALUE_BY_NAME: Final = ("dependentSchemas", "dependencies")
"""Keywords whose schemas apply to the value itself; the schemas of all others apply to a part of it."""
_SHOWN: Final = 5
_UNCHECKABLE: Final = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError)
"""Errors that the library raises for huge numbers, malformed URIs and unknown keywords."""


class Flaw(Struct, frozen=True):
    """The reason why a schema cannot be used."""

    parts: PathParts
    """Path in the schema."""
    message: str
    fix: str


def validator(schema: Mapping[str, Any]) -> Draft202012Validator:
    """Return a validator by the draft that `$schema` names, 2020-12 by default. It resolves nothing outside the schema."""
    from referencing import Registry

    made: Draft202012Validator = _draft(schema)(schema, registry=Registry())
    return made


def _draft(schema: Mapping[str, Any], otherwise: Any = None) -> Any:
    """Return the class of validators for `$schema`."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    return validator_for(schema, default=otherwise or Draft202012Validator)


def schema_problems(value: Any, schema: dict[str, Any]) -> list[str]:
    """Return why `value` does not match a JSON schema, one sentence each; empty if it matches. Never raises."""
    from referencing.exceptions import Unresolvable

    try:
        errors = sorted(
            validator(schema).iter_errors(value), key=lambda error: list(map(str, error.path))
        )
    except Unresolvable as unresolved:
        return [f"unresolvable reference in the schema: {unresolved}"[:300]]
    except RecursionError:
        return ["the value or its schema is nested too deep to check"]
    except _UNCHECKABLE as wrong:
        return [f"cannot be checked: {wrong}"[:300]]
    return [f"{error.json_path}: {error.message}"[:300] for error in errors[:_SHOWN]]


def may_take_long(schema: Mapping[str, Any]) -> bool:
    """Return whether checking a value of a few bytes may take hours: patterns, references and `unevaluated…` can cause that."""
    return any(word in json.dumps(schema) for word in _TOILSOME)


_TOILSOME: Final = ("pattern", '"$ref"', 'Ref"', "uniqueItems", "unevaluated")


def schema_flaw(schema: Mapping[str, Any]) -> Flaw | None:
    """Return the flaw of a schema; None if it can be used."""
    try:
        return _Text(schema).flaw()
    except RecursionError:
        return Flaw((), "the schema is nested too deep to check", "flatten it")
    except _UNCHECKABLE as wrong:
        return Flaw((), f"invalid JSON Schema: {wrong}"[:300], _SEE)


_SEE: Final = "fix the schema (draft 2020-12)"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


_TYPES: Final = ("string", "integer", "number", "boolean", "array", "object", "null")
"""Types of a JSON Schema."""


class _NoDraft:
    """Marker for a `$schema` that names no draft."""


class _Text:
    """The text of one schema, walked along its references."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self.positions = dict(_positions(schema))
        self.same_value: dict[int, list[int]] = {}
        """Schema, by identity, to the schemas that apply to its value too."""

    def flaw(self) -> Flaw | None:
        from referencing import Registry
        from referencing.jsonschema import specification_with

        if (flaw := self._strange(self.schema) or self._no_schema(self.schema)) is not None:
            return flaw
        self.draft = specification_with(_draft(self.schema).META_SCHEMA["$schema"])
        root = self.draft.create_resource(self.schema)
        base = root.id() or ""
        registry = Registry[Any]().with_resource(base, root).crawl()
        waiting: list[tuple[Resource[Any], Resolver[Any]]] = [(root, registry.resolver(base))]
        while waiting:
            resource, resolver = waiting.pop()
            schema = resource.contents
            if not isinstance(schema, Mapping) or id(schema) in self.same_value:
                continue
            same_value = self.same_value[id(schema)] = [*_same_value_schemas(schema)]
            if (flaw := self._strange(schema) or self._unusable(schema)) is not None:
                return flaw
            for keyword in _REFERENCES:
                if keyword not in schema:
                    continue
                target = self._target(resource, keyword, resolver)
                if isinstance(target, Flaw):
                    return target
                if target is not None:
                    same_value.append(id(target[0].contents))
                    waiting.append(target)
            waiting += [(each, resolver.in_subresource(each)) for each in resource.subresources()]
        return self._endless()

    def _target(
        self, resource: Resource[Any], keyword: str, resolver: Resolver[Any]
    ) -> tuple[Resource[Any], Resolver[Any]] | Flaw | None:
        """Return the target of a reference; None for `true` and `false`."""
        from referencing.exceptions import Unresolvable
        from referencing.jsonschema import lookup_recursive_ref

        where = (*self._position(resource.contents), keyword)
        text = resource.contents[keyword]
        try:
            resolved = (
                lookup_recursive_ref(resolver)
                if keyword == "$recursiveRef"
                else resolver.lookup(text)
            )
        except Unresolvable:
            return Flaw(
                where,
                f"`{keyword}: {text}`"[:120] + " does not resolve within the schema",
                "copy the target into `$defs` and use `#/$defs/NAME`; no reference is fetched",
            )
        if isinstance(resolved.contents, bool):
            return None
        if id(resolved.contents) not in self.same_value and (
            flaw := self._no_schema(resolved.contents)
        ):
            message = f"`{keyword}: {text}`"[:120] + f" refers to an {flaw.message}"
            return Flaw(where, message, flaw.fix)
        return resource.from_contents(resolved.contents, self.draft), resolved.resolver

    def _strange(self, schema: Mapping[str, Any]) -> Flaw | None:
        """Return the flaw of a `$schema` that names no supported draft."""
        from jsonschema import Draft3Validator

        uri = schema.get("$schema", _DIALECT)
        known = _draft({"$schema": uri}, _NoDraft) if isinstance(uri, str) else _NoDraft
        if known not in {_NoDraft, Draft3Validator}:
            return None
        return Flaw(
            (*self._position(schema), "$schema"),
            "unknown JSON Schema draft in `$schema`",
            f"remove it, or use `{_DIALECT}`",
        )

    def _no_schema(self, schema: Any) -> Flaw | None:
        """Return why this is not a schema of the draft of the text, or that it refers to itself."""
        from jsonschema.exceptions import SchemaError

        position = self._position(schema)
        if not isinstance(schema, Mapping):
            return Flaw(position, "invalid JSON Schema: expected a mapping", _SEE)
        try:
            _draft(schema, _draft(self.schema)).check_schema(schema, format_checker=None)
        except SchemaError as wrong:
            path = tuple(wrong.absolute_path)
            if path[-1:] == ("type",) and isinstance(wrong.instance, str):
                fix = choice_fix(wrong.instance, [*_TYPES])
                return Flaw((*position, *path), f"unknown type `{wrong.instance}`", fix)
            where = "/".join(map(str, wrong.absolute_path))
            at = f" (at {where})" if where else ""
            return Flaw(position, f"invalid JSON Schema: {wrong.message[:300]}{at}", _SEE)
        return None

    def _unusable(self, schema: Mapping[str, Any]) -> Flaw | None:
        """Return the flaw in a schema's own keywords."""
        for position, text in _patterns(schema):
            if (flaw := pattern_flaw(text)) is not None:
                return Flaw((*self._position(schema), *position), *flaw)
        return None

    def _endless(self) -> Flaw | None:
        try:
            TopologicalSorter(self.same_value).prepare()
        except CycleError as found:
            position = min((self.positions.get(each, ()) for each in found.args[1]), key=len)
            return Flaw(
                position,
                "the schema refers to itself for the same value, so a check would never end",
                "move the reference below `properties` or `items`",
            )
        return None

    def _position(self, schema: object) -> PathParts:
        return self.positions.get(id(schema), ())


def _same_value_schemas(schema: Mapping[str, Any]) -> Iterator[int]:
    for keyword in _SAME_VALUE:
        value = schema.get(keyword)
        yield from map(
            id, value if isinstance(value, list) else [value] if value is not None else []
        )
    for keyword in _SAME_VALUE_BY_NAME:
        yield from map(id, dict(schema.get(keyword) or {}).values())


def _patterns(schema: Mapping[str, Any]) -> Iterator[tuple[PathParts, str]]:
    if isinstance(schema.get("pattern"), str):
        yield ("pattern",), schema["pattern"]
    for text in dict(schema.get("patternProperties") or {}):
        yield ("patternProperties", text), text


def _positions(schema: object) -> Iterator[tuple[int, PathParts]]:
    """Yield the position of each mapping and list of a JSON value, by identity."""
    waiting: list[tuple[object, PathParts]] = [(schema, ())]
    while waiting:
        value, parts = waiting.pop()
        if isinstance(value, Mapping):
            yield id(value), parts
            waiting += [(inner, (*parts, str(key))) for key, inner in value.items()]
        elif isinstance(value, list | tuple):
            yield id(value), parts
            waiting += [(inner, (*parts, index)) for index, inner in enumerate(value)]
