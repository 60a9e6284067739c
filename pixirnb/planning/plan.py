"""The compiled plan: all that the machine needs of a workflow, looked up by index and never computed twice.

`Workflow` is what the author wrote; `Plan` is its resolved form: defaults applied, dependencies as indices, claims in
force, time-outs chosen. `planning.report.compile_plan` makes it once; all runs of the workflow share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal

from msgspec import Struct, field

from pixirnb.planning.roots import WORKSPACE, Roots
from pixirnb.spec.expressions.conditions import Condition
from pixirnb.spec.expressions.references import Reference
from pixirnb.spec.policies import Agent, Retry
from pixirnb.spec.steps import Step, StepKind
from pixirnb.spec.workflow import Workflow

Posture = Literal["read_only", "writer", "undeclared"]

ONLY_WORKSPACE: Final = (WORKSPACE,)


class PlannedStep(Struct, frozen=True, eq=False):
    """One step, resolved."""

    index: int
    """Position in spec order: the order in which ready steps are started."""
    id: str
    kind: StepKind
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
    phase: str
    when: Condition | None
    references: tuple[Reference, ...]
    """Every reference in the step's payload, env, cwd and checks, in order of appearance."""
    roots: tuple[str, ...] = ONLY_WORKSPACE
    """Names of the roots it uses: of its folder and its sets, with nested roots; of a merge: those of the merged steps."""
    is_referenced: bool = False
    """True if a later step refers to its output."""

    @property
    def references_before_start(self) -> tuple[Reference, ...]:
        """Return the references that the machine resolves itself: of its `when`, and of a question."""
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
