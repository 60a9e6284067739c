"""Runs of pure work: what a step leaves follows from what it is given, so that two runs can be compared.

    run = worked(begun(workflow, inputs), chance)
    result_of(run)      # step, or item by key, to status, whether it is skipped, and value

A seed draws the workflow, its edits, the inputs, the steps that a person selects, and where a process dies.
"""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any, Final
from zlib import crc32

from pixirnb.errors import PixirnbError
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.run_state import fold
from pixirnb.machine.resume import Selection
from pixirnb.planning.items import lookup_in
from pixirnb.planning.plan import Plan
from pixirnb.spec.expressions.references import render_value
from pixirnb.spec.steps import ShellStep
from pixirnb.testing.generators.histories import Rehearsal, plan_of

Document = dict[str, Any]
Result = dict[str, tuple[str | None, bool, str]]
"""Of each step its status, whether it is skipped, and its value."""

INPUTS: Final = {
    "a": {"type": "integer", "default": 1},
    "xs": {"type": "array", "default": [1, 2, 3]},
}
_WHENS: Final = ("{{ inputs.a }} > 1", "{{ inputs.a }} != 2")
_ITEM_WHENS: Final = ("{{ item }} > 1", "{{ item }} != 2")
_MOST: Final = 500
"""Attempts in one course."""


# --- what is drawn ------------------------------------------------------------------------------------------------


def drawn_workflow(chance: Random) -> Document:
    """A few steps; in some workflows steps may fail, in some they have a `when`, in some they ask a person."""
    traits = chance.choice(["", "when", "frail", "when frail"]) + chance.choice(["", "", " ask"])
    steps: list[Document] = []
    for number in range(chance.randint(2, 7)):
        steps.append(_drawn_step(chance, steps, str(number), traits))
    jobs = chance.choice([1, 2, 6])
    return {"name": "pure", "max_concurrency": jobs, "inputs": INPUTS, "steps": steps}


def drawn_inputs(chance: Random) -> Document:
    """A number and a list."""
    return {"a": chance.randint(0, 3), "xs": chance.sample(range(5), chance.randint(0, 4))}


def drawn_files(chance: Random) -> str:
    """The digest of all files that steps read."""
    return chance.choice(["v1", "v2"])


def drawn_selection(chance: Random, run: Rehearsal, workflow: Document) -> Selection:
    """All, or a step or an item alone, from it on, or up to it."""
    steps = [step["id"] for step in workflow["steps"]]
    one = chance.choice([*steps, *(name for name in run.statuses() if "@" in name)])
    selections = [*[Selection()] * 3, Selection(from_step=one), Selection(only=one)]
    return chance.choice([*selections, Selection(until=chance.choice(steps))])


def edited(chance: Random, workflow: Document) -> Document:
    """The workflow with a step or two edited, new or gone. No `when` is added: a ready step behind it would stay ready."""
    later = copy.deepcopy(workflow)
    steps: list[Document] = later["steps"]
    for _ in range(chance.randint(1, 2)):
        step = chance.choice(steps)
        each = step.get("for_each", {})
        match chance.choice(["run", "when", "require", "items", "own", "new", "gone"]):
            case "run" if "ask" in step:
                step["ask"]["question"] += chance.choice([" v2", " v3"])
            case "run":
                step["run"] = [*step["run"], chance.choice(["v2", "v3"])]
            case "when":
                step.pop("when", None)
            case "require" if each:
                each["require"] = chance.choice(["any", "all", 1, 2])
            case "items" if "items" in each:
                each["items"] = chance.choice(["{{ inputs.xs }}", [2, 1]])
            case "own" if "same_as" in each:
                step["for_each"] = {"items": "{{ inputs.xs }}"}
            case "new":
                number = 1 + max(int(each["id"][1:]) for each in [*workflow["steps"], *steps])
                steps.append(_drawn_step(chance, steps, str(number), "when frail"))
            case "gone" if len(steps) > 1:
                if not any(step["id"] in json.dumps(other) for other in steps if other != step):
                    steps.remove(step)
            case _:
                pass
    return later


