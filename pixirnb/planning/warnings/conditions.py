"""Warnings about a `when` that compares two types: nothing is converted, so the answer is known before the run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from pixirnb.planning.analysis import Analysis
from pixirnb.spec.expressions.conditions import Comparison, Junction, Literal_, Negation, Node
from pixirnb.spec.expressions.references import Reference
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.steps import AgentStep, DecisionStep, ShellStep

_TEXT: Final = "text"
_SCALARS: Final = ("a number", "true or false")
_OF_SCHEMA: Final = {
    "string": _TEXT,
    "integer": "a number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
}
"""Type of a schema or an input, to the words for its values; two differ where their words do."""
_OF_VALUE: Final = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}


def condition_warnings(analysis: Analysis) -> Iterator[SpecProblem]:
    """Yield comparisons of values whose types are known and differ."""
    for position, references in enumerate(analysis.references):
        for comparison in () if references.when is None else _comparisons(references.when.root):
            sides = (comparison.left, comparison.right)
            types = [_type(analysis, side) for side in sides]
            if all(isinstance(side, Literal_) for side in sides) or None in types:
                continue
            if _is_constant(comparison.operator, types):
                yield _warning(analysis, position, comparison, types)


def _comparisons(root: Node) -> Iterator[Comparison]:
    """Yield every comparison of a condition, in the order of its text."""
    nodes = [root]
    while nodes:
        match nodes.pop():
            case Negation(part):
                nodes.append(part)
            case Junction(_, parts):
                nodes += reversed(parts)
            case Comparison() as comparison:
                yield comparison
            case _:
                pass


def _is_constant(operator: str, types: list[str | None]) -> bool:
    left, right = (_OF_SCHEMA[each or ""] for each in types)
    if operator in {"in", "not in"}:
        return right in _SCALARS or (right != "a list" and left != _TEXT)
    return left != right


def _warning(
    analysis: Analysis, position: int, comparison: Comparison, types: list[str | None]
) -> SpecProblem:
    sides = ((comparison.left, types[0], types[1]), (comparison.right, types[1], types[0]))
    # Of two references the one that gives text is the likelier mistake.
    operand, own, other = min(
        ((side, own, other) for side, own, other in sides if isinstance(side, Reference)),
        key=lambda each: each[1] != "string",
    )
    kind, always = _OF_SCHEMA[own or ""], comparison.operator in {"!=", "not in"}
    is_output = operand.source == "step" and operand.part == "output"
    gives = f"`{operand.name}` outputs {kind}" if is_output else f"{operand.text} is {kind}"
    fix = f"compare it with {kind}"
    if is_output and kind == _TEXT and _output(analysis, operand) is None:
        fix = f"declare `output: {{type: {other}}}` on `{operand.name}`"
    elif operand.source == "input":
        fix += f", or declare `type: {other}` for `{operand.name}`"
    return SpecProblem(
        "when_types_differ",
        ("steps", position, "when"),
        f"`{_written(comparison)}` is always {json.dumps(always)}: {gives}",
        fix,
    )


def _type(analysis: Analysis, operand: Reference | Literal_) -> str | None:
    """Return the type that an operand has in every run, None where that is open."""
    if isinstance(operand, Literal_):
        return _OF_VALUE.get(type(operand.value))
    if operand.part in {"summary", "output_path", "id"}:
        return "string"
    if operand.fields:
        return None
    if operand.source == "input":
        declared = analysis.workflow.inputs.get(operand.name)
        return None if declared is None else declared.type
    target = analysis.graph.index.get(operand.name)
    spec = None if target is None else analysis.resolved[target].spec
    if isinstance(spec, DecisionStep):
        types = {_OF_VALUE.get(type(choice)) for choice in spec.ask.choices}
        return types.pop() if len(types) == 1 else None
    schema = _output(analysis, operand)
    if schema is None:
        return "string" if isinstance(spec, ShellStep | AgentStep) else None
    written = schema.get("type") if isinstance(schema, Mapping) else None
    return written if isinstance(written, str) and written in _OF_SCHEMA else None


def _output(analysis: Analysis, reference: Reference) -> object:
    """Return the declared output of the step that a reference names."""
    target = analysis.graph.index.get(reference.name)
    return None if target is None else analysis.resolved[target].spec.output


def _written(comparison: Comparison) -> str:
    left, right = (
        side.text if isinstance(side, Reference) else json.dumps(side.value, ensure_ascii=False)
        for side in (comparison.left, comparison.right)
    )
    return f"{left} {comparison.operator} {right}"
