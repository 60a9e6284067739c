"""The compiled plan: what the machine needs to know of a workflow, looked up by index and never computed twice.

`Workflow` says what was asked in the author's words; `Plan` says it resolved: defaults applied, dependencies as indices, claims
in force, time-outs chosen. It is made once by `planning.report.compile_plan` and shared by every run of the workflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar, dataclass_transform

from pixirnb.planning.roots import WORKSPACE, Roots
from pixirnb.spec.expressions.conditions import Condition
from pixirnb.spec.expressions.references import Reference
from pixirnb.spec.policies import Agent, Retry
from pixirnb.spec.steps import Step
from pixirnb.spec.workflow import Workflow

Kind = Literal["shell", "python", "agent", "decision", "merge"]
Posture = Literal["read_only", "writer", "undeclared"]

ONLY_WORKSPACE: Final = (WORKSPACE,)

T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=False)
def _numerous(cls: type[T]) -> type[T]:
    """A dataclass that is frozen for the type checker alone.

    At run time the guard of a frozen class makes its twenty assignments ten times slower, and a plan has up to 100,000.
    """
    return dataclass(slots=True, eq=False)(cls)


@_numerous
class PlannedStep:
    """One step, resolved."""

    index: int
    """Position in spec order: the order in which ready steps are started."""
    id: str
    kind: Kind
    spec: Step
    """The step as written, with `defaults` merged in (time-out excepted: see `timeout_ms`)."""
    agent: Agent | None
    depends_on: tuple[int, ...]
    dependents: tuple[int, ...]
    wave: int
    """Index into the report's waves."""
    timeout_ms: int | None
    """Of the first attempt; None only for a decision without one."""
    timeout_source: Literal["step", "agent", "defaults", "standard", "none"]
    retry: Retry
    """step > agent > defaults > the standard one attempt."""
    posture: Posture
    read_set: tuple[str, ...]
    """Globs the step claims to read while it runs: written, or the default for its kind."""
    write_set: tuple[str, ...]
    """Globs it claims to write: written, or `**/*` where the contract says so. Empty: no claim."""
    workspace: Literal["shared", "isolated"]
    process: bool
    """A python step that runs in a killable child: written, a writer, or one that retries on time-outs."""
    phase: str
    when: Condition | None
    references: tuple[Reference, ...]
    """Every reference in the step's payload, env, cwd and checks, in order of appearance."""
    roots: tuple[str, ...] = ONLY_WORKSPACE
    """Names of the roots it uses: that of its folder, those of its sets, all that lie in them; a merge's: of what it merges."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A workflow, ready to be driven by `machine.advance`."""

    workflow: Workflow
    steps: tuple[PlannedStep, ...]
    index: dict[str, int]
    """Step id to position."""
    phases: tuple[tuple[str, tuple[int, ...]], ...]
    """Phases in order of declaration, `rest` last where steps are left over; one named after the workflow if there is none."""
    max_concurrency: int
    timeout_ms: int | None
    """Of the whole run."""
    sources: dict[str, str]
    """Pinned source of notebook functions: `{":name": text}`."""
    repos: dict[str, str] = field(default_factory=dict)
    """Repositories by name, as absolute folders with links resolved; empty where nothing was surveyed."""
    roots: Roots = field(default_factory=lambda: Roots.of("", {}))
    """The folders it works on: the workspace and the repositories."""
    origin: str = ""
    """Absolute folder that agents' `cwd` and all `additional_paths` are relative to; empty where nothing was surveyed."""


def reach(
    plan: Plan, start: Iterable[int], following: Callable[[PlannedStep], Iterable[int]]
) -> set[int]:
    """Positions of `start`, and of all that is come to from there by going on to those `following` a step."""
    reached: set[int] = set()
    pending = list(start)
    while pending:
        index = pending.pop()
        if index not in reached:
            reached.add(index)
            pending.extend(following(plan.steps[index]))
    return reached


def ancestors(plan: Plan, index: int) -> set[int]:
    """Positions of all that a step depends on, directly or further."""
    return reach(plan, plan.steps[index].depends_on, lambda step: step.depends_on)