def _drawn_step(chance: Random, before: list[Document], number: str, traits: str) -> Document:
    """A step: `p` makes a number, `r` a list, `e` and `f` work on each item of a list, an `f` on that of another step, and
    `s` reads what was collected. Numbers are the answers of a person in some.
    """
    numbers, lists, collectors = (
        [step["id"] for step in before if step["id"][0] in kinds] for kinds in ("p", "r", "ef")
    )
    kind = chance.choice(["p", "p", "p", "r", "e", "e", *["f", "f", "s"] * bool(collectors)])
    step: Document = {"id": kind + number, "posture": "read_only"}
    words, after = ["work"], list[str]()
    if chance.random() < 0.5:
        words.append("{{ inputs.a }}")
    for name in numbers:
        if chance.random() < 0.3:
            words.append(_output(name))
            after.append(name)
    if kind in "ef":
        words.append("{{ item }}")
        of = chance.choice(collectors) if kind == "f" else None
        if of is None and lists and chance.random() < 0.6:
            of = chance.choice(lists)
        if kind == "f" and chance.random() < 0.4:
            words.append(_output(str(of)))
        each = {"items": "{{ inputs.xs }}" if of is None else _output(of)}
        step["for_each"] = {"same_as": of} if kind == "f" else each
        if chance.random() < 0.4:
            step["for_each"]["require"] = chance.choice(["any", "50%", 1, 2])
        if chance.random() < 0.3:
            step["for_each"]["max_parallel"] = chance.choice([1, 2])
        after += [] if of is None else [of]
    elif kind == "s":
        after.append(chance.choice(collectors))
        words.append(_output(after[-1]))
    elif before and chance.random() < 0.2:
        after.append(chance.choice(before)["id"])
    if "when" in traits and chance.random() < 0.35:
        whens = [*_WHENS, *_ITEM_WHENS * 2] if kind in "ef" else [*_WHENS]
        whens += [f"{_output(name)} > 1" for name in numbers if name in after]
        step["when"] = chance.choice(whens)
    if "frail" in traits and chance.random() < 0.3:
        words.append("frail")
    if chance.random() < 0.2:
        step["reuse"] = chance.choice(["never", "reads"]) if kind in "prs" else "never"
    step["depends_on"] = list(dict.fromkeys(after))
    if "ask" in traits and kind in "pef" and chance.random() < 0.4:
        # Items that are asked anew in each resume come to no rest that could be compared.
        if kind != "p" and step.get("reuse") == "never":
            del step["reuse"]
        return {**step, "ask": {"question": " ".join(words)}}
    return {**step, "run": words}


def _output(step: str) -> str:
    return f"{{{{ steps.{step}.output }}}}"


# --- how a run is played ------------------------------------------------------------------------------------------


def begun(workflow: Document, inputs: Document, files: str) -> Rehearsal:
    """A run that has just started. `files`: digest of all files that steps read."""
    run = Rehearsal(plan_of(workflow))
    run.digest_of = files
    return run.begin(inputs)


def worked(run: Rehearsal, chance: Random, most: int = _MOST) -> Rehearsal:
    """Let attempts end and a person answer in any order, until the run rests or `most` have: there its process dies."""
    for _ in range(most):
        asking = [name for name in questions(run) if run.state(name).awaits_human]
        if run.is_over and not asking:
            return run
        running = [] if run.is_over else run.running
        # While what has enough items still goes on, the rest is held already: only a resume follows an answer.
        is_parking = bool(running) and _is_parking(run)
        name = chance.choice([*running, *([] if is_parking else asking)])
        if name not in asking:
            run.record(*_end(run, name))
        elif run.is_over:
            run = run.resume(Selection(is_decision=True), facts=[_answer(run, name)])
        else:
            run.record(_answer(run, name))
    assert most < _MOST, "it does not come to rest"
    return run


def rested(run: Rehearsal, plan: Plan, inputs: Document, chance: Random) -> Rehearsal:
    """The run once resumes change nothing any more: a decision alone tries nothing again that failed."""
    for _ in range(2):
        run = worked(run.resume(Selection(), plan=plan, inputs=inputs), chance)
    return run


