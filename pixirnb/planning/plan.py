"""The compiled plan: all that the machine needs of a workflow, looked up by index and never computed twice.

`Workflow` is what the author wrote; `Plan` is its resolved form: defaults applied, dependencies as indices, claims in
force, time-outs chosen. `planning.report.compile_plan` makes it once; all runs of the workflow share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal

from msgspec import Struct, field

from pixirnb.planning.roots import WORKSPACE, Roots
from pixirnb.spec.expressions.conditions import Condition
from pixirnb.spec.expressions.references import Reference
from pixirnb.spec.policies import Agent, Retry
from pixirnb.spec.steps import Step, StepKind
from pixirnb.spec.workflow import Workflow

PlannedKind = StepKind | Literal["for_each"]
Posture = Literal["read_only", "writer", "undeclared"]

ONLY_WORKSPACE: Final = (WORKSPACE,)


class PlannedStep(Struct, frozen=True, eq=False):
    """One step, resolved."""

    index: int
    """Position in spec order: the order in which ready steps are started."""
    id: str
    kind: PlannedKind
    """Kind of its work; `for_each` of a step that collects the values of its items, which are steps of their own."""
    spec: Step
    """The step as written, with `defaults` merged in (except time-outs: see `timeout_ms`)."""
    agent: Agent | None
    depends_on: tuple[int, ...]
    dependents: tuple[int, ...]
    wave: int
    """Index into the report's waves."""
    timeout_ms: int | None
    """Time-out of the first attempt; None only for a decision without one."""
    timeout_source: Literal["step", "agent", "defaults", "standard", "none"]
    retry: Retry
    """Retry policy: step > agent > defaults > the standard one attempt."""
    posture: Posture
    read_set: tuple[str, ...]
    """Globs the step claims to read while it runs: written, or the default for its kind."""
    write_set: tuple[str, ...]
    """Globs it claims to write: written, or `**/*` where the contract requires it. Empty: no claim."""
    workspace: Literal["shared", "isolated"]
    process: bool
    """True for a python step in a killable child: written so, a writer, or one that retries on time-outs."""
    placement: Literal["local", "cluster"]
    """Place of its work: processes or threads of this machine, or a worker of the run's cluster."""
    phase: str
    when: Condition | None
    references: tuple[Reference, ...]
    """Every reference in the step's payload, env, cwd and checks, in order of appearance."""
    roots: tuple[str, ...] = ONLY_WORKSPACE
    """Names of the roots it uses: of its folder and its sets, with nested roots; of a merge: those of the merged steps."""
    is_referenced: bool = False
    """True if a later step refers to its output."""
    template: PlannedStep | None = None
    """One item of a `for_each`, with references to the item in its sets."""
    list_references: tuple[Reference, ...] = ()
    """References of the list and the keys of a `for_each`; they are among `references`, too."""
    leader: int | None = None
    """The step whose list a `for_each` shares."""
    parent: int | None = None
    """The step that an item is of; None for a written step."""
    number: int = 0
    """Number of an item, as in `resize@3`."""
    item: tuple[int, Any] | None = None
    """Position of an item in the list, and its value."""

    @property
    def refers_to_steps(self) -> bool:
        """Return whether a reference of its payload is to the result of a step."""
        return any(each.source == "step" for each in self.references)

    @property
    def references_before_start(self) -> tuple[Reference, ...]:
        """Return the references that the machine resolves itself: of its `when`, of a question, and of a list of items."""
        if self.template is not None:
            return (*self.list_references, *self.template.references_before_start)
        in_when = () if self.when is None else self.when.references
        return (*in_when, *self.references) if self.kind == "decision" else in_when


class Plan(Struct, frozen=True, eq=False):
    """A workflow, ready to be driven by `machine.advance`."""

    workflow: Workflow
    steps: tuple[PlannedStep, ...]
    index: dict[str, int]
    """Step id to position."""
    phases: tuple[tuple[str, tuple[int, ...]], ...]
    """Phases in order of declaration, `rest` last if steps remain; without phases one with the workflow's name."""
    max_concurrency: int
    timeout_ms: int | None
    """Time-out of the whole run."""
    sources: dict[str, str]
    """Pinned source of notebook functions: `{":name": text}`."""
    repos: dict[str, str] = field(default_factory=dict)
    """Repositories by name, as absolute folders with links resolved; empty without a survey."""
    roots: Roots = field(default_factory=lambda: Roots.of("", {}))
    """The folders of the run: the workspace and the repositories."""
    origin: str = ""
    """Absolute folder that agents' `cwd` and all `additional_paths` are relative to; empty without a survey."""
    items: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Items of each `for_each` whose list is known, in the order of the list."""

    @property
    def written(self) -> tuple[PlannedStep, ...]:
        """Return the steps of the workflow, without items."""
        return self.steps[: len(self.workflow.steps)]

    @property
    def listed(self) -> Iterator[PlannedStep]:
        """Return the steps in the order of the workflow, each followed by its items."""
        for step in self.written:
            yield step
            yield from (self.steps[each] for each in self.items.get(step.index, ()))

    def before(self, step: PlannedStep) -> tuple[int, ...]:
        """Return the written steps that a step depends on."""
        count = len(self.workflow.steps)
        return tuple(each for each in step.depends_on if each < count)

    def awaited(self, step: PlannedStep) -> tuple[int, ...]:
        """Return the steps that a step depends on, but not the items that it collects."""
        return step.depends_on if step.index not in self.items else self.before(step)

    def carriers(self, name: str) -> tuple[str, ...]:
        """Return the steps whose results a step stands for: its items, or itself."""
        items = self.items.get(self.index.get(name, -1))
        return (name,) if items is None else tuple(self.steps[each].id for each in items)


def reach(
    plan: Plan, start: Iterable[int], following: Callable[[PlannedStep], Iterable[int]]
) -> set[int]:
    """Return the positions of `start`, and of all that is come to from there by going on to those `following` a step."""
    reached: set[int] = set()
    pending = list(start)
    while pending:
        index = pending.pop()
        if index not in reached:
            reached.add(index)
            pending.extend(following(plan.steps[index]))
    return reached


def ancestors(plan: Plan, index: int) -> set[int]:
    """Return the positions of all that a step depends on, directly or further."""
    return reach(plan, plan.steps[index].depends_on, lambda step: step.depends_on)
