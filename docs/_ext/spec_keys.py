"""Every key of a workflow with its type, its default and its meaning, out of the models a workflow is read into.

A key without a sentence ends the writing: its meaning belongs beneath its field in `pixirnb/spec`.
"""

from __future__ import annotations

import json
import types
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le, MaxLen, MinLen
from attribute_notes import notes, summary
from pydantic.fields import FieldInfo

from pixirnb.spec import limits, steps
from pixirnb.spec.durations import format_duration
from pixirnb.spec.fields import Command, Delay, Duration, Json, JsonObject, Name, SpecModel, Texts
from pixirnb.spec.for_each import ForEach, ForEachKey
from pixirnb.spec.policies import (
    Agent,
    Check,
    Checks,
    Input,
    InputKey,
    Phase,
    Question,
    QuestionKey,
    Retry,
    RetryKey,
)
from pixirnb.spec.titles import Title
from pixirnb.spec.workflow import Workflow

_SHARED: Final = frozenset(steps.StepBase.model_fields)
_KINDS: Final[tuple[type[steps.StepBase], ...]] = (
    steps.ShellStep,
    steps.PythonStep,
    steps.AgentStep,
    steps.DecisionStep,
    steps.MergeStep,
)
_TITLES: Final[dict[type[SpecModel], str]] = {
    Workflow: "Workflow",
    steps.StepBase: "Every step",
    steps.ShellStep: "Shell step",
    steps.PythonStep: "Python step",
    steps.AgentStep: "Agent step",
    steps.DecisionStep: "Decision step",
    steps.MergeStep: "Merge step",
    steps.Defaults: "Defaults",
    Agent: "Agent",
    Retry: "Retry",
    Check: "Check",
    ForEach: "For each",
    Question: "Question",
    Input: "Input",
    Phase: "Phase",
}
"""The models a page shows, in its order."""
_TERMS: Final[tuple[tuple[Any, str], ...]] = (
    (Duration, "duration"),
    (Delay, "duration, or 0"),
    (Name, "name"),
    (Title, f"text, 1 line, at most {limits.TITLE}"),
    (Command, "command line or argv list"),
    (Json, "any value"),
    (JsonObject, "mapping"),
    (Texts, "text or list of texts"),
    (tuple[str, ...], "text or list of texts"),
    (RetryKey, "[retry](#retry) or number of attempts"),
    (QuestionKey, "[question](#question) or its text"),
    (InputKey, "[input](#input) or its default"),
    (ForEachKey, "[for each](#for-each), its list or a reference to it"),
    (Checks, "[check](#check) or list of [check](#check)"),
    (steps.Output, "JSON schema, or `package.module:Model`"),
    (steps.Step, "[step](#every-step)"),
    (str, "text"),
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (Any, "any value"),
)


def page() -> str:
    """The tables, as Markdown, one section a model."""
    return "\n\n".join(_section(model, title) for model, title in _TITLES.items())


def _section(model: type[SpecModel], title: str) -> str:
    left_out = _left_out(model)
    own = [name for name in vars(model)["__annotations__"] if name in model.model_fields]
    names = [*own, *(name for name in model.model_fields if name not in own)]
    keys = {name: model.model_fields[name] for name in names if name not in left_out}
    parts = [f"## {title}", summary(model)]
    if model is steps.Defaults:
        parts.append(
            "Every key of [every step](#every-step) but "
            + ", ".join(f"`{key}`" for key in sorted(left_out - set(steps.Defaults.model_fields)))
            + ", and these:"
        )
    if keys:
        said, hints = notes(model), get_type_hints(model, include_extras=True)
        rows = [_row(model, name, f, hints[name], said) for name, f in keys.items()]
        parts.append("\n".join(["| key | type | default | means |", "|---|---|---|---|", *rows]))
    return "\n\n".join(parts)


def _left_out(model: type[SpecModel]) -> frozenset[str]:
    return _SHARED if model in _KINDS or model is steps.Defaults else frozenset()


def _row(
    model: type[SpecModel], name: str, field: FieldInfo, hint: Any, said: dict[str, str]
) -> str:
    key = field.alias or name
    if not said.get(name):
        raise ValueError(f"{model.__name__}.{name} has no sentence beneath it")
    cells = (f"`{key}`", _words(hint), _default(field, hint), said[name])
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _words(hint: Any) -> str:
    """A type, as an author would say it."""
    for term, words in _TERMS:
        if hint == term:
            return words
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _words(arguments[0]) + _bounds(arguments[1:])
    if origin in {Union, types.UnionType}:
        return " or ".join(_words(each) for each in arguments if each is not type(None))
    if origin is Literal:
        return " ".join(f"`{word}`" for word in arguments)
    if origin in {tuple, list}:
        return f"list of {_words(arguments[0])}"
    if origin is dict:
        of_keys = "text" if arguments[0] is str else "name"
        return f"mapping of {of_keys} to {_words(arguments[1])}"
    if hint in _TITLES:
        return f"[{_TITLES[hint].lower()}](#{_TITLES[hint].lower().replace(' ', '-')})"
    raise ValueError(f"no words for the type {hint}")


def _bounds(constraints: Sequence[Any]) -> str:
    said = []
    for constraint in constraints:
        for each in constraint.metadata if isinstance(constraint, FieldInfo) else (constraint,):
            match each:
                case Ge(ge=least):
                    said.append(f"at least {least:,}")
                case Le(le=most):
                    said.append(f"at most {most:,}")
                case MinLen(min_length=1):
                    said.append("not empty")
                case MaxLen(max_length=most):
                    said.append(f"at most {most:,}")
                case _:
                    continue  # strictness and the like: the type's word says it
    return "".join(f", {words}" for words in said)


def _default(field: FieldInfo, hint: Any) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None:
        return ""
    if isinstance(value, SpecModel):
        return "`{}`"
    if hint in (Duration, Delay):
        return f"`{format_duration(value)}`"
    if isinstance(value, str):
        return f"`{value}`" if value else "empty"
    if isinstance(value, tuple) and value:
        return " ".join(f"`{word}`" for word in value)
    return f"`{json.dumps(value)}`"
