"""`for_each` as written: the items a step runs over, and how they are named, limited and counted.

for_each: [a, b]                   a list
for_each: "{{ inputs.files }}"     an input, or the output of a step: a list or a mapping
for_each: {same_as: resize}        the items of another step
for_each: {items: …, key: "{{ item.name }}", max_parallel: 4, require: 90%}
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Self

from pydantic import BeforeValidator, Field, PlainValidator, StrictInt, model_validator

from pixirnb.spec import limits
from pixirnb.spec.expressions.references import BadReference, Template
from pixirnb.spec.fields import Name, NonBlank, SpecModel, json_value, mistake, shown

_NO_LISTS: Final = frozenset({"id", "output_path", "summary"})
"""Parts of a reference that are always a text."""
_PERCENT: Final = re.compile(r"(100|[0-9]{1,2})%", re.ASCII)


def _items(value: object) -> object:
    if isinstance(value, str):
        try:
            parts = Template.parse(value).parts
        except BadReference:
            return value  # planning reports it, with all other references
        only = parts[0] if len(parts) == 1 else ""
        if not isinstance(only, str) and only.part not in _NO_LISTS:
            return value
    elif isinstance(value, list | tuple):
        return json_value(value)
    raise mistake(
        "bad_for_each",
        f"`for_each` needs a list or one reference, got {shown(value)}",
        "write a list, `{{ inputs.NAME }}`, `{{ steps.ID.output }}` or `{same_as: STEP}`",
    )


def _require(value: object) -> object:
    is_count = type(value) is int and value > 0
    is_text = isinstance(value, str) and (value in {"all", "any"} or _PERCENT.fullmatch(value))
    if is_count or is_text:
        return value
    raise mistake(
        "bad_for_each",
        f"invalid `require`: {shown(value)}",
        'use all, any, a number of items or a percentage such as "90%"',
    )


class ForEach(SpecModel):
    """The items of a step, and how many of them must be ready."""

    items: Annotated[Any, PlainValidator(_items, json_schema_input_type=str | list[Any] | None)] = (
        None
    )
    """A list, or one reference to an input or an output that is a list or a mapping."""
    same_as: Name | None = None
    """The step whose items to use: item N starts when item N of that step is ready."""
    key: NonBlank | None = None
    """Name of an item, such as `{{ item.name }}`; by default its content. A resume finds results by it."""
    max_parallel: Annotated[StrictInt, Field(ge=1, le=limits.MAX_CONCURRENCY)] | None = None
    """Maximum number of items that run at the same time."""
    require: Annotated[str | int, PlainValidator(_require, json_schema_input_type=str | int)] = (
        "all"
    )
    """Number of items that must be ready: `all`, `any`, a number, or a percentage."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if ("items" in self.model_fields_set) == ("same_as" in self.model_fields_set):
            raise mistake(
                "bad_for_each",
                "`for_each` needs one of `items` and `same_as`",
                "write `items: [a, b]` or `same_as: STEP`",
            )
        return self

    def required(self, count: int) -> int:
        """Return the number of items that must be ready, of `count`."""
        match self.require:
            case "all":
                return count
            case "any":
                return min(1, count)
            case int(number):
                return number
            case str(percent):
                return math.ceil(count * int(percent.removesuffix("%")) / 100)


def _shorthand(value: object) -> object:
    return value if isinstance(value, Mapping | ForEach) else {"items": value}


ForEachKey = Annotated[
    ForEach,
    BeforeValidator(_shorthand, json_schema_input_type=str | list[Any] | ForEach),
]
"""The items of a step; a list or a reference alone is its `items`."""
