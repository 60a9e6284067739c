"""A `%%step` cell: what its line asks and its body does, as an ordinary python step whose source is pinned.

    line + body + notebook ──step_cell──▶ StepCell ──written──▶ {id, call, depends_on, with, …}

Outputs of earlier steps and inputs reach the body as references, values of the notebook as data, copied when the cell is run.
"""

from __future__ import annotations

import json
import math
from argparse import Namespace
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from msgspec import Struct, field

from pixirnb.errors import InvalidArguments
from pixirnb.ids import NAME_RULE, is_step_id
from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.notebook.cells.step_source import function, parameter, step_source
from pixirnb.spec import limits
from pixirnb.spec.policies import CHECK_KINDS
from pixirnb.spec.yaml.reader import read_yaml

INPUTS: Final = "inputs"
"""The name under which a body sees the workflow's inputs."""
_OUT_OF_STEP: Final = "return it from another step and name that step in --after"


class StepRequest(Struct, frozen=True):
    """The options of a `%%step` line, as written."""

    id: str
    workflow: str
    after: tuple[str, ...] = ()
    use: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    timeout: str | None = None
    process: bool = False
    verify: tuple[str, ...] = ()
    title: str | None = None

    @classmethod
    def of(cls, options: Namespace) -> StepRequest:
        """Return what the options of a line request."""
        return cls(
            options.id,
            options.workflow,
            after=split_list(options.after),
            use=split_list(options.use),
            read=split_list(options.read),
            write=split_list(options.write),
            timeout=options.timeout,
            process=options.process,
            verify=tuple(options.verify or ()),
            title=options.title,
        )


class StepCell(Struct, frozen=True):
    """One cell, compiled."""

    id: str
    workflow: str
    after: tuple[str, ...]
    source: str
    """Pinned: a function; line n of it is line n of the cell."""
    takes: frozenset[str]
    """The function's parameters."""
    used: JsonMapping
    """Values of the notebook, as they were when the cell was run."""
    options: JsonMapping = field(default_factory=dict)
    """Further keys of the step: time-out, sets, checks."""
    unseen: tuple[tuple[str, int], ...] = ()
    """Names that its body uses and does not get, each with its line of the cell."""

    @property
    def call(self) -> str:
        """Name of the pinned function that the step calls."""
        return f":{function(self.id)}"

    @property
    def outputs(self) -> dict[str, str]:
        """The steps whose outputs the body uses, by the name it sees them under."""
        return {name: step for step in self.after if (name := parameter(step)) in self.takes}

    def written(self, inputs: Iterable[str], known: Collection[str] | None = None) -> JsonObject:
        """Return the step in the spelling of a workflow. `inputs` are those its workflow declares.

        `known`: leave out what is said of other steps than these, to draw what there is so far.
        """
        after = [step for step in self.after if known is None or step in known]
        given = {
            name: f"{{{{ steps.{step}.output }}}}"
            for name, step in self.outputs.items()
            if step in after
        }
        return {
            "id": self.id,
            "call": self.call,
            "depends_on": after,
            "with": {**self.given_inputs(inputs), **given, **self.used},
            **self.options,
        }

    def given_inputs(self, inputs: Iterable[str]) -> JsonObject:
        """Return the argument `inputs`, where the body uses it."""
        if INPUTS not in self.takes:
            return {}
        return {INPUTS: {name: f"{{{{ inputs.{name} }}}}" for name in inputs}}


def step_cell(request: StepRequest, body: str, notebook: JsonMapping) -> StepCell:
    """Compile a cell. Raises InvalidArguments, InvalidSpec; what is wrong with an option's value its workflow will say."""
    _check_names(request)
    offered = [INPUTS, *map(parameter, request.after)]
    used = {name: _recorded(name, notebook) for name in request.use}
    source = step_source(request.id, body, offered=offered, recorded=request.use)
    options = {
        "title": request.title,
        "timeout": request.timeout,
        "process": request.process,
        "read_set": list(request.read),
        "write_set": list(request.write),
        "verify": [check(text) for text in request.verify],
    }
    return StepCell(
        request.id,
        request.workflow,
        request.after,
        source.text,
        source.takes,
        used,
        {key: value for key, value in options.items() if value},
        source.unseen,
    )


def check(text: str) -> JsonObject:
    """Read one --verify: `KIND:ARGUMENT`, `:function` of the notebook, or a mapping as in a spec. Raises InvalidArguments."""
    if text.startswith("{"):
        value = _yaml(text)
        if isinstance(value, dict):
            return value
    elif text.startswith(":"):
        return {"python": text}
    kind, colon, argument = text.partition(":")
    if not colon or kind not in CHECK_KINDS:
        raise InvalidArguments(
            f"invalid check --verify {text[:80]}",
            fix=f"write KIND:ARGUMENT with one of {', '.join(CHECK_KINDS)}; or a mapping in quotes",
            code="check_kind",
            line=1,
        )
    return {kind: _yaml(argument) if kind in {"schema", "exit_code"} else argument}


