"""The kinds of value in a spec: names, durations, lists of globs, command lines, free JSON.

Each is a type to annotate a model's field with. A wrong value raises a `PydanticCustomError` whose type is our code
and whose context carries the fix; `problems` turns both into a Problem.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    PlainValidator,
    StringConstraints,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from pixirnb.spec import limits, shorthands
from pixirnb.spec.durations import BadDuration, format_duration, parse_duration

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)  # it has no public name


class _SpecType(ModelMetaclass):
    """The class of models that raise InvalidSpec when they are called with wrong values."""

    if not TYPE_CHECKING:  # type checkers read the fields of the models

        def __call__(self, *args: Any, **values: Any) -> Any:
            """Return an object. Raises InvalidSpec."""
            try:
                return super().__call__(*args, **values)
            except ValidationError as error:
                # What translates mistakes imports the models.
                from pixirnb.spec.validation_errors import to_invalid_spec

                raise to_invalid_spec(error, values, self) from None


class SpecModel(BaseModel, metaclass=_SpecType):
    """Base of all models of a spec: unknown keys are refused, objects are immutable, scalars are strict."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_by_name=True,
        validate_by_alias=True,
        # The limit also makes pydantic check texts for lone surrogates: without a limit they pass unchecked.
        str_max_length=limits.SPEC_TEXT_BYTES,
    )

    def canonical(self) -> dict[str, Any]:
        """Return what was written, in the author's spelling, as plain JSON: keys of models sorted, an author's in their order.

        It loads back to an equal object, and equal objects have equal ones. Equals `model_dump(by_alias,
        exclude_unset)` but is five times faster: large workflows are hashed before every run.
        """
        fields = self.__dict__
        written: dict[str, Any] = {}
        for name in self.__pydantic_fields_set__:
            value = fields[name]
            kind = type(value)
            if kind is int and name in _SPANS:
                value = format_duration(value)
            elif kind is tuple and value and type(value[0]) is str:
                # Texts and argvs hold nothing else.
                value = [*value]
            elif kind is not str:
                value = _plain(value)
            written[_SPELLINGS.get(name, name)] = value
        return dict(sorted(written.items()))


def keys_of(model: type[SpecModel]) -> list[str]:
    """Return the keys that an author may write for a model."""
    return [field.alias or name for name, field in model.model_fields.items()]


_SPANS: Final = frozenset({"timeout", "delay", "max_delay"})
"""Duration fields of all models."""
_SPELLINGS: Final = {"arguments": "with", "json_schema": "schema"}


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is tuple or kind is list:
        return [_plain(item) for item in value]
    if kind is dict:
        return {key: _plain(item) for key, item in value.items()}
    return value.canonical() if isinstance(value, SpecModel) else value


def mistake(code: str, message: str, fix: str) -> PydanticCustomError:
    """Return the error for a wrong value, for validators to raise."""
    # Braces would be read as a template by pydantic, which also fails for lone surrogates.
    return PydanticCustomError(
        code, "{message}", {"message": sayable(message), "fix": sayable(fix)}
    )