def resumed(
    run: Rehearsal, plan: Plan, inputs: Document, selection: Selection, files: str
) -> Rehearsal | None:
    """The run, taken up; None for a selection that is refused."""
    before, run.digest_of = run.digest_of, files
    try:
        return run.resume(selection, plan=plan, inputs=inputs)
    except PixirnbError:
        run.digest_of = before
        return None


def _end(run: Rehearsal, name: str) -> list[EventDraft]:
    step = run.plan.steps[run.plan.index[name]]
    if step.kind == "for_each":
        return run.ending(name)
    if not isinstance(step.spec, ShellStep):
        raise TypeError(name)
    given = render_value(step.spec.run, lookup_in(run.plan, step, run.board.lookup))
    if step.spec.reuse == "reads":
        given = [given, run.digest_of]
    number = crc32(json.dumps(given).encode())
    if "frail" in given and number % 3 == 0:
        return run.ending(name, "failed", error="exit")
    bits = [bit for bit in range(5) if number >> bit & 1]
    return run.ending(name, value=bits if name.startswith("r") else number % 5)


def _is_parking(run: Rehearsal) -> bool:
    kinds = [event.kind for event in run.events]
    began = max(place for place, kind in enumerate(kinds) if kind in {"run_started", "run_resumed"})
    holds = [event.data["held_by"] for event in run.events[began:] if event.kind == "step_held"]
    return any(by["kind"] == "dependency" for by in holds)


def questions(run: Rehearsal) -> list[str]:
    """What a person may be asked. What is left out can be answered too, and stands then though it would be skipped by now."""
    steps = run.plan.steps
    may_skip = any((step.template or step).when is not None for step in steps)
    entries = [e.data for e in run.events if e.kind == "run_resumed"]
    drawn = [each["steps"] for each in entries if not each["flags"].get("decided")]
    left_out = {each["step_id"] for each in (drawn or [[]])[-1] if each["action"] == "hold"}
    asked = [step.id for step in steps if step.kind == "decision"]
    return [each for each in asked if not may_skip or each.partition("@")[0] not in left_out]


def _answer(run: Rehearsal, name: str) -> EventDraft:
    asked = [each.data for each in run.events if each.kind == "decision_requested"]
    question = next(data["question"] for data in reversed(asked) if data["step"] == name)
    number = crc32(question.encode())
    verdict = "reject" if "frail" in question and number % 3 == 0 else "accept"
    return run.decision(name, verdict, number % 5)


# --- what can be read ---------------------------------------------------------------------------------------------


def result_of(run: Rehearsal) -> Result:
    """Map each step, and each item by its key, to its status, whether it is skipped, and its value."""
    state = fold(run.events)
    found: Result = {}
    for each in run.outcome().steps:
        name, at, number = each.step_id.partition("@")
        items = state.items[name].items if at else []
        key = next((item["key"] for item in items if str(item["number"]) == number), "")
        bundle = each.checkpoint or {}
        is_ready = each.checkpoint_status == "checkpoint_ready"
        value = bundle["produced"]["value"] if is_ready else None
        found[name + at + key] = (each.checkpoint_status, each.skipped, json.dumps(value))
    return found


def has_items_left_out(run: Rehearsal) -> bool:
    """Whether a list is without items that nobody selected: enough of them may be ready all the same."""
    outcome = run.outcome()
    left = [each for each in outcome.steps if "@" in each.step_id and not each.skipped]
    return any(each.held_by is not None and each.held_by["kind"] == "not_selected" for each in left)


def begun_against_plan(run: Rehearsal) -> list[str]:
    """Steps that the last resume was to reuse or to leave out, and that began, or whose items did."""
    at = max(place for place, event in enumerate(run.events) if event.kind == "run_resumed")
    planned = {entry["step_id"]: entry["action"] for entry in run.events[at].data["steps"]}
    course = run.events[at:]
    begun_then = [e.data["step"] for e in course if e.kind in {"step_scheduled", "step_expanded"}]
    return [
        name for name in begun_then if planned.get(name, planned[name.partition("@")[0]]) != "rerun"
    ]
