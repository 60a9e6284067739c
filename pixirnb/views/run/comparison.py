"""Two runs side by side: what was asked of each, how each ended, and where their steps differ.

    comparison(left, right) -> document -> comparison_blocks

Times are shown and never count as a difference: no two runs take equally long. Source: contract.md §9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, TypedDict, cast

from msgspec import Struct

from pixirnb.history.bundles import stored_output
from pixirnb.history.events import StoredValue
from pixirnb.history.run_state import RunState
from pixirnb.machine.outcome import RunOutcome, StepOutcome
from pixirnb.machine.outcome_documents import StepDocument
from pixirnb.spec.expressions.conditions import is_same
from pixirnb.views.basics.sanitize import line, plural
from pixirnb.views.basics.show_value import glance, shown
from pixirnb.views.basics.status_marks import Mark, run_mark, step_mark
from pixirnb.views.basics.times import moment, span
from pixirnb.views.blocks.model import (
    Block,
    Code,
    Heading,
    Paragraph,
    Phrase,
    Section,
    Status,
    Table,
)

_OUTCOME_KEYS: Final[tuple[Literal["status", "attempt", "digest", "error"], ...]] = (
    "status",
    "attempt",
    "digest",
    "error",
)
"""Keys of two step outcomes that count as a difference."""
_SHOWN: Final = 120
_VALUE: Final = 60
_IN_TABLE: Final = 24
_SAME: Final = Mark("planned", "no differences", "=", "idle")
_SIDES: Final[tuple[Literal["left", "right"], ...]] = ("left", "right")
_OTHER: Final = Mark("partial", "different", "≠", "half")


class ComparedRun(Struct, frozen=True):
    """Run of a comparison, with its outcome."""

    outcome: RunOutcome
    run: RunState


class ComparedSide(TypedDict, total=False):
    """Side of a comparison: one of its two runs."""

    run_id: str
    workflow: str
    status: str
    started_at: str | None
    ended_at: str | None
    elapsed_ms: int | None
    counts: dict[str, int]


class ChangedKey(TypedDict, total=False):
    """A key of the workflow that differs."""

    key: str
    left: Any
    right: Any


class ChangedInput(TypedDict, total=False):
    """An input that differs."""

    input: str
    left: Any
    right: Any


class ComparedWorkflow(TypedDict, total=False):
    """Comparison of the pinned workflows, without their steps."""

    same: bool
    changed: list[ChangedKey]
    sources: list[str]
    """Notebook functions."""


class StepSide(TypedDict, total=False):
    """State of a step in one of the runs."""

    status: str | None
    subagent_status: str
    attempt: int
    elapsed_ms: int | None
    digest: str | None
    error: str | None
    skipped: bool
    value: str
    """Its result in few words, where the results differ."""


class ComparedStep(TypedDict, total=False):
    """A step in both runs."""

    step_id: str
    title: str
    left: StepSide | None
    right: StepSide | None
    differs: list[str]


class ComparisonDocument(TypedDict, total=False):
    """Answer of `compare`. Views read it as it comes: no member is guaranteed."""

    left: ComparedSide
    right: ComparedSide
    same: bool
    workflow: ComparedWorkflow
    inputs: list[ChangedInput]
    steps: list[ComparedStep]


def comparison(left: ComparedRun, right: ComparedRun) -> ComparisonDocument:
    """Compare two runs: steps of the left in spec order, then those only the right has.

    A step's `differs` names the keys of its definition that differ, then `status`, `attempt`, `digest` and `error`.
    """
    steps = _steps(left, right)
    workflow, inputs = _workflow(left.run, right.run), _inputs(left.run, right.run)
    is_same = workflow["same"] and not inputs and not any(step["differs"] for step in steps)
    return {
        "left": _summary(left),
        "right": _summary(right),
        "same": is_same and left.outcome.status == right.outcome.status,
        "workflow": workflow,
        "inputs": inputs,
        "steps": steps,
    }


def comparison_blocks(document: ComparisonDocument) -> list[Block]:
    """Return a comparison: the two runs, what was asked differently, the steps that differ."""
    sides = [document.get("left") or {}, document.get("right") or {}]
    rows: list[tuple[Phrase, ...]] = [
        (
            name,
            Code(side.get("run_id"), 60),
            Status(run_mark(side.get("status"))),
            side.get("workflow") or "",
            moment(side.get("started_at")),
            span(side.get("elapsed_ms")),
        )
        for name, side in zip(("left", "right"), sides, strict=True)
    ]
    differing = [step for step in document.get("steps") or [] if step.get("differs")]
    steps = [
        (
            Code(s.get("step_id"), title=s.get("title") or ""),
            *_stand(s.get("left")),
            *_stand(s.get("right")),
            _names(s),
        )
        for s in differing
    ]
    rest = len(document.get("steps") or []) - len(differing)
    heads = ("step", "left", "elapsed", "right", "elapsed", "differences")
    return [
        Heading(_SAME if document.get("same") else _OTHER),
        Table(("", "run", "status", "workflow", "started", "elapsed"), rows),
        *(
            Section(
                title,
                [
                    Table(
                        ("", "left", "right"),
                        [(Code(n), _brief(a), _brief(b)) for n, a, b in pairs],
                    )
                ],
            )
            for title, pairs in _request_differences(document)
        ),
        *([Table(heads, steps, numeric=frozenset({2, 4}))] if steps else []),
        Paragraph(f"{plural(rest, 'step')} without differences" if rest else "", "mute"),
    ]


# --- the document ------------------------------------------------------------------------------------------------


def _summary(side: ComparedRun) -> ComparedSide:
    return {
        "run_id": side.outcome.run_id,
        "workflow": side.outcome.workflow,
        "status": side.outcome.status,
        "started_at": side.run.started_at,
        "ended_at": side.run.ended_at,
        "elapsed_ms": side.outcome.elapsed_ms,
        "counts": side.outcome.counts,
    }


def _workflow(left: RunState, right: RunState) -> ComparedWorkflow:
    """Return whether both pinned one workflow, and its keys, apart from the steps, that differ."""
    changed: list[ChangedKey] = [
        {"key": key, "left": left.spec.get(key), "right": right.spec.get(key)}
        for key in sorted({*left.spec, *right.spec})
        if key != "steps" and not is_same(left.spec.get(key), right.spec.get(key))
    ]
    return {
        "same": left.spec_digest == right.spec_digest and left.sources == right.sources,
        "changed": changed,
        "sources": sorted(
            name
            for name in {*left.sources, *right.sources}
            if left.sources.get(name) != right.sources.get(name)
        ),
    }


def _inputs(left: RunState, right: RunState) -> list[ChangedInput]:
    return [
        {"input": name, "left": left.inputs.get(name), "right": right.inputs.get(name)}
        for name in sorted({*left.inputs, *right.inputs})
        if (name in left.inputs) != (name in right.inputs)
        or not is_same(left.inputs.get(name), right.inputs.get(name))
    ]


def _steps(left: ComparedRun, right: ComparedRun) -> list[ComparedStep]:
    mine = {step.step_id: step for step in left.outcome.steps}
    theirs = {step.step_id: step for step in right.outcome.steps}
    keys = [{step["id"]: step for step in side.run.spec.get("steps", ())} for side in (left, right)]
    rows: list[ComparedStep] = []
    for step_id in [*mine, *(other for other in theirs if other not in mine)]:
        sides = [
            _step(mine.get(step_id), left.run),
            _step(theirs.get(step_id), right.run),
        ]
        specs = [spec.get(step_id) or {} for spec in keys]
        one, other = sides
        differs: list[str] = []
        if one is not None and other is not None:
            differs = [
                key
                for key in sorted({*specs[0], *specs[1]})
                if not is_same(specs[0].get(key), specs[1].get(key))
            ]
            differs += [key for key in _OUTCOME_KEYS if one[key] != other[key]]
            if "digest" in differs:
                one["value"], other["value"] = _value(left.run, step_id), _value(right.run, step_id)
        elif one is not other:
            differs = ["only_left" if other is None else "only_right"]
        row: ComparedStep = {"step_id": step_id, "left": one, "right": other, "differs": differs}
        if title := (mine.get(step_id) or theirs[step_id]).title:
            row["title"] = title
        rows.append(row)
    return rows


def _step(step: StepOutcome | None, run: RunState) -> StepSide | None:
    if step is None:
        return None
    state = run.steps.get(step.step_id)
    side: StepSide = {
        "status": step.checkpoint_status,
        "subagent_status": step.subagent_status,
        "attempt": step.attempt,
        "elapsed_ms": step.elapsed_ms,
        "digest": None if state is None else state.digest,
        "error": None if step.error is None else step.error["kind"],
    }
    if step.skipped:
        side["skipped"] = True
    return side


def _value(run: RunState, step_id: str) -> str:
    """Return the result of a step in few words: itself where the log holds it, else its kind and size; empty for none."""
    state = run.steps.get(step_id)
    stored: StoredValue = {"format": "none"} if state is None else stored_output(state)
    if "value" in stored:
        return line(glance(stored["value"]), _VALUE)
    if stored["format"] == "none":
        return ""
    kind = line(stored.get("glance") or stored.get("type") or stored["format"], _VALUE)
    return f"{kind}, {stored['bytes']:,} bytes" if "bytes" in stored else kind


# --- how it looks ------------------------------------------------------------------------------------------------


def _request_differences(
    document: ComparisonDocument,
) -> list[tuple[str, list[tuple[object, object, object]]]]:
    """Return the differences of the requests: a title, then name and both values of each difference."""
    workflow = document.get("workflow") or {}
    differences: dict[str, list[tuple[object, object, object]]] = {
        "the workflow": [_pair(entry, "key") for entry in workflow.get("changed") or []],
        "inputs": [_pair(entry, "input") for entry in document.get("inputs") or []],
        "notebook functions": [
            (name, "source", "changed") for name in workflow.get("sources") or []
        ],
    }
    return [(what, pairs) for what, pairs in differences.items() if pairs]


def _pair(entry: ChangedKey | ChangedInput, name: str) -> tuple[object, object, object]:
    return entry.get(name), entry.get("left"), entry.get("right")


def _brief(value: object) -> str:
    return "–" if value is None else line(shown(value), _SHOWN)


def _names(step: ComparedStep) -> str:
    names: Sequence[object] = step.get("differs") or []
    shown = [line(name, 40).replace("_", " ") for name in names[:12]]
    return ", ".join(_result(step) if name == "digest" else name for name in shown)


def _result(step: ComparedStep) -> str:
    """Return both results of a step, `result 41 → 42`; `result` alone where they look alike."""
    left, right = (line((step.get(key) or {}).get("value") or "–", _IN_TABLE) for key in _SIDES)
    return "result" if left == right else f"result {left} → {right}"


def _stand(side: StepSide | None) -> tuple[Phrase, str]:
    """Return how a step stands, and for how long it ran: a column each, because spans differ from run to run."""
    if side is None:
        return "–", ""
    return (Status(_mark(side)), _tries(side)), span(side.get("elapsed_ms"))


def _mark(side: StepSide) -> Mark:
    return step_mark(cast("StepDocument", {"checkpoint_status": side.get("status"), **side}))


def _tries(side: StepSide) -> str:
    attempt = side.get("attempt")
    return f"attempt {attempt}" if isinstance(attempt, int) and attempt > 1 else ""
