"""Access by key and by attribute: documents whose keys are attributes, and outcomes whose attributes are keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.wording import join_names

if TYPE_CHECKING:
    from pixirnb.json_types import JsonMapping


class Attributes(dict[str, Any]):
    """A JSON object whose keys are attributes as well, at any depth: `error.details.checks[0].seen`."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(_unknown("attribute", name, self))
        return _with_attributes(self[name])

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *filter(str.isidentifier, self)})


def _unknown(what: str, name: object, known: JsonMapping, otherwise: str = "") -> str:
    otherwise = otherwise or f"known: {join_names([*known], 6)}"
    return f"unknown {what} `{name}`; {did_you_mean(str(name), known, otherwise=otherwise)}"


def _with_attributes(value: Any) -> Any:
    if type(value) is dict:
        return Attributes(value)
    return [_with_attributes(item) for item in value] if type(value) is list else value


class Keyed(Struct, frozen=True):
    """A value with a `document()` whose keys it answers to, as `outcome["status"]` and as `outcome.failed_steps`."""

    def document(self) -> Any:
        """Return the value as JSON."""
        raise NotImplementedError

    def _otherwise(self) -> str:
        """Return the fix for a name that is like none of its keys."""
        return 'values are on the Run: `run["STEP"].value`'

    def __getitem__(self, key: str) -> Any:
        if key in self.__struct_fields__:
            return getattr(self, key)
        document: JsonMapping = self.document()
        if key not in document:
            raise KeyError(_unknown("key", key, document, self._otherwise()))
        return document[key]

    if not TYPE_CHECKING:  # a type checker would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            if (
                name.startswith("_") or name in self.__struct_fields__
            ):  # not yet there while it is copied
                raise AttributeError(name)
            document = self.document()
            if name not in document:
                raise AttributeError(_unknown("attribute", name, document, self._otherwise()))
            return document[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.document()})