def sayable(text: str) -> str:
    r"""Return `text` with lone surrogates spelled out, as `\ud800`, so that it can be written anywhere."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _duration(value: object) -> int:
    return _milliseconds(value, allow_zero=False)


def _delay(value: object) -> int:
    return _milliseconds(value, allow_zero=True)


def _milliseconds(value: object, *, allow_zero: bool) -> int:
    try:
        return parse_duration(value, allow_zero=allow_zero)  # type: ignore[arg-type]  # it refuses other types
    except BadDuration as wrong:
        raise mistake("bad_duration", wrong.message, wrong.fix) from None


def _not_blank(text: str) -> str:
    if not text.strip():
        raise mistake("empty", "the text is blank", "write a text")
    return text


def _command(value: object) -> str | tuple[str, ...]:
    if isinstance(value, str):
        system_text(value, "a command")
        if value.strip():
            return value
        raise mistake("empty", "the command is empty", "write a command line or an argv list")
    if not isinstance(value, list | tuple):
        raise mistake(
            "wrong_type",
            f"expected a command line or an argv list, got {shown(value)}",
            "write a string or a list of strings",
        )
    if not value or not value[0]:
        raise mistake(
            "empty", "the argv list has no program", "begin it with the name of a program"
        )
    for position, word in enumerate(value):
        if not isinstance(word, str):
            raise mistake(
                "wrong_type",
                f"expected a string at position {position} of the argv list, got {shown(word)}",
                f'quote it: `"{shown(word)}"`'
                if isinstance(word, int | float)
                else "write a string",
            )
        system_text(word, "a command")
    return tuple(value)


def system_text(text: str, what: str) -> str:
    """Return `text` if the system accepts it; raises the error for a NUL or a lone surrogate."""
    if "\0" in text:
        raise mistake("bad_text", f"{what} cannot contain a NUL character", "remove it")
    return _whole_text(text, what)


def _whole_text(text: str, what: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            sentence = f"{what} contains an invalid Unicode character (a lone surrogate)"
            raise mistake("bad_text", sentence, "write the whole character") from None
    return text


def json_value(value: object) -> object:
    """Return a copy of a JSON value; raises the error of the first part that is not JSON."""
    return _checked(value, 1)


_BITS: Final = 14_000
"""Maximum size of a whole number, some 4,200 digits: Python can still read it back."""
_IN_QUOTES: Final = "use a smaller number, or quote it"


def _checked(value: object, depth: int) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value if value.isascii() else _whole_text(value, "text")
    if isinstance(value, int):
        if value.bit_length() > _BITS:
            raise mistake("not_json", "the number has too many digits", _IN_QUOTES)
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise mistake(
            "not_json", "infinity and NaN are not JSON", "use a finite number or a string"
        )
    if depth > limits.NESTING:
        raise mistake(
            "limit_exceeded",
            f"the value is nested deeper than {limits.NESTING} levels",
            "flatten it (limit: nesting)",
        )
    if isinstance(value, list | tuple):
        return [_checked(item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise mistake(
                    "bad_key", f"expected a string as key, got {shown(key)}", f'quote it: `"{key}"`'
                )
            _whole_text(key, "a key")
        return {key: _checked(item, depth + 1) for key, item in value.items()}
    raise mistake(
        "not_json",
        f"a value of type {type(value).__name__} is not JSON",
        "use null, booleans, numbers, strings, lists and mappings",
    )


def json_object(value: object) -> dict[str, Any]:
    """Return a copy of a mapping of JSON values; raises the error of the first value that is not JSON."""
    if not isinstance(value, Mapping):
        raise mistake(
            "wrong_type", f"expected a mapping, got {shown(value)}", "write `key: value` pairs"
        )
    checked = _checked(value, 1)
    assert isinstance(checked, dict)
    return checked


def shown(value: object) -> str:
    """Return `value` as a short text for a sentence."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - endless digits, endless depth, and whatever the author's own objects do
        return f"this {type(value).__name__}"
    return text if len(text) <= 40 else text[:37] + "..."


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
"""A safe id: it becomes a file name, HTML text and an environment tag."""
Duration = Annotated[
    int,
    BeforeValidator(_duration, json_schema_input_type=str | int | float),
    PlainSerializer(format_duration, return_type=str),
]
"""Milliseconds in memory; `45s`, `15m`, `1h30m`, `2d` or seconds as written."""
Delay = Annotated[
    int,
    BeforeValidator(_delay, json_schema_input_type=str | int | float),
    PlainSerializer(format_duration, return_type=str),
]
"""A duration that may be 0."""
Command = Annotated[
    str | tuple[str, ...],
    PlainValidator(_command, json_schema_input_type=str | list[str]),
    PlainSerializer(_plain),
]
"""Text for `sh -c`, or an argv."""
NonBlank = Annotated[str, StringConstraints(min_length=1), AfterValidator(_not_blank)]
"""Text that is not blank."""
Json = Annotated[Any, PlainValidator(json_value)]
"""Any JSON value."""
JsonObject = Annotated[dict[str, Any], PlainValidator(json_object)]
"""A mapping of JSON values."""
Texts = Annotated[
    tuple[str, ...],
    BeforeValidator(shorthands.items, json_schema_input_type=str | tuple[str, ...]),
]
"""A list of texts; a single text is a list of one."""


def pattern_flaw(text: str) -> tuple[str, str] | None:
    """Return why `text` is not a usable regular expression, as message and fix; None if it is."""
    try:
        re.compile(text)
    except re.error as wrong:
        return f"invalid regular expression: {wrong}", "escape literal characters with `\\`"
    except OverflowError:
        return "invalid regular expression: too many repetitions", "repeat fewer times"
    except RecursionError:
        return "invalid regular expression: nested too deep", "use fewer nested groups"
    return None
