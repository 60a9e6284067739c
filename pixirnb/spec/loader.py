"""Reading of a text, a mapping or an object as a Workflow, with all mistakes at once. Pure: reads no file.

    text ──read_yaml──▶ mapping ──load_mapping──▶ Loaded(workflow | None, mistakes, salvage)

A workflow file of agent-relay is known by its shape and read through `relay`: its mistakes have the paths and lines of that
file.

`Loaded` is returned, not raised, because planning checks the salvaged part of a workflow with mistakes too: an author
sees a misspelt key and an unknown dependency at once. `planning.report.require` does both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError

from pixirnb.errors import Problem
from pixirnb.spec import limits, shorthands
from pixirnb.spec.fields import shown
from pixirnb.spec.problems import SpecProblem, problems, refusal
from pixirnb.spec.relay import reader
from pixirnb.spec.relay.reader import RelaySources
from pixirnb.spec.salvage import Salvage, salvage
from pixirnb.spec.source_map import PathParts, SourceMap
from pixirnb.spec.steps import KIND_KEYS
from pixirnb.spec.validation_errors import kind_slip, translate
from pixirnb.spec.workflow import Workflow
from pixirnb.spec.yaml.reader import lines_of, read_yaml


class Loaded(Struct, frozen=True):
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
        empty = SpecProblem("empty", (), "the text is empty", "write `name:` and `steps:`", 1)
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
            "not_utf8", (), f"byte {error.start} is not UTF-8", "save it as UTF-8", line
        )


def _load(
    value: Any,
    mistakes_so_far: list[SpecProblem],
    source_map: SourceMap,
    context: RelaySources | None = None,
) -> Loaded:
    if not isinstance(value, Mapping):
        what = "a list" if isinstance(value, list | tuple) else shown(value)
        wrong = SpecProblem(
            "not_a_mapping",
            (),
            f"expected a workflow as path, YAML, dict or Workflow, got {what}"
            if source_map.text is None
            else f"a workflow is a mapping, got {what}",
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
        mistakes_so_far = [*mistakes_so_far, *_named_twice(steps)]
    try:
        workflow = _validated(value)
    except ValidationError as error:
        shadows = [mistake.parts for mistake in mistakes_so_far if mistake.parts]
        structural = [
            mistake
            for mistake in [*translate(error, value), *_rest_of_kindless(error)]
            if not any(_is_same(mistake.parts, shadow) for shadow in shadows)
        ]
        rest = salvage(value, error, _validated)
        if rest is not None:
            rest.workflow.with_source_map(source_map)
            notes = problems(rest.skipped(source_map), source_map)
            source_map.notes = (*source_map.notes, *notes)
        return Loaded(None, (*mistakes_so_far, *structural), rest, source_map)
    workflow.with_source_map(source_map)
    if mistakes_so_far:
        return Loaded(None, tuple(mistakes_so_far), Salvage(workflow, {}, frozenset()), source_map)
    return Loaded(workflow, (), None, source_map)


def _named_twice(steps: Mapping[Any, Any]) -> Iterator[SpecProblem]:
    """Yield the steps of a mapping whose `id` is not their key."""
    for index, (name, step) in enumerate(steps.items()):
        if isinstance(step, Mapping) and step.get("id", name) != name:
            yield SpecProblem(
                "duplicate_id",
                ("steps", index, "id"),
                f"`{name}` has another id too: {shown(step['id'])}",
                f"remove `id`, or rename the key `{name}`",
            )


def _is_same(parts: PathParts, shadow: PathParts) -> bool:
    """Return whether a mistake is only what a mistake in the YAML made of its value."""
    if parts[: len(shadow)] == shadow:
        return True
    # An argv is one value: its path is the one of the list, and not of the word.
    return len(parts) > 2 and parts[-1] == "run" and shadow[: len(parts)] == parts


def _validated(value: dict[str, Any]) -> Workflow:
    # By alias only: `arguments` is Python's word for `with`, not a second spelling of the key.
    return Workflow.model_validate(value, by_alias=True, by_name=False)


def _rest_of_kindless(error: ValidationError) -> list[SpecProblem]:
    """Return further mistakes in steps without a clear kind: they are validated as if they ran `true`."""
    unclear = {
        raw["loc"][1]: raw["input"]
        for raw in error.errors(include_url=False)
        if raw["type"] == "step_kind" and isinstance(raw["input"], Mapping)
    }
    mistakes_so_far: list[SpecProblem] = []
    for index, step in unclear.items():
        assert isinstance(index, int)
        aside = {*KIND_KEYS, "with", "agent", kind_slip(step)}
        rest = {key: item for key, item in step.items() if key not in aside} | {"run": "true"}
        try:
            _validated({"name": "x", "steps": [rest]})
        except ValidationError as inner:
            mistakes_so_far += [
                replace(wrong, parts=("steps", index, *wrong.parts[2:]))
                for wrong in translate(inner, {"steps": [rest]})
            ]
    return mistakes_so_far
