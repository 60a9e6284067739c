"""Errors of the validating library, translated into the author's terms: a user sees none of them.

translate(error, written)   every error as a SpecProblem; one slip is one problem
meant_key(parts, written)   the key that an unknown one most likely stands for
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pixirnb.errors import InvalidSpec
from pixirnb.ids import NAME_RULE
from pixirnb.spec import known_words, limits
from pixirnb.spec.did_you_mean import shape
from pixirnb.spec.fields import SpecModel, keys_of, shown
from pixirnb.spec.for_each import ForEach
from pixirnb.spec.known_words import Words
from pixirnb.spec.policies import Agent, Check, Input, Phase, Question, Retry
from pixirnb.spec.problems import SpecProblem, problems, refusal
from pixirnb.spec.source_map import PathParts, SourceMap
from pixirnb.spec.steps import (
    KIND_KEYS,
    AgentStep,
    DecisionStep,
    Defaults,
    MergeStep,
    PythonStep,
    ShellStep,
)
from pixirnb.spec.workflow import Workflow

if TYPE_CHECKING:
    from pydantic import ValidationError

_DIGITS: Final = 20
"""Length up to which a text in quotes is taken for a number."""
_BOUNDS: Final = {
    "greater_than_equal": ("ge", "at least"),
    "less_than_equal": ("le", "at most"),
    "greater_than": ("gt", "more than"),
    "less_than": ("lt", "less than"),
}
_LIMITS: Final = {
    "steps": ("steps", limits.STEPS),
    "depends_on": ("depends_on", limits.DEPENDS_ON),
    "max_concurrency": ("max_concurrency", limits.MAX_CONCURRENCY),
    "max_attempts": ("max_attempts", limits.MAX_ATTEMPTS),
    "max_parallel": ("max_parallel", limits.MAX_CONCURRENCY),
}
_STEPS: Final[dict[str, type[SpecModel]]] = {
    "shell": ShellStep,
    "python": PythonStep,
    "agent": AgentStep,
    "decision": DecisionStep,
    "merge": MergeStep,
}
_BY_KEY: Final[dict[str, type[SpecModel]]] = {
    "retry": Retry,
    "ask": Question,
    "defaults": Defaults,
    "for_each": ForEach,
}
_BY_COLLECTION: Final[dict[str, type[SpecModel]]] = {
    "verify": Check,
    "agents": Agent,
    "inputs": Input,
    "phases": Phase,
}
_WORDS: Final[dict[type[SpecModel], tuple[str, Words]]] = {
    Workflow: ("top", known_words.TOP),
    Agent: ("agent", known_words.AGENT),
    Retry: ("retry", known_words.RETRY),
    ForEach: ("for_each", known_words.FOR_EACH),
    Check: ("check", known_words.CHECK),
    Input: ("input", known_words.INPUT),
    Question: ("question", known_words.QUESTION),
    Phase: ("phase", known_words.PHASE),
}
"""Model to the name of its advice and its words of other tools; steps and defaults have those of a step."""


def translate(
    error: ValidationError, written: Any, root: type[SpecModel] = Workflow
) -> list[SpecProblem]:
    """Translate every validation error of a workflow (or another `root`); `written` is what was validated."""
    return [
        _mistake(raw, loc_parts(raw["loc"]), written, root)
        for raw in error.errors(include_url=False)
        # A list whose items are all wrong counts as empty to pydantic.
        if raw["type"] != "too_short" or not raw["input"]
    ]


def to_invalid_spec(
    error: ValidationError, written: Mapping[str, Any], model: type[SpecModel]
) -> InvalidSpec:
    """Return the error of a model that was called with wrong values."""
    return refusal(problems(translate(error, written, model), SourceMap()), model.__name__)


def loc_parts(loc: tuple[str | int, ...]) -> PathParts:
    """Return the path as an author would write it: without the tags of unions and the marks of keys."""
    parts = [part for part in loc if part != "[key]"]
    if len(parts) > 2 and parts[0] == "steps" and parts[2] in KIND_KEYS.values():
        del parts[2]
    return tuple(parts)


def meant_key(key: str, known: list[str]) -> str | None:
    """Return the key of a step that an unknown key most likely stands for."""
    return known_words.meant(key, known_words.STEP, known)


def _mistake(raw: Any, parts: PathParts, written: Any, root: type[SpecModel]) -> SpecProblem:
    kind: str = raw["type"]
    value: Any = raw["input"]
    context: Mapping[str, Any] = raw.get("ctx", {})
    key = parts[-1] if parts else ""
    if "fix" in context:
        return SpecProblem(kind, parts, str(context["message"]), str(context["fix"]))
    match kind:
        case "step_kind":
            return _step_kind(parts, value)
        case "missing":
            return SpecProblem("missing_key", parts, f"missing key `{key}`", f"add `{key}`")
        case "extra_forbidden":
            return _unknown_key(parts, raw["loc"], value, written, root)
        case "string_pattern_mismatch":
            fix = f"use {NAME_RULE}"
            if parts[-1] == "id" or parts == ("name",):
                fix = f"{fix}; `{known_words.line('title', value)}` can keep this name"
            return SpecProblem("bad_name", parts, f"invalid name {shown(value)}", fix)
        case "literal_error":
            known = [
                choice.strip("' ") for choice in context["expected"].replace(" or ", ",").split(",")
            ]
            name = next((part for part in reversed(parts) if isinstance(part, str)), "")
            return SpecProblem(
                "not_a_choice",
                parts,
                f"invalid value {shown(value)} for `{name}`",
                known_words.choice_fix(value, known),
            )
        case "string_unicode":
            message = f"{shown(value)} contains an invalid Unicode character (a lone surrogate)"
            return SpecProblem("bad_text", parts, message, "write the whole character")
        case "string_too_long":
            return SpecProblem(
                "limit_exceeded",
                parts,
                f"`{key}` is longer than a whole workflow may be",
                "keep the text in a file (limit: spec_text)",
            )
        case "too_short" | "string_too_short":
            fix = "add a step" if parts == ("steps",) else f"add a value, or remove `{key}`"
            what = "must contain at least one step" if parts == ("steps",) else "is empty"
            return SpecProblem("empty", parts, f"`{key}` {what}", fix)
        case _:
            pass
    if kind == "too_long" or (kind == "less_than_equal" and key in _LIMITS):
        return _limit(parts, value, context)
    if kind in _BOUNDS:
        bound, words = _BOUNDS[kind]
        return SpecProblem(
            "out_of_range",
            parts,
            f"{shown(value)} is out of range",
            f"use a number that is {words} {context[bound]}",
        )
    if (expected := _expected(kind)) is not None:
        message, fix = _wrong_type(expected, key, value)
        if isinstance(value, str) and "verify" in parts[-2:]:
            fix = known_words.check_fix(value, keys_of(Check), is_item=key != "verify")
        return SpecProblem("wrong_type", parts, message, fix)
    return SpecProblem(
        "wrong_value", parts, f"invalid value {shown(value)} for `{key}`", "change it"
    )


def _limit(parts: PathParts, value: Any, context: Mapping[str, Any]) -> SpecProblem:
    name, most = _LIMITS[str(parts[-1])]
    count = context.get("actual_length")
    actual = f"has {count} items" if count is not None else f"is {shown(value)}"
    return SpecProblem(
        "limit_exceeded",
        parts,
        f"`{name}` {actual}, more than the limit of {most}",
        f"use at most {most} (limit: {name})",
    )


def _expected(kind: str) -> str | None:
    """Return the type that a value lacks, as people call it; None for an error of another kind."""
    names = {
        "string": "a string",
        "int": "an integer",
        "float": "a number",
        "bool": "true or false",
        "dict": "a mapping",
        "model": "a mapping",
        "list": "a list",
        "tuple": "a list",
    }
    is_of_type = kind.endswith(("_type", "_from_float"))
    return names.get(kind.partition("_")[0]) if is_of_type else None


def _wrong_type(expected: str, key: str | int, value: Any) -> tuple[str, str]:
    """Return message and fix for a value of the wrong type."""
    if key == "agent" and isinstance(value, Mapping):
        return (
            "`agent` takes the name of an agent, got a mapping",
            "declare the agent under `agents` and write its name here",
        )
    if key == "steps" and expected == "a list":
        return f"`steps` is a list, got {shown(value)}", "write each step as an item: `- id: NAME`"
    message = f"expected {expected}, got {shown(value)}"
    is_scalar = isinstance(value, str | int | float)
    name = key if isinstance(key, str) else ""
    match expected:
        case "a string" if is_scalar:
            text = shown(value).strip("'")
            return message, f'quote it: `"{text}"`'
        case "a string":
            return message, "write a string"
        case "an integer" | "a number" if isinstance(value, str) and _is_number(value):
            return message, f"remove the quotes: `{known_words.line(name, _number(value))}`"
        case "a list" if is_scalar and name:
            return message, f"write `{known_words.line(name, [str(value)])}`"
        case "a mapping" if is_scalar and name == "ask":
            return message, f"write `{known_words.line(name, str(value))}`"
        case "a mapping":
            return message, "write `key: value` pairs"
        case "true or false":
            return message, "write `true` or `false` without quotes"
        case _:
            return message, f"write {expected}"


def _is_number(text: str) -> bool:
    return len(text) <= _DIGITS and text.isascii() and text.replace(".", "", 1).isdigit()


def _number(text: str) -> float:
    return float(text) if "." in text else int(text)


def _step_kind(parts: PathParts, value: Any) -> SpecProblem:
    keys = known_words.one_of(KIND_KEYS)
    if not isinstance(value, Mapping):
        return SpecProblem(
            "wrong_type", parts, f"expected a step, got {shown(value)}", "write `key: value` pairs"
        )
    written = [key for key in KIND_KEYS if key in value]
    if len(written) > 1:
        keys_text = " and ".join(f"`{key}`" for key in written)
        return SpecProblem(
            "step_kind",
            parts,
            f"a step can have only one action, found {keys_text}",
            f"keep one of them, or write {len(written)} steps",
        )
    if (key := kind_slip(value)) is not None:
        # One slip, one error: the action is there under another word.
        return _unknown_step_key((*parts, key), key, value[key], list(KIND_KEYS))
    fix = "add `task`" if "agent" in value else f"add {keys}"
    return SpecProblem("step_kind", parts, "the step has no action", fix)


def kind_slip(step: Mapping[Any, Any]) -> str | None:
    """Return the unknown key of a step that most likely stands for its action."""
    known = step_keys()
    return next(
        (key for key in step if isinstance(key, str) and key not in known and _may_be_kind(key)),
        None,
    )


def _may_be_kind(key: str) -> bool:
    named = known_words.STEP.get(shape(key))
    if named is not None:
        return named in KIND_KEYS
    return (
        meant_key(key, [*KIND_KEYS]) is not None
        and meant_key(key, sorted(step_keys())) in KIND_KEYS
    )


def step_keys() -> set[str]:
    """Return the keys of steps of all kinds."""
    return {key for model in _STEPS.values() for key in keys_of(model)}


def _enclosing_model(loc: tuple[str | int, ...], root: type[SpecModel]) -> type[SpecModel]:
    parents = loc[:-1]
    if not parents:
        return root
    if str(parents[-1]) in _BY_KEY and parents != ("agents", parents[-1]):
        return _BY_KEY[str(parents[-1])]
    if len(parents) > 1 and str(parents[-2]) in _BY_COLLECTION:
        return _BY_COLLECTION[str(parents[-2])]
    return _STEPS.get(str(parents[-1]), root)


def _unknown_key(
    parts: PathParts,
    loc: tuple[str | int, ...],
    value: Any,
    written: Any,
    root: type[SpecModel],
) -> SpecProblem:
    key = str(parts[-1])
    model = _enclosing_model(loc, root)
    known = keys_of(model)
    if model in _STEPS.values():
        kind = next(name for name, step in _STEPS.items() if step is model)
        return _step_key(parts, key, value, kind, _neighbors(parts, written))
    if model is Defaults:
        if key in step_keys():
            return SpecProblem(
                "unknown_key", parts, f"`{key}` cannot be a default", f"move `{key}` to each step"
            )
        return _unknown_step_key(parts, key, value, known)
    if model is Workflow and key in keys_of(Defaults):
        fix = f"write it under `defaults`: `defaults: {{{known_words.line(key, value)}}}`"
        return SpecProblem("unknown_key", parts, f"`{key}` is not a key of a workflow", fix)
    kind, words = _WORDS[model]
    fix = known_words.unknown_key_fix(key, value, kind, words, known)
    return SpecProblem("unknown_key", parts, f"unknown key `{key}`", fix)


def _step_key(
    parts: PathParts, key: str, value: Any, kind: str, neighbors: Mapping[Any, Any]
) -> SpecProblem:
    if key in step_keys():
        message = f"`{key}` is not supported on {kind} steps"
        return SpecProblem("unknown_key", parts, message, f"remove `{key}`")
    known = [each for each in keys_of(_STEPS[kind]) if each != "id" or "id" not in neighbors]
    return _unknown_step_key(parts, key, value, sorted(known, key=_rank))


_USUAL: Final = (*KIND_KEYS, "with", "agent", "depends_on", "when", "env", "timeout", "retry")
"""Keys that are offered first."""


def _rank(key: str) -> int:
    return _USUAL.index(key) if key in _USUAL else len(_USUAL)


def _unknown_step_key(parts: PathParts, key: str, value: Any, known: list[str]) -> SpecProblem:
    fix = known_words.unknown_key_fix(key, value, "step", known_words.STEP, known)
    return SpecProblem("unknown_key", parts, f"unknown key `{key}`", fix)


def _neighbors(parts: PathParts, written: Any) -> Mapping[Any, Any]:
    """Return the mapping that holds the key at `parts`."""
    for part in parts[:-1]:
        try:
            written = written[part]
        except (LookupError, TypeError):
            return {}
    return written if isinstance(written, Mapping) else {}
