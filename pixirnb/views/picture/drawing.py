"""Content of a picture of a workflow, in any format: joins plan document, outcome document and edges.

`drawing(...)` takes statuses as they are given. A large one is folded (see fold.py) to fit a page.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from pixirnb.machine.outcome_documents import RunDocument, StepDocument
from pixirnb.planning.documents import PlanDocument
from pixirnb.planning.plan import Plan
from pixirnb.views.basics.phrases import why
from pixirnb.views.basics.status_marks import PLANNED, Mark, at_rest, step_mark, tally
from pixirnb.views.basics.step_items import items_of, parent_of, span_of, times
from pixirnb.views.basics.step_names import name_of, titles_of

Edges = Iterable[tuple[str, str]]
"""(dependency, dependent) pairs of step ids."""


class Node(Struct, frozen=True):
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
    """The steps it stands for; those of a stack that are drawn next to it too."""
    is_stack: bool = False
    """It stands for a fan-out."""
    is_isolated: bool = False
    """It works in a copy of the user's files."""
    title: str = ""
    """Its name for people, if it has one."""
    times: str = ""
    """`× 3` of a step with items, `× ?` where their number is not known."""
    items: tuple[tuple[Mark, int], ...] = ()
    """How its items stand."""

    @property
    def name(self) -> str:
        """Return the text that its label is cut from."""
        return self.label or name_of(self.id, self.title)

    @property
    def counts(self) -> str:
        """Return the statuses of the steps it stands for by symbol: `145 ✓ 5 ✗`."""
        if len(self.stands_for) == 1 and self.stands_for[0][0].key in {"planned", "queued"}:
            return f"{self.stands_for[0][1]:,} steps"
        return " ".join(f"{count:,} {mark.symbol}" for mark, count in self.stands_for)

    @property
    def work(self) -> str:
        """Return its kind, and how many items it has: `shell × 3`."""
        return " ".join(filter(None, (self.kind, self.times)))

    @property
    def item_counts(self) -> str:
        """Return the statuses of its items by symbol: `38 ✓ 2 ✗`."""
        return " ".join(f"{count:,} {mark.symbol}" for mark, count in self.items)

    @property
    def note(self) -> str:
        """A sentence on it. Worked out when asked for: few of many nodes are drawn."""
        return self.label if self.outcome is None else why(self.outcome, 200)


class Drawing(Struct, frozen=True):
    """A graph with looks."""

    workflow: str
    nodes: Mapping[str, Node]
    columns: Sequence[Sequence[str]]
    edges: Sequence[tuple[str, str]]
    holds: Sequence[tuple[str, str]]
    """(holder, held): the step that keeps another from starting."""
    phases: Sequence[tuple[str, Sequence[str]]]
    """Empty unless there is more than one."""
    title: str = ""
    """Name of the workflow for people, if it has one."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Names of steps for people, of those that have one."""


def edges_of(plan: Plan) -> list[tuple[str, str]]:
    """Return the dependency edges of a plan, in spec order."""
    return [(plan.steps[i].id, step.id) for step in plan.written for i in plan.before(step)]


def kinds_of(plan: Plan) -> dict[str, str]:
    """Return the kind of each step of a plan; of one with items that of their work."""
    return {step.id: step.spec.kind for step in plan.written}


def drawing(
    plan: PlanDocument | None,
    outcome: RunDocument | None = None,
    edges: Edges = (),
    *,
    kinds: Mapping[str, str] | None = None,
    isolated: Iterable[str] = (),
) -> Drawing:
    """Join a `PlanReport.document()` and a `RunOutcome.document()`; either may be missing."""
    known = (plan or {}).get("steps") or []
    kinds, apart = (
        {step["step_id"]: step["kind"] for step in known} | {**(kinds or {})},
        frozenset(isolated),
    )
    many = {step["step_id"]: times(step["items"]) for step in known if "items" in step}
    outcome = None if outcome is None else at_rest(outcome)
    titles = {**titles_of(plan), **titles_of(outcome)}
    planned = [step for wave in (plan or {}).get("waves") or [] for step in wave]
    nodes = {
        step: Node(
            step,
            PLANNED,
            kinds.get(step),
            is_isolated=step in apart,
            title=titles.get(step, ""),
            times=many.get(step, ""),
        )
        for step in planned
    }
    edges = list(edges)
    after = [(pair["after"], pair["step"]) for pair in (plan or {}).get("serialized") or []]
    holds: list[tuple[str, str]] = []
    every = (outcome or {}).get("steps") or []
    items = items_of(every)
    steps = [step for step in every if not parent_of(step["step_id"])]
    strangers = [s["step_id"] for s in steps if s["step_id"] not in nodes]
    if planned:
        columns = [*columns_of(planned, [*edges, *after]), *([strangers] if strangers else [])]
    else:
        columns = columns_of(strangers, edges) if edges else _waves_of(steps)
    for step in steps:
        step_id, own = step["step_id"], items.get(step["step_id"], [])
        kind = step.get("kind") or kinds.get(step_id)
        if kind == "for_each":
            kind = kinds.get(step_id) or next((item.get("kind") for item in own), None)
        nodes[step_id] = Node(
            id=step_id,
            mark=step_mark(step),
            kind=kind,
            attempt=step.get("attempt") or 0,
            elapsed_ms=span_of(step, own),
            outcome=step,
            is_isolated=step_id in apart or step.get("workspace") == "isolated",
            title=titles.get(step_id, ""),
            times=times(len(own)) if own else many.get(step_id, ""),
            items=tuple(tally(map(step_mark, own))),
        )
        held_by = step.get("held_by")
        if held_by is not None and held_by["step"] and not step.get("skipped"):
            holds += [(held_by["step"], step_id), *((a, step_id) for a in held_by.get("also", []))]
    phases = [(p["name"], p["steps"]) for p in (plan or {}).get("phases") or [] if p["steps"]]
    return Drawing(
        workflow=str((outcome or plan or {}).get("workflow") or "workflow"),
        nodes=nodes,
        columns=columns,
        edges=[(a, b) for a, b in edges if a in nodes and b in nodes],
        holds=[(a, b) for a, b in holds if a in nodes],
        phases=phases if len(phases) > 1 else [],
        title=str(
            (outcome or {}).get("workflow_title") or (plan or {}).get("workflow_title") or ""
        ),
        titles=titles,
    )


def columns_of(steps: Sequence[str], pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the steps by the longest chain of `(earlier, later)` that leads to each, in their order.

    Waves are no columns: they say what starts together, and 150 parallel parts of which 16 run at once have ten of them.
    """
    later: dict[str, list[str]] = {step: [] for step in steps}
    missing = dict.fromkeys(steps, 0)
    for a, b in pairs:
        if a in later and b in later:
            later[a].append(b)
            missing[b] += 1
    column = dict.fromkeys(steps, 0)
    free = deque(step for step, count in missing.items() if not count)
    while free:
        step = free.popleft()
        for each in later[step]:
            column[each] = max(column[each], column[step] + 1)
            missing[each] -= 1
            if not missing[each]:
                free.append(each)
    columns: list[list[str]] = [[] for _ in range(max(column.values(), default=-1) + 1)]
    for step, number in column.items():
        columns[number].append(step)
    return [each for each in columns if each]


def _waves_of(steps: Sequence[StepDocument]) -> list[list[str]]:
    """Return columns of an outcome without its plan: the waves its steps name, unnamed ones last."""
    named: dict[float, list[str]] = {}
    for step in steps:
        wave = step.get("wave")
        named.setdefault(float("inf") if wave is None else wave, []).append(step["step_id"])
    return [named[wave] for wave in sorted(named)]
