"""Inputs of a step: its command, call, task or question, its references with their values, its environment.

Values of variables and inputs whose names look secret are masked everywhere, as they are in logs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, assert_never

from pixirnb.history.bundles import stored_output
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.json_types import PageObject
from pixirnb.machine.reference_values import ValueNotLoaded, value_of
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.runners.output.mask import Mask, secret_values
from pixirnb.spec.expressions.references import Reference
from pixirnb.spec.steps import AgentStep, DecisionStep, MergeStep, PythonStep, ShellStep
from pixirnb.views.basics.sanitize import line, plain
from pixirnb.views.basics.show_value import shown

_TEXT: Final = 8_000
_VALUE: Final = 2_000
_LISTED: Final = 100


def mask_of(step: PlannedStep, run: RunState, secrets: Sequence[str]) -> Mask:
    """Return a mask of the secrets of a step: of its environment, of the run's inputs, and of the viewer's environment."""
    given = {name: value for name, value in run.inputs.items() if isinstance(value, str)}
    return Mask([*secrets, *secret_values(given), *secret_values(step.spec.env)])


def says(plan: Plan, step: PlannedStep, mask: Mask) -> PageObject:
    """Return the step's own words: `{form, …, cut}`."""
    match step.spec:
        case ShellStep(run=str() as text):
            return _text("command", text, mask)
        case ShellStep(run=words):
            words_shown = [plain(mask.text(word), _VALUE) for word in words[:_LISTED]]
            return {"form": "argv", "words": words_shown, "cut": max(0, len(words) - _LISTED)}
        case PythonStep(call=call, arguments=arguments):
            pairs = list(arguments.items())
            return {
                "form": "call",
                "function": line(call, 200),
                "arguments": [
                    {"name": line(name, 80), "text": _shown(value, mask)}
                    for name, value in pairs[:_LISTED]
                ],
                "source": plain(mask.text(plan.sources.get(call, "")), _TEXT),
                "cut": max(0, len(pairs) - _LISTED),
            }
        case AgentStep(task=task):
            return _text("task", task, mask)
        case DecisionStep(ask=ask):
            return _text("ask", ask.question, mask)
        case MergeStep(merge=steps):
            named = [line(each, 80) for each in steps[:_LISTED]]
            return {"form": "merge", "steps": named, "cut": max(0, len(steps) - _LISTED)}
        case _:
            assert_never(step.spec)


def list_inputs(run: RunState, references: Sequence[Reference], mask: Mask) -> list[PageObject]:
    """Return every reference once, with the value it stands for as the run knows it: `{name, from, form, text, cut}`."""
    by_text = {reference.text: reference for reference in references}
    return [_given(run, reference, mask) for reference in list(by_text.values())[:_LISTED]]


def environment(step: PlannedStep, mask: Mask) -> list[dict[str, str]]:
    """Return the variables the step sets, secrets masked."""
    pairs = list(step.spec.env.items())[:_LISTED]
    return [{"name": line(name, 80), "text": _shown(value, mask)} for name, value in pairs]


def agent_of(step: PlannedStep, mask: Mask) -> dict[str, str] | None:
    """Return the agent that a task is delegated to; None for every other step."""
    if step.agent is None:
        return None
    return {
        "name": line(getattr(step.spec, "agent", "") or "", 80),
        "runner": step.agent.runner,
        "model": line(step.agent.model or "", 120),
        "role": plain(mask.text(step.agent.role), _VALUE),
    }


def _text(form: str, text: str, mask: Mask) -> PageObject:
    return {"form": form, "text": plain(mask.text(text), _TEXT), "cut": max(0, len(text) - _TEXT)}


def _shown(value: Any, mask: Mask) -> str:
    return plain(mask.text(shown(value, limit=4 * _VALUE)), _VALUE)


def _given(run: RunState, reference: Reference, mask: Mask) -> PageObject:
    document = {"name": line(reference.text, 200), "from": _origin(reference), "text": "", "cut": 0}
    state = run.steps.get(reference.name) if reference.source == "step" else None
    if reference.source == "step" and (state is None or not _has_spoken(state)):
        return {**document, "form": "missing"}
    if reference.part == "output_path":
        return {**document, "form": "text", "text": "a file in the run folder"}
    try:
        value = value_of(run, reference, inputs=run.inputs)
    except ValueNotLoaded:
        return {**document, "form": "large"}
    except LookupError:
        return {**document, "form": "missing"}
    text = shown(value, limit=20 * _VALUE)
    form = "text" if isinstance(value, str) else "json"
    cut = max(0, len(text) - _VALUE)
    return {**document, "form": form, "text": plain(mask.text(text), _VALUE), "cut": cut}


def _has_spoken(state: StepState) -> bool:
    return state.ended is not None or stored_output(state)["format"] != "none"


def _origin(reference: Reference) -> str:
    if reference.source == "input":
        return "run input"
    if reference.source == "run":
        return "run"
    name = f"`{line(reference.name, 64)}`"
    match reference.part:
        case "summary":
            return f"summary of {name}"
        case "output_path":
            return f"file with the output of {name}"
        case _:
            return f"output of {name}"
