"""JSON schemas as a spec may hold them: what is wrong with one, and what a value lacks. The only place that takes one in.

A schema never leaves its own text: nothing that it names is fetched, opened or taken from elsewhere. A reference that
does not resolve in the text, or that leads back to itself without going into the value, is a flaw. Source: contract.md §11.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Final

from pixirnb.spec.patterns import pattern_flaw
from pixirnb.spec.source_map import PathParts

if TYPE_CHECKING:  # imported where they are used: `import pixirnb` stays light
    from jsonschema import Draft202012Validator
    from referencing import Resource
    from referencing._core import Resolver

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_BESIDE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "extends")
_BESIDE_BY_NAME: Final = ("dependentSchemas", "dependencies")
"""Keywords whose schemas look at the same value; below all others stands a part of it."""
_SHOWN: Final = 5
_UNCHECKABLE: Final = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError)
"""What numbers beyond all measure, malformed URIs and keywords of no draft come to in the library."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a schema is none that can be used."""

    parts: PathParts
    """Where in the schema."""
    message: str
    fix: str


def validator(schema: Mapping[str, Any]) -> Draft202012Validator:
    """What tells the errors of a value, by the draft that `$schema` names, 2020-12 unless said. It resolves nothing outside."""
    from referencing import Registry

    made: Draft202012Validator = _draft(schema)(schema, registry=Registry())
    return made


def _draft(schema: Mapping[str, Any], otherwise: Any = None) -> Any:
    """The class of validators for what `$schema` names."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    return validator_for(schema, default=otherwise or Draft202012Validator)


def schema_problems(value: Any, schema: dict[str, Any]) -> list[str]:
    """What keeps `value` from matching a JSON schema, one sentence each; empty when it matches. Raises for no value."""
    from referencing.exceptions import Unresolvable

    try:
        errors = sorted(
            validator(schema).iter_errors(value), key=lambda error: list(map(str, error.path))
        )
    except Unresolvable as unresolved:
        return [f"the schema refers to what it does not hold: {unresolved}"[:300]]
    except RecursionError:
        return ["the value, or what the schema says of it, nests too deep to be checked"]
    except _UNCHECKABLE as wrong:
        return [f"it cannot be checked: {wrong}"[:300]]
    return [f"{error.json_path}: {error.message}"[:300] for error in errors[:_SHOWN]]


def may_take_long(schema: Mapping[str, Any]) -> bool:
    """Whether a value of a few bytes may keep this schema's checking busy for hours: patterns and references can."""
    return any(word in json.dumps(schema) for word in _TOILSOME)


_TOILSOME: Final = ("pattern", '"$ref"', 'Ref"', "uniqueItems")


def schema_flaw(schema: Mapping[str, Any]) -> Flaw | None:
    """What is wrong with a schema; None where it can be used."""
    try:
        return _Text(schema).flaw()
    except RecursionError:
        return Flaw((), "the schema nests too deep to be checked", "flatten it")
    except _UNCHECKABLE as wrong:
        return Flaw((), f"not a JSON schema: {wrong}"[:300], _SEE)


_SEE: Final = "see json-schema.org, draft 2020-12"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class _NoDraft:
    """What `$schema` names where it names nothing."""


