"""Content of a picture of a workflow, in any format: joins plan document, outcome document and edges.

`drawing(...)` takes statuses as they are given. `fold_drawing(...)` makes a large one fit a page: the first rows of a wide
wave, then one box that counts the rest by status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pixirnb.machine.outcome import RunDocument, StepDocument
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import PlanDocument
from pixirnb.views.basics.phrases import why
from pixirnb.views.basics.sanitize import plural
from pixirnb.views.basics.status_marks import PLANNED, Mark, at_rest, step_mark, tally
from pixirnb.views.basics.step_names import name_of, titles_of

ROWS: Final = 60
COLUMNS: Final = 60
BOXES: Final = 1_200
"""Boxes in a static picture, about 1 kB each."""

Edges = Iterable[tuple[str, str]]
"""(dependency, dependent) pairs of step ids."""


@dataclass(frozen=True, slots=True)
class Node:
    """A step in a picture, or a box that stands for several."""

    id: str
    """A step id; ids of boxes that stand for several begin with `+`, which no step id does."""
    mark: Mark
    kind: str | None = None
    attempt: int = 0
    elapsed_ms: int | None = None
    outcome: StepDocument | None = None
    """How the step stands, where it has spoken."""
    label: str = ""
    """Text of a box that stands for several steps."""
    stands_for: tuple[tuple[Mark, int], ...] = ()
    steps: tuple[str, ...] = ()
    """The steps it stands for."""
    is_isolated: bool = False
    """It works in a copy of the user's files."""
    title: str = ""
    """Its name for people, if it has one."""

    @property
    def name(self) -> str:
        """The text of its box."""
        return name_of(self.id, self.title)

    @property
    def note(self) -> str:
        """A sentence on it. Worked out when asked for: few of many nodes are drawn."""
        return self.label if self.outcome is None else why(self.outcome, 200)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A graph with looks."""

    workflow: str
    nodes: Mapping[str, Node]
    waves: Sequence[Sequence[str]]
    edges: Sequence[tuple[str, str]]
    holds: Sequence[tuple[str, str]]
    """(holder, held): the step that keeps another from starting."""
    phases: Sequence[tuple[str, Sequence[str]]]
    """Empty unless there is more than one."""
    title: str = ""
    """Name of the workflow for people, if it has one."""


def edges_of(plan: Plan) -> list[tuple[str, str]]:
    """Return the dependency edges of a plan, in spec order."""
    return [(plan.steps[i].id, step.id) for step in plan.steps for i in step.depends_on]


def kinds_of(plan: Plan) -> dict[str, str]:
    """Return the kind of each step of a plan."""
    return {step.id: step.kind for step in plan.steps}


def drawing(
    plan: PlanDocument | None,
    outcome: RunDocument | None = None,
    edges: Edges = (),
    *,
    kinds: Mapping[str, str] | None = None,
    isolated: Iterable[str] = (),
) -> Drawing:
    """Join a `PlanReport.document()` and a `RunOutcome.document()`; either may be missing."""
    kinds, apart = kinds or {}, frozenset(isolated)
    outcome = None if outcome is None else at_rest(outcome)
    titles = {**titles_of(plan), **titles_of(outcome)}
    planned = (plan or {}).get("waves") or []
    waves: list[list[str]] = [list(wave) for wave in planned]
    nodes = {
        step: Node(
            step, PLANNED, kinds.get(step), is_isolated=step in apart, title=titles.get(step, "")
        )
        for wave in waves
        for step in wave
    }
    holds: list[tuple[str, str]] = []
    steps = (outcome or {}).get("steps") or []
    if not waves:
        waves = _waves_of(steps)
    elif strangers := [s["step_id"] for s in steps if s["step_id"] not in nodes]:
        waves.append(strangers)
    for step in steps:
        step_id = step["step_id"]
        nodes[step_id] = Node(
            id=step_id,
            mark=step_mark(step),
            kind=step.get("kind") or kinds.get(step_id),
            attempt=step.get("attempt") or 0,
            elapsed_ms=step.get("elapsed_ms"),
            outcome=step,
            is_isolated=step_id in apart or step.get("workspace") == "isolated",
            title=titles.get(step_id, ""),
        )
        held_by = step.get("held_by")
        if held_by is not None and held_by["step"] and not step.get("skipped"):
            holds.append((held_by["step"], step_id))
    phases = [(p["name"], p["steps"]) for p in (plan or {}).get("phases") or [] if p["steps"]]
    return Drawing(
        workflow=str((outcome or plan or {}).get("workflow") or "workflow"),
        nodes=nodes,
        waves=waves,
        edges=[(a, b) for a, b in edges if a in nodes and b in nodes],
        holds=[(a, b) for a, b in holds if a in nodes],
        phases=phases if len(phases) > 1 else [],
        title=str(
            (outcome or {}).get("workflow_title") or (plan or {}).get("workflow_title") or ""
        ),
    )


def fold_drawing(
    whole: Drawing, *, rows: int = ROWS, columns: int = COLUMNS, boxes: int = BOXES
) -> Drawing:
    """Return a drawing with at most `rows` boxes in a column, `columns` columns and about `boxes` boxes in all."""
    waves = whole.waves
    shown = min(len(waves), columns)
    rows = min(rows, max(8, boxes // max(shown, 1)))
    if len(waves) <= columns and all(len(wave) <= rows for wave in waves):
        return whole
    stand_in: dict[str, str] = {}
    nodes: dict[str, Node] = {}
    cut: list[list[str]] = []

    def box(name: str, hidden: Sequence[str], column: list[str], what: str) -> None:
        nodes[name] = Node(
            name,
            PLANNED,
            label=f"{len(hidden):,} more{what}",
            stands_for=tuple(tally(whole.nodes[step].mark for step in hidden)),
            steps=tuple(hidden),
        )
        stand_in.update(dict.fromkeys(hidden, name))
        column.append(name)

    last = shown if len(waves) <= columns else shown - 1
    for number, wave in enumerate(waves[:last]):
        keep = wave if len(wave) <= rows else wave[: rows - 1]
        column = list(keep)
        nodes.update((step, whole.nodes[step]) for step in keep)
        if len(keep) < len(wave):
            box(f"+{number}", wave[len(keep) :], column, "")
        cut.append(column)
    if last < len(waves):
        rest = [step for wave in waves[last:] for step in wave]
        cut.append([])
        box("+rest", rest, cut[-1], f" in {plural(len(waves) - last, 'wave')}")
    return replace(
        whole,
        nodes=nodes,
        waves=cut,
        edges=_moved(whole.edges, stand_in),
        holds=[pair for pair in _moved(whole.holds, stand_in) if not pair[1].startswith("+")],
        phases=[(name, [s for s in steps if s in nodes]) for name, steps in whole.phases],
    )


def _moved(edges: Sequence[tuple[str, str]], stand_in: Mapping[str, str]) -> list[tuple[str, str]]:
    moved = ((stand_in.get(a, a), stand_in.get(b, b)) for a, b in edges)
    return list(dict.fromkeys((a, b) for a, b in moved if a != b))


def _waves_of(steps: Sequence[StepDocument]) -> list[list[str]]:
    """Return columns of an outcome without its plan: the waves its steps name, unnamed ones last."""
    named: dict[float, list[str]] = {}
    for step in steps:
        wave = step.get("wave")
        named.setdefault(float("inf") if wave is None else wave, []).append(step["step_id"])
    return [named[wave] for wave in sorted(named)]
