"""Reading of a text, a mapping or an object as a Workflow, with all mistakes at once. Pure: reads no file.

    text ──read_yaml──▶ mapping ──load_mapping──▶ Loaded(workflow | None, mistakes, salvage)

A workflow file of agent-relay is known by its shape and read through `relay`: its mistakes have the paths and lines of that
file.

`Loaded` is returned, not raised, because planning checks the salvaged part of a workflow with mistakes too: an author
sees a misspelt key and an unknown dependency at once. `planning.report.require` does both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError

from pixirnb.errors import Problem
from pixirnb.spec import limits, shorthands
from pixirnb.spec.fields import shown
from pixirnb.spec.problems import SpecProblem, loc_parts, problems, refusal, translate
from pixirnb.spec.relay import reader
from pixirnb.spec.relay.reader import RelaySources
from pixirnb.spec.source_map import PathParts, SourceMap
from pixirnb.spec.steps import KIND_KEYS
from pixirnb.spec.workflow import Workflow
from pixirnb.spec.yaml.reader import lines_of, read_yaml


@dataclass(frozen=True, slots=True)
class Salvage:
    """A workflow without its broken parts: enough to look for further mistakes, never to run."""

    workflow: Workflow
    damaged: frozenset[int]
    """Steps from which something was removed."""
    lost: frozenset[str]
    """Names that are in the text and not in the salvage."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The result of reading a workflow."""

    workflow: Workflow | None
    """The workflow; None if there are mistakes."""
    mistakes: tuple[SpecProblem, ...]
    salvage: Salvage | None
    source_map: SourceMap

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the mistakes with their lines, in the order of the text."""
        return problems(self.mistakes, self.source_map)

    def require(self) -> Workflow:
        """Return the workflow. Raises InvalidSpec with the mistakes of its structure; planning finds more."""
        if self.workflow is None:
            raise refusal(self.problems, self.source_map.source, self.source_map.notes)
        return self.workflow


def load_text(
    text: str | bytes, source: str | None = None, context: RelaySources | None = None
) -> Loaded:
    """Read YAML (JSON is YAML). `source` names the text for people. Never raises for mistakes in the text.

    `context`: files around a relay workflow that it refers to.
    """
    source_map = SourceMap(None, source)
    decoded = _decoded(text)
    if isinstance(decoded, SpecProblem):
        return Loaded(None, (decoded,), None, source_map)
    source_map = SourceMap(decoded, source, lines_of)
    reading = read_yaml(decoded)
    if not reading.is_whole:
        return Loaded(None, tuple(reading.mistakes), None, source_map)
    if reading.value is None and not reading.mistakes:
        empty = SpecProblem(
            "empty", (), "there is no workflow in the text", "write `name` and `steps`", 1
        )
        return Loaded(None, (empty,), None, source_map)
    return _load(reading.value, reading.mistakes, source_map, context)


def load_mapping(
    mapping: Mapping[str, Any], source: str | None = None, context: RelaySources | None = None
) -> Loaded:
    """Read a workflow written as a dict, spelled as in YAML."""
    return _load(mapping, [], SourceMap(None, source), context)


def load(
    source: Workflow | Mapping[str, Any] | str | bytes,
    name: str | None = None,
    context: RelaySources | None = None,
) -> Loaded:
    """Read a workflow of any type; text is YAML, not a path."""
    if isinstance(source, Workflow):
        return Loaded(source, (), None, source.source_map)
    if isinstance(source, str | bytes):
        return load_text(source, name, context)
    return load_mapping(source, name, context)


def _decoded(text: str | bytes) -> str | SpecProblem:
    if len(text) > limits.SPEC_TEXT_BYTES or (
        isinstance(text, str)
        and len(text) * 4 > limits.SPEC_TEXT_BYTES
        and len(text.encode("utf-8", "surrogatepass")) > limits.SPEC_TEXT_BYTES
    ):
        return SpecProblem(
            "limit_exceeded",
            (),
            f"the text is larger than {limits.SPEC_TEXT_BYTES // 1024**2} MiB",
            "split the workflow (limit: spec_text)",
        )
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        return SpecProblem(
            "not_utf8", (), f"byte {error.start} of the text is not UTF-8", "save it as UTF-8", line
        )


def _load(
    value: Any,
    mistakes_so_far: list[SpecProblem],
    source_map: SourceMap,
    context: RelaySources | None = None,
) -> Loaded:
    if not isinstance(value, Mapping):
        what = "a list" if isinstance(value, list | tuple) else f"a {type(value).__name__}"
        wrong = SpecProblem(
            "not_a_mapping",
            (),
            f"a workflow is a mapping, this is {what}",
            "write `name:` and `steps:` at the top",
            1 if source_map.text is not None else None,
        )
        return Loaded(None, (*mistakes_so_far, wrong), None, source_map)
    value = value if isinstance(value, dict) else dict(value)
    if (dialect := reader.dialect(value)) is not None:
        return _of_relay(dialect, value, mistakes_so_far, source_map, context)
    return _of_native(value, mistakes_so_far, source_map)


def _of_relay(
    dialect: reader.Dialect,
    value: dict[str, Any],
    mistakes_so_far: list[SpecProblem],
    source_map: SourceMap,
    context: RelaySources | None,
) -> Loaded:
    if dialect == "v2":
        return Loaded(None, (*mistakes_so_far, reader.not_v1(value)), None, source_map)
    read = reader.translate(value, context)
    source_map.moved, source_map.is_native = read.moved, False
    source_map.notes = problems(read.notes, source_map)
    mistakes = [*mistakes_so_far, *read.mistakes]
    if not read.native.get("steps"):
        return Loaded(None, tuple(mistakes), None, source_map)
    return _of_native(read.native, mistakes, source_map)


def _of_native(
    value: dict[str, Any], mistakes_so_far: list[SpecProblem], source_map: SourceMap
) -> Loaded:
    if isinstance(steps := value.get("steps"), Mapping):
        source_map.moved = {
            ("steps", index): ("steps", str(name)) for index, name in enumerate(steps)
        }
        value = {**value, "steps": shorthands.steps(steps)}
    try:
        workflow = _validated(value)
    except ValidationError as error:
        shadows = [mistake.parts for mistake in mistakes_so_far if mistake.parts]
        structural = [
            mistake
            for mistake in [*translate(error), *_rest_of_kindless(error)]
            if not any(mistake.parts[: len(shadow)] == shadow for shadow in shadows)
        ]
        salvage = _salvaged(value, error)
        if salvage is not None:
            salvage.workflow.with_source_map(source_map)
        return Loaded(None, (*mistakes_so_far, *structural), salvage, source_map)
    workflow.with_source_map(source_map)
    if mistakes_so_far:
        return Loaded(
            None, tuple(mistakes_so_far), Salvage(workflow, frozenset(), frozenset()), source_map
        )
    return Loaded(workflow, (), None, source_map)


def _validated(value: dict[str, Any]) -> Workflow:
    # By alias only: `arguments` is Python's word for `with`, not a second spelling of the key.
    return Workflow.model_validate(value, by_alias=True, by_name=False)


_STAND_IN: Final = {"run": "true"}
_MENDINGS: Final = 4
"""Maximum number of repair rounds. One mistake can hide another: a step without a kind is checked once it has one."""


def _rest_of_kindless(error: ValidationError) -> list[SpecProblem]:
    """Return further mistakes in steps without a clear kind: they are validated as if they ran `true`."""
    unclear = {
        raw["loc"][1]: raw["input"]
        for raw in error.errors(include_url=False)
        if raw["type"] == "step_kind" and isinstance(raw["input"], dict)
    }
    mistakes_so_far: list[SpecProblem] = []
    kind_words = {*KIND_KEYS, "with", "agent"}
    for index, step in unclear.items():
        assert isinstance(index, int)
        rest = {key: item for key, item in step.items() if key not in kind_words} | _STAND_IN
        try:
            _validated({"name": "x", "steps": [rest]})
        except ValidationError as inner:
            mistakes_so_far += [
                SpecProblem(
                    wrong.code, ("steps", index, *wrong.parts[2:]), wrong.message, wrong.fix
                )
                for wrong in translate(inner)
                if not _may_be_the_kind(wrong)
            ]
    return mistakes_so_far


def _may_be_the_kind(wrong: SpecProblem) -> bool:
    """Return whether an unknown key of a step may be its misspelt kind, which is reported already."""
    if wrong.code != "unknown_key" or len(wrong.parts) > 3:
        return False
    # Short words: two of three letters in place are near enough.
    return bool(get_close_matches(str(wrong.parts[-1]), KIND_KEYS, n=1, cutoff=0.6))


def _salvaged(value: dict[str, Any], error: ValidationError) -> Salvage | None:
    """Return the workflow without the parts with errors; None if too little remains."""
    steps = value.get("steps")
    if not isinstance(steps, list | tuple) or not steps or len(steps) > limits.STEPS:
        return None
    mended = {**value, "steps": list(steps)}
    damaged: set[int] = set()
    lost: set[str] = set()
    for _ in range(_MENDINGS):
        for raw in error.errors(include_url=False):
            if raw["type"] == "too_short" and raw["input"]:
                continue  # a list whose items are all wrong: they are mended one by one
            parts = loc_parts(raw["loc"])
            if not parts:
                return None
            if parts[0] == "steps" and len(parts) > 1 and isinstance(parts[1], int):
                damaged.add(parts[1])
                _mend_step(mended["steps"], parts, raw["type"], lost)
            else:
                _mend_top(mended, parts, lost)
        try:
            return Salvage(_validated(mended), frozenset(damaged), frozenset(lost))
        except ValidationError as further:
            error = further
    return None


def _mend_step(steps: list[Any], parts: PathParts, kind: str, lost: set[str]) -> None:
    index = parts[1]
    assert isinstance(index, int)
    step = dict(steps[index]) if isinstance(steps[index], dict) else {}
    key = parts[2] if len(parts) > 2 else None
    if key == "id" or "id" not in step:
        lost.add(shown(step.get("id")).strip("'"))
        step["id"] = f"unnamed-{index}"
    if key is None or kind == "step_kind" or key in KIND_KEYS:
        if not isinstance(step.get("id"), str):
            step["id"] = f"unnamed-{index}"
        for word in [*KIND_KEYS, "with", "agent"]:
            step.pop(word, None)
        step |= _STAND_IN
    elif key != "id":
        step.pop(str(key), None)
    steps[index] = step


def _mend_top(mended: dict[str, Any], parts: PathParts, lost: set[str]) -> None:
    key = str(parts[0])
    inner = mended.get(key)
    if key == "name":
        mended["name"] = "unnamed"
    elif len(parts) > 1 and isinstance(inner, dict):
        lost.add(str(parts[1]))
        mended[key] = {name: item for name, item in inner.items() if name != parts[1]}
    else:
        if isinstance(inner, Mapping):
            lost.update(map(str, inner))
        mended.pop(key, None)
