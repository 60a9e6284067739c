"""References and conditions of a workflow: parsed once, and checked to name existing inputs and earlier steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct, field

from pixirnb.planning.checks.for_each import no_item
from pixirnb.planning.graph import Graph
from pixirnb.spec.code_readers import code_readers
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.expressions.conditions import BadCondition, Condition, parse_condition
from pixirnb.spec.expressions.references import BadReference, Reference, read_all
from pixirnb.spec.for_each import ForEach
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.steps import AgentStep, DecisionStep, MergeStep, PythonStep, ShellStep, Step
from pixirnb.spec.workflow import Workflow

_MAY_REFER: Final = frozenset({"env", "cwd", "verify", "when", "for_each"})


class StepReferences(Struct):
    """The references of one step."""

    references: tuple[Reference, ...] = ()
    """References of payload, env, cwd and checks, in order of appearance."""
    when: Condition | None = None
    mistakes: list[SpecProblem] = field(default_factory=list)
    of_list: tuple[Reference, ...] = ()
    """References of the list and the keys of a `for_each`."""


NOTHING: Final = StepReferences()


def read_references(step: Step, parts: PathParts) -> StepReferences:
    """Return every reference of a step with defaults merged in.

    `parts` is the path of the step. Checks only their grammar.
    """
    if (
        type(step) is ShellStep
        and type(step.run) is str
        and "{{" not in step.run
        and step.__pydantic_fields_set__.isdisjoint(_MAY_REFER)
    ):
        return NOTHING
    references: list[Reference] = []
    mistakes: list[SpecProblem] = []
    for tail, value, is_script in _fields(step):
        for text in _texts(value):
            good, wrong = read_all(text, is_script=is_script)
            references += good
            mistakes += [_bad((*parts, *tail), bad) for bad in wrong]
        mistakes += _in_code(value, (*parts, *tail))
    when: Condition | None = None
    if step.when is not None:
        try:
            when = parse_condition(step.when)
        except (BadCondition, BadReference) as wrong:
            mistakes.append(_bad((*parts, "when"), wrong))
    of_list: list[Reference] = []
    if step.for_each is not None:
        of_list, wrong_list = _list_references(step.for_each, (*parts, "for_each"))
        mistakes += wrong_list
    if not references and not mistakes and not of_list and when is None:
        return NOTHING
    return StepReferences(tuple(references), when, mistakes, tuple(of_list))


def _list_references(
    written: ForEach, parts: PathParts
) -> tuple[list[Reference], list[SpecProblem]]:
    references: list[Reference] = []
    mistakes: list[SpecProblem] = []
    for key, value in (("items", written.items), ("key", written.key)):
        for text in _texts(value):
            good, wrong = read_all(text, is_script=False)
            mistakes += [_bad((*parts, key), bad) for bad in wrong]
            mistakes += [
                SpecProblem(
                    "bad_for_each",
                    (*parts, key),
                    f"{each.text} is not a list of items",
                    "use an input, or `output` of a step",
                )
                for each in good
                if each.part in {"summary", "output_path"}
                or (each.source, key) == ("item", "items")
            ]
            references += good
    if written.key is not None and all(each.source != "item" for each in references):
        mistakes.append(
            SpecProblem(
                "bad_for_each",
                (*parts, "key"),
                "`key` is the same for all items",
                "refer to the item: `key: {{ item.name }}`",
            )
        )
    return references, mistakes


def _in_code(value: Any, parts: PathParts) -> Iterator[SpecProblem]:
    """Yield references in words of an argv that its program reads as code; only an argv is a list of texts here."""
    if not isinstance(value, list | tuple) or not any("{{" in word for word in value):
        return
    for reader in code_readers(value):
        for position in sorted(reader.code):
            if position < len(value) and "{{" in value[position]:
                yield SpecProblem(
                    "reference_in_shell",
                    (*parts, position),
                    f"`{reader.name}` would execute the value of this reference as code",
                    "pass it as an argument after the code, or write the command as one string",
                )


def _bad(parts: PathParts, wrong: BadCondition | BadReference) -> SpecProblem:
    return SpecProblem(wrong.code, parts, wrong.message.rstrip("."), wrong.fix.rstrip("."))


def _texts(value: Any) -> Iterator[str]:
    """Yield every text of a nested value that may hold references."""
    if isinstance(value, str):
        if "{{" in value:
            yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _fields(step: Step) -> Iterator[tuple[PathParts, Any, bool]]:
    """Yield path within the step, value, and whether it is a script for a shell."""
    match step:
        case ShellStep(run=run):
            if isinstance(run, str):
                if "{{" in run:
                    yield ("run",), run, True
            else:
                yield ("run",), run, False
        case PythonStep(arguments=arguments):
            if arguments:
                yield ("with",), arguments, False
        case AgentStep(task=task):
            yield ("task",), task, False
        case DecisionStep(ask=ask):
            yield ("ask", "question"), ask.question, False
        case MergeStep():
            pass
    for name, value in step.env.items():
        yield ("env", name), value, False
    if step.cwd is not None:
        yield ("cwd",), step.cwd, False
    for number, check in enumerate(step.verify):
        if check.command is not None:
            yield ("verify", number, "command"), check.command, isinstance(check.command, str)


def check_targets(
    workflow: Workflow,
    position: int,
    references: StepReferences,
    graph: Graph,
) -> Iterator[SpecProblem]:
    """Yield mistakes in the targets of a step's references and condition."""
    step = workflow.steps[position]
    where: PathParts = ("steps", position)
    in_when = references.when.references if references.when is not None else ()
    for reference, parts in [
        *((reference, where) for reference in references.references),
        *((reference, (*where, "when")) for reference in in_when),
        *((reference, (*where, "for_each")) for reference in references.of_list),
    ]:
        if reference.source == "item" and step.for_each is None:
            yield no_item(reference, _at(step, parts, reference))
        elif reference.source == "input" and reference.name not in workflow.inputs:
            yield SpecProblem(
                "reference_unknown_input",
                _at(step, parts, reference),
                f"unknown input in {reference.text}",
                did_you_mean(
                    reference.name,
                    workflow.inputs,
                    otherwise=f"add `{reference.name}` under `inputs:`",
                ),
            )
        elif reference.source == "step":
            target = graph.index.get(reference.name)
            if target is None:
                yield SpecProblem(
                    "reference_unknown_step",
                    _at(step, parts, reference),
                    f"unknown step in {reference.text}",
                    did_you_mean(
                        reference.name,
                        graph.ids,
                        otherwise=f"use a step that `{step.id}` depends on",
                    ),
                )
            elif not graph.is_ancestor(target, position):
                yield SpecProblem(
                    "reference_not_ancestor",
                    _at(step, parts, reference),
                    f"{reference.text}: `{step.id}` does not depend on `{reference.name}`",
                    f"make `{step.id}` depend on `{reference.name}`",
                )


def _at(step: Step, parts: PathParts, reference: Reference) -> PathParts:
    """Return the path of the field of the step that holds the reference."""
    if parts[-1] in {"when", "for_each"}:
        return parts
    for tail, value, _ in _fields(step):
        if any(reference in read_all(text, is_script=False)[0] for text in _texts(value)):
            return (*parts, *tail)
    return parts