def _yaml(text: str) -> Any:
    reading = read_yaml(text)
    if reading.mistakes:
        wrong = reading.mistakes[0]
        raise InvalidArguments(
            f"--verify {text[:80]}: {wrong.message}", fix=wrong.fix, code=wrong.code, line=1
        )
    return reading.value


def _check_names(request: StepRequest) -> None:
    for what, name in [
        ("step", request.id),
        ("workflow", request.workflow),
        *(("step", step) for step in request.after),
    ]:
        if not is_step_id(name):
            raise InvalidArguments(
                f"invalid {what} name `{name[:80]}`",
                fix=f"use {NAME_RULE}" + ("; --title can keep this name" if what == "step" else ""),
                code="bad_name",
                line=1,
            )
    seen: dict[str, str] = {INPUTS: "the inputs"}
    names = [(parameter(step), f"the output of `{step}`") for step in request.after]
    for name, what in [*names, *((name, "a value of the notebook") for name in request.use)]:
        if name in seen:
            raise InvalidArguments(
                f"in step `{request.id}`, `{name}` would mean both {seen[name]} and {what}",
                fix="rename or remove one of them",
                code="name_twice",
                line=1,
            )
        seen[name] = what


def _recorded(name: str, notebook: JsonMapping) -> Any:
    """Return a copy of a notebook's value, if it is plain data."""
    if name not in notebook or not name.isidentifier():
        raise InvalidArguments(
            f"--use: variable `{name[:80]}` is not defined in this notebook",
            fix="run the cell that defines it first, or remove it from --use",
            code="use_missing",
            line=1,
        )
    value = notebook[name]
    wrong = misfit(value, name)
    if wrong is None:
        try:
            return json.loads(json.dumps(value, allow_nan=False))
        except (ValueError, RecursionError) as error:
            wrong = (f"`{name}` cannot be recorded as JSON: {error}", _OUT_OF_STEP)
    raise InvalidArguments(wrong[0], fix=wrong[1], code="use_not_data", line=1)


def misfit(value: Any, path: str, depth: int = 1) -> tuple[str, str] | None:
    """Return why a value cannot be recorded as it is, as message and fix; None where it can."""
    if depth > limits.NESTING:
        return (
            f"`{path[:80]}…` is nested more than {limits.NESTING} levels deep, or contains itself",
            "record a flatter value",
        )
    kind = type(value)
    if value is None or kind in {bool, int}:
        return None
    if kind is float:
        if math.isfinite(value):
            return None
        return f"`{path}` is {value}, which JSON cannot represent", "use None or text"
    if kind is str:
        return _text_misfit(value, path)
    if kind is list:
        misfits = (misfit(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value))
        return next(filter(None, misfits), None)
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                return (
                    f"`{path}` has the key {key!r:.40}, which is not text",
                    "use text keys",
                )
            if (wrong := misfit(item, f"{path}[{key!r:.40}]", depth + 1)) is not None:
                return wrong
        return None
    if isinstance(value, tuple | set | frozenset):
        fix = f"make it a list: {path} = list({path})"
    elif callable(value) or kind.__name__ == "module":
        fix = "import or define it in the step's cell"
    elif hasattr(kind, "tolist"):  # an array, a column, and the number that summing one leaves
        fix = f"make it plain data: {path} = {path}.tolist()"
    elif isinstance(value, str):
        fix = f"make it plain text: {path} = str({path})"
    else:
        fix = _OUT_OF_STEP
    return (
        f"`{path}` is a {kind.__name__}; --use can record only None, booleans, numbers, text, lists and dicts",
        fix,
    )


def _text_misfit(value: str, path: str) -> tuple[str, str] | None:
    if "{{" in value:
        return (
            f"`{path}` contains `{{{{`, which begins a reference in a workflow",
            "write the text in the step's cell",
        )
    if any("\ud800" <= character <= "\udfff" for character in value):
        return f"`{path}` contains an invalid Unicode character (lone surrogate)", "remove it"
    return None


def split_list(texts: Sequence[str] | None) -> tuple[str, ...]:
    """Return the values of an option that may be repeated and may hold several, with commas between; none twice."""
    parts: dict[str, None] = {}
    for text in texts or ():
        for item in _split(text):
            if item:
                parts[item] = None
    return tuple(parts)


def _split(text: str) -> list[str]:
    """Split at commas, but not at those inside `{a,b}` or `[a,b]`."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "{[") - (character in "}]")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
