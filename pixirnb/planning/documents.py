"""JSON of a plan. Source: docs/reference/json.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from pixirnb.errors import ProblemDocument
from pixirnb.planning.multiplicity import Multiplicity
from pixirnb.planning.resolved_step import Resolved
from pixirnb.spec.steps import AgentStep


class ConflictDocument(TypedDict):
    """Two steps that cannot run at once."""

    steps: list[str]
    rule: str
    paths: list[str]
    """The paths of each step."""


class RepoDocument(TypedDict):
    """A repository as it was found."""

    path: str
    exists: bool
    git: bool
    writable: bool


class AfterDocument(TypedDict):
    """A step, and the one after which it starts because they conflict."""

    step: str
    after: str


class TimeoutDocument(TypedDict):
    """Milliseconds, and which level said so."""

    ms: int | None
    source: str


class PhaseDocument(TypedDict):
    """A phase."""

    name: str
    steps: list[str]


class PlannedDocument(TypedDict):
    """A step as it would run: defaults applied, claims in force."""

    step_id: str
    title: NotRequired[str]
    kind: str
    depends_on: list[str]
    posture: str
    workspace: str
    read_set: list[str]
    write_set: list[str]
    timeout_ms: int | None
    agent: str | None
    placement: NotRequired[str]
    """`cluster`; only of a step that runs on one."""
    items: NotRequired[int | None]
    """Only with `for_each`: the number of its items; None if only a run knows it. All else is of each item."""
    items_from: NotRequired[str | None]
    """Source of the list: `inputs.files`, `steps.find.output`; None for a written list."""
    max_parallel: NotRequired[int | None]
    require: NotRequired[str | int]
    key: NotRequired[str | None]


class PlanDocument(TypedDict, total=False):
    """The JSON of a plan. Views read it as it comes: no member is guaranteed."""

    schema_version: int
    ok: bool
    workflow: str
    workflow_title: str
    spec_digest: str
    errors: list[ProblemDocument]
    warnings: list[ProblemDocument]
    levels: list[list[str]]
    waves: list[list[str]]
    conflicts: list[ConflictDocument]
    conflict_count: int
    serialized: list[AfterDocument]
    critical_path: list[str]
    peak_concurrency: int
    agent_minutes: float
    agents: dict[str, list[str]]
    repos: dict[str, RepoDocument]
    timeouts: dict[str, TimeoutDocument]
    phases: list[PhaseDocument]
    steps: list[PlannedDocument]
    not_selected: list[str]
    """Only where a dry run names targets."""


def planned_documents(
    steps: Sequence[Resolved],
    depends_on: Sequence[Sequence[int]],
    items: Mapping[str, Multiplicity],
) -> list[PlannedDocument]:
    """Return the steps of a plan as JSON; `depends_on` has the positions of the dependencies of each, `items` their items."""
    documents: list[PlannedDocument] = []
    for step, edges in zip(steps, depends_on, strict=True):
        document: PlannedDocument = {
            "step_id": step.spec.id,
            "kind": step.spec.kind,
            "depends_on": [steps[position].spec.id for position in edges],
            "posture": step.posture,
            "workspace": step.workspace,
            "read_set": list(step.reads),
            "write_set": list(step.writes),
            "timeout_ms": step.timeout_ms,
            "agent": step.spec.agent if isinstance(step.spec, AgentStep) else None,
        }
        if step.spec.title:
            document["title"] = step.spec.title
        if step.placement == "cluster":
            document["placement"] = step.placement
        if (written := step.spec.for_each) is not None:
            known = items[step.spec.id]
            document["items"], document["items_from"] = known.count, known.source
            document["max_parallel"] = written.max_parallel
            document["require"], document["key"] = written.require, written.key
        documents.append(document)
    return documents
