"""Mistakes in a workflow, in the author's terms: validation errors become code, path, line, sentence and fix.

Each error of the validating library is translated; a user sees none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pixirnb.errors import InvalidSpec, Problem
from pixirnb.spec import limits
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.fields import SpecModel, sayable, shown
from pixirnb.spec.policies import Agent, Check, Input, Phase, Question, Retry
from pixirnb.spec.source_map import PathParts, SourceMap, path_text
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


@dataclass(frozen=True, slots=True)
class SpecProblem:
    """A Problem whose position is still a path in parts."""

    code: str
    parts: PathParts
    message: str
    fix: str
    line: int | None = None

    def problem(self, source_map: SourceMap) -> Problem:
        """Return the Problem with its line, if there is a text."""
        line = self.line if self.line is not None else source_map.line(self.parts)
        path = sayable(path_text(source_map.written(self.parts)))
        return Problem(self.code, path, sayable(self.message), sayable(self.fix), line)


def problems(mistakes: Iterable[SpecProblem], source_map: SourceMap) -> tuple[Problem, ...]:
    """Return each mistake once, in the order of the text, or of the steps if there is no text."""
    once = {(mistake.code, mistake.parts, mistake.message): mistake for mistake in mistakes}
    ordered = [(mistake.problem(source_map), mistake.parts) for mistake in once.values()]
    ordered.sort(key=lambda pair: (pair[0].line or 0, _step(pair[1])))
    return tuple(problem for problem, _ in ordered)


def refusal(
    errors: tuple[Problem, ...], source: str | None = None, notes: tuple[Problem, ...] = ()
) -> InvalidSpec:
    """Return one error that carries every problem, and the notes of the reader of another format."""
    count = "1 mistake" if len(errors) == 1 else f"{len(errors)} mistakes"
    where = f" in {source}" if source else ""
    return InvalidSpec(
        f"the workflow has {count}{where}",
        "mend what is listed and load it again",
        path=errors[0].path if errors else None,
        line=errors[0].line if errors else None,
        problems=errors,
        warnings=notes,
    )


def translate(error: ValidationError) -> list[SpecProblem]:
    """Translate every validation error of a Workflow."""
    return [
        _mistake(raw["type"], loc_parts(raw["loc"]), raw["input"], raw.get("ctx", {}), raw["loc"])
        for raw in error.errors(include_url=False)
        # A list whose items are all wrong counts as empty to pydantic.
        if raw["type"] != "too_short" or not raw["input"]
    ]


def loc_parts(loc: tuple[str | int, ...]) -> PathParts:
    """Return the path as an author would write it: without the tags of unions and the marks of keys."""
    parts = [part for part in loc if part != "[key]"]
    if len(parts) > 2 and parts[0] == "steps" and parts[2] in KIND_KEYS.values():
        del parts[2]
    return tuple(parts)


_WRONG_TYPES: Final = {
    "string_type": ("text", "put it in quotes"),
    "int_type": ("a whole number", "write it without quotes"),
    "int_from_float": ("a whole number", "write it without a fraction"),
    "float_type": ("a number", "write it without quotes"),
    "bool_type": ("true or false", "write true or false, without quotes"),
    "dict_type": ("a mapping", "write `key: value` pairs"),
    "model_type": ("a mapping", "write `key: value` pairs"),
    "model_attributes_type": ("a mapping", "write `key: value` pairs"),
    "list_type": ("a list", "write it in [ ] or as lines that begin with `-`"),
    "tuple_type": ("a list", "write it in [ ] or as lines that begin with `-`"),
}
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
}


def _mistake(
    kind: str,
    parts: PathParts,
    value: Any,
    context: Mapping[str, Any],
    loc: tuple[str | int, ...],
) -> SpecProblem:
    key = parts[-1] if parts else ""
    if "fix" in context:
        return SpecProblem(kind, parts, str(context["message"]), str(context["fix"]))
    if kind == "step_kind":
        return _step_kind(parts, value)
    if kind == "missing":
        return SpecProblem("missing_key", parts, f"`{key}` is missing", f"add `{key}`")
    if kind == "extra_forbidden":
        return _unknown_key(parts, loc)
    if kind in _WRONG_TYPES:
        expected, fix = _WRONG_TYPES[kind]
        return SpecProblem("wrong_type", parts, f"{shown(value)} is not {expected}", fix)
    if kind == "string_pattern_mismatch":
        return SpecProblem(
            "bad_name",
            parts,
            f"{shown(value)} is not a safe name",
            "use letters, digits, `_` and `-`, at most 64, beginning with a letter or digit",
        )
    if kind == "literal_error":
        return SpecProblem(
            "not_a_choice",
            parts,
            f"{shown(value)} is not one of {context['expected']}",
            did_you_mean(
                value if isinstance(value, str) else "",
                [
                    choice.strip("' ")
                    for choice in str(context["expected"]).replace(" or ", ",").split(",")
                ],
                otherwise=f"write one of {context['expected']}",
            ),
        )
    if kind == "too_long" or (kind == "less_than_equal" and key in _LIMITS):
        name, most = _LIMITS[str(key)]
        count = context.get("actual_length")
        actual = f"{count} items" if count is not None else shown(value)
        return SpecProblem(
            "limit_exceeded",
            parts,
            f"`{name}` is {actual}, more than the limit of {most}",
            f"stay at or under {most} (limit: {name})",
        )
    if kind == "string_unicode":
        message = f"{shown(value)} holds half of a character (a lone surrogate)"
        return SpecProblem("bad_text", parts, message, "write the whole character")
    if kind == "string_too_long":
        message = f"`{key}` is longer than a whole workflow may be"
        return SpecProblem("limit_exceeded", parts, message, "keep it in a file (limit: spec_text)")
    if kind in {"too_short", "string_too_short"}:
        return SpecProblem("empty", parts, f"`{key}` is empty", f"give `{key}` something to say")
    if kind in _BOUNDS:
        bound, words = _BOUNDS[kind]
        return SpecProblem(
            "out_of_range",
            parts,
            f"{shown(value)} is not {words} {context[bound]}",
            f"write a number that is {words} {context[bound]}",
        )
    return SpecProblem(
        "wrong_value", parts, f"{shown(value)} cannot stand here", "see the reference of this key"
    )


def _step_kind(parts: PathParts, value: Any) -> SpecProblem:
    keys = ", ".join(f"`{key}`" for key in KIND_KEYS)
    if not isinstance(value, Mapping):
        return SpecProblem(
            "wrong_type", parts, f"{shown(value)} is not a step", "write `key: value` pairs"
        )
    written = [key for key in KIND_KEYS if key in value]
    if len(written) > 1:
        keys_text = " and ".join(f"`{key}`" for key in written)
        return SpecProblem(
            "step_kind",
            parts,
            f"a step does one thing, this one has {keys_text}",
            f"keep one of them, or make {len(written)} steps",
        )
    near = [
        (str(key), fix)
        for key in value
        if isinstance(key, str)
        and key not in _step_keys()
        and (fix := did_you_mean(key, KIND_KEYS, otherwise=""))
    ]
    return SpecProblem(
        "step_kind",
        parts,
        "the step does not say what it does",
        f"`{near[0][0]}`: {near[0][1]}" if near else f"add one of {keys}",
    )


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
}
_BY_COLLECTION: Final[dict[str, type[SpecModel]]] = {
    "verify": Check,
    "agents": Agent,
    "inputs": Input,
    "phases": Phase,
}


def keys_of(model: type[SpecModel]) -> list[str]:
    """Return the keys that an author may write for a model."""
    return [field.alias or name for name, field in model.model_fields.items()]


def _step_keys() -> set[str]:
    return {key for model in _STEPS.values() for key in keys_of(model)}


def _enclosing_model(loc: tuple[str | int, ...]) -> type[SpecModel]:
    parents = loc[:-1]
    if not parents:
        return Workflow
    if str(parents[-1]) in _BY_KEY and parents != ("agents", parents[-1]):
        return _BY_KEY[str(parents[-1])]
    if len(parents) > 1 and str(parents[-2]) in _BY_COLLECTION:
        return _BY_COLLECTION[str(parents[-2])]
    return _STEPS.get(str(parents[-1]), Workflow)


def _unknown_key(parts: PathParts, loc: tuple[str | int, ...]) -> SpecProblem:
    key = str(parts[-1])
    if key == "for_each" and parts[0] == "steps":
        return SpecProblem(
            "not_yet_available",
            parts,
            "`for_each` is reserved and not yet available",
            "write the steps out",
        )
    model = _enclosing_model(loc)
    known = keys_of(model)
    if model in _STEPS.values() and key in _step_keys():
        kind = str(loc[2])
        return SpecProblem(
            "unknown_key", parts, f"`{key}` means nothing on a {kind} step", f"take `{key}` out"
        )
    return SpecProblem(
        "unknown_key",
        parts,
        f"there is no key `{key}` here",
        did_you_mean(key, known, otherwise="known keys: " + ", ".join(known)),
    )


def _step(parts: PathParts) -> int:
    return parts[1] if len(parts) > 1 and parts[0] == "steps" and isinstance(parts[1], int) else -1