class _Text:
    """One schema's text, walked along its references."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self.places = dict(_places(schema))
        self.beside: dict[int, list[int]] = {}
        """Of each schema in the text, those that look at the same value; by identity."""

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
            if not isinstance(schema, Mapping) or id(schema) in self.beside:
                continue
            beside = self.beside[id(schema)] = [*_beside(schema)]
            if (flaw := self._strange(schema) or self._unusable(schema)) is not None:
                return flaw
            for keyword in _REFERENCES:
                if keyword not in schema:
                    continue
                target = self._target(resource, keyword, resolver)
                if isinstance(target, Flaw):
                    return target
                if target is not None:
                    beside.append(id(target[0].contents))
                    waiting.append(target)
            waiting += [(each, resolver.in_subresource(each)) for each in resource.subresources()]
        return self._endless()

    def _target(
        self, resource: Resource[Any], keyword: str, resolver: Resolver[Any]
    ) -> tuple[Resource[Any], Resolver[Any]] | Flaw | None:
        """What a reference leads to; None for `true` and `false`."""
        from referencing.exceptions import Unresolvable
        from referencing.jsonschema import lookup_recursive_ref

        where = (*self._place(resource.contents), keyword)
        text = resource.contents[keyword]
        try:
            found = (
                lookup_recursive_ref(resolver)
                if keyword == "$recursiveRef"
                else resolver.lookup(text)
            )
        except Unresolvable:
            return Flaw(
                where,
                f"`{keyword}: {text}`"[:120] + " leads to nothing in the schema's own text",
                "copy what it means below `$defs` and refer to it as `#/$defs/NAME`: nothing is fetched",
            )
        if isinstance(found.contents, bool):
            return None
        if id(found.contents) not in self.beside and (flaw := self._no_schema(found.contents)):
            message = f"`{keyword}: {text}`"[:120] + f" leads to what is {flaw.message}"
            return Flaw(where, message, flaw.fix)
        return resource.from_contents(found.contents, self.draft), found.resolver

    def _strange(self, schema: Mapping[str, Any]) -> Flaw | None:
        """Why `$schema` names nothing that is read here."""
        from jsonschema import Draft3Validator

        said = schema.get("$schema", _DIALECT)
        known = _draft({"$schema": said}, _NoDraft) if isinstance(said, str) else _NoDraft
        if known not in {_NoDraft, Draft3Validator}:
            return None
        return Flaw(
            (*self._place(schema), "$schema"),
            "not a JSON schema: `$schema` names no draft from 4 to 2020-12",
            f"take it out, or write {_DIALECT}",
        )

    def _no_schema(self, schema: Any) -> Flaw | None:
        """Why this is no schema by the draft that the text is written in, or it names itself."""
        from jsonschema.exceptions import SchemaError

        place = self._place(schema)
        if not isinstance(schema, Mapping):
            return Flaw(place, "not a JSON schema", _SEE)
        try:
            _draft(schema, _draft(self.schema)).check_schema(schema, format_checker=None)
        except SchemaError as wrong:
            where = "/".join(map(str, wrong.absolute_path))
            at = f" (at {where})" if where else ""
            return Flaw(place, f"not a JSON schema: {wrong.message[:300]}{at}", _SEE)
        return None

    def _unusable(self, schema: Mapping[str, Any]) -> Flaw | None:
        """What a schema's own keywords say that cannot be tried."""
        for place, text in _patterns(schema):
            if (flaw := pattern_flaw(text)) is not None:
                return Flaw((*self._place(schema), *place), *flaw)
        return None

    def _endless(self) -> Flaw | None:
        try:
            TopologicalSorter(self.beside).prepare()
        except CycleError as found:
            place = min((self.places.get(each, ()) for each in found.args[1]), key=len)
            return Flaw(
                place,
                "the schema refers to itself without going into the value: checking would never end",
                "refer to it from below `properties` or `items`, where each turn looks at a part",
            )
        return None

    def _place(self, schema: object) -> PathParts:
        return self.places.get(id(schema), ())


def _beside(schema: Mapping[str, Any]) -> Iterator[int]:
    for keyword in _BESIDE:
        said = schema.get(keyword)
        yield from map(id, said if isinstance(said, list) else [said] if said is not None else [])
    for keyword in _BESIDE_BY_NAME:
        yield from map(id, dict(schema.get(keyword) or {}).values())


def _patterns(schema: Mapping[str, Any]) -> Iterator[tuple[PathParts, str]]:
    if isinstance(schema.get("pattern"), str):
        yield ("pattern",), schema["pattern"]
    for text in dict(schema.get("patternProperties") or {}):
        yield ("patternProperties", text), text


def _places(schema: object) -> Iterator[tuple[int, PathParts]]:
    """Where each mapping and list of a JSON value stands, by identity."""
    waiting: list[tuple[object, PathParts]] = [(schema, ())]
    while waiting:
        value, parts = waiting.pop()
        if isinstance(value, Mapping):
            yield id(value), parts
            waiting += [(inner, (*parts, str(key))) for key, inner in value.items()]
        elif isinstance(value, list | tuple):
            yield id(value), parts
            waiting += [(inner, (*parts, place)) for place, inner in enumerate(value)]
